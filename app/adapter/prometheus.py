"""The Prometheus of --prometheus-url: instant queries, and the series that there are.

The API: https://prometheus.io/docs/prometheus/latest/querying/api/. Credentials and certificates are files that are read anew when they
change: tokens of ServiceAccounts live for an hour.
"""

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from msgspec import Struct

from app.declared.http_client import MayReach, PlainDialer, SourceHttp
from app.errors import KubeError
from app.http1.channel import Channel
from app.kube.config import Connection, client_context
from app.kube.records import Labels
from app.served_metrics.in_order import in_order
from app.served_metrics.numbers import exact
from collectors._base import Cause, CollectError
from collectors._http_client import Answer, Request, shown
from collectors._http_session import status
from collectors._prometheus_api import Said, not_the_api, said

_TIMEOUT_S = 10.0
_BODY = 64 << 20
"""Bytes of one answer: a list of series is long."""

_LONGEST = 400
_LAST_YEAR_S = 253_402_300_799
_BASE = "is --prometheus-url its base URL?"


class Server(Struct, frozen=True):
    """Where Prometheus is and who we are to it, in the words of the flags. `connection` is that of a kubeconfig, for its credentials."""

    url: str
    verb: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    token_file: Path | None = None
    ca_file: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    connection: Connection | None = None


class Shape(NamedTuple):
    """Series of one name and with the same labels, whatever their values: all that rules look at."""

    name: str
    labels: frozenset[str]


class Sample(Struct, frozen=True):
    """One series of an answer. `time` is Unix ns."""

    labels: Labels
    value: Decimal
    time: int


class Result(Struct, frozen=True):
    """What a query gave. `dropped` says of the samples that are no finite numbers why they are none; `size` is the bytes of the answer."""

    samples: Sequence[Sample]
    dropped: Sequence[str] = ()
    warnings: Sequence[str] = ()
    size: int = 0


class Prometheus:
    """Asks. All errors are CollectError. `may_reach` gives the addresses of a host (collectors._source.Means)."""

    def __init__(self, server: Server, may_reach: MayReach) -> None:
        self.server = server
        self._may_reach = may_reach
        self._client: tuple[Sequence[int], SourceHttp] | None = None

    async def query(self, text: str) -> Result:
        """The answer to an instant query, at the server's own present."""
        answer, what = await self._ask(self.server.verb, "query", {"query": text, "timeout": f"{_TIMEOUT_S:g}s"})
        return await asyncio.to_thread(parse, answer, what)

    async def series(self, selector: str, start: float) -> list[Shape]:
        """What series there are that a selector takes and that had samples since `start` (Unix seconds)."""
        answer, what = await self._ask(self.server.verb, "series", {"match[]": selector, "start": f"{start:.3f}"})
        return await asyncio.to_thread(shapes, answer, what)

    async def aclose(self) -> None:
        """Close all connections."""
        if self._client is not None:
            await self._client[1].aclose()

    async def _ask(self, verb: str, path: str, form: Mapping[str, str]) -> tuple[Answer, str]:
        base, mark, kept = self.server.url.partition("?")
        url = f"{base.rstrip('/')}/api/v1/{path}{mark}{kept}"
        what = f"{verb} {shown(url)}"
        headers = (("Accept", "application/json"), *self.server.headers, *await self._who())
        if verb == "POST":
            headers = (("Content-Type", "application/x-www-form-urlencoded"), *headers)
            request = Request("POST", url, headers, urlencode(form).encode())
        else:
            request = Request("GET", f"{url}{'&' if mark else '?'}{urlencode(form)}", headers)
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                answer = await (await self._trusted()).send(request, limit=_BODY)
        except TimeoutError as exc:
            raise CollectError(Cause.DEADLINE, f"{what}: not answered within {_TIMEOUT_S:g} s", "make the query cheaper") from exc
        if 300 <= answer.status < 400:
            raise CollectError(Cause.STATUS, f"{what}: {status(answer)}: redirects are not followed", "give --prometheus-url its target")
        return answer, what

    async def _who(self) -> tuple[tuple[str, str], ...]:
        """The header that says who we are."""
        server = self.server
        if server.token_file is not None:
            try:
                token = server.token_file.read_text(encoding="ascii").strip()
            except (OSError, UnicodeDecodeError) as exc:
                raise CollectError(Cause.UNAUTHORIZED, f"cannot read {server.token_file}: {exc}", "mend --prometheus-token-file") from exc
            return (("Authorization", f"Bearer {token}"),)
        if server.connection is not None and (header := await server.connection.credentials.header()) is not None:
            return (("Authorization", header),)
        return ()

    async def _trusted(self) -> SourceHttp:
        """The client, a new one where files of certificates changed."""
        server = self.server
        files = [path for path in (server.ca_file, server.certificate, server.key) if path is not None]
        try:
            stamp = [path.stat().st_mtime_ns for path in files]
        except OSError as exc:
            raise CollectError(Cause.CERTIFICATE, f"cannot read {exc.filename}: {exc.strerror}", "mend the path of the flag") from exc
        if self._client is None or self._client[0] != stamp:
            await self.aclose()
            tls = _Dialer(self._may_reach, self._context())
            self._client = stamp, SourceHttp(PlainDialer(self._may_reach), tls, connect_timeout=_TIMEOUT_S / 2)
        return self._client[1]

    def _context(self) -> ssl.SSLContext:
        server = self.server
        try:
            if server.ca_file is not None:
                return client_context(server.ca_file, certificate=server.certificate, key=server.key)
            if server.connection is not None and server.connection.ssl_context is not None:
                return server.connection.ssl_context
            return client_context(None, certificate=server.certificate, key=server.key)
        except KubeError as exc:
            raise CollectError(Cause.CERTIFICATE, str(exc), "mend the files of --prometheus-ca-file and the client certificate") from exc


class _Dialer(PlainDialer):
    """With TLS of a context that is at hand."""

    def __init__(self, may_reach: MayReach, context: ssl.SSLContext) -> None:
        super().__init__(may_reach)
        self._context = context

    async def dial(self, host: str, port: int) -> Channel:
        """See Dialer."""
        return await self.connected(host, port, self._context, host.rstrip("."))


def _said(answer: Answer, what: str) -> Said:
    return said(answer, what, remedies={"": "mend the rule's query"}, where=_BASE)


def shapes(answer: Answer, what: str) -> list[Shape]:
    """What series an answer lists, sorted by name. Raises CollectError."""
    data = _said(answer, what).data
    if not isinstance(data, list):
        raise not_the_api(what, _BASE)
    found = {
        Shape(name, frozenset(each) - {"__name__"})
        for each in data
        if isinstance(each, dict) and isinstance(name := each.get("__name__"), str)
    }
    return list(in_order(list(found), lambda shape: (shape.name, sorted(shape.labels))))


def parse(answer: Answer, what: str) -> Result:
    """The samples of an answer: a vector's, or the one of a scalar. What is no finite number costs itself only. Raises CollectError."""
    found = _said(answer, what)
    data = found.data if isinstance(found.data, dict) else {}
    kind, result = data.get("resultType"), data.get("result")
    if kind == "scalar":
        pairs: list[tuple[Any, Any]] = [({}, result)]
    elif kind == "vector" and isinstance(result, list):
        pairs = [(each.get("metric"), each.get("value")) for each in result if isinstance(each, dict)]
    elif kind in {"matrix", "string"}:
        raise CollectError(Cause.QUERY, f"{what}: the query gives a {kind}", "write a query that gives a vector or a scalar")
    else:
        raise not_the_api(what, _BASE)
    samples: list[Sample] = []
    dropped: list[str] = []
    for labels, pair in pairs:
        sample = _sample(labels, pair)
        if isinstance(sample, str):
            dropped.append(sample)
        else:
            samples.append(sample)
    return Result(samples, dropped, found.warnings, answer.size)


def _sample(labels: Any, pair: Any) -> Sample | str:
    """A sample, or why there is none."""
    if not isinstance(labels, dict) or not all(isinstance(value, str) for value in labels.values()):
        return "it has no labels"
    match pair:
        case [int() | float() as seconds, str() as text]:
            if isinstance(seconds, bool) or not 0 <= seconds <= _LAST_YEAR_S:
                return f"{series_text(labels)} has the time {str(seconds)[:20]}, which is none of the years 1970 to 9999"
            try:
                return Sample(tuple(sorted(labels.items())), exact(text), round(Decimal(str(seconds)) * 10**9))
            except ValueError as exc:
                return f"{series_text(labels)} {exc}"
        case _:
            return f"{series_text(labels)} has no number: native histograms are not taken"


def series_text(labels: Mapping[str, str]) -> str:
    """A series as people write it."""
    pairs = ",".join(f'{name}="{value}"' for name, value in labels.items() if name != "__name__")
    return f"{labels.get('__name__', '')}{{{pairs}}}"[:_LONGEST]
