"""What is answered where a source gives no value any more: nothing, the last value for a time, or a constant. Never a silent zero.

It follows from times alone, not from how often something failed, and goes one way: from the value, to what stands in for it, to nothing.
Only a new value leads back.
"""

from decimal import Decimal

from msgspec import Struct


class Missing(Struct, frozen=True):
    """A policy. `hold` is how long a value that is missing stands, since it was measured (s); `constant` stands in where there is none.

    Neither is the policy Omit.
    """

    hold: float = 0.0
    constant: Decimal | None = None

    def life(self, ttl: float, *, left_out: bool) -> float:
        """How long a value lives since it was measured (s), within a time to live of `ttl`.

        `left_out` is whether the source answered well since then, without it.
        """
        return self.hold if left_out else max(ttl, self.hold)


OMIT = Missing()
