"""One HTTP/1.1 response, read as it arrives. It knows no sockets."""

import httptools

_OVERHEAD = 64 * 1024
"""Bytes that head, framing and trailers may have at first: an endless head grows no further."""

_BODY_PER_FRAMING = 8
"""Bytes of body that each further byte of framing needs. Chunks of a few bytes take some ten times their size in memory."""

_FRAMING = {b"content-length", b"transfer-encoding"}

KEPT = {b"content-type": "content-type", b"link": "link", b"location": "location"}
"""Headers that somebody looks at, and their names as text."""


class NotHTTPError(Exception):
    """What came is no HTTP response."""


class TruncatedError(ConnectionError):
    """The connection ended before the response did."""


class Response:
    """`status` is 0 until the head is whole; 1xx responses before the final one are passed over.

    `encoding` is the body's Content-Encoding, `size` how many of its bytes came so far, `received` how many bytes came at all. `headers`
    has those of KEPT that were sent, by names in lower case; several of one name are joined with commas.
    `complete` turns true with the last byte; `reusable` tells whether the connection may then carry another request.
    """

    def __init__(self) -> None:
        self.status = 0
        self.encoding = "identity"
        self.headers: dict[str, str] = {}
        self.size = 0
        self.received = 0
        self.complete = False
        self.reusable = False
        self._delimited = False
        self._pieces: list[bytes] = []
        self._handed_on = (0, 0)
        self._parser = httptools.HttpResponseParser(self)

    def take(self) -> bytes:
        """What came of the body since this was called last."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)

    def hand_on(self) -> bytes:
        """As `take`, for a body that goes on for long and that nobody keeps: its framing counts from here on only. Lines of a log come in
        chunks of their own, and may be shorter than that."""
        self._handed_on = (self.received, self.size)
        return self.take()

    def feed(self, data: bytes) -> None:
        """Take the next bytes. Raises NotHTTPError. What comes after the end counts against the connection only."""
        self.received += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as exc:
            self.reusable = False
            if not self.complete:
                raise NotHTTPError(str(exc)) from exc
        received, size = self.received - self._handed_on[0], self.size - self._handed_on[1]
        if received - size > size // _BODY_PER_FRAMING + _OVERHEAD:
            raise NotHTTPError("more framing than content")

    def end(self) -> None:
        """The connection ended. Raises TruncatedError, unless that is how the body's end is told."""
        if not self.status or self._delimited:
            raise TruncatedError
        self.complete = True

    def close(self) -> None:
        """Nothing comes any more. The parser is let go of: it refers back to this, and only garbage collection would free the two."""
        del self._parser

    def on_message_begin(self) -> None:
        """Part of httptools' protocol, as all that follows."""
        self.reusable = False
        if not self.complete:
            self.encoding = "identity"
            self.headers = {}
            self._delimited = False

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name in _FRAMING:
            self._delimited = True
        elif name == b"content-encoding" and not self.status:
            self.encoding = value.decode("latin-1")
        elif name in KEPT and not self.status:
            kept, text = KEPT[name], value.decode("latin-1")
            self.headers[kept] = f"{self.headers[kept]}, {text}" if kept in self.headers else text

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status >= 200 and not self.status:
            self.status = status

    def on_body(self, piece: bytes) -> None:
        if not self.complete:
            self.size += len(piece)
            self._pieces.append(piece)

    def on_message_complete(self) -> None:
        if self.status and not self.complete:
            self.complete = True
            self.reusable = self._parser.should_keep_alive()
