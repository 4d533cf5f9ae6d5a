"""app/federation/config.py: the file of routes, all that can be wrong in it, and which questions a route takes."""

import contextlib
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.certs import Authority
from app.clock import SystemClock
from app.federation.config import RoutesError, parse_routes, read_routes
from app.served_metrics.values import NAMESPACES, PODS, Question

GOOD = """\
routes:
- name: keda
  api: external
  service: {namespace: keda, name: keda-metrics}
  ca: ca.crt
  metrics: [queue_depth, "s*-*"]
- name: team
  api: custom
  url: https://adapter.example.com:6443/base/
  ca: ca.crt
  namespaces: [shop, mail]
"""
ONE = "{{name: a, api: custom, url: 'https://a', ca: ca.crt{0}}}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("routes")
    (made / "ca.crt").write_bytes(Authority.create("routes", SystemClock()).certificate_pem)
    (made / "bad.crt").write_text("no certificate", encoding="ascii")
    return made


def test_routes_in_order(folder: Path) -> None:
    """A Service by the name that its certificate has to be for, port 443 by default."""
    keda, team = parse_routes(GOOD, "routes.yaml", folder)

    assert ("keda", "external", "https://keda-metrics.keda.svc:443") == (keda.name, keda.api, keda.url)
    assert (("queue_depth", "s*-*"), ("queue_depth",), ()) == (keda.metrics, keda.literal, keda.namespaces)
    assert ("https://adapter.example.com:6443/base", ("shop", "mail")) == (team.url, team.namespaces)
    assert () == parse_routes("", "routes.yaml", folder) == parse_routes("routes: []", "routes.yaml", folder)


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        pytest.param("- a", ["routes.yaml:1:1: is no mapping; expected routes"], id="a list"),
        pytest.param("route: []", ['routes.yaml:1:1: route: unknown field; expected routes; did you mean "routes"?'], id="misspelt"),
        pytest.param("routes: {a: 1}", ["routes.yaml:1:9: routes: is no list; expected a list of routes"], id="no list"),
        pytest.param(
            f"routes: [{ONE.format(', metric: [x]')}]",
            ['routes.yaml:1:63: routes[0].metric: unknown field; did you mean "metrics"?'],
            id="a misspelt field",
        ),
        pytest.param("routes: [{name: a, api: custom, ca: ca.crt}]", ["routes.yaml:1:10: routes[0]: names no adapter; exp"], id="no"),
        pytest.param(
            f"routes: [{ONE.format(', service: {namespace: n, name: s}')}]",
            ["routes.yaml:1:10: routes[0]: names two adapters; expected one of service, url"],
            id="two adapters",
        ),
        pytest.param(
            "routes: [{name: a, api: custom, url: 'http://a', ca: ca.crt}]",
            ["routes.yaml:1:38: routes[0].url: is not https: our token would go there in the clear"],
            id="in the clear",
        ),
        pytest.param("routes: [{name: a, api: custom, url: 'https://a'}]", ["routes.yaml:1:10: routes[0].ca: Required value"], id="no CA"),
        pytest.param(
            "routes: [{name: a, api: custom, url: 'https://a', ca: bad.crt}]",
            ["routes.yaml:1:55: routes[0].ca: cannot read the CA certificates in "],
            id="no certificate",
        ),
        pytest.param(
            "routes: [{name: a, api: custom, url: 'https://a', ca: none.crt}]",
            ["routes.yaml:1:55: routes[0].ca: "],
            id="no file of the CA",
        ),
        pytest.param(
            f"routes: [{ONE.format(', metrics: [a/b]')}]",
            ['routes.yaml:1:73: routes[0].metrics[0]: "a/b" is no name of a metric'],
            id="a/b",
        ),
        pytest.param(
            f"routes:\n- {ONE.format('')}\n- {ONE.format('')}", ['routes.yaml:3:10: routes[1].name: Duplicate value: "a"'], id="names twice"
        ),
        pytest.param(
            f"routes:\n- {ONE.format(', metrics: [m]')}\n- {ONE.format(', metrics: [x, m]').replace('name: a', 'name: b')}",
            ['routes.yaml:3:69: routes[1].metrics[1]: "m" is what the route a has already'],
            id="a metric twice",
        ),
        pytest.param("routes: []\n---\nroutes: []", ["routes.yaml:3:1: is a second document: "], id="two documents"),
    ],
)
def test_faults(text: str, faults: list[str], folder: Path) -> None:
    """Each with its place."""
    with pytest.raises(RoutesError) as caught:
        parse_routes(text, "routes.yaml", folder)

    told = str(caught.value).split("\n")
    assert len(faults) == len(told), told
    assert all(line.startswith(fault) for line, fault in zip(told, faults, strict=True)), told


def test_what_is_no_file_keeps_nobody_waiting(folder: Path, tmp_path: Path) -> None:
    """A pipe has no end until somebody writes; of a CA no more is read than a CA can have."""
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "large.crt").open("wb") as large:
        large.truncate(2**30)
    with pytest.raises(RoutesError, match="cannot be read: it is no file"):
        read_routes(tmp_path / "pipe")
    for ca, fault in (("pipe", "cannot be read: it is no file"), ("large.crt", "is more than ")):
        with pytest.raises(RoutesError, match=fault):
            parse_routes(f"routes:\n- {ONE.format('').replace('ca.crt', str(tmp_path / ca))}", "routes.yaml", folder)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """The flag is named."""
    with pytest.raises(RoutesError, match=r"--metric-routes=.*: cannot be read: No such file"):
        read_routes(tmp_path / "none.yaml")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.one_of(st.text(max_size=60), st.sampled_from(GOOD.splitlines()), st.integers(0, len(GOOD)).map(lambda end: GOOD[:end])))
def test_no_file_crashes_it(folder: Path, text: str) -> None:
    """Routes, or all that is wrong."""
    with contextlib.suppress(RoutesError):
        parse_routes(text, "routes.yaml", folder)
    (folder / "routes.yaml").write_text(text, encoding="utf-8", errors="replace")
    with contextlib.suppress(RoutesError):
        read_routes(folder / "routes.yaml")


@pytest.mark.parametrize(
    ("question", "taken"),
    [
        (Question("external", "queue_depth", namespace="any"), [True, False]),
        (Question("external", "s0-rabbit", namespace="any"), [True, False]),
        (Question("external", "other", namespace="any"), [False, False]),
        (Question("custom", "queue_depth", PODS, "shop"), [False, True]),
        (Question("custom", "anything", PODS, "mail", "web"), [False, True]),
        (Question("custom", "anything", PODS, "elsewhere"), [False, False]),
        (Question("custom", "anything", PODS), [False, False]),
        (Question("custom", "anything", NAMESPACES, "", "shop"), [False, True]),
        (Question("custom", "anything", NAMESPACES, "", "elsewhere"), [False, False]),
    ],
)
def test_what_a_route_takes(question: Question, taken: list[bool], folder: Path) -> None:
    """By API, by the name of the metric, by the namespace that is asked about: of a Namespace's own metric it is the Namespace."""
    assert taken == [route.takes(question) for route in parse_routes(GOOD, "routes.yaml", folder)]
