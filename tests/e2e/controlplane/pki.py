"""Certificates of a throw-away control plane: one authority for each kind of trust, as in a real cluster."""

import datetime
import ipaddress
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from app.clock import Clock, SystemClock

LIFETIME = datetime.timedelta(days=30)


class KeyPair(NamedTuple):
    """Two PEM files."""

    certificate: Path
    key: Path


def _private(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def _name(common_name: str, organizations: Sequence[str] = ()) -> x509.Name:
    """Kubernetes reads the user from the common name and its groups from the organizations."""
    return x509.Name(
        [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in organizations]
        + [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    )


class Authority:
    """A certificate authority; its files are `<directory>/<name>.crt` and `.key`."""

    def __init__(self, name: str, directory: Path, *, clock: Clock | None = None) -> None:
        self.directory = directory
        self._now = datetime.datetime.fromtimestamp((clock or SystemClock()).wall(), datetime.UTC)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._subject = _name(name)
        usage = x509.KeyUsage(
            digital_signature=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=True,
            crl_sign=True,
            encipher_only=False,
            decipher_only=False,
        )
        certificate = (
            self._builder(self._subject, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self.files = self._write(name, certificate, self._key)

    @property
    def certificate(self) -> Path:
        return self.files.certificate

    def issue(
        self, file: str, common_name: str, *, groups: Sequence[str] = (), dns: Sequence[str] = (), ips: Sequence[str] = ()
    ) -> KeyPair:
        """A certificate for a client and a server alike: the tests use each for one of the two."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            self._builder(_name(common_name, groups), key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )
        if dns or ips:
            names = [x509.DNSName(name) for name in dns]
            addresses = [x509.IPAddress(ipaddress.ip_address(ip)) for ip in ips]
            builder = builder.add_extension(x509.SubjectAlternativeName([*names, *addresses]), critical=False)
        return self._write(file, builder.sign(self._key, hashes.SHA256()), key)

    def _builder(self, subject: x509.Name, public_key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._subject)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._now - datetime.timedelta(hours=1))
            .not_valid_after(self._now + LIFETIME)
        )

    def _write(self, file: str, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> KeyPair:
        pair = KeyPair(self.directory / f"{file}.crt", self.directory / f"{file}.key")
        pair.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        pair.key.write_bytes(_private(key))
        pair.key.chmod(0o600)
        return pair


class Pki:
    """All authorities of one control plane, and the key that signs service account tokens.

    `cluster` is kube-apiserver's client CA and signs its serving certificate; `front_proxy` signs only the aggregator's client
    certificate; `serving` signs kubeglance (it is what caBundle holds); `kubelets` signs the simulated kubelets.
    """

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.cluster = Authority("cluster-ca", directory)
        self.front_proxy = Authority("front-proxy-ca", directory)
        self.serving = Authority("serving-ca", directory)
        self.kubelets = Authority("kubelet-ca", directory)
        signer = rsa.generate_private_key(65537, 2048)
        self.token_key = directory / "service-accounts.key"
        self.token_key.write_bytes(_private(signer))
        self.token_key.chmod(0o600)
        self.token_public_key = directory / "service-accounts.pub"
        self.token_public_key.write_bytes(
            signer.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        )
