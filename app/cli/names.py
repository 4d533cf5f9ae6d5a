"""Names as Kubernetes and DNS allow them, for flags that take one."""

import re

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_LABELS = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SERVICE = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_HOST_LABEL = re.compile(r"[A-Za-z0-9_]([-A-Za-z0-9_]{0,61}[A-Za-z0-9_])?")

LABEL = "a Kubernetes name (lower-case letters, digits and dashes, at most 63)"
SERVICE = "a name of a Service (lower-case letters, digits and dashes, a letter first, at most 63)"
OBJECT = "a Kubernetes name (lower-case letters, digits, dashes and dots, at most 253)"


def is_label(name: str) -> bool:
    """An RFC 1123 label: names of namespaces, Deployments' pods and so on."""
    return _LABEL.fullmatch(name) is not None


def is_service(name: str) -> bool:
    """An RFC 1035 label, which a Service's name must be."""
    return _SERVICE.fullmatch(name) is not None


def is_object(name: str) -> bool:
    """An RFC 1123 subdomain: names of Secrets. Kubernetes bounds the whole, and not each label."""
    return len(name) <= 253 and all(_LABELS.fullmatch(part) is not None for part in name.split("."))


def is_host(name: str) -> bool:
    """A DNS name as a certificate may hold it: labels of at most 63, the first perhaps a wildcard (RFC 6125 section 6.4.3)."""
    return len(name) <= 253 and all(_HOST_LABEL.fullmatch(part) is not None for part in name.removeprefix("*.").split("."))
