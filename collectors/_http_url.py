"""URLs as declarations write them: absolute, of http or https, and without credentials."""

from typing import Annotated
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator

_CREDENTIALS = {"access_token", "api_key", "api-key", "apikey", "auth", "password", "secret", "sig", "signature", "token"}
"""Names of parameters that hold credentials wherever they are used."""


def _url(text: str) -> str:
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("must be printable ASCII without spaces: percent-encode the rest, and write the host in Punycode")
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"}:
        raise ValueError(f'the scheme "{parts.scheme}" is not known' if parts.scheme else "must begin with http:// or https://")
    if "@" in parts.netloc:
        raise ValueError("must hold no credentials: use auth.basic")
    if not parts.hostname or parts.port == 0:
        raise ValueError("needs a host" if not parts.hostname else "the port must be from 1 to 65535")
    if parts.fragment:
        raise ValueError("must have no fragment (#...)")
    for name, _ in parse_qsl(parts.query, keep_blank_values=True):
        if name.lower() in _CREDENTIALS:
            raise ValueError(f'must hold no credentials: write "{name}" under query with valueFrom, or use auth.header')
    return text


Url = Annotated[str, AfterValidator(_url)]


def host_and_port(url: str) -> tuple[str, int]:
    """Where a URL leads, by the port of its scheme if it names none."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
