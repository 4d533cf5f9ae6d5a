"""JSON of any depth: what is deep is cut out, the rest is read."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kube.decode import pod
from app.kube.deep_json import UNDECODABLE, decode, shallow

DEEP = "[" * 9_000 + "]" * 9_000


class Named(msgspec.Struct):
    name: str


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(b'{"a":1}', b'{"a":1}', id="nothing is deep"),
        pytest.param(b"[[1]]", b"[[1]]", id="just not deep"),
        pytest.param(b"[[[1],2],3]", b"[[null,2],3]", id="an array too deep"),
        pytest.param(b'[[{"a":{}}]]', b"[[null]]", id="an object too deep, whole"),
        pytest.param(b'["[[[[", [["}}}"]]]', b'["[[[[", [null]]', id="brackets in strings are none"),
        pytest.param(b'["[[[[', b'["[[[[', id="a string without an end"),
        pytest.param(b'["[[[[\\', b'["[[[[\\', id="nor with half an escape"),
        pytest.param(b'["\\"[[[[\\\\", [[]]]', b'["\\"[[[[\\\\", [null]]', id="nor behind escapes"),
    ],
)
def test_shallow(body: bytes, expected: bytes) -> None:
    """Below two levels all is null."""
    assert shallow(body, 2) == expected


def test_a_deep_field_costs_itself() -> None:
    """A pod with a field that nests 9,000 levels is read like any other."""
    body = f'{{"metadata":{{"name":"p","namespace":"ns","managedFields":{DEEP}}},"spec":{{"containers":[]}},"status":{{}}}}'.encode()

    assert pod(body).key == ("ns", "p")


def test_what_is_deep_itself_is_undecodable() -> None:
    """It is an error like any other, never a RecursionError that leaves the task."""
    with pytest.raises(UNDECODABLE):
        decode(DEEP.encode(), Named)


JSON = st.recursive(
    st.one_of(st.none(), st.integers(), st.text(max_size=6)),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(max_size=3), inner)),
)


@given(JSON)
def test_what_is_not_deep_is_not_touched(document: object) -> None:
    """Any JSON within the depth stays byte for byte."""
    body = json.dumps(document).encode()

    assert shallow(body) == body


@given(st.binary(max_size=200))
def test_no_bytes_crash_it(body: bytes) -> None:
    """What is no JSON gives something that is none either, or none at all."""
    assert isinstance(shallow(body, 3), bytes)


def test_what_has_no_end_costs_its_length_only() -> None:
    """A broken answer of 80 KB is given up at once, not in a time that grows with its square."""
    body = b"[" * 1100 + b'"' + b'\\"' * 40_000

    assert shallow(body) == b"[" * 64 + b"null"
