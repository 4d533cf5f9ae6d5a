"""What is left of a summary in which some part is not as it should be: each bad part costs itself, and is counted."""

from datetime import datetime
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Raw, Struct

from collectors._base import Cause, CollectError
from collectors._summary_document import UNDECODABLE, Container, FullSummary, Node, Pod, PodRef, Summary

_MOST_DROPPED = 1000
"""A body with more bad parts than this is no summary: reading on would only cost time."""
_GONE = object()

Part = TypeVar("Part")


class _LooseSummary(Struct, gc=False):
    """The short form with every part left undecoded."""

    node: Raw = Raw(b"null")
    pods: list[Raw] | None = None


class _LoosePod(Struct, gc=False, rename="camel"):
    pod_ref: PodRef
    containers: list[Raw] | None = None


class _Salvage:
    """Decodes parts, and counts those that do not decode."""

    def __init__(self) -> None:
        self.dropped = 0

    def drop(self) -> None:
        self.dropped += 1
        if self.dropped > _MOST_DROPPED:
            raise CollectError(Cause.PAYLOAD, f"more than {_MOST_DROPPED} entries cannot be read", "see the kubelet's log")

    def decode(self, raw: Raw, kind: type[Part]) -> Part | None:
        """The part, None if it does not decode."""
        try:
            return msgspec.json.decode(raw, type=kind)
        except UNDECODABLE:
            self.drop()
            return None

    def take(self, raw: Raw, kind: Any) -> Any:
        """The part without those blocks and elements in it that do not decode; _GONE if it cannot be without them.

        A block is an object or a list: it can be missing from what it stands in. A number or text that is not as it should be takes its
        block with it.
        """
        try:
            return msgspec.json.decode(raw, type=kind)
        except UNDECODABLE:
            pass
        wanted = _unless_none(kind)
        if get_origin(wanted) is list:
            return self._elements(raw, get_args(wanted)[0])
        return self._fields(raw, wanted) if _is_block(wanted) else _GONE

    def _elements(self, raw: Raw, kind: Any) -> Any:
        try:
            parts = msgspec.json.decode(raw, type=list[Raw])
        except UNDECODABLE:
            return _GONE
        taken = []
        for part in parts:
            element = self.take(part, kind)
            if element is _GONE:
                self.drop()
            else:
                taken.append(element)
        return taken

    def _fields(self, raw: Raw, kind: Any) -> Any:
        try:
            parts = msgspec.json.decode(raw, type=dict[str, Raw])
        except UNDECODABLE:
            return _GONE
        taken = {}
        for field in msgspec.structs.fields(kind):
            if field.encode_name not in parts:
                continue
            value = self.take(parts[field.encode_name], field.type)
            if value is not _GONE:
                taken[field.name] = value
            elif field.required or not _is_block(_unless_none(field.type)):
                return _GONE
            else:
                self.drop()
        if any(field.required and field.name not in taken for field in msgspec.structs.fields(kind)):
            return _GONE
        return (get_origin(kind) or kind)(**taken)


def _unless_none(kind: Any) -> Any:
    """The type of an optional field where it is there."""
    options = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    return next(option for option in options if option is not type(None))


def _is_block(kind: Any) -> bool:
    """Whether that is an object or a list."""
    origin = get_origin(kind) or kind
    return origin is list or (isinstance(origin, type) and issubclass(origin, Struct))


def salvage(body: bytes) -> tuple[Summary[datetime], int]:
    """The short form without its bad parts, and how many those were. Raises CollectError if nothing of it can be read."""
    try:
        loose = msgspec.json.decode(body, type=_LooseSummary)
    except UNDECODABLE as error:
        raise CollectError(Cause.PAYLOAD, f"not a summary: {error}", "does a kubelet listen on that port?") from error
    parts = _Salvage()
    pods = []
    for raw_pod in loose.pods or ():
        pod = parts.decode(raw_pod, _LoosePod)
        if pod is not None:
            containers = [parts.decode(raw, Container[datetime]) for raw in pod.containers or ()]
            pods.append(Pod(pod.pod_ref, [container for container in containers if container is not None]))
    node = None if bytes(loose.node) == b"null" else parts.decode(loose.node, Node[datetime])
    return Summary(node=node, pods=pods), parts.dropped


def salvage_full(body: bytes) -> tuple[FullSummary[datetime], int]:
    """The full form without its bad parts, and how many those were. Raises CollectError for too many of them."""
    parts = _Salvage()
    summary = parts.take(Raw(body), FullSummary[datetime])
    return (FullSummary() if summary is _GONE else summary), parts.dropped
