"""Whether a value has the shape of a model: pydantic's errors in Kubernetes' words, and what can still be looked at in spite of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from app.declared.faults import Path
from app.declared.finding import MOST_FINDINGS, Finding, listed, shown
from app.nearest import nearest_word

M = TypeVar("M", bound=BaseModel)

_ROUNDS = 8  # rules of models between fields are told only when the fields are well
_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "list_type": "a list",
    "tuple_type": "a list",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}
_WORDS_OF_YAML_1_1 = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}


class Wrong:
    """Paths where a model does not say what the value says."""

    def __init__(self) -> None:
        self._paths: set[Path] = set()
        self._around: set[Path] = set()

    def __bool__(self) -> bool:
        return bool(self._paths)

    def add(self, path: Path) -> None:
        """Add a path."""
        self._paths.add(path)
        self._around.update(path[:length] for length in range(len(path) + 1))

    def covers(self, path: Path) -> bool:
        """Whether `path` is one of them, or inside of one."""
        return any(path[:length] in self._paths for length in range(len(path) + 1))

    def touches(self, path: Path) -> bool:
        """Whether `path` is one of them, inside of one, or has one inside."""
        return path in self._around or self.covers(path)


class Shaped(NamedTuple, Generic[M]):
    """What could be made of a value. Where it is wrong, `model` has something else in place (None if that does not help either)."""

    model: M | None
    findings: Sequence[Finding]
    wrong: Wrong


def shaped(model: type[M], value: Any, *, secret: bool = False) -> Shaped[M]:
    """`value` as a model, with all that is wrong with it. With `secret`, no value is shown."""
    rest = _copy(value)
    findings: dict[Path, Finding] = {}
    wrong = Wrong()
    for _ in range(_ROUNDS):
        try:
            return Shaped(model.model_validate(rest), list(findings.values()), wrong)
        except ValidationError as err:
            for path, details in _by_path(err, rest).items():
                # What a model says of its fields together is not told while one of them is wrong.
                if not (wrong.touches(path) if details[0]["type"] == "value_error" else wrong.covers(path)):
                    finding = findings.setdefault(path, _finding(path, details, model, secret=secret))
                    wrong.add((*path[:-1], finding.nearest) if finding.key else path)
                if len(findings) > MOST_FINDINGS:
                    return Shaped(None, list(findings.values()), wrong)
                rest = _mended(rest, path, details[0]["type"], model)
    return Shaped(None, list(findings.values()), wrong)


def _by_path(err: ValidationError, value: Any) -> dict[Path, list[ErrorDetails]]:
    """The errors by where they are in `value`.

    Unknown fields come first: what one was most likely meant to be is neither missing nor at its default. Where a value may be of several
    types each of them has errors; those of a type that the value is not of say nothing if there is another one that has others.
    """
    details = sorted(err.errors(include_url=False), key=lambda each: each["type"] != "extra_forbidden")
    placed = [(_path(each, value), each) for each in details]
    better = {path[:length] for path, _ in placed for length in range(len(path))}
    better |= {path for path, each in placed if each["type"] not in _EXPECTED}
    found: dict[Path, list[ErrorDetails]] = {}
    for path, each in placed:
        if each["type"] not in _EXPECTED or path not in better:
            found.setdefault(path, []).append(each)
    return found


def _copy(value: Any) -> Any:
    """A copy that shares no mapping or list with itself: aliases do."""
    if isinstance(value, dict):
        return {key: _copy(part) for key, part in value.items()}
    return [_copy(part) for part in value] if isinstance(value, list) else value


def _path(detail: ErrorDetails, within: Any) -> Path:
    """Where in `within` pydantic points to, without the names of unions' members and of keys' checks that it puts in between."""
    location, path, value = detail["loc"], [], within
    for index, part in enumerate(location):
        if _has(value, part):
            path.append(part)
            value = value[part]
        elif detail["type"] == "missing" and index == len(location) - 1:
            path.append(part)
    return tuple(path)


def _has(value: Any, part: str | int) -> bool:
    if isinstance(value, list):
        return isinstance(part, int) and part < len(value)
    return isinstance(value, dict) and part in value


def _finding(path: Path, details: Sequence[ErrorDetails], model: type[BaseModel], *, secret: bool) -> Finding:
    detail = details[0]
    kind, value = detail["type"], detail["input"]
    if kind == "extra_forbidden":
        known = [name for each in _models_at(model, path[:-1]) for name in _fields(each)]
        return Finding(path, "unknown field", nearest=nearest_word(str(path[-1]), known), key=True)
    if kind == "missing":
        return Finding(path, "Required value")
    if kind == "value_error":
        return Finding(path, str(detail["ctx"]["error"]))
    if kind == "literal_error":
        choices = [str(choice) for each in _annotations_at(model, path) if get_origin(each) is Literal for choice in get_args(each)]
        near = nearest_word(value, choices) if isinstance(value, str) else ""
        return Finding(path, _said("Unsupported", value, secret=secret), listed(choices), near)
    near = _WORDS_OF_YAML_1_1.get(value.lower(), "") if kind == "bool_type" and isinstance(value, str) else ""
    expected = dict.fromkeys(_EXPECTED.get(each["type"]) or _bound(each) for each in details)
    return Finding(path, _said("Invalid", value, secret=secret), " or ".join(expected), near)


def _said(word: str, value: Any, *, secret: bool) -> str:
    return f"{word} value" if secret and value is not None else f"{word} value: {shown(value)}"


def _bound(detail: ErrorDetails) -> str:
    """What a bound wants. Other errors in pydantic's words."""
    limits = detail.get("ctx", {})
    unit = {"string": "character", "too": "item"}.get(detail["type"].split("_")[0], "")
    for name, text in (("ge", "at least"), ("min_length", "at least"), ("le", "at most"), ("max_length", "at most"), ("gt", "more than")):
        if name in limits:
            return f"{text} {limits[name]}{f' {unit}' if unit else ''}{'s' if unit and limits[name] != 1 else ''}"
    return detail["msg"].replace("Input should", "to").replace("String should", "to")


def _mended(value: Any, path: Path, kind: str, model: type[BaseModel]) -> Any:
    """`value` without what is wrong at `path`: it goes if it may be left out, else something stands in."""
    if not path:
        return _stand_in(model)
    parent: Any = value
    for part in path[:-1]:
        parent = parent[part]
    last = path[-1]
    if kind == "extra_forbidden" or (isinstance(parent, dict) and not _is_required(model, path)):
        parent.pop(last, None)
    elif parent is not None:
        stand_ins = _annotations_at(model, path)
        parent[last] = _stand_in(stand_ins[0]) if stand_ins else None
    return value


def _is_required(model: type[BaseModel], path: Path) -> bool:
    fields = [field for each in _models_at(model, path[:-1]) if (field := _fields(each).get(str(path[-1]))) is not None]
    return any(field.is_required() for field in fields)


def _models_at(model: type[BaseModel], path: Path) -> list[type[BaseModel]]:
    return [each for each in _annotations_at(model, path) if isinstance(each, type) and issubclass(each, BaseModel)]


def _annotations_at(annotation: Any, path: Path) -> list[Any]:
    """The types that a value at `path` may have."""
    found = list(_members(annotation))
    for part in path:
        found = [inner for each in found for inner in _inside(each, part)]
    return found


def _inside(annotation: Any, part: str | int) -> Iterator[Any]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        field = _fields(annotation).get(str(part))
        if field is not None:
            yield from _members(field.annotation)
        return
    inner = get_args(annotation)
    if get_origin(annotation) is dict and inner:
        yield from _members(inner[1])
    elif get_origin(annotation) in {list, tuple} and inner:
        yield from _members(inner[0])


def _members(annotation: Any) -> Iterator[Any]:
    """The plain types of an annotation: of a union each, None left out, and without what Annotated adds."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _members(get_args(annotation)[0])
    elif origin in {Union, UnionType}:
        for each in get_args(annotation):
            yield from _members(each)
    elif annotation is not type(None):
        yield annotation


def _fields(model: type[BaseModel]) -> Mapping[str, Any]:
    """A model's fields by the names that declarations use."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _stand_in(annotation: Any) -> Any:
    """The smallest value of a type, so that the rest of a declaration can be looked at."""
    annotation = next(_members(annotation), None)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {name: _stand_in(field.annotation) for name, field in _fields(annotation).items() if field.is_required()}
    inner = get_args(annotation)
    makers: dict[Any, Callable[[], Any]] = {
        Literal: lambda: inner[0],
        list: lambda: [_stand_in(inner[0])] if inner else [],
        dict: lambda: {"x": _stand_in(inner[1])} if inner else {},
        str: lambda: "x",
        int: lambda: 1,
        float: lambda: 1,
        bool: lambda: False,
    }
    make = makers.get(get_origin(annotation) or annotation)
    return make() if make is not None else None
