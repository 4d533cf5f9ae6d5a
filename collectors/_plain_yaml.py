"""YAML with the types of JSON (the core schema of YAML 1.2, decimal numbers): times, `yes` and `12:30` are text."""

import re
from typing import Any

import yaml

try:
    from yaml import CSafeLoader as _Loader
except ImportError:  # PyYAML without libyaml
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

_TAG = "tag:yaml.org,2002:"


class _PlainLoader(_Loader):
    """Knows null, booleans, integers and floats as JSON does, and nothing else."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 -- filled below

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """Keys are the text that they are written with: 1 and true would be one key in Python."""
        if not all(isinstance(key, yaml.ScalarNode) for key, _ in node.value):
            raise ValueError("a key is no text")
        return {key.value: self.construct_object(value, deep=deep) for key, value in node.value}


_PlainLoader.add_implicit_resolver(f"{_TAG}null", re.compile(r"(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""])
_PlainLoader.add_implicit_resolver(f"{_TAG}bool", re.compile(r"(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))
_PlainLoader.add_implicit_resolver(f"{_TAG}int", re.compile(r"[-+]?[0-9]+$"), list("-+0123456789"))
_PlainLoader.add_implicit_resolver(
    f"{_TAG}float", re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$"), list("-+.0123456789")
)
_PlainLoader.add_constructor(f"{_TAG}int", lambda _, node: int(node.value))
_PlainLoader.add_constructor(f"{_TAG}float", lambda _, node: float(node.value))


def load(body: bytes) -> Any:
    """The one document of `body`. Raises ValueError, or RecursionError.

    Anchors are refused: aliases of aliases let a body of a few lines stand for gigabytes.
    """
    try:
        for event in yaml.parse(body, Loader=_PlainLoader):
            if getattr(event, "anchor", None) is not None:
                raise ValueError("anchors and aliases are not taken")
        return _plain(yaml.load(body, Loader=_PlainLoader))  # noqa: S506 -- a subclass of SafeLoader
    except (yaml.YAMLError, OverflowError, TypeError, AttributeError, LookupError) as exc:
        raise ValueError(" ".join(str(exc).split())) from exc


def _plain(value: Any) -> Any:
    """`value` if JSON could have written it."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, float) and value - value != 0:
        raise ValueError("a number is infinite")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise ValueError(f"a value of type {type(value).__name__} has no form in JSON")
