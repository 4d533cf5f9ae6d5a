"""From metrics-server's answers to kubeglance's: one function for each way in which they differ. differences.py says why."""

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import msgspec

from app import __version__
from app.routes.version import version_info
from tests.goldens import cluster
from tests.goldens.answer import NOW, Answer, load
from tests.goldens.kubeglance import REASON, VERSION, WITHOUT_VALUES
from tests.goldens.protobuf import nodes_of
from tests.goldens.requests import API, PROTOBUF, REQUESTS, Request

Adapt = Callable[[Request, Answer], Answer]
"""Changes what is to be changed; an answer that does not show the difference comes back as it was. It may change its argument."""

_HEAD = {"audit-id": "<uuid>", "cache-control": "no-cache, private", "content-type": "application/json"}


# Parts of answers


def _status(code: int, reason: str, message: str, details: Mapping[str, Any] | None = None) -> dict[str, Any]:
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "reason": reason}
    return {**status, **({} if details is None else {"details": details}), "code": code}


def _refusal(code: int, reason: str, message: str, details: Mapping[str, Any] | None = None) -> Answer:
    return Answer(code, dict(_HEAD), "line", _status(code, reason, message, details))


_UNKNOWN = _refusal(404, "NotFound", "the server could not find the requested resource", {})


def _is_pods(body: Any) -> bool:
    return isinstance(body, dict) and body.get("kind") == "PodMetricsList"


def _message(answer: Answer) -> tuple[dict[str, Any], str]:
    """The Status in an answer, of JSON or protobuf, and its message; an empty dict if there is none."""
    body = answer.body if isinstance(answer.body, dict) else {}
    status = body["raw"] if answer.layout == "protobuf" and body["typeMeta"]["kind"] == "Status" else body
    return (status, status["message"]) if isinstance(status.get("message"), str) else ({}, "")


def on(names: Sequence[str], change: Adapt) -> Adapt:
    """`change` for the requests of these names, or of these folders where a name ends in a slash."""

    def adapt(request: Request, answer: Answer) -> Answer:
        chosen = any(request.name == name or (name.endswith("/") and request.name.startswith(name)) for name in names)
        return change(request, answer) if chosen else answer

    return adapt


# Values: pods that only one of the two serves, or with other numbers


def fields(cpu: str, memory: str, *, window: str = "15s", timestamp: str = "2026-01-01T00:00:15Z", **more: str) -> dict[str, Any]:
    """Those of a pod with one container, whose usage is of cpu, memory and whatever `more` says."""
    return {"timestamp": timestamp, "window": window, "containers": [{"name": "main", "usage": {"cpu": cpu, "memory": memory, **more}}]}


def valued(name: str, there: dict[str, Any] | None) -> Adapt:
    """The pod of this name in namespace "differing" with these fields; None: it is left out."""
    pod = next(pod for pod in cluster.PODS if (pod.namespace, pod.name) == ("differing", name))
    metadata: dict[str, Any] = {"name": name, "namespace": pod.namespace, "creationTimestamp": NOW, "labels": dict(pod.labels)}
    made = None if there is None else {"metadata": metadata, **there}

    def adapt(request: Request, answer: Answer) -> Answer:
        if request.name == f"gets/differing-{name}":
            if made is not None:
                return Answer(200, dict(_HEAD), "line", {"kind": "PodMetrics", "apiVersion": "metrics.k8s.io/v1beta1", **made})
            details = {"name": f"differing/{name}", "group": "metrics.k8s.io", "kind": "podmetrics"}
            return _refusal(404, "NotFound", f'podmetrics.metrics.k8s.io "differing/{name}" not found', details)
        if request.name not in {"lists/pods-all", "lists/pods-differing"} or not _is_pods(answer.body):
            return answer
        items = [item for item in answer.body["items"] if item["metadata"]["name"] != name]
        items += [] if made is None else [copy.deepcopy(made)]
        items.sort(key=lambda item: (item["metadata"]["namespace"], item["metadata"]["name"]))
        return answer.with_body({**answer.body, "items": items})

    return adapt


def each_of(*adapts: Adapt) -> Adapt:
    """One after the other."""

    def adapt(request: Request, answer: Answer) -> Answer:
        for each in adapts:
            answer = each(request, answer)
        return answer

    return adapt


# Metadata


def with_versions(_request: Request, answer: Answer) -> Answer:
    """Items bear one, and so do lists and Tables."""
    body = answer.body
    if answer.layout == "protobuf":
        status = body["typeMeta"]["kind"] in {"Status", "APIGroupDiscoveryList"}
        for node in () if status else nodes_of(body["raw"]):
            if "resourceVersion" in node:
                node["resourceVersion"] = VERSION
        return answer
    for node in nodes_of(body):
        if node.get("creationTimestamp") == NOW:
            front: dict[str, Any] = {name: node[name] for name in ("name", "namespace") if name in node}
            rest = {name: value for name, value in node.items() if name not in front}
            node.clear()
            node.update({**front, "resourceVersion": VERSION, **rest})
    if isinstance(body, dict) and body.get("metadata") == {} and body.get("kind") not in {"Status", "APIGroupDiscoveryList"}:
        body["metadata"] = {"resourceVersion": VERSION}
    return answer


@cache
def _measured() -> Mapping[tuple[str, str], str]:
    """When what is served of each node and pod was measured."""
    names = {"lists/nodes", "lists/pods-apps", "lists/pods-magnitudes"}
    items = [item for request in REQUESTS if request.name in names for item in load(request).body["items"]]
    return {(item["metadata"].get("namespace", ""), item["metadata"]["name"]): item["timestamp"] for item in items}


def measured_then(_request: Request, answer: Answer) -> Answer:
    """The end of the window, wherever the object itself is or only its metadata."""
    for node in nodes_of(answer.body):
        metadata = node.get("metadata")
        if not isinstance(metadata, dict) or "creationTimestamp" not in metadata:
            continue
        stamp = node.get("timestamp") or _measured().get((metadata.get("namespace", ""), metadata.get("name", "")))
        if metadata["creationTimestamp"] == NOW:
            metadata["creationTimestamp"] = stamp
        elif isinstance(metadata["creationTimestamp"], dict) and metadata["creationTimestamp"].get("seconds") == NOW:
            metadata["creationTimestamp"] = {"seconds": _seconds(stamp), "nanos": 0}
    return answer


def _seconds(stamp: Any) -> int:
    if isinstance(stamp, dict):
        return int(stamp["seconds"])
    return next(at for at in range(cluster.START, cluster.START + 4000) if cluster.rfc3339(at) == stamp)


def in_spec_order(_request: Request, answer: Answer) -> Answer:
    orders = {
        (pod.namespace, pod.name): [each.name for each in sorted(pod.containers, key=lambda each: each.sidecar)] for pod in cluster.PODS
    }
    for node in nodes_of(answer.body):
        metadata, containers = node.get("metadata"), node.get("containers")
        if isinstance(metadata, dict) and isinstance(containers, list):
            order = orders[metadata["namespace"], metadata["name"]]
            containers.sort(key=lambda container: order.index(container["name"]))
    return answer


# Forms

_COLUMNS = {
    "Name": ("name", "Name of the node or pod."),
    "cpu": ("quantity", "CPU in cores, averaged over the window."),
    "memory": ("quantity", "Working set in bytes at the end of the window."),
    "Window": ("duration", "The time over which CPU was measured."),
}


def described(_request: Request, answer: Answer) -> Answer:
    for column in (answer.body.get("columnDefinitions") or []) if isinstance(answer.body, dict) else []:
        column["description"] = _COLUMNS[column["name"]][1]
    return answer


def empty_is_list(_request: Request, answer: Answer) -> Answer:
    body = answer.body
    if isinstance(body, dict) and body.get("kind") == "Table" and body["rows"] is None:
        columns = [
            {"name": name, "type": "string", "format": form, "description": text, "priority": 0} for name, (form, text) in _COLUMNS.items()
        ]
        return answer.with_body({**body, "columnDefinitions": columns, "rows": []})
    if isinstance(body, dict) and body.get("items", ...) is None:
        return answer.with_body({**body, "items": []})
    return answer


_ANY = "lists/accept-anything"


def any_application(request: Request, answer: Answer) -> Answer:
    return load(next(other for other in REQUESTS if other.name == _ANY)) if request.name == "lists/accept-application" else answer


_TYPES = ("application/json", PROTOBUF)
_ACCEPTED = f"only the following media types are accepted: {', '.join(_TYPES)}"
_ACCEPTED_JSON = "only the following media types are accepted: application/json"


def one_406(request: Request, answer: Answer) -> Answer:
    if answer.status != 406 or answer.layout == "text":
        return answer
    _, message = _message(answer)
    if message.startswith("you requested"):
        return answer
    return _refusal(406, "NotAcceptable", _ACCEPTED if request.path.startswith(f"{API}/") else _ACCEPTED_JSON)


def no_yaml(request: Request, answer: Answer) -> Answer:
    if answer.layout != "yaml":
        return answer
    return _refusal(406, "NotAcceptable", _ACCEPTED if request.path.startswith(f"{API}/") else _ACCEPTED_JSON)


def no_protobuf_discovery(request: Request, answer: Answer) -> Answer:
    if not request.path.startswith(API + "/") and request.path.startswith("/apis") and answer.layout == "protobuf":
        if "as=" in (request.accept or ""):
            return _refusal(406, "NotAcceptable", _ACCEPTED_JSON)
        told = {"metadata": {"selfLink": "", "resourceVersion": "", "continue": ""}, "status": "Failure", "message": _ACCEPTED_JSON}
        status = {"apiVersion": "v1", "kind": "Status"}, {**told, "reason": "NotAcceptable", "code": 406}
        body = {"typeMeta": status[0], "raw": status[1], "contentEncoding": "", "contentType": ""}
        return Answer(406, {**_HEAD, "content-type": PROTOBUF}, "protobuf", body)
    return answer


def one_line(_request: Request, answer: Answer) -> Answer:
    """Status objects that metrics-server indents although nobody asked for it."""
    status, message = _message(answer)
    wrong = message.startswith(("you requested", "Unable to convert"))
    return replace(answer, layout="line") if status and wrong else answer


def own_names(_request: Request, answer: Answer) -> Answer:
    status, message = _message(answer)
    if "*metrics." in message:
        status["message"] = message.replace("*metrics.", "")
    return answer


# Errors


def with_reason(_request: Request, answer: Answer) -> Answer:
    status, message = _message(answer)
    if WITHOUT_VALUES.fullmatch(message):
        status["message"] = f"{message}: {REASON}"
    return answer


def not_running(request: Request, answer: Answer) -> Answer:
    name = request.name.removeprefix("not-found/pod-")
    details = {"name": f"apps/{name}", "group": "metrics.k8s.io", "kind": "podmetrics"}
    text = f'podmetrics.metrics.k8s.io "apps/{name}" not found: {REASON}'
    return _refusal(404, "NotFound", text, details)


def plural(_request: Request, answer: Answer) -> Answer:
    status, message = _message(answer)
    if message.startswith('node "'):
        status["message"] = f"nodes{message.removeprefix('node')}"
        status["details"]["kind"] = "nodes"
    return answer


def unknown_path(_request: Request, answer: Answer) -> Answer:
    listed = answer.status == 404 and isinstance(answer.body, dict) and "paths" in answer.body
    return _UNKNOWN if listed else answer


_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def told_verb(request: Request, answer: Answer) -> Answer:
    """405 of a resource names the verb, as kube-apiserver's does, and the methods that there are."""
    if answer.status != 405 or not request.path.startswith(f"{API}/") or request.method == "HEAD":
        return answer
    of = "pods" if "/pods" in request.path else "nodes"
    verb = _VERBS.get(request.method, request.method.lower())
    if request.method == "DELETE" and request.path.endswith(("/nodes", "/pods")):
        verb = "deletecollection"
    if request.method == "GET":
        return replace(answer, headers={"allow": "GET, HEAD", **answer.headers})
    text = f'{verb} is not supported on resources of kind "{of}.metrics.k8s.io"'
    refusal = _refusal(405, "MethodNotAllowed", text, {"group": "metrics.k8s.io", "kind": of})
    return replace(refusal, headers={"allow": "GET, HEAD", **_HEAD})


def told_methods(request: Request, answer: Answer) -> Answer:
    """405 of a document tells the methods that there are."""
    if answer.status != 405 or request.path.startswith(f"{API}/") or request.method == "HEAD":
        return answer
    return replace(answer, headers={"allow": "GET, HEAD", **answer.headers})


def old_watch(_request: Request, _answer: Answer) -> Answer:
    text = 'watch is not supported on resources of kind "nodes.metrics.k8s.io"'
    refusal = _refusal(405, "MethodNotAllowed", text, {"group": "metrics.k8s.io", "kind": "nodes"})
    return replace(refusal, headers={"allow": "GET, HEAD", **_HEAD})


def head(request: Request, answer: Answer) -> Answer:
    """What GET would answer, without the body."""
    if request.method != "HEAD" or answer.status != 405:
        return answer
    headers = {**answer.headers, **({"vary": "Accept"} if request.path == "/apis" else {})}
    return replace(answer, status=404 if request.path.endswith("/nobody") else 200, headers=headers)


def no_sniff(request: Request, answer: Answer) -> Answer:
    one_check = answer.layout == "text" and answer.body == "ok" and request.path.count("/") == 2
    if answer.status == 401 or one_check:
        return replace(answer, headers=dict(sorted({**answer.headers, "x-content-type-options": "nosniff"}.items())))
    return answer


def open_health(_request: Request, _answer: Answer) -> Answer:
    headers = {**_HEAD, "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff"}
    return Answer(200, headers, "text", "ok")


BAD = {
    "bad-requests/resource-version": 'invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": '
    "invalid syntax",
    "bad-requests/continue": "invalid continue token: continue key is not valid",
}


def pages(request: Request, answer: Answer) -> Answer:
    """The first page, with the way to the next one; 400 for what cannot be meant."""
    if text := BAD.get(request.name):
        return _refusal(400, "BadRequest", text)
    items = answer.body["items"]
    metadata = {**answer.body["metadata"], "continue": "<token>", "remainingItemCount": len(items) - 1}
    return answer.with_body({**answer.body, "metadata": metadata, "items": items[:1]})


def bad_escape(_request: Request, _answer: Answer) -> Answer:
    rules = load(next(other for other in REQUESTS if other.name == "label-selectors/bad-key"))
    return rules.with_body({**rules.body, "message": rules.body["message"].replace('"-app"', '"%zz"')})


# Discovery


def with_v1(_request: Request, answer: Answer) -> Answer:
    """v1 beside v1beta1, and preferred, wherever versions are told."""
    body = answer.body
    if answer.status != 200:
        return answer
    for group in [body, *body.get("groups", [])]:
        if "preferredVersion" in group:
            v1 = {"groupVersion": "metrics.k8s.io/v1", "version": "v1"}
            group.update(versions=[v1, *group["versions"]], preferredVersion=v1)
    for group in body["items"] if body.get("kind") == "APIGroupDiscoveryList" else ():
        group["versions"] = [_as_v1(group["versions"][0]), *group["versions"]]
    for part in ("paths", "types"):
        told = body.get(part)
        if isinstance(told, dict) and answer.layout == "compact":
            body[part] = dict(sorted({**told, **_as_v1(told)}.items()))
    return answer


def _as_v1(tree: Any) -> Any:
    return json.loads(json.dumps(tree).replace("v1beta1", "v1"))


def own_version(_request: Request, answer: Answer) -> Answer:
    return answer.with_body(msgspec.to_builtins(version_info(__version__)))


def list_version(_request: Request, answer: Answer) -> Answer:
    groups = [{name: value for name, value in group.items() if name != "serverAddressByClientCIDRs"} for group in answer.body["groups"]]
    headers = {**answer.headers, "vary": "Accept"}
    return replace(answer, headers=headers, body={"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})


def response_kinds(_request: Request, answer: Answer) -> Answer:
    for node in nodes_of(answer.body):
        for resource in node.get("resources", []) if "freshness" in node else ():
            resource["responseKind"].update(group="metrics.k8s.io", version=node["version"])
    return answer


def older_aggregated(_request: Request, _answer: Answer) -> Answer:
    newer = load(next(other for other in REQUESTS if other.name == "discovery/aggregated-v2"))
    headers = {name: value.replace("v=v2", "v=v2beta1") for name, value in newer.headers.items()}
    return replace(newer, headers=headers, body={**newer.body, "apiVersion": "apidiscovery.k8s.io/v2beta1"})


def index(_request: Request, answer: Answer) -> Answer:
    own = {f"/openapi/v3{API.rpartition('/')[0]}/{version}" for version in ("v1", "v1beta1")} | {f"{API.rpartition('/')[0]}/v1"}
    return answer.with_body({"paths": sorted({*answer.body["paths"], *own} - {"/openapi/v3/", "/statusz"})})


def only_groups(_request: Request, answer: Answer) -> Answer:
    """/openapi/v3 lists the documents of group versions, not those of discovery and /version."""
    kept = {path: link for path, link in answer.body["paths"].items() if path.count("/") == 2}
    return answer.with_body({"paths": kept})


def from_memory(_request: Request, answer: Answer) -> Answer:
    """The headers of documents that lie ready, and the line feed at their end."""
    headers = {name: value for name, value in answer.headers.items() if name not in {"accept-ranges", "last-modified"}}
    if "vary" in headers:
        headers["vary"] = "Accept"
    return replace(answer, headers=headers, layout="line" if answer.layout == "compact" else answer.layout)


def no_document(_request: Request, _answer: Answer) -> Answer:
    return _UNKNOWN
