"""kubeglance in the place of prometheus-adapter: the real one beside it, with the same file, arguments, Prometheus and objects."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.served_metrics import pod_summary
from tests.e2e.adapter import answers
from tests.e2e.adapter.cases import CASES, LISTS, RATED, Case
from tests.e2e.adapter.differences import DIFFERENCES, expected
from tests.e2e.adapter.scene import CONFIG, NEAR, scraped
from tests.e2e.conftest import demand
from tests.e2e.controlplane import ControlPlane, programs
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.kubeglance import Kubeglance
from tests.e2e.peer import PrometheusAdapter
from tests.e2e.sources.prometheus import PrometheusServer

pytestmark = pytest.mark.e2e

RULES = """
rules:
- seriesQuery: 'plain{{namespace!="",pod!=""}}'
  resources: {{template: "<<.Resource>>"}}
  metricsQuery: 'sum(<<.Series>>{{<<.LabelMatchers>>}}) by (<<.GroupBy>>)'
- seriesQuery: '{query}'
  resources: {{template: "<<.Resource>>"}}
  metricsQuery: 'sum(<<.Series>>{{<<.LabelMatchers>>}}) by (<<.GroupBy>>)'
"""


@dataclass(frozen=True)
class Both:
    """The two, with the same arguments. `ours` is a client of kubeglance that may do everything."""

    adapter: PrometheusAdapter
    ours: httpx.Client

    @classmethod
    @contextmanager
    def up(cls, plane: ControlPlane, name: str, server: PrometheusServer, config: Path) -> Iterator["Both"]:
        arguments = [f"--config={config}", f"--prometheus-url={server.url}/", "--metrics-relist-interval=5s"]
        authority = plane.pki.kubelets.certificate
        reader = plane.pki.cluster.client(f"{name}-reader", f"{name}-reader", ["system:masters"])
        with (
            PrometheusAdapter(plane, arguments=arguments) as adapter,
            Kubeglance(plane, name, kubelet_authority=authority, flags=arguments) as kubeglance,
        ):
            adapter.wait_alive()
            with kubeglance.wait_ready().client(certificate=reader) as client:
                yield cls(adapter, client)

    def expected(self, case: Case) -> answers.Told:
        """What kubeglance is to answer: what the adapter does, but for the differences that are listed."""
        return expected(case, answers.read(self.adapter.get(case.path)))[0]


@pytest.fixture(scope="module")
def server(plane: ControlPlane) -> Iterator[PrometheusServer]:
    demand(programs.skip_reason(PrometheusAdapter.name))
    with scraped(plane) as started:
        yield started


@pytest.fixture(scope="module")
def both(plane: ControlPlane, server: PrometheusServer) -> Iterator[Both]:
    with Both.up(plane, "adapter-peer", server, CONFIG) as started:
        yield started


def listed(answer: httpx.Response) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["resources"]
    return sorted(found, key=lambda each: str(each["name"]))


@pytest.mark.parametrize("path", LISTS)
def test_discovery_lists_the_same(both: Both, path: str) -> None:
    """Every entry in full. Beside them are only the metrics that kubeglance has of pods without any rule."""
    built_in = {f"pods/{metric}" for metric in pod_summary.METRICS}

    def look() -> bool:
        theirs = listed(both.adapter.get(path))
        assert len(theirs) > 1
        assert theirs == [each for each in listed(both.ours.get(path)) if each["name"] not in built_in]
        return True

    wait_until("the same list", look, seconds=30)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.path.partition("k8s.io/")[2])
def test_the_same_answer_but_for_what_is_listed(both: Both, case: Case) -> None:
    """Gauges are equal, rates within a scrape."""

    def look() -> bool:
        theirs = both.expected(case)
        answer = both.ours.get(case.path)
        assert answers.are_near(theirs, answers.read(answer), NEAR if case.metric in RATED else 0), f"{theirs} is not {answer.text}"
        return True

    wait_until(case.path, look, seconds=30)


def test_every_difference_that_is_listed_is_one(both: Both) -> None:
    """One that no answer shows has to go from the list."""
    shown = {each.what for case in CASES for each in expected(case, answers.read(both.adapter.get(case.path)))[1]}
    assert {each.what for each in DIFFERENCES} == shown


def test_a_rule_that_cannot_be_listed_and_a_file_that_changes(plane: ControlPlane, server: PrometheusServer, tmp_path: Path) -> None:
    """The adapter then lists nothing, and reads its file no second time; kubeglance lists the others, and what the new file says."""
    config = tmp_path / "config.yaml"
    config.write_text(RULES.format(query='{namespace=~"("}'), encoding="utf-8")
    with Both.up(plane, "adapter-rules", server, config) as started:

        def ours() -> set[str]:
            return {each["name"] for each in listed(started.ours.get(LISTS[0]))}

        wait_until("the other rule is listed", lambda: "pods/plain" in ours(), seconds=30)
        wait_until("the adapter has tried", lambda: "unable to update list of all metrics" in started.adapter.process.text(), seconds=30)
        assert "pods/queue_length" not in ours()
        config.write_text(RULES.format(query='queue_length{namespace!="",pod!=""}'), encoding="utf-8")
        wait_until("the new rule is listed", lambda: {"pods/plain", "pods/queue_length"} <= ours(), seconds=60)
        assert [] == [each["name"] for each in listed(started.adapter.get(LISTS[0])) if each["name"].startswith("pods/")]
