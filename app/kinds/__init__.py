"""Kinds: pure projections from what is known of a node or pod to an object. One public module is one kind and has one `KIND`.

Discovery, OpenAPI, RBAC rows and manifests derive from what a KIND declares about itself.
"""

import pkgutil
from importlib import import_module

from app.kinds._base import Kind


def load() -> tuple[Kind, ...]:
    """Every built-in kind: a new one is a new file in this package, and nothing else."""
    modules = sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))
    return tuple(import_module(f"{__name__}.{name}").KIND for name in modules)
