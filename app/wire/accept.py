"""Content negotiation, as k8s.io/apiserver/pkg/endpoints/handlers/negotiation does it, among JSON and protobuf."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from app.errors import Problem
from app.wire.status import not_acceptable

JSON = "application/json"
PROTOBUF = "application/vnd.kubernetes.protobuf"
META_VERSIONS = ("v1", "v1beta1")

_HUMAN_CLIENTS = ("curl", "Wget", "Mozilla/5.0")
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})


class Clause(Struct, frozen=True):
    """One part of an Accept header. `params` has no q."""

    type: str
    subtype: str
    q: float = 1.0
    params: Mapping[str, str] = {}


class Target(Struct, frozen=True):
    """The kind an answer is to be converted to: the parameters as, g and v of a clause."""

    kind: str = ""
    group: str = ""
    version: str = ""


class Negotiated(Struct, frozen=True):
    """What was agreed on: the form (None: the object itself), whether Accept asks for indentation, and the media type."""

    target: Target | None = None
    pretty: bool = False
    media: str = JSON


PLAIN = Negotiated()

Allows = Callable[[str, Target | None], bool]
"""Says of a media type and a form, None for the object itself, whether they are served together."""


def parse_accept(header: str) -> list[Clause]:
    """The clauses of an Accept header, best first. What is no media range is dropped. Never raises."""
    clauses = [clause for part in header.split(",") if (clause := _clause(part)) is not None]
    clauses.sort(key=lambda clause: (-clause.q, clause.type == "*", clause.subtype == "*"))
    return clauses


def _clause(part: str) -> Clause | None:
    media, *parameters = part.split(";")
    kind, slash, subtype = media.strip(" ").partition("/")
    kind, subtype = kind.strip(" "), subtype.strip(" ")
    if kind == "*" and not slash:
        subtype = "*"
    if not subtype or "/" in subtype:
        return None
    quality, params = 1.0, {}
    for parameter in parameters:
        name, equals, value = parameter.partition("=")
        if not equals or not value or "=" in value:
            continue
        if name.strip(" ") == "q":
            quality = _quality(value)
        else:
            params[name.strip(" ")] = value.strip(" ")
    return Clause(kind, subtype, quality, params)


def _quality(text: str) -> float:
    try:
        quality = float(text)
    except ValueError:
        return 0.0
    return quality if 0.0 <= quality <= 1.0 else 0.0


def negotiate(accept: str, *, allows: Allows, media_types: Sequence[str] = (JSON,)) -> Negotiated:
    """The best form that `accept` asks for and that `allows` agrees to. Without Accept it is plain JSON.

    A wildcard takes the first of `media_types`. Parameters that nobody knows do not disqualify a clause. Raises Problem 406.
    """
    if not accept:
        return PLAIN
    for clause in parse_accept(accept):
        params = clause.params
        if params.get("stream", "watch") != "watch" or params.get("sv", "v1") != "v1":
            continue
        target = target_of(clause)
        for media in media_types:
            if _covers(clause, media) and allows(media, target):
                return Negotiated(target, params.get("pretty") == "1", media)
    raise not_acceptable(media_types)


def error_media(accept: str) -> str:
    """The media type of a Status for a failure: the first clause without a conversion decides. What cannot be agreed on is JSON."""
    try:
        return negotiate(accept, allows=is_plain, media_types=(JSON, PROTOBUF)).media
    except Problem:
        return JSON


def target_of(clause: Clause) -> Target | None:
    """The conversion a clause asks for, None if it asks for none."""
    params = clause.params
    if not ("as" in params or "g" in params or "v" in params):
        return None
    return Target(params.get("as", ""), params.get("g", ""), params.get("v", ""))


def is_plain(_media: str, target: Target | None) -> bool:
    """Whether the object itself is asked for."""
    return target is None


def is_meta(media: str, target: Target | None) -> bool:
    """Whether it is a form that every resource has: the object itself, PartialObjectMetadata and its list, and Table in JSON."""
    if target is None:
        return True
    known = target.kind in {"PartialObjectMetadata", "PartialObjectMetadataList"} or (target.kind == "Table" and media == JSON)
    return known and target.group == "meta.k8s.io" and target.version in META_VERSIONS


def accepts_json(accept: str) -> bool:
    """Whether plain JSON is among what is accepted, whatever parameters are asked for (the rule of the OpenAPI paths)."""
    return not accept or any(_covers(clause, JSON) for clause in parse_accept(accept))


def wants_pretty(query: Mapping[str, str], user_agent: str) -> bool:
    """Whether a human reads: pretty=true, or a user agent of a browser or a command line program."""
    pretty = query.get("pretty")
    if pretty:
        return pretty in _TRUE
    return user_agent.startswith(_HUMAN_CLIENTS)


def _covers(clause: Clause, media: str) -> bool:
    if clause.type == "*":
        return clause.subtype == "*"
    kind, _, subtype = media.partition("/")
    return clause.type == kind and clause.subtype in {subtype, "*"}
