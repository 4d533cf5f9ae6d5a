"""The aggregator's front proxy: asks an aggregated API server as kube-apiserver does, with its own certificate and the user in headers."""

import ssl
from collections.abc import Mapping
from typing import Any

import httpx
import msgspec

from app.auth.identity import AUTHENTICATED, MASTERS
from app.errors import Problem
from app.simulation.accounts import Account
from app.simulation.asgi import RawHeaders

AGGREGATED_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_AGGREGATOR = Account(token="", name="system:kube-aggregator", groups=(MASTERS,))
_OPENAPI = Account(token="", name="system:aggregator")
_NOT_FORWARDED = {
    b"authorization",
    b"connection",
    b"host",
    b"keep-alive",
    b"te",
    b"trailer",
    b"transfer-encoding",
    b"upgrade",
    b"content-length",
}
_NOT_RETURNED = {b"connection", b"date", b"keep-alive", b"transfer-encoding"}
_UNAVAILABLE = (503, [(b"content-type", b"text/plain; charset=utf-8")], b"service unavailable")

Reply = tuple[int, RawHeaders, bytes]


class Aggregator:
    """One APIService target. `url` is where it listens; `service_name` is `<service>.<namespace>.svc`, which its certificate must name.

    Replies are read whole: metrics lists are bounded, and nothing behind it streams.
    """

    def __init__(self, url: str, service_name: str, context: ssl.SSLContext, transport: httpx.AsyncBaseTransport | None = None) -> None:
        """`context` verifies the target with the caBundle and shows the front-proxy client certificate; `transport` is for tests."""
        self.url = url
        self._service_name = service_name
        self._client = httpx.AsyncClient(verify=context, transport=transport, timeout=60, trust_env=False, follow_redirects=False)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def forward(self, account: Account, method: str, target: str, headers: RawHeaders, body: bytes = b"") -> Reply:
        """The target's own answer to the user's request; 503 in kube-apiserver's words when there is none. Raises Problem 400."""
        sent = [(name, value) for name, value in headers if name not in _NOT_FORWARDED and not name.startswith(b"x-remote-")]
        groups = account.groups if account is _AGGREGATOR or account is _OPENAPI else (*account.groups, AUTHENTICATED)
        sent.append((b"x-remote-user", account.name.encode()))
        sent += [(b"x-remote-group", group.encode()) for group in groups]
        if account.uid:
            sent.append((b"x-remote-uid", account.uid.encode()))
        if not any(name == b"accept-encoding" for name, _ in sent):
            sent.append((b"accept-encoding", b"identity"))
        try:
            request = self._client.build_request(
                method, self.url + target, headers=sent, content=body or None, extensions={"sni_hostname": self._service_name}
            )
            response = await self._client.send(request, stream=True)
            try:
                content = b"".join([piece async for piece in response.aiter_raw()])
            finally:
                await response.aclose()
        except httpx.InvalidURL as exc:
            raise Problem(400, "BadRequest", f"the path cannot be passed on: {exc}") from exc
        except httpx.TransportError:
            return _UNAVAILABLE
        returned = [(name.lower(), value) for name, value in response.headers.raw if name.lower() not in _NOT_RETURNED]
        return response.status_code, returned, content

    async def discover(self, *, aggregated: bool) -> list[dict[str, Any]]:
        """The groups of the target: items of its APIGroupDiscoveryList, or groups of its APIGroupList; [] when it does not answer."""
        accept = AGGREGATED_DISCOVERY if aggregated else "application/json"
        document = await self._document(_AGGREGATOR, "/apis", accept)
        found: list[dict[str, Any]] = document.get("items" if aggregated else "groups") or []
        return found

    async def openapi_paths(self) -> dict[str, Any]:
        """The paths of its /openapi/v3, {} when it does not answer."""
        return dict((await self._document(_OPENAPI, "/openapi/v3", "application/json")).get("paths") or {})

    async def openapi_v2(self, headers: RawHeaders) -> Reply:
        """Its /openapi/v2, as it is."""
        return await self.forward(_OPENAPI, "GET", "/openapi/v2", headers)

    async def _document(self, account: Account, path: str, accept: str) -> Mapping[str, Any]:
        status, _, body = await self.forward(account, "GET", path, [(b"accept", accept.encode())])
        if status != 200:
            return {}
        try:
            document = msgspec.json.decode(body)
        except msgspec.MsgspecError:
            return {}
        return document if isinstance(document, dict) else {}
