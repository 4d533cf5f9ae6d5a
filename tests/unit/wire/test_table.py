"""The parts of tables and lists."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import Problem
from app.wire.table import encode_columns, parse_include_object


@pytest.mark.parametrize(("query", "include"), [({}, "Metadata"), ({"includeObject": ""}, "Metadata"), ({"includeObject": "None"}, "None")])
def test_include_object(query: dict[str, str], include: str) -> None:
    """Metadata is the default."""
    assert include == parse_include_object(query)


def test_bad_include_object() -> None:
    """All else is 400 with upstream's text."""
    with pytest.raises(Problem) as caught:
        parse_include_object({"includeObject": "all"})

    fault = "includeObject: Invalid value: \"all\": must be 'Metadata', 'Object', 'None', or empty"
    assert (400, f"Unable to convert to Table as requested: {fault}") == (caught.value.code, caught.value.message)


def test_columns_are_complete() -> None:
    """No field of a column definition is left out."""
    column = {"priority": 1, "name": "Name", "type": "string", "format": "", "description": ""}

    assert [["name", "type", "format", "description", "priority"]] == [list(item) for item in json.loads(encode_columns([column]))]


@given(st.text(max_size=20))
def test_include_object_never_crashes(text: str) -> None:
    """Any value is one of three, or a Problem 400."""
    with suppress(Problem):
        assert parse_include_object({"includeObject": text}) in {"Metadata", "Object", "None"}
