"""CEL against schemas: whether the members that an expression asks for exist, and whether its types fit together.

The runtime knows the types of variables, not those of members of maps. So the members on the way are looked up here; and to check types
the path to a member that has one, such as `status.ready`, is replaced by a variable of that type with a name of the same length.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from app.declared.cel import CelError, Program, checked_type
from app.declared.cel_syntax import Call, Literal, Loop, Many, Member, Name, Node
from app.nearest import nearest_word

Schema = Mapping[str, Any]
Schemas = Mapping[str, Schema | None]
"""Schemas of variables by their names; None where nothing is known of one."""

_OF_TYPES = {"integer": "int", "number": "double", "string": "string", "boolean": "bool"}
_FITS = {
    "integer": frozenset({"int", "uint"}),
    "number": frozenset({"int", "uint", "double"}),
    "string": frozenset({"string", "timestamp", "duration"}),
    "boolean": frozenset({"bool"}),
}
_WANTED = {"array": "a list", "object": "a map"}
_CONVERSIONS = {"integer": "int(...)", "number": "double(...)", "string": "string(...)"}


_OF_NUMBERS = re.compile(r'"([<>]=?|[=!]=)" cannot take (double|u?int) and (double|u?int)')


def type_of(schema: Schema | None) -> str:
    """The type of values of a schema, as CEL writes it."""
    if schema is None or schema.get("nullable") is True or schema.get("x-kubernetes-int-or-string"):
        return "dyn"
    kind = schema.get("type")
    if kind == "array":
        return f"list({type_of(schema.get('items'))})"
    if kind == "object":
        return f"map(string, {type_of(schema.get('additionalProperties'))})"
    return _OF_TYPES.get(kind or "", "dyn")


def misfit(schema: Schema | None, type_: str) -> CelError | None:
    """Why a value of a CEL type can never be one of a schema, None if it can."""
    if schema is None or type_ == "dyn" or (type_ == "null" and schema.get("nullable") is True):
        return None
    kind = schema.get("type", "")
    if schema.get("x-kubernetes-int-or-string"):
        fits, wanted = type_ in {"int", "uint", "string"}, "int or string"
    elif kind in _WANTED:
        fits, wanted = type_.startswith("list" if kind == "array" else "map"), _WANTED[kind]
    elif kind in _FITS:
        fits, wanted = type_ in _FITS[kind], f"{_OF_TYPES[kind]}, as the schema says {kind}"
    else:
        return None
    if fits:
        return None
    convertible = kind in _CONVERSIONS and type_ in {"int", "uint", "double", "string", "bool"}
    return CelError(f"gives {type_}", expected=f"{wanted}: {_CONVERSIONS[kind]} around it" if convertible else wanted)


def faults_of(program: Program, text: str, schemas: Schemas) -> tuple[str, list[CelError]]:
    """The type of what an expression gives, told by the schemas of its variables, and all that is wrong with its members and types."""
    walk = _Walk(text, schemas)
    walk.schema_of(program.tree, {})
    try:
        return _typed(text, program, walk, schemas), walk.faults
    except CelError as error:
        # Types that are known are compared strictly, those that are not as CEL says: 1.5 > 1. An expression is evaluated in the second way.
        harmless = _OF_NUMBERS.fullmatch(error.message) is not None
        return program.type, walk.faults if harmless else [*walk.faults, error]


def _typed(text: str, program: Program, walk: "_Walk", schemas: Schemas) -> str:
    types = {name: _of_variable(schema) for name, schema in schemas.items()}
    typed = text
    for (start, path), type_ in walk.typed.items():
        stand_in = "_".join(path)
        end = start + len(stand_in)
        if text[start:end] == ".".join(path) and types.setdefault(stand_in, type_) == type_ and not re.search(rf"\b{stand_in}\b", text):
            typed = typed[:start] + stand_in + typed[end:]
    return checked_type(typed, types) if typed != text or "dyn" not in types.values() else program.type


def _of_variable(schema: Schema | None) -> str:
    """Members of a variable have types of their own, whatever the schema says of additional ones."""
    type_ = type_of(schema)
    return "map(string, dyn)" if type_.startswith("map") else type_


class _Walk:
    """Looks up members in schemas, from the leaves of a tree to its root."""

    def __init__(self, text: str, schemas: Schemas) -> None:
        self._text = text
        self._schemas = schemas
        self.faults: list[CelError] = []
        self.typed: dict[tuple[int, tuple[str, ...]], str] = {}
        """Paths to members that have a type, by where they stand."""

    def schema_of(self, node: Node, loops: Schemas) -> Schema | None:
        """The schema of what a node gives, None if it is not known. `loops` are the variables of loops around it."""
        match node:
            case Name(name=name):
                return loops[name] if name in loops else self._schemas.get(name)
            case Member():
                return self._member(node, loops)
            case Call(function="_[_]" | "_?._" | "_[?_]", arguments=(of, key)):
                self.schema_of(key, loops)
                return self._element(self.schema_of(of, loops), key, node.at)
            case Call(target=target, arguments=arguments):
                for part in (*((target,) if target is not None else ()), *arguments):
                    self.schema_of(part, loops)
            case Many(parts=parts):
                for part in parts:
                    self.schema_of(part, loops)
            case Loop():
                return self._loop(node, loops)
        return None

    def _member(self, node: Member, loops: Schemas) -> Schema | None:
        schema = self._descend(self.schema_of(node.of, loops), node.field, node.at)
        path = _path(node)
        type_ = type_of(schema)
        if path is not None and not node.asked and path[1][0] not in loops and type_ not in {"dyn", "map(string, dyn)"}:
            start = path[0]
            for length in range(2, len(path[1])):  # of paths in each other only the longest stands for a variable
                self.typed.pop((start, path[1][:length]), None)
            self.typed[path] = type_
        return schema

    def _element(self, schema: Schema | None, key: Node, at: int) -> Schema | None:
        if schema is None:
            return None
        if schema.get("type") == "array":
            items: Schema | None = schema.get("items")
            return items
        if isinstance(key, Literal) and isinstance(key.value, str):
            return self._descend(schema, key.value, at)
        additional = schema.get("additionalProperties")
        return additional if isinstance(additional, Mapping) else None

    def _descend(self, schema: Schema | None, name: str, at: int) -> Schema | None:
        """The schema of a member whose name stands behind character `at`."""
        if schema is None:
            return None
        try:
            return descend(schema, name)
        except UnknownMember as unknown:
            found = re.search(rf"\b{re.escape(name)}\b", self._text[at:])
            place = at + found.start() if found is not None else at
            self.faults.append(CelError(f'the schema has no "{name}" here', place, nearest=unknown.nearest, expected=unknown.expected))
            return None

    def _loop(self, loop: Loop, loops: Schemas) -> Schema | None:
        over = self.schema_of(loop.over, loops)
        element = over.get("items") if over is not None and over.get("type") == "array" else None
        inside = {**loops, loop.variable: element, loop.total: None}
        for part in (loop.start, loop.goes_on, loop.step, loop.result):
            self.schema_of(part, inside)
        return over if _keeps_elements(loop) else None


def _keeps_elements(loop: Loop) -> bool:
    """Whether a loop is a filter: what it gives are elements of what it goes over."""
    match loop.step:
        case Call(function="_?_:_", arguments=(_, Call(function="_+_", arguments=(_, Many(parts=(Name(name=name),)))), Name())):
            return name == loop.variable
    return False


def _path(node: Node) -> tuple[int, tuple[str, ...]] | None:
    """Where a path of plain members begins, and its names; None for any other node."""
    names: list[str] = []
    while isinstance(node, Member):
        names.append(node.field)
        node = node.of
    return (node.at, (node.name, *reversed(names))) if isinstance(node, Name) else None


class UnknownMember(Exception):
    """A name that a schema does not have; `nearest` is one that it has, `expected` lists them where none is near."""

    def __init__(self, name: str, known: Iterator[str]) -> None:
        super().__init__(name)
        names = sorted(known)
        self.nearest = nearest_word(name, names)
        self.expected = f"one of {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}" if names and not self.nearest else ""


def descend(schema: Schema, name: str) -> Schema | None:
    """The schema of a member, None where nothing is known of it. Raises UnknownMember."""
    properties = schema.get("properties", {})
    if name in properties:
        found: Schema = properties[name]
        return found
    additional = schema.get("additionalProperties")
    if isinstance(additional, Mapping):
        return additional
    if schema.get("type") != "object" or schema.get("x-kubernetes-preserve-unknown-fields") is True:
        return None
    raise UnknownMember(name, iter(properties))
