"""What a path means: RequestInfo of k8s.io/apiserver/pkg/endpoints/request."""

from functools import lru_cache

from msgspec import Struct

_VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


_KEPT = 512
_LONGEST_KEPT = 256
"""Paths that are kept, and their characters."""


class RequestInfo(Struct, frozen=True):
    """A request, split. `resource` empty means a non-resource request; then `verb` is the lower-case method.

    `by_path` is true for the old /watch/ (and /proxy/) paths, whose verb stands in the path. A get without a name is a list; whether it is
    a watch is told by the query, not here. `deeper` is true where the path goes on behind the subresource.
    """

    verb: str
    path: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    by_path: bool = False
    deeper: bool = False


def split_request(method: str, path: str) -> RequestInfo:
    """The meaning of `method` on the (percent-decoded) `path`. Never raises.

    An empty namespace names none: `namespaces//pods` is no list of all pods, but a subresource of namespaces, which nobody serves.
    Who watches values asks the same few paths again and again, so that what these mean is kept.
    """
    return split_short(method, path) if len(path) <= _LONGEST_KEPT else _split(method, path)


def _split(method: str, path: str) -> RequestInfo:
    parts = path.strip("/").split("/")
    if parts[0] != "apis" or len(parts) < 4:
        return RequestInfo(method.lower(), path)
    group, version = parts[1], parts[2]
    rest = parts[3:]
    by_path = rest[0] in {"watch", "proxy"}
    if by_path:
        verb = rest[0]
        rest = rest[1:]
        if not rest:
            return RequestInfo(method.lower(), path)
    else:
        verb = _VERBS.get(method, "")
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1 and rest[1]:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in {"status", "finalize"}:
            rest = rest[2:]
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 and verb != "proxy" else ""
    if not name and verb == "get":
        verb = "list"
    elif not name and verb == "delete":
        verb = "deletecollection"
    return RequestInfo(verb, path, group, version, rest[0], subresource, namespace, name, by_path, len(rest) > 3)


split_short = lru_cache(_KEPT)(_split)
"""split_request of short paths."""


def is_path_segment(name: str) -> bool:
    """Whether `name` may be a name in a path (k8s.io/apimachinery content.IsPathSegmentName)."""
    return name not in {".", ".."} and "/" not in name and "%" not in name
