"""A gate that lets in whom the test says, and remembers what was asked."""

from app.auth.identity import Attributes, Scope, User
from app.errors import Problem


class FakeGate:
    """Admits everything until `refusal` is set."""

    def __init__(self) -> None:
        self.asked: list[Attributes] = []
        self.refusal: Problem | None = None

    async def admit(self, scope: Scope, attributes: Attributes) -> User:
        self.asked.append(attributes)
        if self.refusal is not None:
            raise self.refusal
        return User(name="tester")
