"""Instant queries of Prometheus' HTTP API: how they are asked, and the items that their answers become.

The API: https://prometheus.io/docs/prometheus/latest/querying/api/. Thanos, Mimir and VictoriaMetrics serve the same.
"""

from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlencode

import msgspec

from collectors._base import Cause, CollectError
from collectors._http_client import Answer, shown
from collectors._http_session import Access, Session, check, status, with_query
from collectors._prometheus_text import exact, stamp
from collectors._source import Means, Response, Unusable

Method = Literal["GET", "POST"]

_PATH = "/api/v1/query"
_LONGEST = 400
"""Characters of the server's own message that are shown."""
_CAUSES = {"bad_data": Cause.QUERY, "execution": Cause.QUERY, "timeout": Cause.DEADLINE, "canceled": Cause.DEADLINE}
_REMEDIES = {
    "bad_data": "mend query",
    "execution": "mend query, or make it touch fewer samples",
    "timeout": "raise timeout, or make the query cheaper",
    "canceled": "raise timeout, or make the query cheaper",
    "": "see the server's log",
}
"""Both by the errorType of the API."""
_BASE = "is url the base URL of a Prometheus server?"


class Api:
    """The API of one server, whose base URL is `url`."""

    def __init__(self, url: str, access: Access, method: Method, means: Means) -> None:
        self._method = method
        self._session = Session(access, means)
        self._url = query_url(url)
        self._what = f"{method} {shown(self._url)}"

    async def ask(self, query: str, *, limit: int, timeout: float) -> Response:
        """The answer at the server's own present, of at most `limit` bytes. Raises CollectError.

        `timeout` (seconds) is given to the server, so that it ends what nobody waits for any more; the caller keeps it itself.
        """
        # The time is left out: it is the server's own, whose samples are to be seen. A clock that is off would see none.
        form = {"query": query, "timeout": f"{max(1, round(timeout * 1000))}ms"}
        return parse(await self._send(form, limit), self._what)

    def late(self, timeout: float) -> CollectError:
        """That there was no answer within `timeout` seconds."""
        return CollectError(Cause.DEADLINE, f"{self._what}: not answered within {timeout:g} s", "raise timeout, or make the query cheaper")

    async def aclose(self) -> None:
        """Close all connections."""
        await self._session.aclose()

    async def _send(self, form: dict[str, str], limit: int) -> Answer:
        accept = "application/json"
        if self._method == "GET":
            return await self._session.ask(with_query(self._url, form), accept=accept, limit=limit)
        headers = (("Content-Type", "application/x-www-form-urlencoded"),)
        body = urlencode(form).encode()
        return await self._session.ask(self._url, method="POST", accept=accept, headers=headers, body=body, limit=limit)


def query_url(base: str) -> str:
    """Where instant queries are asked, by the base URL of a server; a query of the base URL is kept."""
    address, mark, query = base.partition("?")
    return f"{address.rstrip('/')}{_PATH}{mark}{query}"


class Said(msgspec.Struct):
    """The envelope of every answer."""

    status: str = ""
    data: Any = None
    error_type: str = msgspec.field(default="", name="errorType")
    error: str = ""
    warnings: list[str] = []
    infos: list[str] = []


def parse(answer: Answer, what: str) -> Response:
    """The items of an answer. Raises CollectError; `what` begins its message.

    A sample that is NaN or infinite, or a native histogram, costs itself only. Of a range the last value of each series counts.
    """
    told = said(answer, what, remedies=_REMEDIES, where=_BASE)
    if not isinstance(told.data, dict):
        raise not_the_api(what, _BASE)
    items: list[dict[str, Any]] = []
    unusable: list[Unusable] = []
    for index, (labels, sample) in enumerate(_series(told.data, what)):
        item = _item(labels, sample)
        if isinstance(item, str):
            unusable.append(Unusable(index, _name(labels), item))
        else:
            items.append(item)
    return Response(items, answer.size, unusable, [*told.warnings, *told.infos])


def said(answer: Answer, what: str, *, remedies: Mapping[str, str], where: str) -> Said:
    """What the server says, if it did what was asked. Raises CollectError with its own words.

    `remedies` are by the errorType of the API, "" for all others; `where` asks for the base URL that may be wrong.
    """
    try:
        told = msgspec.json.decode(answer.body, type=Said)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        told = Said()
    if told.error:
        cause = _CAUSES.get(told.error_type, Cause.STATUS)
        words = "".join(char if char.isprintable() else " " for char in f"{told.error_type}: {told.error}")[:_LONGEST]
        raise CollectError(cause, f"{what}: {status(answer)}: {words}", remedies.get(told.error_type, remedies[""]))
    check(answer, what)
    if told.status != "success":
        raise not_the_api(what, where)
    return told


def not_the_api(what: str, where: str) -> CollectError:
    """That something else answers there."""
    return CollectError(Cause.PAYLOAD, f"{what}: the answer is not of Prometheus' API", where)


def _series(data: dict[str, Any], what: str) -> list[tuple[Any, Any]]:
    """Labels and newest sample of each series, whatever the type of the result."""
    kind, result = data.get("resultType"), data.get("result")
    if kind == "scalar":
        return [({}, result)]
    if kind in {"vector", "matrix"} and isinstance(result, list):
        entries = [entry if isinstance(entry, dict) else {} for entry in result]
        if kind == "vector":
            return [(entry.get("metric"), entry.get("value")) for entry in entries]
        ranges = [(entry.get("metric"), entry.get("values")) for entry in entries]
        return [(labels, values[-1] if isinstance(values, list) and values else None) for labels, values in ranges]
    if kind == "string":
        raise CollectError(Cause.PAYLOAD, f"{what}: the query gives a string", "write a query that gives a vector or a scalar")
    raise CollectError(Cause.PAYLOAD, f"{what}: the result is of no known type", "is url the base URL of a Prometheus server?")


def _item(labels: Any, sample: Any) -> dict[str, Any] | str:
    """The item of a sample, or why there is none."""
    if not isinstance(labels, dict) or not all(isinstance(value, str) for value in labels.values()):
        return "it has no labels"
    match sample:
        case [int() | float() as seconds, str() as text]:
            value = exact(text)
        case _:
            return "it has no number: native histograms are not taken"
    if value is None:
        return f"its value is {text[:20]!r}, which is no finite number"
    when = stamp(seconds)
    return {"labels": labels, "value": value, **({"timestamp": when} if when is not None else {})}


def _name(labels: Any) -> str:
    """A series as people write it."""
    if not isinstance(labels, dict):
        return ""
    pairs = ", ".join(f'{name}="{value}"' for name, value in labels.items() if name != "__name__")
    return f"{labels.get('__name__', '')}{{{pairs}}}"[:_LONGEST]
