"""/log: the logs of an object's pods, for kinds over objects of the cluster.

kubeglance reads logs with its own right, for somebody else. So it asks of each pod whether *the caller* may read its log, as if they had
asked kube-apiserver itself; who may not is told no more than that.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote as quote_path

from msgspec.structs import replace

from app.auth.access import forbidden
from app.auth.identity import Attributes, User
from app.errors import KubeError, Problem
from app.kinds._base import Asked, Subresource, Told
from app.wire.query import boolean, integer
from app.wire.request_info import is_path_segment
from app.wire.status import bad_request, not_found

MOST_PODS = 20
"""Pods whose logs are told together, the first by name."""

MOST_BYTES = 16 * 1024 * 1024
"""Bytes of one answer."""

LONGEST_LINE = 64 * 1024
"""A longer line of several pods' logs goes out in parts."""

OPENING_S = 2.0
"""Logs that are followed may say nothing for long; for so long it is waited for a refusal."""

_MOST_LISTED = 500
_INSTANCE = "app.kubernetes.io/instance"
_DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
_PARAMETERS = {
    "follow": "true goes on with what is logged from now on.",
    "tailLines": "Only so many lines of the end of each log.",
    "container": "The container; by default the one that kubectl logs would take.",
}


class LogClient(Protocol):
    """The part of the Kubernetes client that logs need; see app/kube/client.py."""

    async def get_json(self, path: str, params: Mapping[str, str | int] | None = None) -> Any: ...

    def stream(self, path: str, params: Mapping[str, str | int], *, patience: float | None = ...) -> AsyncGenerator[bytes, None]: ...


class Access(Protocol):
    """Whether a user may; see app/auth/access.py."""

    async def check(self, user: User, attributes: Attributes) -> None: ...


class Log(NamedTuple):
    """One log: of a container of a pod."""

    namespace: str
    pod: str
    container: str


class Selection(NamedTuple):
    """Which pods belong to an object: those with labels, or with an owner, in a namespace; or the one with a name."""

    namespace: str
    labels: str = ""
    owner: str = ""
    name: str = ""


class PodLogs:
    """Answers /log of any kind."""

    def __init__(self, client: LogClient, access: Access, *, opening: float = OPENING_S, most_bytes: int = MOST_BYTES) -> None:
        self._client = client
        self._access = access
        self._opening = opening
        self._most_bytes = most_bytes

    def subresource(self, kind: str, item_of: Callable[[Any], Any]) -> Subresource:
        """/log of `kind`; `item_of(value)` is the object of the cluster behind one of its own."""

        async def answer(asked: Asked) -> Told:
            return Told(await self._open(item_of(asked.item.value), asked))

        return Subresource("log", kind, answer, parameters=_PARAMETERS)

    async def _open(self, item: Any, asked: Asked) -> AsyncGenerator[bytes, None]:
        follow = bool(boolean(asked.query, "follow"))
        lines = integer(asked.query, "tailLines")
        if lines is not None and lines < 0:
            raise bad_request(f"tailLines: Invalid value: {lines}: must not be negative")
        pods = await self._pods(asked.caller, item)
        logs = _logs_of(pods, asked.query.get("container", ""))
        params: dict[str, str | int] = {"limitBytes": self._most_bytes}
        if follow:
            params["follow"] = "true"
        if lines is not None:
            params["tailLines"] = lines
        streams = [self._log(log, params, patient=follow, prefixed=len(logs) > 1) for log in logs]
        told = _bounded(_merged(streams, self._opening) if follow else _one_by_one(streams), self._most_bytes)
        await anext(told)  # what keeps logs from being opened is told as a Status
        return told

    async def _pods(self, caller: User, item: Any) -> list[dict[str, Any]]:
        """The pods of an object, the first of them by name, whose logs the caller may read. Raises Problem.

        Who may read no logs in a namespace is not told either that there are no such pods in it.
        """
        selection = Selection("")
        for selection in selections(item):
            if selection.name:
                await self._allowed(caller, selection.namespace, selection.name)
            found = await self._selected(selection)
            if found:
                pods = sorted(found, key=lambda pod: str(pod["metadata"]["name"]))[:MOST_PODS]
                for pod in pods:
                    await self._allowed(caller, selection.namespace, str(pod["metadata"]["name"]))
                return pods
        await self._allowed(caller, selection.namespace, "")
        raise not_found("", "pods", str(item["metadata"]["name"]), "no pods belong to it")

    async def _allowed(self, caller: User, namespace: str, pod: str) -> None:
        """Raises Problem 403 that does not tell which pods there are."""
        asked = Attributes("get", version="v1", resource="pods", subresource="log", namespace=namespace, name=pod)
        try:
            await self._access.check(caller, asked)
        except Problem as problem:
            if problem.code != 403:
                raise
            raise forbidden(caller, replace(asked, name="")) from None

    async def _selected(self, selection: Selection) -> list[dict[str, Any]]:
        path = f"/api/v1/namespaces/{quote_path(selection.namespace, safe='')}/pods"
        try:
            if selection.name:
                return [await self._client.get_json(f"{path}/{quote_path(selection.name, safe='')}")]
            labels = {"labelSelector": selection.labels} if selection.labels else {}
            listed = await self._client.get_json(path, {"limit": _MOST_LISTED, **labels})
        except KubeError as error:
            raise _told(error, "get and list on pods") from error
        pods: list[dict[str, Any]] = listed.get("items") or []
        if not selection.owner:
            return pods
        return [pod for pod in pods if any(owner.get("uid") == selection.owner for owner in pod["metadata"].get("ownerReferences") or ())]

    async def _log(self, log: Log, params: Mapping[str, str | int], *, patient: bool, prefixed: bool) -> AsyncGenerator[bytes, None]:
        """The pieces of one log; an empty one comes first, once it is open. Raises Problem before that, and tells in the text after it."""
        path = f"/api/v1/namespaces/{quote_path(log.namespace, safe='')}/pods/{quote_path(log.pod, safe='')}/log"
        asked = {**params, "container": log.container}
        prefix = f"[pod/{log.pod}/{log.container}] ".encode() if prefixed else b""
        opened = False
        try:
            stream = self._client.stream(path, asked, patience=None) if patient else self._client.stream(path, asked)
            async with aclosing(_lines(stream, prefix) if prefixed else stream) as pieces:
                async for piece in pieces:
                    opened = True
                    yield piece
        except KubeError as error:
            if not opened:
                raise _told(error, "get on pods/log") from error
            yield _notice(f"the log of pod {log.pod}, container {log.container}, broke off: {error}")


def selections(item: Any) -> list[Selection]:
    """Where the pods of an object of the cluster are looked for, best first. Raises Problem for what is no such object.

    A Pod is its own; a HelmRelease has those that are labelled with its release; what selects pods has those. All others have those that
    name it as an owner, or else those that are labelled with its name as an instance.
    """
    metadata = _mapping(item.get("metadata") if isinstance(item, Mapping) else None)
    namespace, name = metadata.get("namespace"), metadata.get("name")
    if not (isinstance(namespace, str) and isinstance(name, str) and namespace and name and is_path_segment(namespace)):
        raise bad_request("there are no logs: the item behind the object is no object of a namespace")
    group = str(item.get("apiVersion", "")).rpartition("/")[0]
    spec = _mapping(item.get("spec"))
    if isinstance(spec.get("containers"), list | tuple) and is_path_segment(
        name
    ):  # kube-apiserver's lists of its own kinds do not say what their items are
        return [Selection(namespace, name=name)]
    if (group, item.get("kind")) == ("helm.toolkit.fluxcd.io", "HelmRelease"):
        return [_release(namespace, name, spec, _mapping(item.get("status")))]
    selector = spec.get("selector")
    if isinstance(selector, Mapping) and selector:
        return [Selection(namespace, _label_selector(selector))]
    by_owner = [Selection(namespace, owner=str(metadata["uid"]))] if metadata.get("uid") else []
    return [*by_owner, Selection(namespace, f"{_INSTANCE}={name}")]


def _release(namespace: str, name: str, spec: Mapping[str, Any], status: Mapping[str, Any]) -> Selection:
    """The pods of a Helm release. Its history says what it is called and where it is; before there is one, its spec does."""
    history = status.get("history")
    newest = _mapping(history[0]) if isinstance(history, list | tuple) and history else {}
    target = spec.get("targetNamespace")
    release = newest.get("name") or spec.get("releaseName") or (f"{target}-{name}" if target else name)
    where = str(newest.get("namespace") or target or namespace)
    return Selection(where if is_path_segment(where) else namespace, f"{_INSTANCE}={release}")


def _label_selector(selector: Mapping[str, Any]) -> str:
    """A LabelSelector, or a plain map of labels, as text. Raises Problem for what is neither."""
    if "matchLabels" not in selector and "matchExpressions" not in selector:
        return _equal(selector)
    parts = [_equal(_mapping(selector.get("matchLabels")))]
    expressions = selector.get("matchExpressions")
    for each in expressions if isinstance(expressions, list | tuple) else ():
        said = _mapping(each)
        key, operator, values = said.get("key"), said.get("operator"), said.get("values")
        among = ",".join(map(str, values)) if isinstance(values, list | tuple) else ""
        known = {"In": f"{key} in ({among})", "NotIn": f"{key} notin ({among})", "Exists": f"{key}", "DoesNotExist": f"!{key}"}
        text = known.get(str(operator))
        if text is None:
            raise bad_request(f"there are no logs: the object selects pods by the operator {operator}")
        parts.append(text)
    text = ",".join(part for part in parts if part)
    if not text:
        raise bad_request("there are no logs: the object selects all pods")
    return text


def _equal(labels: Mapping[str, Any]) -> str:
    return ",".join(f"{key}={value}" for key, value in labels.items())


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _logs_of(pods: Sequence[Mapping[str, Any]], container: str) -> list[Log]:
    """One log of each pod that has the container. Raises Problem 400 where none has."""
    logs = []
    for pod in pods:
        metadata, spec = pod["metadata"], _mapping(pod.get("spec"))
        names = [str(each["name"]) for field in ("containers", "initContainers") for each in spec.get(field) or ()]
        default = _mapping(metadata.get("annotations")).get(_DEFAULT_CONTAINER)
        chosen = container or (default if default in names else next(iter(names), ""))
        if chosen in names:
            logs.append(Log(str(metadata["namespace"]), str(metadata["name"]), chosen))
    if not logs:
        raise bad_request(f"container: Invalid value: none of {len(pods)} pods has a container of this name")
    return logs


def _told(error: KubeError, right: str) -> Problem:
    """What kube-apiserver refused kubeglance, for the caller: never kubeglance's own 403 as theirs."""
    if error.status in {401, 403}:
        return Problem(503, "ServiceUnavailable", f"kubeglance may not read logs: it needs {right} of its own: {error}")
    if error.status in {400, 404}:
        return Problem(error.status, "BadRequest" if error.status == 400 else "NotFound", str(error))
    return Problem(503, "ServiceUnavailable", f"the log cannot be had: {error}")


def _notice(text: str) -> bytes:
    """A line of kubeglance's own among those of logs."""
    return f"kubeglance: {text}\n".encode()


async def _lines(stream: AsyncGenerator[bytes, None], prefix: bytes) -> AsyncGenerator[bytes, None]:
    """Whole lines, each with its prefix; as soon as it is open, an empty piece."""
    rest = b""
    async with aclosing(stream) as pieces:
        async for piece in pieces:
            *lines, rest = (rest + piece).split(b"\n")
            yield b"".join(prefix + line + b"\n" for line in lines)
            if len(rest) > LONGEST_LINE:
                yield prefix + rest + b"\n"
                rest = b""
    if rest:
        yield prefix + rest + b"\n"


async def _one_by_one(streams: Sequence[AsyncGenerator[bytes, None]]) -> AsyncGenerator[bytes, None]:
    """All logs, one behind the other. One that cannot be opened behind others is told in the text."""
    for number, stream in enumerate(streams):
        try:
            async with aclosing(stream) as pieces:
                async for piece in pieces:
                    yield piece
        except Problem as problem:
            if number == 0:
                raise
            yield _notice(problem.message)


async def _merged(streams: Sequence[AsyncGenerator[bytes, None]], opening: float) -> AsyncGenerator[bytes, None]:
    """Pieces of all logs as they come, after an empty one: when all are open, or after `opening` s. Raises Problem for one that cannot be.

    What waits for each stream is a task, and ends with this generator.
    """
    waiting = {asyncio.ensure_future(_next(stream)): stream for stream in streams}
    try:
        await asyncio.wait(waiting, timeout=opening, return_when=asyncio.FIRST_EXCEPTION)
        for task in waiting:
            if task.done():
                task.result()
        yield b""
        while waiting:
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                stream = waiting.pop(task)
                try:
                    piece = task.result()
                except Problem as problem:
                    yield _notice(problem.message)
                    continue
                if piece is not None:
                    waiting[asyncio.ensure_future(_next(stream))] = stream
                    yield piece
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        for stream in streams:
            await stream.aclose()


async def _next(stream: AsyncGenerator[bytes, None]) -> bytes | None:
    return await anext(stream, None)


async def _bounded(stream: AsyncGenerator[bytes, None], most: int) -> AsyncGenerator[bytes, None]:
    """Its pieces up to `most` bytes; what is cut off is told."""
    left = most
    async with aclosing(stream) as pieces:
        async for piece in pieces:
            yield piece[:left]
            left -= len(piece)
            if left < 0:
                yield b"\n" + _notice(f"the rest is left out: an answer has at most {most} bytes")
                return
