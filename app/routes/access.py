"""The question that every path but the health roots asks before it answers."""

from app.auth.identity import Attributes, Gate
from app.routes.problems import Answering
from app.routes.respond import Answer, Scope
from app.wire.request_info import RequestInfo


def guarded(gate: Gate, answer: Answering) -> Answering:
    """`answer`, behind the gate: a non-resource request, asked for by path and lower-case method."""

    async def admitted(scope: Scope) -> Answer:
        await gate.admit(scope, Attributes(verb=scope["method"].lower(), path=scope["path"]))
        return await answer(scope)

    return admitted


def attributes_of(info: RequestInfo, verb: str) -> Attributes:
    """The question for the gate, without selectors: they are read when it turns out that the caller may not ask for all."""
    if not info.resource:
        return Attributes(verb=info.verb, path=info.path)
    return Attributes(verb, info.path, info.group, info.version, info.resource, info.subresource, info.namespace, info.name)
