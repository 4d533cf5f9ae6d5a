"""Names as Kubernetes allows them, and names of objects that come from data: valid ones stay as they are, others become a slug with a hash.

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
_LONGEST_LABEL = 63
_HASH = 8
_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_LABEL_1123 = re.compile(_LABEL)
_LABEL_1035 = re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_OTHERS = re.compile(r"[^a-z0-9]+")


def is_label(text: str) -> bool:
    """Whether it is an RFC 1123 label, of at most 63 characters: names of namespaces, Deployments' pods and so on."""
    return len(text) <= _LONGEST_LABEL and _LABEL_1123.fullmatch(text) is not None


def is_label_1035(text: str) -> bool:
    """Whether it is an RFC 1035 label, of at most 63 characters, a letter first: names of Services, plurals of kinds."""
    return len(text) <= _LONGEST_LABEL and _LABEL_1035.fullmatch(text) is not None


def is_name(text: str) -> bool:
    """Whether Kubernetes takes it for the name of an object: a DNS-1123 subdomain. The whole is bounded to 253, and not each label."""
    return len(text) <= _LONGEST and _SUBDOMAIN.fullmatch(text) is not None


def is_group(text: str) -> bool:
    """Whether it can be the API group of kinds that are not Kubernetes' own: a name with a dot in it."""
    return "." in text and is_name(text)


@lru_cache(maxsize=16_384)
def object_name(source: str) -> str:
    """The object's name for a name in a source: "orders" -> "orders", "eu/Orders" -> "eu-orders-89ea4b9a", "***" -> "x-" and a hash."""
    if is_name(source):
        return source
    return _slug(source, _LONGEST)


def label_name(source: str) -> str:
    """The same for objects whose names are RFC 1123 labels: of at most 63 characters, and without dots."""
    return source if is_label(source) else _slug(source, _LONGEST_LABEL)


def _slug(source: str, longest: int) -> str:
    digest = hashlib.sha256(source.encode(errors="replace")).hexdigest()[:_HASH]
    slug = _OTHERS.sub("-", source.lower()).strip("-")[: longest - _HASH - 1].rstrip("-")
    return f"{slug or 'x'}-{digest}"
