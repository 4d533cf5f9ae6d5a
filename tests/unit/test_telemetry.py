import io
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from prometheus_client import CollectorRegistry, generate_latest

from app.telemetry import Metrics, configure_logging
from collectors._base import Cause

_PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, levels = root.handlers[:], {name: logging.getLogger(name).level for name in ("", "uvicorn.error", "asyncio")}
    yield
    root.handlers[:] = handlers
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
    structlog.reset_defaults()


def _logged(form: str, verbosity: int) -> list[str]:
    stream = io.StringIO()
    configure_logging(form, verbosity, stream)
    log = structlog.get_logger("app.x")
    log.debug("fine", node="n1")
    log.info("plain", node="n1")
    logging.getLogger("library").debug("library fine")
    logging.getLogger("library").warning("library %s", "warns")
    return stream.getvalue().splitlines()


@pytest.mark.parametrize(
    ("verbosity", "events"),
    [
        pytest.param(0, ["plain", "library warns"], id="info"),
        pytest.param(4, ["fine", "plain", "library warns"], id="-v 4 is debug"),
        pytest.param(6, ["fine", "plain", "library fine", "library warns"], id="-v 6 is libraries too"),
    ],
)
def test_json_is_one_object_a_line(verbosity: int, events: list[str]) -> None:
    """Log systems get a time, a level, the event and its fields; libraries' records look the same."""
    lines = [json.loads(line) for line in _logged("json", verbosity)]

    assert [line["event"] for line in lines] == events
    assert all({"timestamp", "level"} <= line.keys() for line in lines)
    assert lines[0]["node"] == "n1"


@pytest.mark.parametrize(("verbosity", "lines"), [(0, 1), (4, 2)], ids=["by default", "-v 4"])
@pytest.mark.parametrize(
    ("logger", "warning"),
    [
        pytest.param("uvicorn.error", "Invalid HTTP request received.", id="a malformed request"),
        pytest.param("asyncio", "SSL connection is closed", id="a connection cut in the middle of an answer"),
    ],
)
def test_clients_do_not_fill_the_log(logger: str, warning: str, verbosity: int, lines: int) -> None:
    """Anyone can make the server warn; its errors are logged all the same."""
    stream = io.StringIO()
    configure_logging("json", verbosity, stream)
    server = logging.getLogger(logger)
    server.warning(warning)
    server.error("cannot go on")

    assert len(stream.getvalue().splitlines()) == lines


def test_text_is_one_line_without_colours_where_nobody_looks() -> None:
    """A file gets no escape codes."""
    lines = _logged("text", 0)

    assert len(lines) == 2
    assert "plain" in lines[0]
    assert "node=n1" in lines[0]
    assert "\x1b" not in "".join(lines)


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_traceback_is_logged(form: str) -> None:
    """An unexpected error can be reported whole."""
    stream = io.StringIO()
    configure_logging(form, 0, stream)
    try:
        _ = 1 / 0
    except ZeroDivisionError:
        structlog.get_logger().exception("bug")

    assert "division by zero" in stream.getvalue()
    assert "test_telemetry" in stream.getvalue()


def _all_used() -> Metrics:
    metrics = Metrics(CollectorRegistry())
    for node in ("n1", "n2"):
        metrics.scraped(node, seconds=0.1, at=1.0, success=True)
    metrics.published("c", seconds=0.1, dropped=3)
    metrics.failure("c", "dial")
    metrics.failing("c", "dial", 1)
    metrics.points(nodes=2, containers=5)
    metrics.served(4.0)
    metrics.collected("queues.example.com", "success", seconds=0.1, at=1.0, objects=3, dropped=1)
    metrics.collected("queues.example.com", "dial", seconds=0.1)
    metrics.routed("keda", "success", seconds=0.1)
    metrics.routed("keda", "dial", seconds=0.1)
    metrics.reloaded(success=True, at=1.0)
    return metrics


def test_every_metric_is_documented_and_no_other() -> None:
    """docs/metrics.md has exactly the names, types and labels that /metrics has."""
    code = {
        (
            family.name + ("_total" if family.type == "counter" else ""),
            family.type,
            tuple(sorted({label for sample in family.samples for label in sample.labels} - {"le"})),
        )
        for family in _all_used().registry.collect()
    }
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|([^|]*)\|", _PAGE.read_text(encoding="utf-8"), re.MULTILINE)

    assert {(name, kind, tuple(sorted(re.findall(r"`(\w+)`", labels)))) for name, kind, labels in rows} == code


def test_every_cause_is_documented_and_no_other() -> None:
    """The label cause has a closed set of values."""
    assert set(re.findall(r"^\| `(\w+)` \| [A-Z0-9][^|]*\|$", _PAGE.read_text(encoding="utf-8"), re.MULTILINE)) == set(Cause)


def test_a_removed_declaration_leaves_no_series() -> None:
    """Nor does it matter whether it ever had one."""
    metrics = _all_used()
    metrics.collected("tables.example.com", "dial", seconds=0.1)
    for name in ("queues.example.com", "tables.example.com", "nobody.example.com"):
        metrics.forget_declaration(name)

    assert b"example.com" not in generate_latest(metrics.registry)


def test_a_route_that_is_gone_leaves_no_series() -> None:
    """Nor does it matter whether it was ever asked."""
    metrics = _all_used()
    for name in ("keda", "never asked"):
        metrics.forget_route(name)

    assert b"keda" not in generate_latest(metrics.registry)


def test_a_deleted_node_leaves_no_series() -> None:
    """In a cluster that scales up and down, names of nodes never come back: their series must go."""
    metrics = _all_used()
    metrics.forget_node("n1")
    metrics.forget_node("never seen")
    text = generate_latest(metrics.registry).decode()

    assert 'node="n1"' not in text
    assert 'node="n2"' in text


def test_metrics_servers_six_names_are_there_from_the_start() -> None:
    """Alerts on absent series stay silent on a fresh server; no *_created series double the answer."""
    text = generate_latest(Metrics(CollectorRegistry()).registry).decode()

    assert {
        "metrics_server_kubelet_request_duration_seconds",
        "metrics_server_kubelet_request_total",
        "metrics_server_kubelet_last_request_time_seconds",
        "metrics_server_manager_tick_duration_seconds",
        "metrics_server_storage_points",
        "metrics_server_api_metric_freshness_seconds",
    } == set(re.findall(r"^# TYPE (metrics_server_\w+)", text, re.MULTILINE))
    assert "_created" not in text


@pytest.mark.parametrize("form", ["text", "json"])
def test_tracebacks_hold_no_values_of_variables(form: str) -> None:
    """A password that a function has in its hands must not end in the log."""
    stream = io.StringIO()
    configure_logging(form, stream=stream)
    password = f"{form}-password"
    try:
        int(f"of {len(password)} characters")
    except ValueError:
        structlog.get_logger("test").exception("odd")

    assert "ValueError" in stream.getvalue()
    assert password not in stream.getvalue()
