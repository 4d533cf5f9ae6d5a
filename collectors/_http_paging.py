"""How a source over HTTP is asked for page after page, and when that ends."""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, Protocol, Self
from urllib.parse import urljoin, urlsplit

from msgspec import Struct
from pydantic import Field, model_validator

from collectors._base import Cause, CollectError
from collectors._http_client import Answer
from collectors._http_url import host_and_port
from collectors._link_header import target_of
from collectors._source import OVER_RESPONSE, CelText, Evaluate, Means, Spec, expressions_of

_PARAM = Field(min_length=1, description="Query parameter that carries it.")
_SIZE_PARAM = Field(None, min_length=1, description="Query parameter that carries size.")


class ByPage(Spec):
    """Pages have numbers."""

    param: str = _PARAM
    start: int = Field(1, ge=0, description="Number of the first page.")
    size_param: str | None = _SIZE_PARAM
    size: int | None = Field(None, ge=1, description="Elements of a page that are asked for.")
    last: Annotated[CelText | None, OVER_RESPONSE] = Field(
        None,
        description="CEL over `response`, the page: number of the last page, or whether this is it. Without it a short page is the last.",
    )


class ByOffset(Spec):
    """Pages begin after a number of elements."""

    param: str = _PARAM
    size_param: str | None = _SIZE_PARAM
    size: int | None = Field(None, ge=1, description="Elements of a page that are asked for.")
    total: Annotated[CelText | None, OVER_RESPONSE] = Field(
        None, description="CEL over `response`, the page: how many elements there are. Without it a short page is the last."
    )


class ByCursor(Spec):
    """Each page names the next."""

    param: str = _PARAM
    next: Annotated[CelText, OVER_RESPONSE] = Field(
        description='CEL over `response`, the page: the next cursor; null or "" on the last page.'
    )


class ByLinkHeader(Spec):
    """Each page links to the next in its header Link (RFC 8288), on the same host."""

    rel: str = Field("next", min_length=1, description="Relation of the link to the next page.")


class Paginate(Spec):
    """How to ask for more pages. Exactly one way."""

    items: str = Field(
        "items", min_length=1, description="Where the list is in a page that is an object: names of fields, with dots between."
    )
    page: ByPage | None = Field(None, description="By number.")
    offset: ByOffset | None = Field(None, description="By number of elements.")
    cursor: ByCursor | None = Field(None, description="By what a page says of the next.")
    link_header: ByLinkHeader | None = Field(None, description="By the header Link.")

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if sum(way is not None for way in (self.page, self.offset, self.cursor, self.link_header)) != 1:
            raise ValueError("needs exactly one of page, offset, cursor, linkHeader")
        return self


class Page(Struct, frozen=True):
    """A page that came: its value, how many elements its list has, the answer around it, and the URL that gave it."""

    value: Any
    count: int
    answer: Answer
    url: str


class Next(NamedTuple):
    """What to ask for: parameters of the query, and the URL if it is another than that of the declaration."""

    params: Mapping[str, str]
    url: str | None = None


class Way(Protocol):
    """One walk over the pages of one collection."""

    def first(self) -> Next: ...

    def after(self, page: Page, /) -> Next | None:
        """What to ask for after `page`, None if it was the last. Raises CollectError."""
        ...


class Paging:
    """The way of a declaration, with its CEL compiled."""

    def __init__(self, spec: Paginate | None, url: str, means: Means) -> None:
        self._spec = spec
        self._url = url
        self._cel: dict[str, Evaluate] = {path[-1]: means.compile_cel(text, variables) for path, text, variables in expressions_of(spec)}

    def way(self) -> Way:
        """A new walk."""
        spec = self._spec
        if spec is None:
            return _OnePage()
        if spec.page is not None:
            return _Numbers(spec.page, self._cel.get("last"))
        if spec.offset is not None:
            return _Offsets(spec.offset, self._cel.get("total"))
        if spec.cursor is not None:
            return _Cursors(spec.cursor, self._cel["next"])
        assert spec.link_header is not None  # noqa: S101 -- Paginate has exactly one
        return _Links(spec.link_header, self._url)


class _OnePage:
    def first(self) -> Next:
        return Next({})

    def after(self, _page: Page, /) -> Next | None:
        return None


class _Numbers:
    def __init__(self, spec: ByPage, last: Evaluate | None) -> None:
        self._spec = spec
        self._last = last
        self._number = spec.start

    def first(self) -> Next:
        return self._next()

    def after(self, page: Page) -> Next | None:
        if self._is_last(page):
            return None
        self._number += 1
        return self._next()

    def _next(self) -> Next:
        return Next({self._spec.param: str(self._number), **_size(self._spec.size_param, self._spec.size)})

    def _is_last(self, page: Page) -> bool:
        if self._last is None:
            return _is_short(page, self._spec.size)
        last = self._last({"response": page.value})
        if isinstance(last, bool):
            return last
        return self._number >= _number(last, "paginate.page.last", "a number or a boolean")


class _Offsets:
    def __init__(self, spec: ByOffset, total: Evaluate | None) -> None:
        self._spec = spec
        self._total = total
        self._offset = 0

    def first(self) -> Next:
        return self._next()

    def after(self, page: Page) -> Next | None:
        self._offset += page.count
        if self._total is None:
            return None if _is_short(page, self._spec.size) else self._next()
        total = _number(self._total({"response": page.value}), "paginate.offset.total", "a number")
        if self._offset >= total:
            return None
        if not page.count:
            raise CollectError(
                Cause.PAYLOAD, f"an empty page after {self._offset} of {total:g} elements", "is paginate.offset.total right?"
            )
        return self._next()

    def _next(self) -> Next:
        return Next({self._spec.param: str(self._offset), **_size(self._spec.size_param, self._spec.size)})


class _Cursors:
    def __init__(self, spec: ByCursor, following: Evaluate) -> None:
        self._spec = spec
        self._following = following
        self._seen: set[str] = set()

    def first(self) -> Next:
        return Next({})

    def after(self, page: Page) -> Next | None:
        found = self._following({"response": page.value})
        if found is None or found == "":
            return None
        if isinstance(found, bool) or not isinstance(found, str | int):
            raise CollectError(Cause.MAPPING, f"paginate.cursor.next gave a {type(found).__name__}", "it must give text, a number or null")
        _see_once(str(found), self._seen)
        return Next({self._spec.param: str(found)})


class _Links:
    def __init__(self, spec: ByLinkHeader, url: str) -> None:
        self._spec = spec
        self._url = url
        self._seen = {url}

    def first(self) -> Next:
        return Next({})

    def after(self, page: Page) -> Next | None:
        target = target_of(page.answer.headers.get("link", ""), self._spec.rel.lower())
        if target is None:
            return None
        url = self._same_host(page.url, target)
        _see_once(url, self._seen)
        return Next({}, url)

    def _same_host(self, base: str, target: str) -> str:
        """The target as a whole URL: our credentials go to the host of the declaration and to no other."""
        try:
            url = urljoin(base, target)
            parts = urlsplit(url)
            same = (parts.scheme, *host_and_port(url)) == (urlsplit(self._url).scheme, *host_and_port(self._url))
        except ValueError:
            same = False
        if not same or "@" in parts.netloc or not url.isascii() or not url.isprintable() or " " in url:
            raise CollectError(
                Cause.NOT_ALLOWED, "the header Link leads to another host, or is no URL", "only links on the host of url are followed"
            )
        return parts._replace(fragment="").geturl()


def _size(param: str | None, size: int | None) -> dict[str, str]:
    return {param: str(size)} if param is not None and size is not None else {}


def _is_short(page: Page, size: int | None) -> bool:
    return page.count < (size or 1)


def _number(value: Any, what: str, expected: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise CollectError(Cause.MAPPING, f"{what} gave a {type(value).__name__}", f"it must give {expected}")
    return value


def _see_once(what: str, seen: set[str]) -> None:
    if what in seen:
        raise CollectError(Cause.PAYLOAD, "a page leads back to one that came before", "the server's paging goes round in a circle")
    seen.add(what)
