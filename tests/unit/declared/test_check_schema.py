"""Schemas: structural, sortable, and with nothing in them that is not understood."""

import pytest

from tests.unit.declared.canonical import COOL
from tests.unit.declared.checking import said


def cool_with(schema: str) -> str:
    """CoolResource with another schema, and without what needs the old one."""
    return f"{COOL[: COOL.index('schema:')]}schema: {schema}\n"


def schema_faults(part: str) -> list[str]:
    """The faults of what stands for status.x in a schema, without their places."""
    schema = f"{{openAPIV3Schema: {{type: object, properties: {{status: {{type: object, properties: {{x: {part}}}}}}}}}}}"
    text = cool_with(schema)
    where = "spec.schema.openAPIV3Schema.properties.status.properties.x"
    found = [each.split(": ", 1)[1] for each in said(text)]
    assert all(each.startswith(where) for each in found), found
    return [each.removeprefix(where).removeprefix(".") for each in found]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        pytest.param("{type: integer, format: int64, minimum: 0, maximum: 9, description: x}", [], id="good"),
        pytest.param("{type: string, enum: [a, b], pattern: '^[ab]$', maxLength: 1, nullable: true}", [], id="good text"),
        pytest.param("{type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}", [], id="good list"),
        pytest.param("{type: object, additionalProperties: {type: string}}", [], id="good map"),
        pytest.param("{x-kubernetes-int-or-string: true}", [], id="number or text"),
        pytest.param("{type: number, multipleOf: 0.5}", [], id="steps of a half"),
        pytest.param("[]", [": Invalid value: a list; expected a schema: a mapping with a type"], id="a schema is a mapping"),
        pytest.param(
            "{type: number}",
            [
                (
                    "type: kubectl get --sort-by fails where one object has 3 and another 3.5"
                    "; expected integer with the unit in the field's name, string for a quantity, or multipleOf"
                )
            ],
            id="no fractions",
        ),
        pytest.param(
            "{$ref: '#/definitions/x'}",
            [
                'type: Required value; expected "object", "array", "string", "integer", "number" or "boolean"',
                "$ref: not supported; expected the schema itself: a structural schema has no references",
            ],
            id="no references",
        ),
        pytest.param(
            "{type: string, anyOf: []}",
            ["anyOf: not supported; expected what it says written out as type, properties and bounds"],
            id="no alternatives",
        ),
        pytest.param("{type: string, default: x}", ["default: not supported; expected the CEL of the field to give it"], id="no defaults"),
        pytest.param(
            "{type: object, x-kubernetes-validations: []}",
            ["x-kubernetes-validations: not supported; expected minimum, maxLength, pattern, enum and the like"],
            id="no rules in CEL",
        ),
        pytest.param("{type: string, maxLenght: 3}", ['maxLenght: unknown field; did you mean "maxLength"?'], id="a word that is misspelt"),
        pytest.param("{type: string, x-mine: 3}", ["x-mine: unknown field"], id="a word of one's own"),
        pytest.param("{type: string, maxLength: -1}", ["maxLength: Invalid value: -1; expected a whole number from 0 on"], id="a count"),
        pytest.param("{type: string, pattern: 5}", ["pattern: Invalid value: 5; expected a regular expression"], id="a pattern"),
        pytest.param(
            "{type: string, minimum: 1}",
            ["minimum: has no meaning for type string; expected type integer or number"],
            id="a bound of another type",
        ),
        pytest.param(
            "{type: integer, minimum: 3, maximum: 2}",
            ["maximum: Invalid value: 2; expected at least minimum, which is 3"],
            id="bounds with nothing between",
        ),
        pytest.param("{type: integer, multipleOf: 0}", ["multipleOf: Invalid value: 0; expected a number above 0"], id="steps of nothing"),
        pytest.param(
            "{type: integer, enum: [1, 1, a]}",
            ["enum[1]: Duplicate value: 1", 'enum[2]: Invalid value: "a"; expected a value of type integer'],
            id="values of enum",
        ),
        pytest.param(
            "{type: string, enum: []}", ["enum: Invalid value: a list; expected a list with at least one value"], id="an empty enum"
        ),
        pytest.param(
            "{type: string, format: int46}",
            [
                (
                    'format: Invalid value: "int46"; expected one of "binary", "byte", "date", "date-time", "double", "duration", '
                    '"float", "int32", "int64", "password", "quantity" or "uuid"; did you mean "int64"?'
                )
            ],
            id="a format",
        ),
        pytest.param("{type: array}", ["items: Required value; expected the schema of the list's items"], id="items of a list"),
        pytest.param("{type: array, items: []}", ["items: Invalid value: a list; expected a schema"], id="one schema for all items"),
        pytest.param(
            "{type: object, additionalProperties: true}",
            ["additionalProperties: Invalid value: true; expected a schema"],
            id="a boolean breaks the cluster's OpenAPI",
        ),
        pytest.param(
            "{type: object, properties: {a: {type: string}}, additionalProperties: {type: string}}",
            ["additionalProperties: Forbidden: properties are there already; expected one of the two"],
            id="properties or any",
        ),
        pytest.param(
            "{type: object, properties: {ready: {type: string}}, required: [redy, ready, ready]}",
            [
                'required[0]: Invalid value: "redy"; expected a name of properties; did you mean "ready"?',
                'required[2]: Duplicate value: "ready"',
            ],
            id="required fields are there",
        ),
        pytest.param(
            "{type: object, x-kubernetes-preserve-unknown-fields: false}",
            ["x-kubernetes-preserve-unknown-fields: Invalid value: false; expected true"],
            id="a switch that is on or not there",
        ),
        pytest.param(
            "{type: string, x-kubernetes-int-or-string: true}",
            ["type: Forbidden: x-kubernetes-int-or-string has two types; expected no type"],
            id="two types",
        ),
        pytest.param(
            "{type: object, properties: {a: {type: array, items: {type: strin}}}}",
            [
                (
                    'properties.a.items.type: Invalid value: "strin"'
                    '; expected one of "object", "array", "string", "integer", "number" or "boolean"; did you mean "string"?'
                )
            ],
            id="at any depth",
        ),
    ],
)
def test_schema(part: str, expected: list[str]) -> None:
    """Structural, sortable, and with nothing in it that is not understood."""
    assert expected == schema_faults(part)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param(
            "{type: object, properties: {apiVersion: {type: string}, kind: {type: string}, metadata: {type: object}}}",
            [],
            id="what every object has may be repeated",
        ),
        pytest.param(
            "{type: string}", ['spec.schema.openAPIV3Schema.type: Invalid value: "string"; expected "object"'], id="an object is an object"
        ),
        pytest.param(
            "{type: object, properties: {kind: {type: integer}}}",
            ["spec.schema.openAPIV3Schema.properties.kind.type: every object has kind, and it is a string; expected no schema of it"],
            id="kind is text",
        ),
        pytest.param(
            "{type: object, properties: {statis: {type: object}}}",
            [
                (
                    "spec.schema.openAPIV3Schema.properties.statis: only spec and status can be filled"
                    '; expected "spec" or "status"; did you mean "status"?'
                )
            ],
            id="only spec and status",
        ),
    ],
)
def test_schema_of_the_object(schema: str, expected: list[str]) -> None:
    """At the root there is what an object has."""
    text = cool_with(f"{{openAPIV3Schema: {schema}}}")

    assert expected == [each.split(": ", 1)[1] for each in said(text)]
