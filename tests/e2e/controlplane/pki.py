"""Certificates of a throw-away control plane, in files: one authority for each kind of trust, as in a real cluster."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from app.certs import Authority, write_key
from app.clock import SystemClock


class KeyPair(NamedTuple):
    """Two PEM files."""

    certificate: Path
    key: Path


class FiledAuthority:
    """An authority whose certificate and leaves are files in one directory."""

    def __init__(self, name: str, directory: Path) -> None:
        self._authority = Authority.create(name, SystemClock(), days=30)
        self._directory = directory
        self.certificate = directory / f"{name}.crt"
        self.key = directory / f"{name}.key"
        self._authority.save(self.certificate, self.key)

    @property
    def pem(self) -> bytes:
        """What goes into a caBundle."""
        return self._authority.certificate_pem

    def server(self, file: str, common_name: str, *, dns: Sequence[str] = (), ips: Sequence[str] = ()) -> KeyPair:
        """A serving certificate in `<file>.crt` and `<file>.key`."""
        return self._write(file, self._authority.issue(common_name, dns=dns, ips=ips, server=True))

    def client(self, file: str, user: str, groups: Sequence[str] = ()) -> KeyPair:
        """A client certificate; Kubernetes reads the user from its common name and the groups from its organizations."""
        return self._write(file, self._authority.issue(user, groups, client=True))

    def _write(self, file: str, pems: tuple[bytes, bytes]) -> KeyPair:
        pair = KeyPair(self._directory / f"{file}.crt", self._directory / f"{file}.key")
        pair.certificate.write_bytes(pems[0])
        write_key(pair.key, pems[1])
        return pair


class Pki:
    """All authorities of one control plane, and the key that signs service account tokens.

    `cluster` is kube-apiserver's client CA and signs its serving certificate; `front_proxy` signs only the aggregator's client
    certificate; `serving` signs kubeglance (it is what caBundle holds); `kubelets` signs the simulated kubelets.
    """

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.cluster = FiledAuthority("cluster-ca", directory)
        self.front_proxy = FiledAuthority("front-proxy-ca", directory)
        self.serving = FiledAuthority("serving-ca", directory)
        self.kubelets = FiledAuthority("kubelet-ca", directory)
        signer = rsa.generate_private_key(65537, 2048)
        self.token_key = directory / "service-accounts.key"
        write_key(
            self.token_key,
            signer.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
        )
        self.token_public_key = directory / "service-accounts.pub"
        self.token_public_key.write_bytes(
            signer.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        )
