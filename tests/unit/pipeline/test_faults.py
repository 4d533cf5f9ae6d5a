from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from app.pipeline.faults import Fault, Faults
from app.telemetry import Metrics
from collectors._base import Cause, CollectError
from tests.fakes.scraping import values


def _error(cause: Cause, message: str = "m") -> CollectError:
    return CollectError(cause, message, "r")


def _faults() -> tuple[Faults, Metrics]:
    metrics = Metrics(CollectorRegistry())
    return Faults(metrics), metrics


def test_a_fault_is_logged_when_it_starts_changes_and_ends() -> None:
    """The same cause again is no news; `since` is that of the start, and all failures in a row are counted."""
    faults, _ = _faults()
    with capture_logs() as logs:
        for at, cause in enumerate([Cause.DIAL, Cause.DIAL, Cause.DEADLINE, Cause.DEADLINE]):
            faults.failed("n1", "c", _error(cause), at=at, ready=True)
        kept = faults.current()
        faults.succeeded("n1", "c", at=9.0)
        faults.succeeded("n1", "c", at=10.0)

    assert [(entry["log_level"], entry["cause"]) for entry in logs] == [("warning", "dial"), ("warning", "deadline"), ("info", "deadline")]
    assert logs[-1]["after_s"] == 9.0
    assert kept == {("n1", "c"): Fault(Cause.DEADLINE, "m", "r", 0, told=True, failures=4)}
    assert faults.current() == {}


def test_nodes_that_are_not_ready_log_at_debug() -> None:
    """A node that is down fails as expected."""
    faults, _ = _faults()
    with capture_logs() as logs:
        faults.failed("n1", "c", _error(Cause.DIAL), at=0, ready=False)

    assert [entry["log_level"] for entry in logs] == ["debug"]


def test_a_node_that_becomes_ready_and_still_fails_is_a_warning() -> None:
    """Nodes register before they are Ready: what fails from then on is told when it is no longer expected, once."""
    faults, _ = _faults()
    with capture_logs() as logs:
        for at, ready in enumerate([False, False, True, True, False]):
            faults.failed("n1", "c", _error(Cause.CERTIFICATE), at=at, ready=ready)
        faults.succeeded("n1", "c", at=9.0)

    assert [entry["log_level"] for entry in logs] == ["debug", "warning", "info"]


def test_what_was_not_told_to_begin_is_not_told_to_end() -> None:
    """A node that was never Ready meanwhile comes and goes at debug."""
    faults, _ = _faults()
    with capture_logs() as logs:
        faults.failed("n1", "c", _error(Cause.DIAL), at=0, ready=False)
        faults.succeeded("n1", "c", at=9.0)

    assert [entry["log_level"] for entry in logs] == ["debug", "debug"]


def test_a_node_that_is_not_ready_does_not_take_the_one_warning() -> None:
    """RBAC is missing on all nodes, and the first that is asked is down: the next one's warning stands for all."""
    faults, _ = _faults()
    with capture_logs() as logs:
        for node, ready in (("n1", False), ("n2", True), ("n3", True)):
            faults.failed(node, "c", _error(Cause.FORBIDDEN), at=0, ready=ready)

    assert [(entry["node"], entry["log_level"]) for entry in logs] == [("n1", "debug"), ("n2", "warning"), ("n3", "debug")]


def test_one_warning_when_every_node_forbids() -> None:
    """RBAC is one rule for all nodes: one warning, and one line when the last node is well again."""
    faults, _ = _faults()
    with capture_logs() as logs:
        for number in range(5):
            faults.failed(f"n{number}", "kubelet_summary", _error(Cause.FORBIDDEN), at=0, ready=True)
        for number in range(5):
            faults.succeeded(f"n{number}", "kubelet_summary", at=1)

    assert [entry["log_level"] for entry in logs if entry["log_level"] != "debug"] == ["warning", "info"]
    assert len(logs) == 10


def test_metrics_count_failures_and_those_failing_now() -> None:
    """The counter never falls; the gauge follows starts, changes, ends and deleted nodes."""
    faults, metrics = _faults()
    faults.failed("n1", "c", _error(Cause.DIAL), at=0, ready=True)
    faults.failed("n2", "c", _error(Cause.DIAL), at=0, ready=True)
    faults.failed("n3", "c", _error(Cause.DIAL), at=0, ready=True)
    faults.failed("n1", "c", _error(Cause.DNS), at=0, ready=True)
    faults.succeeded("n2", "c", at=1)
    faults.forget("n3", "c")
    faults.forget("n3", "c")

    labels = ["collector", "cause"]
    assert values(metrics, "kubeglance_scrape_failures_total", labels) == {("c", "dial"): 3, ("c", "dns"): 1}
    assert values(metrics, "kubeglance_failing_targets", labels) == {("c", "dial"): 0, ("c", "dns"): 1}
    assert faults.counts() == {("c", Cause.DNS): 1}
