"""resourceVersions: a decimal int63 that is new at each publish, comes in order, and tells which instance gave it.

41 bits of milliseconds since 2024, 12 bits of sequence, 10 bits of instance. A replica can so tell that a version is another's.
"""

from app.clock import Clock

_EPOCH_MS = 1_704_067_200_000  # 2024-01-01T00:00:00Z
_SEQUENCE_BITS, _INSTANCE_BITS = 12, 10
_MAX_SEQUENCE = (1 << _SEQUENCE_BITS) - 1
_MAX_INSTANCE = (1 << _INSTANCE_BITS) - 1


class Versions:
    """The source of versions in one process. `instance` is 10 bits, drawn anew at each start."""

    def __init__(self, clock: Clock, instance: int) -> None:
        self._clock = clock
        self._instance = instance & _MAX_INSTANCE
        self._ms = 0
        self._sequence = 0
        self.current = 0
        """The newest version that was given out."""
        self.next()

    def next(self) -> int:
        """A version above all earlier ones of this process, also when the wall clock stands still or jumps back."""
        now = int(self._clock.wall() * 1000) - _EPOCH_MS
        if now > self._ms:
            self._ms, self._sequence = now, 0
        elif self._sequence < _MAX_SEQUENCE:
            self._sequence += 1
        else:
            self._ms, self._sequence = self._ms + 1, 0
        self.current = (self._ms << (_SEQUENCE_BITS + _INSTANCE_BITS)) | (self._sequence << _INSTANCE_BITS) | self._instance
        return self.current

    def is_own(self, version: int) -> bool:
        """Whether `version` bears this instance's mark."""
        return version & _MAX_INSTANCE == self._instance
