"""When a replica is ready, and that it stays so."""

from app.cache.readiness import Heartbeat, Readiness
from tests.fakes.clock import ManualClock


class Cluster:
    """What readiness looks at, set by hand."""

    def __init__(self, *, missing: str = "", first_round: bool = False) -> None:
        self.missing, self.first_round = missing, first_round
        self.clock = ManualClock()
        self.readiness = Readiness(not_synced=lambda: self.missing, first_round=lambda: self.first_round, interval=15, clock=self.clock)


def test_not_before_the_cluster_is_known() -> None:
    """The reason names what is missing."""
    cluster = Cluster(missing="pods not listed yet", first_round=True)

    assert (cluster.readiness.storage(), cluster.readiness.informers()) == ("pods not listed yet", "pods not listed yet")


def test_ready_when_every_node_was_asked_once() -> None:
    """Also when all answers were failures: nothing is gained by waiting for a broken source."""
    cluster = Cluster()
    before = cluster.readiness.storage()
    cluster.first_round = True

    assert (before, cluster.readiness.storage()) == ("waiting for the first scrape of every node", "")


def test_ready_one_interval_after_the_cluster_is_known() -> None:
    """A node that hangs delays readiness by one interval at most."""
    cluster = Cluster()
    cluster.readiness.storage()
    cluster.clock.advance(14)
    before = cluster.readiness.storage()
    cluster.clock.advance(1)

    assert (before, cluster.readiness.storage()) == ("waiting for the first scrape of every node", "")


def test_ready_stays_ready() -> None:
    """Whatever is lost later: only shutdown ends it."""
    cluster = Cluster(first_round=True)
    cluster.readiness.storage()
    cluster.missing, cluster.first_round = "all watches lost", False

    assert (cluster.readiness.storage(), cluster.readiness.informers()) == ("", "")


def test_draining_is_told() -> None:
    """The shutdown check fails from the moment of the drain."""
    cluster = Cluster()
    before = cluster.readiness.shutdown()
    cluster.readiness.drain()

    assert (before, cluster.readiness.shutdown()) == ("", "process is shutting down")


def test_the_heartbeat_is_late_only_when_the_loop_is() -> None:
    """A beat a second keeps it well; silence beyond the bound does not."""
    clock = ManualClock()
    heartbeat = Heartbeat(clock, late_after=22.5)
    clock.advance(22)
    in_time = heartbeat.late()
    clock.advance(1)
    late = heartbeat.late()
    heartbeat.beat()

    assert (in_time, late, heartbeat.late()) == ("", "the event loop has not run its tasks for 23 s", "")
