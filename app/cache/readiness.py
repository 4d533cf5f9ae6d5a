"""When this replica may be sent requests. Once ready it stays so until it drains: an unready endpoint takes discovery down with it, and
namespaces then hang in Terminating. So no source, and no fault of the cluster, ever makes a ready replica unready."""

from collections.abc import Callable

from app.clock import Clock


class Readiness:
    """Ready once the cluster is known, and every node was asked once or one interval passed since. Each method gives "" or a reason."""

    def __init__(self, *, not_synced: Callable[[], str], first_round: Callable[[], bool], interval: float, clock: Clock) -> None:
        """`not_synced()` says what is watched and not listed yet, "" if nothing.

        `first_round()` tells whether every node was asked once, well or not. `interval` in seconds.
        """
        self._not_synced = not_synced
        self._first_round = first_round
        self._interval = interval
        self._clock = clock
        self._synced_at: float | None = None
        self._ready = False
        self._draining = False

    def informers(self) -> str:
        """Whether nodes, pods and the trust of the cluster were listed once."""
        if self._synced_at is None:
            missing = self._not_synced()
            if missing:
                return missing
            self._synced_at = self._clock.monotonic()
        return ""

    def storage(self) -> str:
        """Whether the first round of scrapes has ended, well or not."""
        if self._ready:
            return ""
        missing = self.informers()
        if missing or self._synced_at is None:
            return missing
        if not self._first_round() and self._clock.monotonic() - self._synced_at < self._interval:
            return "waiting for the first scrape of every node"
        self._ready = True
        return ""

    def shutdown(self) -> str:
        """Whether this replica is on its way out."""
        return "process is shutting down" if self._draining else ""

    def drain(self) -> None:
        """From now on not ready, for good."""
        self._draining = True


class Heartbeat:
    """The event loop's own pulse. A loop that is blocked or far behind beats late; nothing else can make it late."""

    def __init__(self, clock: Clock, *, late_after: float) -> None:
        """`late_after` seconds without a beat is late."""
        self._clock = clock
        self._late_after = late_after
        self._last = clock.monotonic()

    def beat(self) -> None:
        """Called by a task of the loop, every second or so."""
        self._last = self._clock.monotonic()

    def late(self) -> str:
        """ "" or by how much the loop is late."""
        silence = self._clock.monotonic() - self._last
        return f"the event loop has not run its tasks for {silence:.0f} s" if silence > self._late_after else ""
