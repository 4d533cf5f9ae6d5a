"""The reader that goldens are recorded and compared with loses nothing: what it cannot write back, it refuses."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.goldens.protobuf import MAGIC, decode, encode

NODE = {
    "typeMeta": {"apiVersion": "metrics.k8s.io/v1beta1", "kind": "NodeMetrics"},
    "raw": {
        "metadata": {"name": "a", "labels": [{"key": "zone", "value": "é"}]},
        "timestamp": {"seconds": 1_767_225_600, "nanos": 0},
        "window": {"duration": 15_000_000_000},
        "usage": [{"key": "cpu", "value": {"string": "50m"}}],
    },
    "contentEncoding": "",
}


def test_known_bytes() -> None:
    """Tags, lengths and varints are those of the wire."""
    status = b"\x0a\x0c\x0a\x02v1\x12\x06Status" + b"\x12\x05" + b"\x12\x00" + b"\x30\x94\x03" + b"\x1a\x00"
    expected = {"typeMeta": {"apiVersion": "v1", "kind": "Status"}, "raw": {"status": "", "code": 404}, "contentEncoding": ""}

    assert expected == decode(MAGIC + status)


def test_what_is_written_is_read_back() -> None:
    """Order, repetition and maps included."""
    assert NODE == decode(encode(NODE))


@given(st.integers(-(2**63), 2**63 - 1), st.text(), st.lists(st.text()))
def test_numbers_and_texts(number: int, text: str, names: list[str]) -> None:
    """Any int64, any text."""
    tree: dict[str, Any] = {
        "typeMeta": {"apiVersion": text, "kind": "NodeMetricsList"},
        "raw": {
            "metadata": {"remainingItemCount": number},
            **({"items": [{"metadata": {"name": name}} for name in names]} if names else {}),
        },
    }

    assert tree == decode(encode(tree))


@given(st.binary())
def test_garbage_is_refused(data: bytes) -> None:
    """ValueError, and nothing else; or a tree from which the very same bytes can be made."""
    try:
        tree = decode(MAGIC + data)
    except ValueError:
        return

    assert MAGIC + data == encode(tree)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"json", id="no magic"),
        pytest.param(MAGIC + b"\x2a\x00", id="unknown field"),
        pytest.param(MAGIC + b"\x12\x05a", id="cut short"),
        pytest.param(MAGIC + b"\x0a\x08\x12\x06Status\x12\x03\x32\x01\x00", id="text where a number belongs"),
        pytest.param(MAGIC + b"\x0d\x00\x00\x00\x00", id="unknown wire type"),
    ],
)
def test_what_is_not_understood_is_refused(data: bytes) -> None:
    """A field that were skipped would be a difference that nobody sees."""
    with pytest.raises(ValueError, match=r"."):
        decode(data)
