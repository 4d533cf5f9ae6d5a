"""Sources. One public module is one source; a module with a leading underscore is machinery. Nothing here imports app."""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # who asks kubelets alone does not pay for the models of declared sources
    from collectors._source import SourceType


@cache
def sources() -> Mapping[str, "SourceType"]:
    """The sources that a declaration can name, by name: the SOURCE of each public module that has one."""
    modules = (importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__) if found.name[0] != "_")
    found: dict[str, SourceType] = {module.SOURCE.name: module.SOURCE for module in modules if hasattr(module, "SOURCE")}
    return dict(sorted(found.items()))
