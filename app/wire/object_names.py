"""Names of objects that come from data: valid ones stay as they are, others become a slug with a hash.

The hash is of the name alone, so an object's name never depends on which others there are: "Orders" and "orders" both live.
"""

import hashlib
import re
from functools import lru_cache

SOURCE_NAME = "kubeglance.io/source-name"
"""The annotation with the name as the source has it, on objects whose own name is another."""

MOST_CHARACTERS = 1024
"""Of a name in the source."""

_LONGEST = 253
_HASH = 8
_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_OTHERS = re.compile(r"[^a-z0-9]+")


def is_name(text: str) -> bool:
    """Whether Kubernetes takes it for the name of an object: a DNS-1123 subdomain of at most 253 characters."""
    return len(text) <= _LONGEST and _SUBDOMAIN.fullmatch(text) is not None


@lru_cache(maxsize=16_384)
def object_name(source: str) -> str:
    """The object's name for a name in a source: "orders" -> "orders", "eu/Orders" -> "eu-orders-89ea4b9a", "***" -> "x-" and a hash."""
    if is_name(source):
        return source
    digest = hashlib.sha256(source.encode(errors="replace")).hexdigest()[:_HASH]
    slug = _OTHERS.sub("-", source.lower()).strip("-")[: _LONGEST - _HASH - 1].rstrip("-")
    return f"{slug or 'x'}-{digest}"
