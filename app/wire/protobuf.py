"""Protobuf as Kubernetes writes it: the wire types that its messages use, and the envelope around every object.

Encoding: https://protobuf.dev/programming-guides/encoding/. Envelope: runtime.Unknown in k8s.io/apimachinery pkg/runtime/generated.proto.
Fields come in the order of their numbers. Like upstream, a field that is no pointer in Go is written where it is empty too: the same
object has the same bytes.
"""

from functools import lru_cache
from typing import NamedTuple

MAGIC = b"k8s\0"

_LENGTH_DELIMITED = 2
_UINT64 = 2**64 - 1
_FIELDS = 16  # the numbers that fit into a tag of one byte: the messages of Kubernetes that are written here have no others
_SHORT = tuple(tuple(bytes((number << 3 | _LENGTH_DELIMITED, length)) for length in range(128)) for number in range(_FIELDS))
_TAGS = tuple(bytes((number << 3,)) for number in range(_FIELDS))


class Envelope(NamedTuple):
    """What stands before and behind the bytes of an object."""

    head: bytes
    tail: bytes


def varint(number: int) -> bytes:
    """A varint. A negative number is written as its two's complement of 64 bits, as int64 and int32 fields need it."""
    number &= _UINT64
    out = []
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def integer(number: int, value: int) -> bytes:
    """Field `number` (1 to 15) of a type that is a varint."""
    return _TAGS[number] + varint(value)


def delimited(number: int, payload: bytes) -> bytes:
    """Field `number` (1 to 15) that is an embedded message or bytes."""
    length = len(payload)
    return (_SHORT[number][length] if length < 128 else prefix(number, length)) + payload


@lru_cache(maxsize=1024)  # the objects of a list are of much the same length
def prefix(number: int, length: int) -> bytes:
    """What stands before the `length` bytes of field `number` (1 to 15)."""
    return bytes((number << 3 | _LENGTH_DELIMITED,)) + varint(length)


def string(number: int, text: str) -> bytes:
    """Field `number` (1 to 15) that is a string."""
    payload = text.encode()
    length = len(payload)
    return (_SHORT[number][length] if length < 128 else prefix(number, length)) + payload


def envelope(api_version: str, kind: str, length: int) -> Envelope:
    """The envelope around an object of `length` bytes: its type before them, its (default) encoding and content type behind."""
    type_meta = string(1, api_version) + string(2, kind)
    return Envelope(MAGIC + delimited(1, type_meta) + prefix(2, length), string(3, "") + string(4, ""))


def enclose(api_version: str, kind: str, message: bytes) -> bytes:
    """An object as it goes over the wire."""
    head, tail = envelope(api_version, kind, len(message))
    return head + message + tail
