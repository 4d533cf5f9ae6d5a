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
    """The same cause again is no news; `since` is that of the start."""
    faults, _ = _faults()
    with capture_logs() as logs:
        for at, cause in enumerate([Cause.DIAL, Cause.DIAL, Cause.DEADLINE, Cause.DEADLINE]):
            faults.failed("n1", "c", _error(cause), at=at, ready=True)
        kept = faults.current()
        faults.succeeded("n1", "c", at=9.0)
        faults.succeeded("n1", "c", at=10.0)

    assert [(entry["log_level"], entry["cause"]) for entry in logs] == [("warning", "dial"), ("warning", "deadline"), ("info", "deadline")]
    assert logs[-1]["after_s"] == 9.0
    assert kept == {("n1", "c"): Fault(Cause.DEADLINE, "m", "r", 0)}
    assert faults.current() == {}


def test_nodes_that_are_not_ready_log_at_debug() -> None:
    """A node that is down fails as expected."""
    faults, _ = _faults()
    with capture_logs() as logs:
        faults.failed("n1", "c", _error(Cause.DIAL), at=0, ready=False)

    assert [entry["log_level"] for entry in logs] == ["debug"]


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
