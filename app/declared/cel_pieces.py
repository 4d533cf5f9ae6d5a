"""Which expressions may be evaluated over a list piece by piece: those that map or filter it, element by element, and do nothing else.

The runtime copies the list that a loop makes with each element: what is twice as long takes four times as long, with the interpreter's
lock held, and loops end at 10,000 elements. In pieces it is linear, others get their turn in between, and there is no such end.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from app.declared.cel_syntax import Call, Literal, Loop, Many, Member, Name, Node, parts

PIECE = 500
"""Elements that are evaluated at one time."""


class ListPath(NamedTuple):
    """Where the list of such an expression stands: in a variable, below these members."""

    variable: str
    members: tuple[str, ...]

    def pieces(self, variables: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """The variables with one piece of the list after another; none where it is no list, or no longer than a piece."""
        found = variables.get(self.variable)
        for member in self.members:
            found = found.get(member) if isinstance(found, Mapping) else None
        if not isinstance(found, list) or len(found) <= PIECE:
            return
        for start in range(0, len(found), PIECE):
            yield {**variables, self.variable: self._holding(found[start : start + PIECE])}

    def _holding(self, piece: Sequence[Any]) -> Any:
        held: Any = piece
        for member in reversed(self.members):
            held = {member: held}
        return held


def list_path(tree: Node) -> ListPath | None:
    """The list that the whole expression goes through, None where it is another kind of expression.

    Nothing else of the variable that holds it may be looked at, for a piece has nothing else.
    """
    steps: list[Node] = []
    node = tree
    while isinstance(node, Loop):
        if not makes_a_list(node):
            return None
        steps.append(node.step)
        node = node.over
    members: list[str] = []
    while isinstance(node, Member) and not node.asked:
        members.append(node.field)
        node = node.of
    if not steps or not isinstance(node, Name) or any(_names(step, node.name) for step in steps):
        return None
    return ListPath(node.name, tuple(reversed(members)))


def makes_a_list(loop: Loop) -> bool:
    """Whether a loop is a map or a filter: it begins with [], and each step adds an element or leaves all as it is."""
    step, total = loop.step, loop.total
    if isinstance(step, Call) and step.function == "_?_:_":
        _, step, otherwise = step.arguments
        if not _is(otherwise, total):
            return False
    adds = isinstance(step, Call) and step.function == "_+_" and _is(step.arguments[0], total) and isinstance(step.arguments[1], Many)
    goes_on = isinstance(loop.goes_on, Literal) and loop.goes_on.value is True
    return adds and goes_on and isinstance(loop.start, Many) and not loop.start.parts and _is(loop.result, total)


def _is(node: Node, name: str) -> bool:
    return isinstance(node, Name) and node.name == name


def _names(node: Node, name: str) -> bool:
    """Whether a name stands anywhere in a node."""
    return _is(node, name) or any(_names(part, name) for part in parts(node))
