"""Names of cipher suites: those of Go programs in OpenSSL's words."""

import ssl

import pytest

from app.tls_suites import is_suite, openssl_names


@pytest.mark.parametrize(
    ("name", "openssl"),
    [
        ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "ECDHE-RSA-CHACHA20-POLY1305"),
        ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
        ("TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA-AES256-SHA"),
        ("TLS_RSA_WITH_AES_256_GCM_SHA384", "AES256-GCM-SHA384"),
        ("TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA"),
        ("TLS_AES_128_GCM_SHA256", ""),
    ],
)
def test_suites_have_openssls_names(name: str, openssl: str) -> None:
    """Which it takes; those of TLS 1.3 cannot be chosen."""
    assert is_suite(name)
    assert openssl == openssl_names([name])
    if openssl:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).set_ciphers(openssl)


@pytest.mark.parametrize("name", ["TLS_RSA_WITH_RC4_128_SHA", "TLS_RSA_WITH_3DES_EDE_CBC_SHA", "ECDHE-RSA-AES128-SHA", ""])
def test_other_suites_are_not_known(name: str) -> None:
    """Weak ones are refused, not offered."""
    assert not is_suite(name)
