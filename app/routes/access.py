"""The question that every path but the health roots asks before it answers."""

from app.auth.identity import Attributes, Gate
from app.routes.problems import Answering
from app.routes.respond import Answer, Scope


def guarded(gate: Gate, answer: Answering) -> Answering:
    """`answer`, behind the gate: a non-resource request, asked for by path and lower-case method."""

    async def admitted(scope: Scope) -> Answer:
        await gate.admit(scope, Attributes(verb=scope["method"].lower(), path=scope["path"]))
        return await answer(scope)

    return admitted
