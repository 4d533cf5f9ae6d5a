"""Any HTTP endpoint as a source: `response` is what it answers, JSON, YAML or Prometheus text, of all its pages."""

import asyncio
from typing import Any, Literal, Self

import msgspec
from pydantic import Field, model_validator

from collectors._base import Cause, CollectError, NoData
from collectors._http_body import ACCEPT, Format, read_body
from collectors._http_client import shown
from collectors._http_paging import Next, Page, Paginate, Paging
from collectors._http_session import Endpoint, Session, check, hosts_of, missing_in, with_query
from collectors._source import Means, Response, SourceType, Unusable, Value


class HttpSpec(Endpoint):
    """What stands under `spec.source.http`."""

    method: Literal["GET", "POST"] = Field("GET", description="How to ask.")
    query: dict[str, str | Value] = Field(default_factory=dict, description="Parameters of the URL's query; a Value may be a secret.")
    body: Any = Field(None, description="Body of a POST: text as it is, anything else as JSON.")
    format: Format = Field("auto", description="How to read the answer; auto goes by its Content-Type.")
    paginate: Paginate | None = Field(None, description="How to ask for more pages.")

    @model_validator(mode="after")
    def _body_of_a_post(self) -> Self:
        if self.body is not None and self.method != "POST":
            raise ValueError("body needs method: POST")
        return self


class Http:
    """An opened source. See collectors._source.Source."""

    def __init__(self, spec: HttpSpec, means: Means) -> None:
        self.changed: asyncio.Event | None = None
        self._spec = spec
        self._means = means
        self._session = Session(spec, means)
        self._paging = Paging(spec.paginate, spec.url, means)
        self._headers, self._body = _content(spec)
        self._what = f"{spec.method} {shown(spec.url)}"

    async def collect(self) -> Response:
        """Ask for all pages. Raises CollectError or NoData."""
        pages: list[Page] = []
        try:
            async with asyncio.timeout(self._means.timeout):
                return await self._collect(pages)
        except TimeoutError as exc:
            came = f" ({len(pages)} pages came)" if pages else ""
            message = f"{self._what}: not answered within {self._means.timeout:g} s{came}"
            raise CollectError(Cause.DEADLINE, message, "raise timeout, or ask for less") from exc

    async def aclose(self) -> None:
        """Close all connections."""
        await self._session.aclose()

    async def _collect(self, pages: list[Page]) -> Response:
        limits = self._means.limits
        query = {name: part if isinstance(part, str) else await self._means.secret(part) for name, part in self._spec.query.items()}
        unusable: list[Unusable] = []
        way, size = self._paging.way(), 0
        step: Next | None = way.first()
        while step is not None:
            if len(pages) == limits.pages:
                raise CollectError(
                    Cause.TOO_LARGE, f"{self._what}: more than {limits.pages} pages", "raise limits.pages, or ask for larger ones"
                )
            page, without_use = await self._page(step, query, limits.body_bytes - size)
            pages.append(page)
            unusable += without_use
            size += max(page.answer.size, len(page.answer.body))
            step = way.after(page)
        return Response(self._joined(pages), size, unusable)

    async def _page(self, step: Next, query: dict[str, str], limit: int) -> tuple[Page, list[Unusable]]:
        spec = self._spec
        url = with_query(spec.url, {**query, **step.params}) if step.url is None else with_query(step.url, missing_in(step.url, query))
        answer = await self._session.ask(
            url, method=spec.method, accept=ACCEPT[spec.format], headers=self._headers, body=self._body, limit=limit
        )
        check(answer, self._what)
        if answer.status in {204, 205}:
            raise NoData(f"{self._what}: answered {answer.status}, which has no content")
        read = await read_body(answer.body, answer.headers.get("content-type", ""), spec.format, self._what)
        count = 0 if spec.paginate is None else len(self._list_of(read.value, spec.paginate))
        return Page(read.value, count, answer, url), [*read.unusable]

    def _list_of(self, page: Any, paginate: Paginate) -> list[Any]:
        """The list of a page. Some servers write null for one that is empty."""
        found = page
        if not isinstance(page, list):
            for name in paginate.items.split("."):
                found = found.get(name, ...) if isinstance(found, dict) else ...
        if found is not None and not isinstance(found, list):
            message = f"{self._what}: a page has no list at {paginate.items}"
            raise CollectError(Cause.PAYLOAD, message, "paginate.items says where the list is in a page")
        return found or []

    def _joined(self, pages: list[Page]) -> Any:
        """What the first page says, with the lists of all pages in place of its own."""
        first = pages[0].value
        if self._spec.paginate is None or len(pages) == 1:
            return first
        paginate = self._spec.paginate
        elements = [element for page in pages for element in self._list_of(page.value, paginate)]
        return elements if isinstance(first, list) else _replaced(first, paginate.items.split("."), elements)


def _replaced(whole: dict[str, Any], path: list[str], value: Any) -> dict[str, Any]:
    name, *rest = path
    return {**whole, name: _replaced(whole[name], rest, value) if rest else value}


def _content(spec: HttpSpec) -> tuple[tuple[tuple[str, str], ...], bytes]:
    """The header that tells the type of the body, and the body."""
    if spec.body is None:
        return (), b""
    is_text = isinstance(spec.body, str)
    content = spec.body.encode() if is_text else msgspec.json.encode(spec.body)
    return (("Content-Type", "text/plain; charset=utf-8" if is_text else "application/json"),), content


SOURCE = SourceType(
    name="http",
    spec=HttpSpec,
    open=Http,
    endpoint=lambda spec: shown(spec.url),
    hosts=hosts_of,
)
