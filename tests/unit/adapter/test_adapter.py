"""The adapter as a whole: file, lists of series, what it tells of itself; and a Prometheus over HTTP."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from app.adapter.adapter import NAME, Adapter
from app.adapter.prometheus import Prometheus, Server, Shape
from app.adapter.resources import Resources
from app.cache.reports import Reports
from app.errors import KubeError
from app.kinds import collectors
from app.served_metrics.objects import Unavailable
from app.served_metrics.values import Absent, Question, Resource
from collectors._base import CollectError
from tests.fakes.clock import ManualClock

RULE = "{{seriesQuery: {0}, resources: {{overrides: {{pod: {{resource: pod}}}}}}, metricsQuery: '<<.Series>>{{<<.LabelMatchers>>}}'}}"
GROUPS = {
    "kind": "APIGroupDiscoveryList",
    "items": [
        {
            "metadata": {"name": "cheese.io"},
            "versions": [
                {
                    "version": "v1",
                    "resources": [
                        {"resource": "brands", "singularResource": "brand", "scope": "Cluster", "responseKind": {"kind": "Brand"}},
                        {"resource": "cheeses", "scope": "Namespaced", "responseKind": {"kind": "Cheese"}},
                        {"resource": "pods/x", "scope": "Namespaced"},
                    ],
                }
            ],
        }
    ],
}


class Client:
    """A kube-apiserver's discovery, or one that is not there."""

    def __init__(self, groups: Any = None) -> None:
        self.groups = groups

    async def get_json(self, path: str, params: Any = None, *, accept: str = "") -> Any:
        if self.groups is None:
            raise KubeError("no answer")
        return self.groups if path == "/apis" else {"items": []}


class Objects:
    async def of(self, resource: Resource) -> Unavailable:
        return Unavailable(f"{resource} were not listed yet")


class Whole:
    """An adapter whose loop goes round once for each `turn()`."""

    def __init__(self, file: Path) -> None:
        self.clock, self.reports, self.changes = ManualClock(), Reports(), 0
        self.prometheus = Prometheus(Server("http://p:9090"), lambda *_: None)  # type: ignore[arg-type]
        self.lists = 0
        self.error: CollectError | None = None
        self.prometheus.series = self._series  # type: ignore[method-assign]
        self._turn, self.asleep = asyncio.Event(), asyncio.Event()
        self.adapter = Adapter(
            file,
            self.prometheus,
            objects=Objects(),
            client=Client(),
            clock=self.clock,
            reports=self.reports,
            relist_interval=60.0,
            max_age=60.0,
            query_interval=15.0,
            changed=self._changed,
            sleep=self._sleep,
        )

    async def _series(self, selector: str, start: float) -> list[Shape]:
        self.lists += 1
        if self.error is not None:
            raise self.error
        return [Shape(selector, frozenset({"pod"}))]

    def _changed(self) -> None:
        self.changes += 1

    async def _sleep(self, seconds: float) -> None:
        self.clock.advance(seconds)
        turn = self._turn
        self.asleep.set()
        await turn.wait()

    async def turn(self) -> None:
        turn, self._turn = self._turn, asyncio.Event()
        self.asleep.clear()
        turn.set()
        await self.asleep.wait()

    def names(self) -> list[str]:
        return [entry.discovery_name for entry in self.adapter.metrics.entries()]


@pytest.fixture
async def whole(tmp_path: Path) -> AsyncIterator[Whole]:
    file = tmp_path / "config.yaml"
    file.write_text(f"rules:\n- {RULE.format('a')}\n", encoding="utf-8")
    made = Whole(file)
    task = asyncio.ensure_future(made.adapter.run())
    await made.asleep.wait()
    yield made
    task.cancel()


async def test_series_are_listed_on_their_interval(whole: Whole) -> None:
    """The file is looked at more often, and costs no list while it stays."""
    assert (["pods/a"], 1) == (whole.names(), whole.lists)
    for _ in range(5):
        await whole.turn()
    assert 1 == whole.lists
    await whole.turn()
    assert 2 == whole.lists


async def test_another_file_is_served_without_a_restart(whole: Whole, tmp_path: Path) -> None:
    """prometheus-adapter reads its file once. A bad rule costs itself, a file that is gone nothing."""
    file = tmp_path / "config.yaml"
    file.write_text(f"rules:\n- {RULE.format('a')}\n- {{seriesQery: x}}\n- {RULE.format('b')}\n", encoding="utf-8")
    await whole.turn()
    assert ["pods/a", "pods/b"] == whole.names()
    report = whole.reports.get(NAME)
    assert report is not None
    assert "config.yaml:3:4: rules[1].seriesQery: unknown field" in report.invalid
    file.unlink()
    await whole.turn()
    assert ["pods/a", "pods/b"] == whole.names()


def _gone(file: Path) -> None:
    file.unlink()


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        pytest.param(_gone, "does not exist", id="gone"),
        pytest.param(_folder, "is a folder: name the file in it", id="a-folder"),
        pytest.param(_pipe, "is no file: a pipe, say, would keep its reader waiting for ever", id="a-pipe"),
        pytest.param(lambda file: file.write_bytes(b"#" * (5 << 20)), "is 5242880 bytes, of which at most 4194304 are read", id="huge"),
        pytest.param(lambda file: file.write_text("#" + "ö" * (1 << 19)), "is larger than the 1 MiB that a ConfigMap can hold", id="large"),
        pytest.param(lambda file: file.write_bytes(b"\xff"), "cannot be read: 'utf-8' codec", id="no-text"),
    ],
)
async def test_a_file_that_cannot_be_read_costs_nothing(whole: Whole, tmp_path: Path, spoil: Callable[[Path], None], said: str) -> None:
    """Its rules stay as they are, and what is wrong is told."""
    file = tmp_path / "config.yaml"
    spoil(file)
    await whole.turn()
    report = whole.reports.get(NAME)

    assert report is not None
    assert report.invalid.startswith(f"{file} {said}")
    assert (["pods/a"], 1) == (whole.names(), whole.lists)
    for _ in range(5):
        await whole.turn()
    assert (["pods/a"], 2) == (whole.names(), whole.lists)


async def test_a_mounted_config_map_that_changes_is_served(tmp_path: Path) -> None:
    """The kubelet swaps a link to the folder that the file's own link leads through."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.yaml").write_text(f"rules: [{RULE.format(name)}]", encoding="utf-8")
    (tmp_path / "..data").symlink_to("one")
    file = tmp_path / "config.yaml"
    file.symlink_to("..data/config.yaml")
    whole = Whole(file)
    task = asyncio.ensure_future(whole.adapter.run())
    await whole.asleep.wait()
    before = whole.names()
    (tmp_path / "..new").symlink_to("two")
    (tmp_path / "..new").rename(tmp_path / "..data")
    await whole.turn()
    task.cancel()

    assert (["pods/one"], ["pods/two"]) == (before, whole.names())


async def test_the_rules_are_shown_as_targets_of_one_source(whole: Whole) -> None:
    """In `kubectl get collectors`."""
    whole.error = CollectError("dial", "connection refused")  # type: ignore[arg-type]
    whole.clock.advance(60.0)
    await whole.turn()
    report = whole.reports.get(NAME)
    assert report is not None
    shown = collectors.KIND.json(report)

    assert (1, 0, "connection refused") == (report.targets, report.healthy, report.error)
    assert ["rules[0]"] == [target.name for target in report.failing]
    assert "connection refused" in str(shown)
    assert ["pods/a"] == whole.names()


async def test_nothing_is_known_to_be_missing_before_the_first_list(tmp_path: Path) -> None:
    """A metric may be there: the text says why it is not known."""
    file = tmp_path / "config.yaml"
    file.write_text(f"rules: [{RULE.format('a')}]", encoding="utf-8")
    made = Whole(file)
    made.error = CollectError("dial", "connection refused")  # type: ignore[arg-type]
    task = asyncio.ensure_future(made.adapter.run())
    await made.asleep.wait()
    answer = await made.adapter.metrics.answer(Question("custom", "a", Resource("", "pods"), "n"))
    task.cancel()

    assert Absent("the series of Prometheus were not listed yet: connection refused", known=False) == answer


async def test_resources_are_those_of_the_cluster() -> None:
    """Singular names, scopes, and nothing that is no resource."""
    resources = Resources()
    await resources.refresh(Client(GROUPS))
    brand, cheese = resources.find("", "brand"), resources.find("cheese", "cheese")

    assert brand is not None
    assert cheese is not None
    assert (Resource("cheese.io", "brands"), False, True) == (brand.resource, brand.namespaced, cheese.namespaced)
    assert (None, None) == (resources.find("", "x"), resources.find("", "pods"))
    with pytest.raises(KubeError):
        await resources.refresh(Client({}))
    assert brand == resources.find("", "brands")


class Http:
    """A Prometheus that keeps what it is sent."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], dict[str, list[str]]]] = []

    async def __aenter__(self) -> "Http":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        method, target, _ = head[0].split(" ")
        path, _, query = target.partition("?")
        self.requests.append((f"{method} {path}", headers, parse_qs(body.decode() or query)))
        answer = json.dumps({"status": "success", "data": {"resultType": "scalar", "result": [1, "2"]}}).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(answer))
        writer.write(answer)
        writer.close()


@pytest.mark.parametrize("verb", ["GET", "POST"])
async def test_prometheus_is_asked_as_the_flags_say(verb: str, tmp_path: Path) -> None:
    """Verb, headers, the path of the URL, and the token as its file has it now (prometheus-adapter reads it once)."""
    token = tmp_path / "token"
    token.write_text("one\n", encoding="ascii")

    async def may_reach(_host: str, _port: int) -> list[str]:
        return ["127.0.0.1"]

    async with Http() as http:
        server = Server(f"http://localhost:{http.port}/prefix/", verb, (("X-Scope-OrgID", "a, b"),), token_file=token)
        prometheus = Prometheus(server, may_reach)
        await prometheus.query('a{b="c"}')
        token.write_text("two\n", encoding="ascii")
        await prometheus.query("d")
        await prometheus.aclose()

    assert [f"{verb} /prefix/api/v1/query"] * 2 == [request for request, _, _ in http.requests]
    assert [['a{b="c"}'], ["d"]] == [form["query"] for _, _, form in http.requests]
    assert ["Bearer one", "Bearer two"] == [headers["authorization"] for _, headers, _ in http.requests]
    assert "a, b" == http.requests[0][1]["x-scope-orgid"]


async def test_a_file_that_is_missing_is_told(tmp_path: Path) -> None:
    """With its flag, at each request: it may come."""
    prometheus = Prometheus(Server("http://localhost:1", token_file=tmp_path / "none"), lambda *_: None)  # type: ignore[arg-type]

    with pytest.raises(CollectError, match="cannot read"):
        await prometheus.query("a")
