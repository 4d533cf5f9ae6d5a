"""Requests of one source: who we are, how the server is trusted, and what its answers mean. What sources over HTTP have in common."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Protocol
from urllib.parse import unquote_plus, urlencode, urlsplit, urlunsplit

from pydantic import Field

from collectors._base import Cause, CollectError
from collectors._http_auth import Auth, Credentials, HeaderName, HeaderValue, Tls, trust_of
from collectors._http_client import Answer, HttpClient, Request, Trust, shown
from collectors._http_url import Url, host_and_port
from collectors._source import Means, Spec

_STATUS = {
    401: (Cause.UNAUTHORIZED, "check auth: the server does not accept it"),
    403: (Cause.FORBIDDEN, "this user may not read that: grant it on the server"),
    404: (Cause.NOT_FOUND, "check the path of url"),
    405: (Cause.STATUS, "check method"),
    414: (Cause.STATUS, "the URL is too long for the server: use method POST"),
    429: (Cause.STATUS, "the server limits requests: raise interval"),
}
_PHRASES = {status.value: status.phrase for status in HTTPStatus}
"""Our own words for a status: the answer's are the other side's."""


class Access(Protocol):
    """How a server is asked, wherever it is."""

    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def auth(self) -> Auth | None: ...
    @property
    def tls(self) -> Tls | None: ...


class Endpoint(Spec):
    """Where a server is and how it is asked, in all sources over HTTP."""

    url: Url = Field(description="Where to ask: http or https, without credentials.")
    headers: dict[HeaderName, HeaderValue] = Field(default_factory=dict, description="More headers. Not for credentials: see auth.")
    auth: Auth | None = Field(None, description="How we authenticate; without it we do not.")
    tls: Tls | None = Field(None, description="How the server is verified, and our client certificate.")


def hosts_of(spec: Endpoint) -> Sequence[tuple[str, int]]:
    """The hosts and ports that a spec reaches, that of a token URL included."""
    oauth2 = spec.auth.oauth2 if spec.auth is not None else None
    return [host_and_port(spec.url), *([host_and_port(oauth2.token_url)] if oauth2 is not None else [])]


class Session:
    """Requests to servers that are asked in one way, over connections that are kept while its TLS stays what it is."""

    def __init__(self, spec: Access, means: Means) -> None:
        self._spec = spec
        self._means = means
        self._credentials = Credentials(spec.auth, means)
        self._client: tuple[Trust, HttpClient] | None = None

    async def ask(
        self, url: str, *, limit: int, accept: str, method: str = "GET", headers: tuple[tuple[str, str], ...] = (), body: bytes = b""
    ) -> Answer:
        """The answer, whatever its status but a redirect. Raises CollectError.

        After a 401 it is asked once more if our credentials have changed.
        """
        client = await self._trusted()
        own = {name.lower() for name in self._spec.headers}
        ours = [(name, value) for name, value in (("Accept", accept), *headers) if name.lower() not in own]
        common = (*ours, *self._spec.headers.items())
        who = await self._credentials.headers()
        answer = await client.send(Request(method, url, (*common, *who), body), limit=limit)
        if answer.status == 401 and who:
            self._credentials.refused()
            fresh = await self._credentials.headers()
            if fresh != who:
                answer = await client.send(Request(method, url, (*common, *fresh), body), limit=limit)
        if 300 <= answer.status < 400:
            raise CollectError(
                Cause.STATUS, f"{method} {shown(url)}: {status(answer)}, {_whither(answer, url)}", "ask there: write its URL"
            )
        return answer

    async def aclose(self) -> None:
        """Close all connections."""
        await self._credentials.aclose()
        if self._client is not None:
            await self._client[1].aclose()

    async def _trusted(self) -> HttpClient:
        trust = await trust_of(self._spec.tls, self._means)
        if self._client is None or self._client[0] != trust:
            if self._client is not None:
                await self._client[1].aclose()
            self._client = trust, self._means.http(trust)
        return self._client[1]


def check(answer: Answer, what: str) -> None:
    """Raise CollectError for a status that is none of 2xx; `what` begins its message."""
    if not 200 <= answer.status < 300:
        cause, remedy = _STATUS.get(answer.status, (Cause.STATUS, "see the server's log"))
        raise CollectError(cause, f"{what}: {status(answer)}", remedy)


def status(answer: Answer) -> str:
    """The status of an answer in words: 503 Service Unavailable."""
    return f"{answer.status} {_PHRASES.get(answer.status, '')}".rstrip()


def with_query(url: str, params: Mapping[str, str]) -> str:
    """`url` with these parameters in its query, in place of those of the same names. What else is in the query stays as it is written."""
    parts = urlsplit(url)
    kept = [piece for piece in parts.query.split("&") if piece and _name_of(piece) not in params]
    return urlunsplit(parts._replace(query="&".join([*kept, urlencode(params)] if params else kept)))


def missing_in(url: str, params: Mapping[str, str]) -> dict[str, str]:
    """Those parameters that the query of `url` does not have."""
    there = {_name_of(piece) for piece in urlsplit(url).query.split("&")}
    return {name: value for name, value in params.items() if name not in there}


def _name_of(piece: str) -> str:
    return unquote_plus(piece.partition("=")[0])


def _whither(answer: Answer, url: str) -> str:
    """Where a redirect leads: the host alone, for the rest may hold what nobody is to see."""
    try:
        host = urlsplit(answer.headers.get("location", "")).hostname
    except ValueError:
        host = None
    where = "elsewhere" if not host else "to another path of the same host" if host == urlsplit(url).hostname else f"to {host[:100]!r}"
    return f"which leads {where}: redirects are not followed"
