"""The authorities and certificates of the auth tests: users' CA, front proxy's CA, a stranger's."""

import json
from dataclasses import dataclass, field
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from app.auth.trust import TrustBundle, parse_bundle
from app.certs import Authority
from app.clock import Clock
from tests.fakes.clock import ManualClock

HEADERS = {
    "requestheader-username-headers": '["X-Remote-User"]',
    "requestheader-uid-headers": '["X-Remote-Uid"]',
    "requestheader-group-headers": '["X-Remote-Group"]',
    "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
}


def der(pem: bytes) -> bytes:
    return x509.load_pem_x509_certificate(pem).public_bytes(Encoding.DER)


@dataclass
class Authorities:
    """`clock` dates the certificates."""

    clock: Clock = field(default_factory=ManualClock)

    def __post_init__(self) -> None:
        self.users = Authority.create("users-ca", self.clock)
        self.proxy = Authority.create("front-proxy-ca", self.clock)
        self.stranger = Authority.create("stranger-ca", self.clock)

    def data(self, **changes: Any) -> dict[str, str]:
        """The ConfigMap's data; underscores in names of `changes` stand for dashes, None removes, lists become JSON."""
        data: dict[str, Any] = {
            **HEADERS,
            "client-ca-file": self.users.certificate_pem.decode(),
            "requestheader-client-ca-file": self.proxy.certificate_pem.decode(),
            "requestheader-allowed-names": '["front-proxy-client"]',
        }
        data.update({key.replace("_", "-"): value for key, value in changes.items()})
        return {
            key: json.dumps(value) if isinstance(value, list) else value.decode() if isinstance(value, bytes) else value
            for key, value in data.items()
            if value is not None
        }

    def bundle(self, **changes: Any) -> TrustBundle:
        return parse_bundle(self.data(**changes))

    def chain(self, authority: Authority, name: str, organizations: tuple[str, ...] = (), days: float = 365) -> tuple[bytes, ...]:
        """A verified chain as TLS would give it: leaf and authority, DER."""
        leaf, _ = authority.issue(name, organizations, client=True, days=days)
        return (der(leaf), der(authority.certificate_pem))
