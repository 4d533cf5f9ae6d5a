import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kube.lines import LineSplitter, LineTooLong


@given(st.binary(), st.lists(st.integers(0, 40), max_size=20))
def test_chunk_borders_do_not_matter(stream: bytes, cuts: list[int]) -> None:
    """However a stream is cut into chunks, the same complete lines come out."""
    splitter = LineSplitter()
    lines: list[bytes] = []
    rest = stream
    for cut in cuts:
        chunk, rest = rest[:cut], rest[cut:]
        lines += splitter.feed(chunk)
    lines += splitter.feed(rest)

    assert [line for line in stream.split(b"\n")[:-1] if line.strip()] == lines


@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param([b"12345"], id="in one chunk"),
        pytest.param([b"123", b"45"], id="over two chunks"),
        pytest.param([b"1\n12345\n"], id="behind a good line"),
        pytest.param([b"1\n12345"], id="not yet ended"),
    ],
)
def test_a_line_over_the_limit_ends_the_stream(chunks: list[bytes]) -> None:
    """A line without end cannot fill the memory."""
    splitter = LineSplitter(limit=4)

    with pytest.raises(LineTooLong, match="longer than 4 bytes"):
        [splitter.feed(chunk) for chunk in chunks]
