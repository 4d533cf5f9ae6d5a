"""Cuts a byte stream into lines, wherever its chunks begin and end. A watch sends one JSON object a line."""

DEFAULT_LIMIT = 16 * 1024 * 1024
"""Longest line in bytes. etcd takes objects up to 1.5 MiB; their JSON is a few times that at most."""


class LineTooLong(ValueError):
    """A line is longer than the limit; the stream is of no use any more."""


class LineSplitter:
    """Feed it chunks, get the lines that they complete, without their line ends and without empty ones."""

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._length = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Complete lines, oldest first. Raises LineTooLong."""
        head, separator, rest = chunk.partition(b"\n")
        if not separator:
            self._keep(chunk)
            return []
        self._keep(head)
        lines = [b"".join(self._parts)]
        *middle, tail = rest.split(b"\n")
        lines += middle
        self._parts, self._length = [], 0
        if any(len(line) > self._limit for line in middle):
            raise LineTooLong(f"a line is longer than {self._limit} bytes")
        self._keep(tail)
        return [line for line in lines if line.strip()]

    def _keep(self, part: bytes) -> None:
        """Parts are joined once, when the line ends: joining at each chunk would make a long line cost its length squared."""
        self._length += len(part)
        if self._length > self._limit:
            raise LineTooLong(f"a line is longer than {self._limit} bytes")
        if part:
            self._parts.append(part)
