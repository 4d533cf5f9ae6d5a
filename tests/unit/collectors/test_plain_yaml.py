"""collectors/_plain_yaml.py: YAML with the types of JSON."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors._base import CollectError
from collectors._http_body import Format, decode_body
from collectors._plain_yaml import load

_FORMS: tuple[Format, ...] = ("json", "yaml")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1\nb: [x, 2.5, true, null, ~]", {"a": 1, "b": ["x", 2.5, True, None, None]}),
        ("when: 2025-11-30\ntime: 12:30\nanswer: yes", {"when": "2025-11-30", "time": "12:30", "answer": "yes"}),
        ("010", 10),
        ("0x10", "0x10"),
        (".inf", ".inf"),
        ("1e3", 1000.0),
        ("{1: a, true: b, null: c}", {"1": "a", "true": "b", "null": "c"}),
        ("<<: x", {"<<": "x"}),
        ("", None),
        ("'1'", "1"),
    ],
    ids=["types", "times-and-yes-are-text", "no-octal", "no-hex", "no-infinity", "float", "keys-are-text", "no-merge", "nothing", "quoted"],
)
def test_values(text: str, value: Any) -> None:
    """What JSON could have said, and nothing else."""
    found = load(text.encode())

    assert (value, type(value)) == (found, type(found))


@pytest.mark.parametrize(
    "text",
    [
        "a: &x 1\nb: *x",
        "a: [",
        "a: !!binary aGk=",
        "!!python/object:os.system x",
        "!!set {a}",
        "a: 1e999",
        "--- 1\n--- 2",
        "? [a]\n: b",
        "\x00",
        "!!int x",
        "!!timestamp x",
    ],
)
def test_what_is_refused(text: str) -> None:
    """Anchors, other types, several documents, and what is no YAML."""
    with pytest.raises(ValueError, match=r"\S"):
        load(text.encode())


@given(
    st.binary()
    | st.text().map(str.encode)
    | st.lists(st.sampled_from(list("a:[]{}-?!&*|>%@`\"' \n\t#,1.e"))).map(lambda parts: "".join(parts).encode()),
    st.sampled_from([*_FORMS, "prometheus"]),
)
def test_no_body_crashes_the_reader(body: bytes, form: Format) -> None:
    """For whatever comes in whatever form, a value that JSON can write, or CollectError."""
    try:
        read = decode_body(body, form, "GET x")
    except CollectError:
        return
    json.dumps(read.value, allow_nan=False)


def test_depth_is_no_crash() -> None:
    """Ten thousand levels are an error in our words."""
    for body in (b"[" * 10_000, b"[" * 10_000 + b"]" * 10_000, b"- " * 10_000 + b"x"):
        for form in _FORMS:
            with pytest.raises(CollectError):
                decode_body(body, form, "GET x")
