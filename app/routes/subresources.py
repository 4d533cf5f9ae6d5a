"""What is below an object, as it goes over the wire: an object of its own kind, a Table of that, or text as it comes."""

from dataclasses import asdict

from app.clock import Clock
from app.kinds._base import Asked, Kind, Subresource, Told
from app.routes.documents import indent
from app.routes.live import LiveAnswers
from app.routes.rendering import TABLE, Form, form_of, metadata_of, printed
from app.routes.respond import TEXT, Answer, Scope, header, joined_header
from app.wire.accept import Target, is_meta, is_plain, negotiate, wants_pretty
from app.wire.metadata import list_metadata
from app.wire.status import bad_request
from app.wire.table import encode_cells, encode_columns, head, row


async def answer(
    scope: Scope, kind: Kind, version: str, subresource: Subresource, asked: Asked, *, clock: Clock, live: LiveAnswers
) -> Answer:
    """The answer to a GET of a subresource of one object. Raises Problem.

    Text goes out as text whatever Accept says, as the logs of a pod do.
    """
    if subresource.schema is None:
        if scope.get("http_version") == "1.0":
            raise bad_request(f"{subresource.name} goes in chunks: ask by HTTP/1.1")
        live.check()
        told = await subresource.answer(asked)
        if isinstance(told.body, bytes):
            return Answer(200, told.body, TEXT)
        return Answer(200, content_type=TEXT, stream=told.body, live=live)
    negotiated = negotiate(joined_header(scope, b"accept"), allows=_tabular if subresource.tabular else is_plain)
    form = form_of(negotiated, asked.query)
    told = await subresource.answer(asked)
    body = _table(asked, told, form, clock) if form.target == TABLE else _object(kind, version, subresource, asked, told)
    human = negotiated.pretty or wants_pretty(asked.query, header(scope, b"user-agent"))
    return Answer(200, indent(body) if human else body)


def _object(kind: Kind, version: str, subresource: Subresource, asked: Asked, told: Told) -> bytes:
    fields = told.body
    if not isinstance(fields, bytes):
        raise TypeError("a subresource with a schema answers with fields")
    separator = b"," if len(fields) > len(b"{}") else b""
    start = head(subresource.kind, f"{kind.group}/{version}")
    return b'%b"metadata":%b%b%b\n' % (start, metadata_of(kind, asked.item), separator, fields[1:])


def _table(asked: Asked, told: Told, form: Form, clock: Clock) -> bytes:
    """The rows stand for no objects of their own, so they have none."""
    rows = b",".join([row(encode_cells(printed(cells, clock.wall())), b"null") for cells in told.rows])
    columns = encode_columns([asdict(column) for column in told.columns])
    start = head(TABLE, f"meta.k8s.io/{form.version}")
    return b'%b"metadata":%b,"columnDefinitions":%b,"rows":[%b]}\n' % (start, list_metadata(asked.item.version), columns, rows)


def _tabular(media: str, target: Target | None) -> bool:
    return target is None or (target.kind == TABLE and is_meta(media, target))
