"""Documents that are ready in memory: bytes, their tag, and the answer to a request for them."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from app.routes.respond import JSON, Answer, Scope, header, joined_header, query_of
from app.wire.accept import Allows, is_plain, negotiate, wants_pretty
from app.wire.etag import etag_matches, make_etag
from app.wire.query import parse_query


class Document(Struct, frozen=True):
    """A JSON document as it goes over the wire, ready, and its ETag in quotes."""

    body: bytes
    etag: str


def make_document(value: Any) -> Document:
    """Encode a value. The same value gives the same bytes: dicts keep their order."""
    body = msgspec.json.encode(value) + b"\n"
    return Document(body, make_etag(body))


def tagged(scope: Scope, document: Document, headers: Sequence[tuple[str, str]] = (), content_type: str = JSON) -> Answer:
    """The document with its ETag, or 304 for a reader that has it."""
    all_headers = (("etag", document.etag), *headers)
    if etag_matches(joined_header(scope, b"if-none-match"), document.etag):
        return Answer(304, b"", content_type, all_headers)
    return Answer(200, document.body, content_type, all_headers)


def negotiated(scope: Scope, document: Document, allows: Allows = is_plain) -> Answer:
    """The document as plain JSON, indented for human readers. Raises Problem 406."""
    pretty = negotiate(joined_header(scope, b"accept"), allows=allows).pretty or human(scope)
    return Answer(200, indent(document.body) if pretty else document.body)


def human(scope: Scope) -> bool:
    """Whether a human reads the answer."""
    return wants_pretty(parse_query(query_of(scope)), header(scope, b"user-agent"))


def indent(body: bytes) -> bytes:
    """JSON with indentation and an end of line."""
    return msgspec.json.format(body, indent=2) + b"\n"
