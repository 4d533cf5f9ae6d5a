"""What kubectl prints of what a server answers: tables, and YAML as sigs.k8s.io/yaml writes it. Checked against kubectl v1.37."""

import functools
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import yaml

from app.declared.columns import text_of
from app.wire.tabwriter import in_columns

_LINE_END = re.compile(r"[\f\n\r]")
_INTEGRAL = 2.0**64
"""Up to here Go's yaml reads a double without a fraction as a whole number."""


def table(answer: Mapping[str, Any], *, wide: bool, namespaces: bool) -> str:
    """A Table (meta/v1) as `kubectl get` prints it; with `namespaces` as `kubectl get -A`. "" where it has no rows."""
    definitions = answer["columnDefinitions"]
    shown = [index for index, column in enumerate(definitions) if wide or not column["priority"]]
    rows = [[*(["NAMESPACE"] if namespaces else []), *(definitions[index]["name"].upper() for index in shown)]]
    for row in answer["rows"]:
        of_row = [row["object"]["metadata"].get("namespace", "")] if namespaces else []
        cells = [*of_row, *(_cell(row["cells"][index]) for index in shown)]
        rows.append("\t".join(cells).split("\t"))  # kubectl knows no tab that is part of a cell
    return in_columns(rows, trailing=False) if len(rows) > 1 else ""


def _cell(value: Any) -> str:
    """A cell ends where its line does; what would steer a terminal is shown."""
    if value is None:
        return ""
    text = text_of(value)
    end = _LINE_END.search(text)
    if end is not None:
        text = f"{text[: end.start()]}..."
    return text.replace("\x1b", "^[")


def yaml_text(value: Any) -> str:
    """An object as `kubectl get -o yaml` prints it."""
    return yaml.dump(_ordered(value), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=80)


def _ordered(value: Any) -> Any:
    """The same with the members of mappings in the order in which Go's yaml writes them."""
    if isinstance(value, Mapping):
        return {name: _ordered(value[name]) for name in sorted(value, key=functools.cmp_to_key(_compare))}
    return [_ordered(item) for item in value] if isinstance(value, list | tuple) else value


def _compare(first: str, second: str) -> int:
    """Numbers in names compare as numbers, and letters come behind all else, but for what follows a digit."""
    position = next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), None)
    if position is None:
        return len(first) - len(second)
    a, b = first[position], second[position]
    if a.isalpha() and b.isalpha():
        return -1 if a < b else 1
    if a.isalpha() or b.isalpha():
        behind_digit = position > 0 and first[position - 1].isdigit()
        return -1 if a.isalpha() == behind_digit else 1
    number, other = (_digits(text, position) for text in (first, second))
    if number != other:
        return -1 if number < other else 1
    return -1 if a < b else 1


def _digits(text: str, position: int) -> tuple[int, int]:
    """The number that stands in a text, from its first digit on, and how many digits are left of it at `position`."""
    start = position
    if position < len(text) and text[position] == "0":
        while start > 0 and text[start - 1].isdigit():
            start -= 1
    end = position
    while end < len(text) and text[end].isdigit():
        end += 1
    return (int(text[start:end] or 0), end - position)


class _Dumper(yaml.SafeDumper):
    """PyYAML's emitter with the styles that Go's yaml chooses."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 -- what is the same object twice is written twice
        return True


_Dumper.yaml_implicit_resolvers = {}  # which texts need quotes is told here, and tags are never written
_PLAIN = "tag:yaml.org,2002:str"

_NOT_TEXT = re.compile(
    r"""(?:
        |~|null|Null|NULL
        |true|True|TRUE|false|False|FALSE
        |y|Y|yes|Yes|YES|on|On|ON|n|N|no|No|NO|off|Off|OFF
        |[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)
        |[-+]?(?:0b[01_]+|0o[0-7_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*)
        |[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?
        |[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?
        |[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[\x20\t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}.*)?
    )""",
    re.VERBOSE,
)
"""Texts that YAML would read as something else."""

_BEYOND = re.compile("[\U00010000-\U0010ffff]")
"""Characters that Go's yaml escapes."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = None
    if _NOT_TEXT.fullmatch(text) or _BEYOND.search(text):
        style = '"'
    elif "\n" in text:
        style = "|"
    return dumper.represent_scalar(_PLAIN, text, style=style)


def _double(dumper: yaml.SafeDumper, number: float) -> yaml.Node:
    """kubectl goes by way of JSON, which has no 3.0."""
    if number.is_integer() and abs(number) < _INTEGRAL:
        return dumper.represent_scalar(_PLAIN, format(Decimal(number), "f"))
    return dumper.represent_scalar(_PLAIN, text_of(number))


def _word(dumper: yaml.SafeDumper, value: bool | int | None) -> yaml.Node:
    return dumper.represent_scalar(_PLAIN, "null" if value is None else text_of(value))


_Dumper.add_representer(str, _text)
_Dumper.add_representer(float, _double)
_Dumper.add_representer(int, _word)
_Dumper.add_representer(bool, _word)
_Dumper.add_representer(type(None), _word)
