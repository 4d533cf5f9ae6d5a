"""Documents that are ready in memory: bytes, their tag, and the answer to a request for them."""

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from app.kinds._base import Kind
from app.routes.respond import JSON, Answer, Scope, header, joined_header, query_of
from app.wire.accept import Allows, is_plain, negotiate, wants_pretty
from app.wire.api_versions import preference
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


GroupVersion = tuple[str, str]


def by_group_version(kinds: Iterable[Kind]) -> dict[GroupVersion, tuple[Kind, ...]]:
    """The kinds of each group and version, by resource. Groups by name, versions preferred first: the same however kinds came in."""
    found: dict[GroupVersion, list[Kind]] = {}
    for kind in kinds:
        for version in kind.versions:
            found.setdefault((kind.group, version), []).append(kind)
    order = sorted(found, key=lambda at: (at[0], preference(at[1])))
    return {at: tuple(sorted(found[at], key=lambda kind: kind.resource)) for at in order}


def versions_of(groups: Iterable[GroupVersion]) -> dict[str, list[str]]:
    """The versions of each group, in the order of `groups`."""
    versions: dict[str, list[str]] = {}
    for group, version in groups:
        versions.setdefault(group, []).append(version)
    return versions


def same(some: Sequence[Kind] | None, others: Sequence[Kind]) -> bool:
    """Whether these are the very same kinds, so that what was made of them is still right."""
    return some is not None and len(some) == len(others) and all(map(operator.is_, some, others))


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
