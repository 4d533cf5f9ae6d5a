"""What `kubeglance convert` prints serves the file's values: one kubeglance with an adapter's file, one with the LiveMetrics made of it.

Both have the same Prometheus, the same objects and the same requests, those of test_adapter_peer.py, which proves that the file's values
are those of the real prometheus-adapter.
"""

import contextlib
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
import yaml

from app.cli import check, convert
from app.errors import Problem
from app.wire.label_selectors import LabelSelector, parse_label_selector
from tests.e2e.adapter import answers
from tests.e2e.adapter.cases import CASES, EXTERNAL, LISTS, Case, custom, external
from tests.e2e.adapter.scene import CONFIG, NEAR, scraped
from tests.e2e.adapter.series import MAIL, SHOP
from tests.e2e.controlplane import ControlPlane
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.kubeglance import Kubeglance
from tests.e2e.sources.prometheus import PrometheusServer

pytestmark = pytest.mark.e2e

TOLD = (
    "resourceRules: no LiveMetric serves metrics.k8s.io",
    "rules[6]: services/cheesy_goodness: metricsQuery does not keep objects apart",
    "rules[6]: namespaces/cheesy_goodness: metricsQuery does not keep objects apart",
    "rules[9]: pods/queue_length: metricsQuery does not keep objects apart",
    "rules[9]: namespaces/queue_length: metricsQuery does not keep objects apart",
    "rules[11]: namespaces/plain: its query gives several series of adapter-shop",
    "externalRules[5]: homeless in namespace adapter-shop: no label names namespaces",
    "externalRules[5]: homeless in namespace adapter-mail: no label names namespaces",
)
"""All that is not converted: how each line begins."""

NOT_CONVERTED = frozenset(line.split(": ")[1].split(" ")[0] for line in TOLD[1:])
NO_VALUES = frozenset({"namespaces/odd_nan", "namespaces/odd_infinite"})
"""Sums with something in them that is no number."""

NO_LABELS = "series have no labels: metricLabelSelector finds none by them"
SOME_LABELS = "labelSelector finds series by the labels below only"


class Printed(NamedTuple):
    """What the command says, and its file."""

    code: int
    text: str
    told: Sequence[str]
    file: Path

    @property
    def metrics(self) -> Sequence[Mapping[str, Any]]:
        return [each["spec"] for each in yaml.safe_load_all(self.text)]

    @property
    def labels(self) -> Mapping[str, Sequence[str]]:
        """The labels that series have, by metric as discovery names it."""
        return {_listed(spec): list(spec["sample"].get("labels", {})) for spec in self.metrics}


def _listed(spec: Mapping[str, Any]) -> str:
    """pods/hits, ingresses.networking.k8s.io/hits; of an external metric its name alone."""
    if spec["api"] == "external":
        return str(spec["name"])
    group, resource = spec["describes"]["group"], spec["describes"]["resource"]
    return f"{f'{resource}.{group}' if group else resource}/{spec['name']}"


def asked(case: Case) -> str:
    """The same of what is asked for."""
    parts = urlsplit(case.path).path.split("/")
    if case.path.startswith(EXTERNAL) or not case.metric:
        return case.metric
    resource = "namespaces" if parts[-2] == "metrics" else parts[-3]
    return f"{'pods' if resource == 'pod' else resource}/{case.metric}"


class Pair(NamedTuple):
    """Clients that may do everything: of the one with the file, and of the one with its LiveMetrics."""

    file: httpx.Client
    declared: httpx.Client


@pytest.fixture(scope="module")
def server(plane: ControlPlane) -> Iterator[PrometheusServer]:
    with scraped(plane) as started:
        yield started


@pytest.fixture(scope="module")
def printed(server: PrometheusServer, tmp_path_factory: pytest.TempPathFactory) -> Printed:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = convert.run(["prometheus-adapter", str(CONFIG), f"--prometheus-url={server.url}", "-n", SHOP, "-n", MAIL], {})
    file = tmp_path_factory.mktemp("converted") / "metrics.yaml"
    file.write_text(out.getvalue(), encoding="utf-8")
    told = [line.removeprefix("kubeglance convert: ") for line in err.getvalue().splitlines()]
    return Printed(code, out.getvalue(), told, file)


@pytest.fixture(scope="module")
def pair(plane: ControlPlane, server: PrometheusServer, printed: Printed) -> Iterator[Pair]:
    authority = plane.pki.kubelets.certificate
    reader = plane.pki.cluster.client("convert-reader", "convert-reader", ["system:masters"])
    of_file = [f"--config={CONFIG}", f"--prometheus-url={server.url}", "--metrics-relist-interval=5s"]
    with (
        Kubeglance(plane, "convert-file", kubelet_authority=authority, flags=of_file) as file,
        Kubeglance(plane, "convert-declared", kubelet_authority=authority, flags=[f"--declarations={printed.file}"]) as declared,
        file.wait_ready().client(certificate=reader) as of_file_client,
        declared.wait_ready().client(certificate=reader) as of_declared_client,
    ):
        yield Pair(of_file_client, of_declared_client)


def test_what_is_not_converted_is_told_and_nothing_else(printed: Printed) -> None:
    """Each rule that is not, and why; the exit code says that there are some."""
    assert 1 == printed.code
    assert len(TOLD) == len(printed.told)
    assert set(TOLD) == {begins for begins in TOLD if any(line.startswith(begins) for line in printed.told)}


def test_all_that_is_printed_passes_the_checks(printed: Printed, capsys: pytest.CaptureFixture[str]) -> None:
    """As one file."""
    assert 0 == check.run([str(printed.file)])
    assert f"{len(printed.metrics)} good declarations in 1 file, 0 errors, 0 warnings" in capsys.readouterr().out


def test_what_selectors_cannot_find_stands_above_each_metric(printed: Printed) -> None:
    """A file selects series before its query adds them up, a LiveMetric after it."""
    for document in printed.text.split("---\n")[1:]:
        told = NO_LABELS if "\n  api: custom\n" in document else SOME_LABELS
        assert sum(told in line for line in document.splitlines() if line.startswith("# ")) == 1, document


@pytest.mark.parametrize("path", LISTS)
def test_discovery_lists_what_is_converted(pair: Pair, path: str) -> None:
    """Every entry in full."""

    def look() -> bool:
        of_file, declared = (each.get(path).json()["resources"] for each in pair)
        wanted = [each for each in of_file if each["name"] not in NOT_CONVERTED]
        assert len(wanted) > 1
        assert wanted == declared
        return True

    wait_until("the same list", look, seconds=60)


def series_selector(case: Case) -> LabelSelector | None:
    """What selects series in a request, None for one that cannot be read."""
    parts = urlsplit(case.path)
    name = "labelSelector" if parts.path.startswith(EXTERNAL) else "metricLabelSelector"
    try:
        return parse_label_selector(parse_qs(parts.query).get(name, [""])[0])
    except Problem:
        return None


def expected(printed: Printed, pair: Pair, case: Case) -> answers.Told:
    """The file's answer, but for what `convert` says it does not serve: rules, and selectors by labels that series do not have."""
    told = read(pair.file.get(case.path))
    if asked(case) in NOT_CONVERTED:
        return told if told.status == 400 else answers.Told(404)
    labels, selector = printed.labels.get(asked(case)), series_selector(case)
    if labels is None or selector is None:
        return told
    if all(requirement.key in labels for requirement in selector.requirements):
        return told
    return read(pair.file.get(urlsplit(case.path).path)) if selector.matches(()) else answers.Told(404)


def read(answer: httpx.Response) -> answers.Told:
    """Without the selector, which each item repeats, and without the label __name__, which no selector can name."""
    found = answers.read(answer)
    items = [item._replace(about=item.about.replace('"__name__": "as_it_is", ', ""), metric="") for item in found.items]
    return answers.Told(found.status, tuple(sorted(items)))


def assert_same(printed: Printed, pair: Pair, case: Case) -> answers.Told:
    """Gauges are equal, rates within a scrape. The answer is what was expected."""

    def look() -> answers.Told:
        theirs = expected(printed, pair, case)
        answer = pair.declared.get(case.path)
        assert answers.are_near(theirs, read(answer), NEAR if case.is_rate else 0), f"{theirs} is not {answer.text}"
        return theirs

    return wait_until(case.path, look, seconds=60)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.path.partition("k8s.io/")[2])
def test_the_same_answer_but_for_what_is_told(printed: Printed, pair: Pair, case: Case) -> None:
    """Objects, namespaces, selectors, and what there is not."""
    assert_same(printed, pair, case)


def every_path(spec: Mapping[str, Any]) -> Iterator[Case]:
    """All objects of a metric, each namespace; by the labels of objects too."""
    metric = spec["name"]
    if spec["api"] == "external":
        yield from (external(metric, namespace=namespace) for namespace in (SHOP, MAIL))
        return
    about = _listed(spec).rpartition("/")[0]
    if about == "namespaces":
        yield from (custom("metrics", metric, namespace=namespace) for namespace in (SHOP, MAIL))
    elif "namespace" in spec["sample"]["object"]:
        for namespace in (SHOP, MAIL):
            yield from (custom(f"{about}/*", metric, namespace=namespace, objects=selector) for selector in ("", "app=web", "!app"))
    else:
        yield custom(f"{about}/*", metric, namespace="")


def test_every_metric_that_is_printed_has_the_values_of_the_file(printed: Printed, pair: Pair) -> None:
    """None is printed that answers nowhere, but for those of Jobs, which there are none of: Prometheus has a label `job` of its own."""
    nowhere = set()
    for spec in printed.metrics:
        found = [assert_same(printed, pair, case) for case in every_path(spec)]
        if all(told.status == 404 for told in found):
            nowhere.add(_listed(spec))
    assert NO_VALUES == {metric for metric in nowhere if not metric.startswith("jobs.batch/")}
