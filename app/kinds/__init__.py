"""Kinds: pure projections from what is known of a node or pod to an object. One public module is one kind and has one `KIND`.

Discovery, OpenAPI, RBAC rows and manifests derive from what a KIND declares about itself.
"""

import pkgutil
from importlib import import_module

from app.kinds._base import Kind

_OF_STORE = ("node_metrics", "pod_metrics")
"""The modules of kinds of which the store publishes the objects as scrapes come in. All others are joined, or put in, by who wires them."""

_OF_SOURCES = ("collectors", "servedmetrics")


def published() -> tuple[Kind, ...]:
    """The kinds whose objects the store publishes. They are served always, and load no others."""
    return tuple(map(_kind, _OF_STORE))


def of_sources() -> tuple[Kind, ...]:
    """The kinds that tell how sources are, and which metrics are made of them."""
    return tuple(map(_kind, _OF_SOURCES))


def _kind(module: str) -> Kind:
    kind: Kind = import_module(f"{__name__}.{module}").KIND
    return kind


def load() -> tuple[Kind, ...]:
    """Every built-in kind: a new one is a new file in this package, and nothing else."""
    modules = sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))
    return tuple(map(_kind, modules))
