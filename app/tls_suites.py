"""Cipher suites of TLS 1.2 by the names that Go programs take them by (IANA's), in the words of OpenSSL."""

import re
from collections.abc import Sequence

_SUITE = re.compile(r"TLS_(ECDHE_RSA|ECDHE_ECDSA|RSA)_WITH_(?:(CHACHA20)_(POLY1305)(?:_SHA256)?|AES_(128|256)_(GCM|CBC)_(SHA(?:256|384)?))")
_OF_TLS13 = {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}


def is_suite(name: str) -> bool:
    """Whether a suite is known. Those with RC4 and 3DES are not: nobody should offer them."""
    return name in _OF_TLS13 or _SUITE.fullmatch(name) is not None


def openssl_names(names: Sequence[str]) -> str:
    """The suites as OpenSSL takes them, with colons between; those of TLS 1.3, which cannot be chosen, left out."""
    return ":".join(_openssl_name(found) for name in names if (found := _SUITE.fullmatch(name)) is not None)


def _openssl_name(found: re.Match[str]) -> str:
    exchange, stream, mac, bits, mode, digest = found.groups()
    parts = [] if exchange == "RSA" else [exchange.replace("_", "-")]
    parts += [stream, mac] if stream else [f"AES{bits}", *(["GCM"] if mode == "GCM" else []), digest]
    return "-".join(parts)
