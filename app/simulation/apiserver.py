"""The few kube-apiserver paths that kubectl and kubeglance need, over the simulated cluster, and the aggregator in front of kubeglance.

A pure ASGI application: discovery, OpenAPI, nodes, pods, claims, namespaces and config maps (get, list, watch, Table), TokenReview and
SubjectAccessReview. Everything else under /apis/ goes through the aggregator's front proxy.
"""

import asyncio
import base64
from collections.abc import Mapping
from urllib.parse import unquote

import msgspec

from app.auth.identity import AUTHENTICATED
from app.errors import Problem
from app.simulation.accounts import Account, Accounts
from app.simulation.aggregator import AGGREGATED_DISCOVERY, Aggregator
from app.simulation.asgi import Receive, Request, Scope, Send, read_body, send_json, send_whole
from app.simulation.core_discovery import KINDS, core_group, core_resources, discovery_list
from app.simulation.core_tables import table
from app.simulation.journal import Journal
from app.simulation.model import SimulatedCluster
from app.simulation.objects import KUBERNETES_VERSION, Object, claim_object, config_map_object, namespace_object, node_object, pod_object
from app.simulation.selection import Selection, parse_selection
from app.simulation.watch_stream import WatchStream
from app.wire.query import integer
from app.wire.status import encode_status, method_not_allowed, not_found, unknown_path

_OPEN_PATHS = {"/healthz", "/livez", "/readyz", "/version"}
_TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105  # a path
_ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_OWN_ACCESS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_REVIEWS = {_TOKEN_REVIEWS: "TokenReview", _ACCESS_REVIEWS: "SubjectAccessReview", _OWN_ACCESS: "SelfSubjectAccessReview"}
_AUTHENTICATION_MAP = ("kube-system", "extension-apiserver-authentication")


class _Resource(msgspec.Struct):
    verb: str = ""
    group: str = ""
    resource: str = ""


class _Path(msgspec.Struct):
    verb: str = ""
    path: str = ""


class _Spec(msgspec.Struct, rename="camel"):
    token: str | None = None
    audiences: list[str] | None = None
    user: str | None = None
    groups: list[str] | None = None
    resource_attributes: _Resource | None = None
    non_resource_attributes: _Path | None = None


class _Review(msgspec.Struct):
    """The form that the body of a review must have; what else is in it goes back as it came."""

    spec: _Spec


class ApiServer:
    """The ASGI application. `authentication` is the data of ConfigMap kube-system/extension-apiserver-authentication.

    `aggregator` may be set later, when kubeglance listens; until then its groups are simply not there.
    """

    def __init__(
        self, cluster: SimulatedCluster, accounts: Accounts, authentication: Mapping[str, str], aggregator: Aggregator | None = None
    ) -> None:
        self.cluster = cluster
        self.accounts = accounts
        self.aggregator = aggregator
        self._authentication = dict(authentication)
        self._journal = Journal(cluster)
        self._created = cluster.now()
        self._began = cluster.version
        self._closing = asyncio.Event()
        self._listed: tuple[int, list[Object]] = (0, [])

    def end_watches(self) -> None:
        """End every watch cleanly, so that a server that shuts down need not cut them."""
        self._closing.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope)
        try:
            await self._serve(request, receive, send)
        except Problem as problem:
            extra = [(name.encode(), value.encode()) for name, value in problem.headers]
            await send_whole(send, problem.code, [(b"content-type", b"application/json"), *extra], encode_status(problem))

    async def _serve(self, request: Request, receive: Receive, send: Send) -> None:
        account = self._authenticate(request)
        path, parts = request.path, request.path.strip("/").split("/")
        if parts[0] == "api" and len(parts) > 2 and parts[1] == "v1":
            await self._core(request, account, parts[2:], receive, send)
        elif path in _REVIEWS:
            await self._review(request, account, receive, send)
        elif (parts[0] == "apis" and len(parts) > 1) or path.startswith("/openapi/v3/apis/"):
            await self._aggregated(request, account, parts, receive, send)
        elif request.method not in {"GET", "HEAD"}:
            raise method_not_allowed("", parts[-1], request.method.lower(), allow="GET")
        elif path == "/openapi/v2":
            await self._openapi_v2(request, send)
        else:
            await send_json(send, *await self._document(request, path))

    def _authenticate(self, request: Request) -> Account:
        kind, _, token = request.header(b"authorization").partition(" ")
        account = self.accounts.authenticate(token.strip()) if kind.lower() == "bearer" else None
        if account is None and request.path not in _OPEN_PATHS:
            raise Problem(401, "Unauthorized", "Unauthorized")
        return account or Account(token="", name="system:anonymous", reads="")

    # Documents

    async def _document(self, request: Request, path: str) -> tuple[object, str]:
        """A discovery, health or version document, and its content type."""
        aggregated = "as=APIGroupDiscoveryList" in request.header(b"accept") and "v=v2;" in request.header(b"accept").replace(
            "v=v2,", "v=v2;"
        )
        json = AGGREGATED_DISCOVERY if aggregated else "application/json"
        match path.rstrip("/"):
            case "/healthz" | "/livez" | "/readyz":
                return b"ok", "text/plain"
            case "/version":
                major, minor = KUBERNETES_VERSION.removeprefix("v").split(".")[:2]
                return {"major": major, "minor": minor, "gitVersion": KUBERNETES_VERSION, "platform": "simulated/amd64"}, "application/json"
            case "/api" if aggregated:
                return discovery_list([core_group()]), json
            case "/api":
                return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}, json
            case "/api/v1":
                return {"kind": "APIResourceList", "groupVersion": "v1", "resources": core_resources()}, json
            case "/apis":
                groups = [] if self.aggregator is None else await self.aggregator.discover(aggregated=aggregated)
                return (discovery_list(groups) if aggregated else {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}), json
            case "/openapi/v3":
                return {"paths": {} if self.aggregator is None else await self.aggregator.openapi_paths()}, json
            case _:
                raise unknown_path()

    async def _openapi_v2(self, request: Request, send: Send) -> None:
        if self.aggregator is None:
            raise unknown_path()
        status, headers, body = await self.aggregator.openapi_v2(request.headers)
        await send_whole(send, status, headers, body)

    async def _aggregated(self, request: Request, account: Account, parts: list[str], receive: Receive, send: Send) -> None:
        if self.aggregator is None:
            raise unknown_path()
        if len(parts) == 2:  # /apis/GROUP is kube-apiserver's own, made of the APIServices
            for group in await self.aggregator.discover(aggregated=False):
                if group["name"] == parts[1]:
                    await send_json(send, {"kind": "APIGroup", "apiVersion": "v1", **group})
                    return
            raise unknown_path()
        body = await read_body(receive)
        status, headers, content = await self.aggregator.forward(account, request.method, request.target, request.headers, body)
        await send_whole(send, status, headers, content)

    # Reviews

    async def _review(self, request: Request, account: Account, receive: Receive, send: Send) -> None:
        group, _, resource = request.path.split("/")[2:]
        if request.method != "POST":
            raise method_not_allowed(group, resource, request.method.lower(), allow="POST")
        if request.path != _OWN_ACCESS:  # everybody may ask about himself (kubectl auth can-i)
            self._authorize(account, "create", group, resource, "")
        try:
            body = await read_body(receive)
            msgspec.json.decode(body, type=_Review)
            spec = msgspec.json.decode(body)["spec"]
        except (msgspec.MsgspecError, ValueError, RecursionError) as exc:
            raise Problem(400, "BadRequest", f"the body is not a review: {exc}; send JSON with a spec") from exc
        if request.path == _TOKEN_REVIEWS:
            status = self.accounts.review_token(str(spec.get("token") or ""))
            if spec.get("audiences"):
                status["audiences"] = spec["audiences"]
        elif request.path == _OWN_ACCESS:
            status = self.accounts.review_access({**spec, "user": account.name, "groups": [*account.groups, AUTHENTICATED]})
        else:
            status = self.accounts.review_access(spec)
        answer = {"kind": _REVIEWS[request.path], "apiVersion": f"{group}/v1", "metadata": {}, "spec": spec, "status": status}
        await send_json(send, answer, status=201)

    def _authorize(self, account: Account, verb: str, group: str, resource: str, namespace: str) -> None:
        if self.accounts.allowed(account.name, (*account.groups, AUTHENTICATED), verb, group, resource):
            return
        where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
        text = f'{resource} is forbidden: User "{account.name}" cannot {verb} resource "{resource}" in API group "{group}" {where}'
        raise Problem(403, "Forbidden", text, details={"group": group, "kind": resource})

    # Objects

    async def _core(self, request: Request, account: Account, parts: list[str], receive: Receive, send: Send) -> None:
        namespace = ""
        if parts[0] == "namespaces" and len(parts) > 2:
            namespace, parts = unquote(parts[1]), parts[2:]
        resource, name = parts[0], unquote(parts[1]) if len(parts) > 1 else ""
        if resource not in KINDS or len(parts) > 2:
            raise unknown_path()
        if request.method not in {"GET", "HEAD"}:
            raise method_not_allowed("", resource, request.method.lower(), allow="GET")
        self._authorize(account, "get" if name else "watch" if request.watch else "list", "", resource, namespace)
        if name:
            await self._get(request, resource, namespace, name, send)
            return
        selection = parse_selection(request.query, namespace)
        if request.watch:
            stream = WatchStream(
                request,
                resource,
                selection,
                self._journal,
                objects=lambda: self._objects(resource),
                as_table=lambda found, columns: self._as_table(request, resource, found, {}, columns=columns),
            )
            await stream.serve(receive, send, self._closing)
        else:
            await self._list(request, resource, selection, send)

    def _objects(self, resource: str) -> list[Object]:
        match resource:
            case "nodes":
                found = [node_object(node) for node in self.cluster.nodes.values()]
            case "pods":
                found = self._pods()
            case "persistentvolumeclaims":
                found = [claim_object(claim) for claim in self.cluster.claims.values()]
            case "namespaces":
                names = {"default", "kube-system", *(namespace for namespace, _ in (*self.cluster.pods, *self.cluster.claims))}
                found = [namespace_object(name, self._began, self._created) for name in names]
            case _:
                found = [config_map_object(*_AUTHENTICATION_MAP, self._began, self._created, self._authentication)]
        return sorted(found, key=_key)

    def _pods(self) -> list[Object]:
        """All pods; the objects are made anew only after a change, for a big list is asked in many pages."""
        version, found = self._listed
        if version != self.cluster.version:
            found = sorted((pod_object(pod) for pod in self.cluster.pods.values()), key=_key)
            self._listed = (self.cluster.version, found)
        return found

    async def _get(self, request: Request, resource: str, namespace: str, name: str, send: Send) -> None:
        for found in self._objects(resource):
            if _key(found) == (namespace, name):
                answer = self._as_table(request, resource, [found], {}) if request.table else found
                await send_json(send, answer)
                return
        raise not_found("", resource, name)

    async def _list(self, request: Request, resource: str, selection: Selection, send: Send) -> None:
        found = [each for each in self._objects(resource) if selection.matches(each)]
        metadata: Object = {"resourceVersion": str(self.cluster.version)}
        start = _continued(request.query.get("continue", ""))
        found = [each for each in found if _key(each) > start] if start else found
        limit = integer(request.query, "limit") or 0
        if 0 < limit < len(found):
            metadata["continue"] = base64.urlsafe_b64encode(msgspec.json.encode(_key(found[limit - 1]))).decode()
            metadata["remainingItemCount"] = len(found) - limit
            found = found[:limit]
        if request.table:
            await send_json(send, self._as_table(request, resource, found, metadata))
            return
        items = [{name: value for name, value in each.items() if name not in {"kind", "apiVersion"}} for each in found]
        answer = {"kind": f"{KINDS[resource][0]}List", "apiVersion": "v1", "metadata": metadata, "items": items}
        await send_json(send, answer)

    def _as_table(self, request: Request, resource: str, found: list[Object], metadata: Object, *, columns: bool = True) -> Object:
        include = request.query.get("includeObject") or "Metadata"
        return table(resource, found, metadata, int(self.cluster.clock.wall()), include, columns=columns)


def _key(found: Object) -> tuple[str, str]:
    return (found["metadata"].get("namespace", ""), found["metadata"]["name"])


def _continued(token: str) -> tuple[str, str] | None:
    if not token:
        return None
    try:
        namespace, name = msgspec.json.decode(base64.urlsafe_b64decode(token), type=tuple[str, str])
    except (ValueError, msgspec.MsgspecError) as exc:
        raise Problem(400, "BadRequest", f"continue key is not valid: {exc}") from exc
    return namespace, name
