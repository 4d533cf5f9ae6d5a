"""Who we are to a server: the words of a declaration for it, and the headers that they become."""

import base64
import re
from typing import Annotated, Self
from urllib.parse import quote, urlencode

import msgspec
from pydantic import AfterValidator, Field, model_validator

from collectors._base import Cause, CollectError
from collectors._http_client import Answer, HttpClient, Request, Trust, shown
from collectors._http_url import Url
from collectors._source import Means, Spec, Value, values_of

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OURS = {"host", "user-agent", "accept-encoding", "content-length", "transfer-encoding", "connection", "authorization"}
_CODE = re.compile(r"[a-z_]{1,40}")
_TOKEN_BYTES = 64 * 1024
_EARLY_S = 30.0
"""A token is renewed so long before it expires, or in the last tenth of a short life."""


def _header_name(name: str) -> str:
    if _TOKEN.fullmatch(name) is None:
        raise ValueError(f'"{name}" is not a name of a header')
    if name.lower() in _OURS:
        raise ValueError(f"{name} cannot be set here" + ("; use auth" if name.lower() == "authorization" else ""))
    return name


def _header_value(value: str) -> str:
    if not is_header_value(value):
        raise ValueError("must be one line of printable ASCII")
    return value


def is_header_value(text: str) -> bool:
    """Whether a text can stand in a header: nothing that ends the line, or that servers read in different ways."""
    return text.isascii() and all(char.isprintable() or char == "\t" for char in text)


HeaderName = Annotated[str, AfterValidator(_header_name)]
HeaderValue = Annotated[str, AfterValidator(_header_value)]


class Tls(Spec):
    """How the server is verified, and the client certificate that we show (mTLS)."""

    ca: Value | None = Field(None, description="The CA that signed the server's certificate (PEM); the machine's own CAs without it.")
    cert: Value | None = Field(None, description="Client certificate (PEM, leaf first).")
    key: Value | None = Field(None, description="Private key of the client certificate (PEM, not encrypted).")
    server_name: str = Field("", description="Name that the server's certificate must have, if it is not the host of the URL.")
    insecure_skip_verify: bool = Field(False, description="Do not verify the server. Whoever sits between then reads and changes all.")

    @model_validator(mode="after")
    def _cert_and_key(self) -> Self:
        if (self.cert is None) != (self.key is None):
            raise ValueError("cert and key belong together: give both or neither")
        return self


class Basic(Spec):
    """HTTP Basic authentication (RFC 7617)."""

    username: Value
    password: Value


class Bearer(Spec):
    """A token that is at hand (RFC 6750), such as a ServiceAccount's from a projected file."""

    token: Value


class Header(Spec):
    """A key in a header of the server's own choice."""

    name: HeaderName = Field(description="Name of the header, such as X-API-Key.")
    value: Value


class OAuth2(Spec):
    """A token by the client credentials grant (RFC 6749 section 4.4)."""

    token_url: Url = Field(description="Where tokens are given.")
    client_id: Value
    client_secret: Value
    scopes: list[str] = Field(default_factory=list, description="Scopes that are asked for.")
    params: dict[str, str] = Field(default_factory=dict, description="More parameters of the request, such as audience.")
    tls: Tls | None = Field(None, description="As tls, for the token URL.")


class Auth(Spec):
    """How we authenticate. Exactly one."""

    basic: Basic | None = Field(None, description="User name and password.")
    bearer: Bearer | None = Field(None, description="A token.")
    header: Header | None = Field(None, description="A header of its own.")
    oauth2: OAuth2 | None = Field(None, description="A token from a token URL, by client credentials.")

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if len(self.model_fields_set) != 1 or getattr(self, next(iter(self.model_fields_set))) is None:
            raise ValueError("needs exactly one of basic, bearer, header, oauth2")
        return self


async def trust_of(tls: Tls | None, means: Means) -> Trust:
    """The TLS of a declaration with its Values read."""
    if tls is None:
        return Trust()
    ca, certificate, key = [await means.secret(value) if value is not None else "" for value in (tls.ca, tls.cert, tls.key)]
    return Trust(ca=ca, certificate=certificate, key=key, server_name=tls.server_name, verify=not tls.insecure_skip_verify)


class Credentials:
    """The headers that say who we are. Values are read for each request; a token is kept until shortly before it expires."""

    def __init__(self, auth: Auth | None, means: Means) -> None:
        self._auth = auth
        self._means = means
        self._tokens = _Tokens(auth.oauth2, means) if auth is not None and auth.oauth2 is not None else None

    async def headers(self) -> tuple[tuple[str, str], ...]:
        """Raises CollectError if they cannot be had."""
        auth, secret = self._auth, self._means.secret
        if auth is None:
            return ()
        if auth.basic is not None:
            pair = f"{await secret(auth.basic.username)}:{await secret(auth.basic.password)}"
            return (("Authorization", f"Basic {base64.b64encode(pair.encode()).decode()}"),)
        if auth.header is not None:
            return ((auth.header.name, _fit(await secret(auth.header.value), auth.header.name)),)
        token = await secret(auth.bearer.token) if auth.bearer is not None else await self._token()
        return (("Authorization", f"Bearer {_fit(token, 'the token')}"),)

    def refused(self) -> None:
        """The server answered 401: what was read before is read anew."""
        for value in values_of(self._auth):
            self._means.refused(value)
        if self._tokens is not None:
            self._tokens.drop()

    async def aclose(self) -> None:
        """Close the connection to the token URL."""
        if self._tokens is not None:
            await self._tokens.aclose()

    async def _token(self) -> str:
        assert self._tokens is not None  # noqa: S101 -- Auth has exactly one
        return await self._tokens.current()


class _Granted(msgspec.Struct):
    """What matters of the answer of a token URL (RFC 6749 section 5.1)."""

    access_token: str
    token_type: str = "bearer"  # noqa: S105 -- no password
    expires_in: float | str | None = None


class _Tokens:
    """The token of one client."""

    def __init__(self, spec: OAuth2, means: Means) -> None:
        self._spec = spec
        self._means = means
        self._client: tuple[Trust, HttpClient] | None = None
        self._token = ""
        self._until = 0.0

    async def current(self) -> str:
        if self._token and self._means.wall() < self._until:
            return self._token
        granted = _granted(await self._ask(), shown(self._spec.token_url))
        self._means.conceal(granted.access_token)
        self._token, self._until = granted.access_token, self._means.wall() + _lifetime(granted.expires_in)
        return self._token

    def drop(self) -> None:
        self._token = ""

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client[1].aclose()

    async def _ask(self) -> Answer:
        trust = await trust_of(self._spec.tls, self._means)
        if self._client is None or self._client[0] != trust:
            await self.aclose()
            self._client = trust, self._means.http(trust)
        identity = [quote(await self._means.secret(value), safe="") for value in (self._spec.client_id, self._spec.client_secret)]
        form = {
            "grant_type": "client_credentials",
            **({"scope": " ".join(self._spec.scopes)} if self._spec.scopes else {}),
            **self._spec.params,
        }
        headers = (
            ("Authorization", f"Basic {base64.b64encode(':'.join(identity).encode()).decode()}"),
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("Accept", "application/json"),
        )
        request = Request("POST", self._spec.token_url, headers, urlencode(form).encode())
        return await self._client[1].send(request, limit=_TOKEN_BYTES)


def _granted(answer: Answer, where: str) -> _Granted:
    if answer.status != 200:
        cause = Cause.UNAUTHORIZED if answer.status in {400, 401, 403} else Cause.STATUS
        message = f"POST {where}: no token: {answer.status}{_said(answer.body)}"
        raise CollectError(cause, message, "check clientId, clientSecret, scopes and tokenUrl")
    try:
        granted = msgspec.json.decode(answer.body, type=_Granted)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as exc:
        raise CollectError(Cause.PAYLOAD, f"POST {where}: the answer holds no access_token", "is that a token URL?") from exc
    if granted.token_type.lower() != "bearer":
        raise CollectError(Cause.PAYLOAD, f"POST {where}: the token is not of type Bearer", "only bearer tokens are known")
    return granted


class _Refused(msgspec.Struct):
    """An error of a token URL (RFC 6749 section 5.2). Its description is free text of the server's."""

    error: str


def _said(body: bytes) -> str:
    """The code of an error, such as invalid_client, if there is one."""
    try:
        error = msgspec.json.decode(body, type=_Refused).error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""
    return f" {error}" if _CODE.fullmatch(error) else ""


def _lifetime(expires_in: float | str | None) -> float:
    """Seconds that a token may be used; some servers write the number as text, and without it a token holds until a 401."""
    try:
        seconds = float(expires_in) if expires_in is not None else float("inf")
    except ValueError:
        return 0.0
    return seconds - min(_EARLY_S, seconds / 10) if seconds < float("inf") else seconds


def _fit(text: str, what: str) -> str:
    if text and is_header_value(text):
        return text
    raise CollectError(Cause.VALUE, f"{what} is empty or no line of printable ASCII", "is it the right key?")
