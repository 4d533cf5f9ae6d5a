"""What is wrong with the expressions of a declaration: CEL and JSONPath, each parsed, and held against the schema."""

from collections.abc import Generator, Iterator, Mapping
from typing import Any

from msgspec import Struct

from app.declared import cel_types, jsonpath
from app.declared.cel import CelError, Program, compile_cel
from app.declared.cel_types import Schema, UnknownMember, descend, misfit
from app.declared.columns import OBJECT_VARIABLES
from app.declared.faults import Path
from app.declared.fresh import Freshness
from app.declared.mapping import PARTS
from app.declared.model import CollectedSpec, ColumnModel, LiveResource, LiveResourceSpec, TestModel
from app.declared.validation import compile_pattern
from app.nearest import nearest_word
from app.wire.label_syntax import faults_of_key

_SPEC: Path = ("spec",)
_OBJECT: Path = ("spec", "object")
_SCHEMA: Path = ("spec", "schema", "openAPIV3Schema")

NAMES = frozenset({"string", "int", "uint", "dyn"})
TEXTS = frozenset({"string", "int", "uint", "bool", "dyn", "timestamp", "duration"})
TIMES = frozenset({"timestamp", "string", "int", "uint", "double", "dyn"})
NUMBERS = frozenset({"int", "uint", "double", "dyn"})

_CELLS = {
    "integer": frozenset({"integer", "number"}),
    "number": frozenset({"integer", "number"}),
    "boolean": frozenset({"boolean"}),
    "date": frozenset({"string"}),
}
"""Types in the schema that a column's type shows; of others the cell would be blank for ever. A string column shows all."""

_CEL_CELLS = {
    "integer": NUMBERS,
    "number": NUMBERS,
    "boolean": frozenset({"bool", "dyn"}),
    "date": frozenset({"timestamp", "string", "dyn"}),
}

_METADATA: Schema = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "namespace": {"type": "string"},
        "creationTimestamp": {"type": "string"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}


class ExpressionFault(Struct, frozen=True):
    """One thing that is wrong: `offset` is the character of the text at `path`, None if it is the whole of it."""

    path: Path
    message: str
    expected: str = ""
    nearest: str = ""
    offset: int | None = None


def faults_of(resource: LiveResource) -> list[ExpressionFault]:
    """All that is wrong with the expressions of a declaration whose shape and schema are well."""
    spec = resource.spec
    schema = Freshness(spec.schema_.openapi_v3_schema).schema(spec.schema_.openapi_v3_schema)
    schema = {"type": "object", "properties": {**schema["properties"], "metadata": _METADATA}}
    return [
        *of_items(spec),
        *_metadata(spec),
        *_parts(spec),
        *_patterns(spec.schema_.openapi_v3_schema, _SCHEMA),
        *(fault for index, each in enumerate(spec.additional_printer_columns) for fault in _column(each, schema, index)),
        *(fault for index, each in enumerate(spec.metrics) for fault in _metric(each.value, schema, index)),
        *_history(spec, schema),
        *(fault for index, test in enumerate(spec.tests) for fault in _test(test, spec, index)),
    ]


def of_items(spec: CollectedSpec) -> Iterator[ExpressionFault]:
    """spec.items."""
    path = (*_SPEC, "items")
    program = yield from compiled(spec.items, {"response": None}, path)
    if program is not None and not program.type.startswith(("list", "dyn")):
        yield ExpressionFault(path, f"gives {program.type}", "a list: each element is an item")


def _metadata(spec: LiveResourceSpec) -> Iterator[ExpressionFault]:
    mapping = spec.object
    for field, text, types, wanted in (
        ("name", mapping.name, NAMES, "string"),
        ("namespace", mapping.namespace, frozenset({"string", "dyn"}), "string"),
        ("creationTimestamp", mapping.creation_timestamp, TIMES, "timestamp, RFC 3339 text or Unix seconds"),
        ("observedAt", mapping.observed_at, TIMES, "timestamp, RFC 3339 text or Unix seconds"),
    ):
        if text is not None:
            yield from of_item(text, (*_OBJECT, field), types, wanted)
    for field, texts in (("labels", mapping.labels), ("annotations", mapping.annotations)):
        for key, text in texts.items():
            if fault := faults_of_key(key):
                yield ExpressionFault((*_OBJECT, field, key), f'"{key}" is no key: {fault.split("; ")[0]}')
            yield from of_item(text, (*_OBJECT, field, key), TEXTS, "string")


def of_item(text: str, path: Path, types: frozenset[str], wanted: str) -> Iterator[ExpressionFault]:
    """An expression over `item` that gives one of `types`."""
    program = yield from compiled(text, {"item": None}, path)
    if program is not None and program.type not in types:
        yield ExpressionFault(path, f"gives {program.type}", wanted)


def _parts(spec: LiveResourceSpec) -> Iterator[ExpressionFault]:
    properties = spec.schema_.openapi_v3_schema.get("properties", {})
    for part in PARTS:
        template = getattr(spec.object, part)
        path = (*_OBJECT, part)
        if template is None:
            if part in spec.schema_.openapi_v3_schema.get("required", ()):
                yield ExpressionFault(_OBJECT, f"the schema requires {part}, and nothing here gives it", part)
        elif part not in properties:
            yield ExpressionFault(path, f"the schema has no {part}", f"properties.{part} in the schema, or no {part} here")
        else:
            yield from _template(template, properties[part], path)


def _template(template: Any, schema: Schema | None, path: Path) -> Iterator[ExpressionFault]:
    """The leaves under object.spec and object.status against the schema of what they fill."""
    if isinstance(template, str):
        program = yield from compiled(template, {"item": None}, path)
        if program is not None and (fault := misfit(schema, program.type)) is not None:
            yield ExpressionFault(path, fault.message, fault.expected)
    elif isinstance(template, Mapping):
        yield from _mapping(template, schema, path)
    elif isinstance(template, list | tuple):
        if schema is not None and schema.get("type", "array") != "array":
            yield ExpressionFault(path, "is a list", f"CEL, or what the schema says: {schema['type']}")
            return
        for index, part in enumerate(template):
            yield from _template(part, schema.get("items") if schema is not None else None, (*path, index))
    else:
        shown = "true" if template is True else "false" if template is False else "null" if template is None else template
        yield ExpressionFault(path, "is not text", f'CEL, and a constant is CEL too: "{shown}"')


def _mapping(template: Mapping[str, Any], schema: Schema | None, path: Path) -> Iterator[ExpressionFault]:
    if schema is not None and schema.get("type", "object") != "object":
        yield ExpressionFault(path, "is a mapping", f"CEL, or what the schema says: {schema['type']}")
        return
    for name, part in template.items():
        try:
            inner = descend(schema, name) if schema is not None else None
        except UnknownMember as unknown:
            yield ExpressionFault((*path, name), f'the schema has no "{name}" here', unknown.expected, unknown.nearest)
            inner = None
        yield from _template(part, inner, (*path, name))
    for name in schema.get("required", ()) if schema is not None else ():
        if name not in template:
            yield ExpressionFault(path, f"the schema requires {name}, and nothing here gives it, so every item would be dropped", name)


def _patterns(schema: Any, path: Path) -> Iterator[ExpressionFault]:
    """Patterns are those of RE2, as in Kubernetes: no text makes them slow."""
    if not isinstance(schema, Mapping):
        return
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        try:
            compile_pattern(pattern)
        except CelError as error:
            yield ExpressionFault((*path, "pattern"), error.message, "a regular expression of RE2")
    for name, part in schema.get("properties", {}).items():
        yield from _patterns(part, (*path, "properties", name))
    for word in ("items", "additionalProperties"):
        yield from _patterns(schema.get(word), (*path, word))


def _column(column: ColumnModel, schema: Schema, index: int) -> Iterator[ExpressionFault]:
    base = (*_SPEC, "additionalPrinterColumns", index)
    if column.cel is not None:
        path = (*base, "cel")
        type_ = yield from _of_object(column.cel, schema, path)
        fits = _CEL_CELLS.get(column.type)
        if type_ is not None and fits is not None and type_ not in fits:
            yield ExpressionFault(path, f"gives {type_}, and the column is of type {column.type}", " or ".join(sorted(fits - {"dyn"})))
    elif column.json_path is not None and column.json_path.startswith("."):
        path = (*base, "jsonPath")
        found = yield from _json_path(column.json_path, schema, path)
        kind = found.get("type") if found is not None else None
        fits = _CELLS.get(column.type)
        if kind is not None and fits is not None and kind not in fits:
            what = f"is {kind} in the schema, so a column of type {column.type} would be blank"
            yield ExpressionFault((*base, "type"), what, nearest=_column_type(kind))


def _column_type(kind: str) -> str:
    return kind if kind in _CELLS else "string"


def _metric(text: str, schema: Schema, index: int) -> Iterator[ExpressionFault]:
    path = (*_SPEC, "metrics", index, "value")
    type_ = yield from _of_object(text, schema, path)
    if type_ is not None and type_ not in NUMBERS:
        yield ExpressionFault(path, f"gives {type_}", "a number: int or double")


def _of_object(text: str, schema: Schema, path: Path) -> Generator[ExpressionFault, None, str | None]:
    """The type of what CEL over the object gives, with faults on the way."""
    properties = schema["properties"]
    schemas = {name: properties.get(name) for name in OBJECT_VARIABLES}
    program = yield from compiled(text, schemas, path)
    if program is None:
        return None
    type_, errors = cel_types.faults_of(program, text, schemas)
    for error in errors:
        yield _fault(path, error)
    return type_


def _history(spec: LiveResourceSpec, schema: Schema) -> Iterator[ExpressionFault]:
    history = spec.subresources.history
    for field in ("trend", "maximum") if history is not None else ():
        text = getattr(history, field)
        if text is None:
            continue
        path = (*_SPEC, "subresources", "history", field)
        found = yield from _json_path(text, schema, path)
        if found is not None and found.get("type") not in {"integer", "number"}:
            yield ExpressionFault(path, f"is {found.get('type', 'of no type')} in the schema", "a field of type integer or number")


def _test(test: TestModel, spec: LiveResourceSpec, index: int) -> Iterator[ExpressionFault]:
    """Objects that a test expects: named as kubectl does, and with fields that there are."""
    properties = spec.schema_.openapi_v3_schema.get("properties", {})
    for name, wanted in test.expect.items.items():
        path = (*_SPEC, "tests", index, "expect", "items", name)
        namespace, slash, _ = name.partition("/")
        if spec.scope == "Cluster" and slash:
            yield ExpressionFault(path, "objects of scope Cluster have no namespace", "NAME")
        elif spec.scope == "Namespaced" and not slash:
            yield ExpressionFault(path, "names no namespace", "NAMESPACE/NAME")
        elif spec.scope == "Namespaced" and namespace not in spec.allow_namespaces:
            near = nearest_word(namespace, spec.allow_namespaces)
            yield ExpressionFault(path, f"{namespace} is not one of allowNamespaces", ", ".join(spec.allow_namespaces), near)
        if not isinstance(wanted, Mapping):
            yield ExpressionFault(path, "is no part of an object", "a mapping with metadata, spec or status")
            continue
        for field in wanted:
            known = ("metadata", *properties, "status")
            if field not in {*known, "apiVersion", "kind"}:
                yield ExpressionFault(
                    (*path, field), "is no field of the object", ", ".join(dict.fromkeys(known)), nearest_word(field, known)
                )


def compiled(text: str, variables: Mapping[str, Any], path: Path) -> Generator[ExpressionFault, None, Program | None]:
    """The program of an expression, or why there is none."""
    try:
        return compile_cel(text, variables)
    except CelError as error:
        yield _fault(path, error)
        return None


def _json_path(text: str, schema: Schema, path: Path) -> Generator[ExpressionFault, None, Schema | None]:
    """The schema of what a path leads to, None if it is not known."""
    try:
        steps = jsonpath.parse(text).steps
    except jsonpath.JsonPathError as error:
        yield ExpressionFault(
            path, error.message, 'a path such as .status.ready, or .status.conditions[?(@.type=="Ready")].status', "", error.offset
        )
        return None
    found: Schema | None = schema
    for step in steps:
        if found is None:
            return None
        try:
            found = _through(found, step)
            if isinstance(step, jsonpath.Where) and found is not None:
                inner: Schema | None = found
                for field in step.path:
                    step = field  # noqa: PLW2901 -- it is where a fault is
                    inner = descend(inner, field.name) if inner is not None else None
        except UnknownMember as unknown:
            yield ExpressionFault(path, f'the schema has no "{unknown.args[0]}" here', unknown.expected, unknown.nearest, step.at)
            return None
    return found


def _through(schema: Schema, step: jsonpath.Step) -> Schema | None:
    """The schema behind one step. Raises UnknownMember."""
    if isinstance(step, jsonpath.Field):
        return descend(schema, step.name)
    if schema.get("type") == "array":
        items: Schema | None = schema.get("items")
        return items
    additional = schema.get("additionalProperties")
    return additional if isinstance(additional, Mapping) else None


def _fault(path: Path, error: CelError) -> ExpressionFault:
    return ExpressionFault(path, error.message, error.expected, error.nearest, error.offset)
