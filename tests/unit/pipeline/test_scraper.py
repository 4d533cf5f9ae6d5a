import asyncio
from collections.abc import Sequence

import pytest
from structlog.testing import capture_logs

from app.errors import KubeError
from app.pipeline.grid import Grid, Schedule
from app.pipeline.scraper import Job, Scraper, Surroundings
from collectors._base import Batch, Cause, CollectError, Target
from tests.fakes.clock import LoopClock
from tests.fakes.scraping import EMPTY, FakeCollector, RecordingSink, surroundings, values

pytestmark = pytest.mark.looptime

_START = 1_500_000_000.0


async def _run(
    collector: FakeCollector,
    sink: RecordingSink,
    *,
    seconds: float,
    urls: Sequence[str] = ("https://a",),
    deadline: float = 10.0,
    ready: bool = True,
    stand_in: bool = True,
    pods_tried_after: float = 0.0,
) -> Surroundings:
    """One loop with an interval of 15 s for so many seconds of virtual time."""
    around = surroundings(LoopClock(_START), sink)
    if pods_tried_after:
        around.pods_tried.clear()
        asyncio.get_running_loop().call_later(pods_tried_after, around.pods_tried.set)
    job = Job(collector, 15.0, deadline)
    targets = tuple(Target("n1", url) for url in urls)
    scraper = Scraper(job, targets, Schedule(Grid(15.0, lambda: 0.0), 0.0), around, stand_in=stand_in, ready=lambda: ready)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(seconds):
            await scraper.run()
    return around


async def test_a_node_is_scraped_at_once_and_then_on_the_grid() -> None:
    """The first answer costs one scrape; what it gave is published the moment it ended."""
    collector, sink = FakeCollector(2.0, EMPTY), RecordingSink()
    around = await _run(collector, sink, seconds=40)

    assert collector.times == [0, 15, 30]
    assert sink.published == [(2, "n1", "kubelet_resource"), (15, "n1", "kubelet_resource"), (30, "n1", "kubelet_resource")]
    assert values(around.metrics, "metrics_server_kubelet_request_total", ["success"]) == {("true",): 3, ("false",): 0}


async def test_bodies_wait_in_turns_but_for_the_first() -> None:
    """A first scrape takes a turn as a whole; with its body in another queue those that wait for its turn would wait for all bodies."""
    collector = FakeCollector(EMPTY)
    around = await _run(collector, RecordingSink(), seconds=40)

    assert [around.client, around.paced, around.paced] == collector.clients


async def test_the_second_sample_comes_early_until_the_sink_has_enough() -> None:
    """The sink tells when each CPU time has advanced once."""
    collector = FakeCollector(EMPTY)
    await _run(collector, RecordingSink(False, False, True), seconds=40)

    assert collector.times == [0, 5, 10, 30]


@pytest.mark.parametrize(
    ("listed", "published"),
    [
        pytest.param(3.0, [3, 15, 30], id="the list takes longer than the scrape"),
        pytest.param(0.5, [1, 15, 30], id="the list is there first"),
        pytest.param(20.0, [20, 30], id="the list takes longer than an interval"),
    ],
)
async def test_the_first_batch_waits_for_the_list_of_pods(listed: float, published: list[float]) -> None:
    """Else it would be about pods that nobody knows yet, and their first values would have to wait for the second scrape."""
    sink = RecordingSink()
    around = await _run(FakeCollector(1.0, EMPTY), sink, seconds=40, pods_tried_after=listed)

    assert published == [at for at, _, _ in sink.published]
    assert {("n1",): 1.0} == values(around.metrics, "metrics_server_kubelet_request_duration_seconds_sum", ["node"])


async def test_a_hanging_kubelet_costs_the_deadline() -> None:
    """A drip never ends by itself: the whole scrape has a deadline, and the next tick is kept."""
    collector, sink = FakeCollector(3600.0), RecordingSink()
    await _run(collector, sink, seconds=31)

    assert collector.times == [0, 15, 30]
    node, name, error = sink.failures[0]
    assert (node, name, error.cause) == ("n1", "kubelet_resource", Cause.DEADLINE)
    assert "no whole answer from https://a within 10 s" in error.message


async def test_the_next_address_is_tried_and_the_winner_remembered() -> None:
    """After a dial or DNS failure the next address gets its chance within the same scrape; then it goes first."""
    refused, unknown = CollectError(Cause.DIAL, "refused"), CollectError(Cause.DNS, "unknown")
    collector = FakeCollector(by_url={"https://a": refused, "https://b": unknown, "https://c": EMPTY})
    sink = RecordingSink()
    await _run(collector, sink, seconds=20, urls=("https://a", "https://b", "https://c"))

    assert [url for _, url in collector.asked] == ["https://a", "https://b", "https://c", "https://c"]
    assert (len(sink.published), sink.failures) == (2, [])


async def test_an_answer_with_an_error_ends_the_search() -> None:
    """Who answers 403 is the kubelet: other addresses would say the same."""
    forbidden = CollectError(Cause.FORBIDDEN, "no")
    collector = FakeCollector(by_url={"https://a": CollectError(Cause.DIAL, "refused"), "https://b": forbidden})
    sink = RecordingSink()
    await _run(collector, sink, seconds=20, urls=("https://a", "https://b"))

    assert [url for _, url in collector.asked] == ["https://a", "https://b", "https://b"]
    assert [error for _, _, error in sink.failures] == [forbidden, forbidden]


async def test_a_layout_lasts_from_one_batch_to_the_next() -> None:
    """A scrape that failed ends it: the collector begins anew with whatever answers then."""
    collector = FakeCollector(*(Batch(node=None, pods={}, layout=layout) for layout in "ab"), CollectError(Cause.STATUS, "no"), EMPTY)
    await _run(collector, RecordingSink(), seconds=50)

    assert collector.layouts == [None, "a", "b", None]


async def test_a_layout_is_of_one_address() -> None:
    """Another address may lead to another kubelet."""
    refused = CollectError(Cause.DIAL, "refused")
    collector = FakeCollector(by_url={"https://a": refused, "https://b": Batch(node=None, pods={}, layout="b")})
    await _run(collector, RecordingSink(), seconds=20, urls=("https://a", "https://b"))

    assert collector.layouts == [None, None, "b"]


async def test_when_no_address_works_all_are_named() -> None:
    """The error has every address's failure."""
    collector = FakeCollector(
        by_url={"https://a": CollectError(Cause.DIAL, "a refused", "x"), "https://b": CollectError(Cause.DNS, "b unknown")}
    )
    sink = RecordingSink()
    await _run(collector, sink, seconds=5, urls=("https://a", "https://b"))

    (error,) = [error for _, _, error in sink.failures]
    assert (error.cause, error.message, error.remedy) == (Cause.DIAL, "a refused; b unknown", "x")


@pytest.mark.parametrize(
    ("name", "cause", "times"),
    [
        pytest.param("kubelet_resource", Cause.NOT_FOUND, [0, 600], id="resource 404 rests"),
        pytest.param("kubelet_summary", Cause.FORBIDDEN, [0, 600], id="summary 403 rests"),
        pytest.param("kubelet_summary", Cause.NOT_FOUND, [0, 600], id="summary 404 rests"),
        pytest.param("kubelet_resource", Cause.FORBIDDEN, [0, 15, 30, 45], id="resource 403 goes on: RBAC may be on its way"),
        pytest.param("kubelet_resource", Cause.DIAL, [0, 15, 30, 45], id="no answer goes on"),
    ],
)
async def test_what_cannot_get_better_soon_is_asked_every_ten_minutes(name: str, cause: Cause, times: list[float]) -> None:
    """A kubelet without the endpoint, or RBAC without nodes/stats: one warning, and the other endpoint serves the node."""
    collector = FakeCollector(CollectError(cause, "no", "grant it"), name=name)
    with capture_logs() as logs:
        await _run(collector, RecordingSink(), seconds=601 if len(times) == 2 else 46)

    assert collector.times == times
    (warning,) = [entry for entry in logs if entry["log_level"] == "warning"]
    assert (warning["remedy"], "note" in warning) == ("grant it", len(times) == 2)


async def test_a_collector_that_is_alone_never_rests() -> None:
    """One 404 at an unlucky moment must not cost ten minutes where no other endpoint serves the node."""
    collector = FakeCollector(CollectError(Cause.NOT_FOUND, "no", "look"), EMPTY)
    with capture_logs():
        await _run(collector, RecordingSink(), seconds=31, stand_in=False)

    assert collector.times == [0, 15, 30]


async def test_a_bug_costs_a_scrape_and_one_traceback() -> None:
    """Whatever a collector or the store raises becomes a failure of this node; the loop lives on."""
    collector, sink = FakeCollector(ZeroDivisionError("boom"), KeyError("bang"), EMPTY), RecordingSink(RuntimeError("store"))
    with capture_logs() as logs:
        await _run(collector, sink, seconds=40)

    assert [error.message for _, _, error in sink.failures] == [
        "unexpected error: ZeroDivisionError: boom",
        "unexpected error: KeyError: 'bang'",
        "unexpected error: RuntimeError: store",
    ]
    assert [entry["log_level"] for entry in logs if entry.get("exc_info")] == ["error"]


async def test_credentials_that_cannot_be_read_are_a_failure_without_a_traceback() -> None:
    """A token file that is missing is for the operator to mend: the message names it."""
    sink = RecordingSink()
    with capture_logs() as logs:
        await _run(FakeCollector(KubeError("cannot read the token file /x")), sink, seconds=20)

    assert [(error.cause, "/x" in error.message) for _, _, error in sink.failures] == [(Cause.UNAUTHORIZED, True)] * 2
    assert [entry["log_level"] for entry in logs] == ["warning"]


async def test_nodes_that_are_not_ready_fail_quietly() -> None:
    """A node that is known to be down is no news."""
    with capture_logs() as logs:
        await _run(FakeCollector(CollectError(Cause.DIAL, "down")), RecordingSink(), seconds=20, ready=False)

    assert [entry["log_level"] for entry in logs] == ["debug"]


async def test_a_jump_of_the_wall_clock_stops_nothing() -> None:
    """An hour back: the next scrape still comes within one and a half intervals."""
    collector, sink = FakeCollector(EMPTY), RecordingSink()
    clock = LoopClock(_START)
    around = surroundings(clock, sink)
    scraper = Scraper(Job(collector, 15.0, 10.0), (Target("n1", "https://a"),), Schedule(Grid(15.0, lambda: 0.0), 0.0), around)
    async with asyncio.TaskGroup() as group:
        loop = group.create_task(scraper.run())
        await asyncio.sleep(20)
        clock.jump(-3600.0 - 4.0)
        await asyncio.sleep(40)
        loop.cancel()

    assert collector.times == [0, 15, 30, 49]
