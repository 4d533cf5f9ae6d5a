"""A text that may hold declarations, wherever it was found: a file, or a key of a ConfigMap."""

from msgspec import Struct

ENDS = (".yaml", ".yml", ".json")
"""Ends of the names of files, and of keys of ConfigMaps, that are read."""


class Text(Struct, frozen=True):
    """`file` is what the places in it name. `namespace` is the tenant's that it belongs to, "" where it is kubeglance's own.

    `fault` tells why it cannot be read now: then what is known from before stays.
    """

    file: str
    content: str
    namespace: str = ""
    fault: str = ""


def is_read(name: str) -> bool:
    """Whether a file or key of that name holds declarations. Hidden files do not: editors and kubelets keep their own so."""
    return name.endswith(ENDS) and not name.startswith(".")
