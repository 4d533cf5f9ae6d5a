"""PEM files that are nearly right: what people and half-written files give to programs."""

import base64
import re
from functools import partial

from hypothesis import strategies as st

_BLOCK = re.compile(rb"-----BEGIN ([A-Z ]+)-----\n(.*?)-----END", re.DOTALL)


def pem(label: str, der: bytes) -> bytes:
    """A block of PEM."""
    return b"-----BEGIN %b-----\n%b-----END %b-----\n" % (label.encode(), base64.encodebytes(der), label.encode())


def bent_der(der: bytes) -> st.SearchStrategy[bytes]:
    """`der` with a few bytes replaced by others, or by none."""
    cuts = st.tuples(st.integers(0, len(der) - 1), st.integers(0, 4), st.binary(max_size=4))
    return cuts.map(lambda cut: der[: cut[0]] + cut[2] + der[cut[0] + cut[1] :])


def bent_pem(good: bytes) -> st.SearchStrategy[bytes]:
    """`good`, which has one block, as it is; bent inside of its armour; bent with it; or some other bytes."""
    block = _BLOCK.search(good)
    if block is None:
        raise ValueError("this is no PEM")
    label, der = block[1].decode(), base64.b64decode(block[2])
    inner = st.one_of(bent_der(der), st.binary(max_size=40))
    return st.one_of(st.just(good), inner.map(partial(pem, label)), bent_der(good), st.binary(max_size=40))
