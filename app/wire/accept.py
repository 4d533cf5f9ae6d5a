"""Content negotiation, as k8s.io/apiserver/pkg/endpoints/handlers/negotiation does it. Only JSON is served."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from app.wire.status import not_acceptable

JSON = "application/json"
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
    """What was agreed on: the form (None: the object itself), and whether Accept asks for indentation."""

    target: Target | None = None
    pretty: bool = False


PLAIN = Negotiated()


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


def negotiate(accept: str, *, allows: Callable[[Target], bool]) -> Negotiated:
    """The best form that `accept` asks for and that `allows` agrees to. Without Accept it is plain JSON.

    Parameters that nobody knows do not disqualify a clause. Raises Problem 406.
    """
    if not accept:
        return PLAIN
    for clause in parse_accept(accept):
        if not _is_json(clause):
            continue
        params = clause.params
        if params.get("stream", "watch") != "watch" or params.get("sv", "v1") != "v1":
            continue
        target = target_of(clause)
        if target is None or allows(target):
            return Negotiated(target, params.get("pretty") == "1")
    raise not_acceptable([JSON])


def target_of(clause: Clause) -> Target | None:
    """The conversion a clause asks for, None if it asks for none."""
    params = clause.params
    if not ("as" in params or "g" in params or "v" in params):
        return None
    return Target(params.get("as", ""), params.get("g", ""), params.get("v", ""))


def is_meta(target: Target) -> bool:
    """Whether the target is one of the forms that every resource has: Table, PartialObjectMetadata and its list."""
    known = target.kind in {"Table", "PartialObjectMetadata", "PartialObjectMetadataList"}
    return known and target.group == "meta.k8s.io" and target.version in META_VERSIONS


def accepts_json(accept: str) -> bool:
    """Whether plain JSON is among what is accepted, whatever parameters are asked for (the rule of the OpenAPI paths)."""
    return not accept or any(_is_json(clause) for clause in parse_accept(accept))


def wants_pretty(query: Mapping[str, str], user_agent: str) -> bool:
    """Whether a human reads: pretty=true, or a user agent of a browser or a command line program."""
    pretty = query.get("pretty")
    if pretty:
        return pretty in _TRUE
    return user_agent.startswith(_HUMAN_CLIENTS)


def _is_json(clause: Clause) -> bool:
    if clause.type == "*":
        return clause.subtype == "*"
    return clause.type == "application" and clause.subtype in {"json", "*"}
