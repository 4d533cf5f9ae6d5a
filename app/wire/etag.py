"""Entity tags of documents that are ready in memory (RFC 9110, 8.8.3 and 13.1.2)."""

import hashlib


def make_etag(body: bytes) -> str:
    """A strong tag, in quotes: the hex SHA-512 of the body, as upstream has it."""
    return f'"{hashlib.sha512(body).hexdigest().upper()}"'


def etag_matches(if_none_match: str, etag: str) -> bool:
    """Whether If-None-Match names the tag, so that 304 is the answer. Weak and strong tags compare equal."""
    if not if_none_match:
        return False
    tags = (tag.strip() for tag in if_none_match.split(","))
    return any(tag == "*" or tag.removeprefix("W/") == etag for tag in tags)
