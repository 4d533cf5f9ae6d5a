"""app/wire/protobuf.py: wire types and envelope, against bytes checked by hand and a decoder that shares nothing with it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.wire.protobuf import delimited, enclose, envelope, integer, prefix, string, varint
from tests.fakes.protobuf import fields


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        pytest.param(0, "00", id="zero"),
        pytest.param(1, "01", id="one"),
        pytest.param(127, "7f", id="largest-of-one-byte"),
        pytest.param(128, "8001", id="smallest-of-two-bytes"),
        pytest.param(150, "9601", id="the-documentation's-example"),
        pytest.param(2**63 - 1, "ffffffffffffffff7f", id="largest-int64"),
        pytest.param(-1, "ffffffffffffffffff01", id="minus-one"),
        pytest.param(-(2**63), "80808080808080808001", id="smallest-int64"),
    ],
)
def test_varint(number: int, expected: str) -> None:
    """Seven bits a byte, the lowest first; a negative number has ten bytes."""
    assert expected == varint(number).hex()


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        pytest.param(integer(1, 150), b"\x08\x96\x01", id="integer"),
        pytest.param(integer(15, 0), b"\x78\x00", id="integer-zero-is-written"),
        pytest.param(string(2, "testing"), b"\x12\x07testing", id="string"),
        pytest.param(string(2, ""), b"\x12\x00", id="empty-string-is-written"),
        pytest.param(string(1, "é"), b"\x0a\x02\xc3\xa9", id="length-in-bytes"),
        pytest.param(string(12, "x" * 127), b"\x62\x7f" + b"x" * 127, id="longest-of-one-byte"),
        pytest.param(string(12, "x" * 128), b"\x62\x80\x01" + b"x" * 128, id="length-of-two-bytes"),
        pytest.param(delimited(3, b"\x08\x01"), b"\x1a\x02\x08\x01", id="message"),
        pytest.param(delimited(11, bytes(300)), b"\x5a\xac\x02" + bytes(300), id="long-message"),
        pytest.param(prefix(2, 300), b"\x12\xac\x02", id="prefix"),
    ],
)
def test_fields(field: bytes, expected: bytes) -> None:
    """A tag of number and wire type, a length where there is one, and the value."""
    assert expected == field


def test_enclose() -> None:
    """Magic, TypeMeta{1 apiVersion, 2 kind} as field 1, the object as field 2, empty encoding and content type behind."""
    assert enclose("v1", "Status", b"abc") == b"k8s\0\x0a\x0c\x0a\x02v1\x12\x06Status\x12\x03abc\x1a\x00\x22\x00"


@given(st.text(max_size=20), st.text(max_size=20), st.binary(max_size=500))
def test_head_and_tail_make_the_whole(api_version: str, kind: str, message: bytes) -> None:
    """What is streamed around a list is what would stand around its bytes."""
    head, tail = envelope(api_version, kind, len(message))

    assert enclose(api_version, kind, message) == head + message + tail


_NUMBERS = st.integers(1, 15)


@given(
    st.lists(
        st.one_of(
            st.tuples(_NUMBERS, st.integers(0, 2**64 - 1)),
            st.tuples(_NUMBERS, st.binary(max_size=300)),
            st.tuples(_NUMBERS, st.text(max_size=100)),
        )
    )
)
def test_what_is_written_is_read(written: list[tuple[int, int | bytes | str]]) -> None:
    """Any fields in any order come back from a decoder as they were."""
    message = b"".join(
        integer(number, value)
        if isinstance(value, int)
        else delimited(number, value)
        if isinstance(value, bytes)
        else string(number, value)
        for number, value in written
    )

    expected = [(number, value.encode() if isinstance(value, str) else value) for number, value in written]
    assert expected == list(fields(message))


@given(st.integers(-(2**63), 2**63 - 1))
def test_negative_numbers_are_twos_complement(value: int) -> None:
    """An int64 comes back by the rule of its type."""
    ((_, raw),) = fields(integer(1, value))

    assert value == (raw if raw < 2**63 else raw - 2**64)
