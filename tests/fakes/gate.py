"""A gate that lets in whom the test says, and remembers what was asked."""

from collections.abc import Callable

from app.auth.identity import Attributes, Narrowed, Scope, User
from app.errors import Problem


class FakeGate:
    """Admits everything until `refusal` is set. `asked` holds the narrowest form of each question; `meanwhile` is what goes on while a
    verdict is waited for. Nobody is known before `knows` is set."""

    def __init__(self) -> None:
        self.asked: list[Attributes] = []
        self.refusal: Problem | None = None
        self.meanwhile: Callable[[], None] = lambda: None
        self.knows = False

    def known(self, scope: Scope, attributes: Attributes) -> User | None:
        return User(name="tester") if self.knows else None

    async def admit(self, scope: Scope, attributes: Attributes, narrowed: Narrowed | None = None) -> User:
        self.asked.append(attributes if narrowed is None else narrowed())
        self.meanwhile()
        if self.refusal is not None:
            raise self.refusal
        return User(name="tester")
