"""Finding what is declared: files that are looked at, ConfigMaps that are watched, tenants that come and go."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest
from structlog.testing import capture_logs

from app.declared.tenants import Tenant
from app.declared.texts import Text
from app.pipeline.declarations import AGAIN_S, Declarations, Places
from app.pipeline.supervise import Supervisor
from tests.fakes.clock import LoopClock
from tests.fakes.declared import at_once
from tests.fakes.kube_server import client_of, event, page, refusal, watch

pytestmark = pytest.mark.looptime


class _Engine:
    """Keeps what it was told, with the time; `sure` is what it answers."""

    def __init__(self) -> None:
        self.loads: list[tuple[float, list[str], list[str]]] = []
        self.sure = True
        self.fails = False

    async def apply(self, texts: Sequence[Text], tenants: dict[str, Tenant]) -> bool:
        if self.fails:
            raise ZeroDivisionError("odd")
        time = round(asyncio.get_running_loop().time(), 1)
        self.loads.append((time, [text.content for text in texts], sorted(tenants)))
        return self.sure


class _Setup:
    """Declarations over a folder, a kube-apiserver of a few lines, and an engine that is made when it is needed."""

    def __init__(self, supervisor: Supervisor, places: Places) -> None:
        self.engine = _Engine()
        self.made = 0
        self.maps: dict[str, list[httpx.Response]] = {}
        self.asked: list[str] = []
        self.declarations = Declarations(
            places,
            client_of(self._answer),
            LoopClock(),
            apart=at_once,
            children=supervisor.children("watch declarations in"),
            engine=self._make,
        )
        supervisor.guard("declarations", self.declarations.run)

    def _make(self) -> _Engine:
        self.made += 1
        return self.engine

    def _answer(self, request: httpx.Request) -> httpx.Response:
        assert request.url.params["labelSelector"] == "kubeglance.io/declarations=true"
        namespace = request.url.path.split("/")[4]
        self.asked.append(namespace)
        answers = self.maps.get(namespace, [])
        if answers:
            return answers.pop(0)
        return watch(asyncio.Event().wait) if "watch" in request.url.params else page()


def _map(name: str, text: str, namespace: str = "own") -> dict[str, object]:
    return {"metadata": {"name": name, "namespace": namespace, "resourceVersion": "11"}, "data": {"a.yaml": text}}


def _write(path: Path, text: str) -> None:
    """As if it was written long ago, but with a stamp of its own: the clock of files is not the test's."""
    path.write_text(text)
    os.utime(path, (1000 + len(text), 1000 + len(text)))


async def test_files_are_loaded_at_once_and_again_when_they_changed(tmp_path: Path) -> None:
    """What changed has to stay as it is for a moment: an editor writes in several steps."""
    _write(tmp_path / "a.yaml", "1")
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor, Places((tmp_path,)))
        await asyncio.sleep(5.5)
        assert setup.engine.loads == [(0.0, ["1"], [])]

        _write(tmp_path / "a.yaml", "22")
        await asyncio.sleep(1)
        _write(tmp_path / "a.yaml", "333")
        await asyncio.sleep(10)
        assert [contents for _, contents, _ in setup.engine.loads] == [["1"], ["333"]]

        (tmp_path / "a.yaml").unlink()
        await asyncio.sleep(3)
        assert setup.engine.loads[-1][1] == []


async def test_a_text_that_changes_all_the_time_is_taken_all_the_same(tmp_path: Path) -> None:
    """Some version of it, after some seconds."""
    _write(tmp_path / "a.yaml", "")
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor, Places((tmp_path,)))
        await asyncio.sleep(0.5)
        for length in range(1, 30):
            _write(tmp_path / "a.yaml", "x" * length)
            await asyncio.sleep(0.5)

        assert len(setup.engine.loads) >= 2


async def test_nothing_is_made_as_long_as_nothing_is_declared(tmp_path: Path) -> None:
    """Models, checks and expressions are loaded with the first declaration."""
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor, Places((tmp_path,), namespace="own"))
        await asyncio.sleep(5.5)
        assert setup.declarations.read_once.is_set()
        assert setup.made == 0

        _write(tmp_path / "a.yaml", "1")
        await asyncio.sleep(5)
        assert (setup.made, [contents for _, contents, _ in setup.engine.loads]) == (1, [["1"]])


async def test_it_is_not_read_once_before_config_maps_were_listed() -> None:
    """So that a replica that just started has all kinds when it is ready."""
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor, Places(namespace="own"))
        setup.maps["own"] = [page(_map("q", "1"))]
        assert not setup.declarations.read_once.is_set()
        await asyncio.sleep(1)

        assert setup.declarations.read_once.is_set()
        assert [contents for _, contents, _ in setup.engine.loads] == [["1"]]


async def test_a_namespace_that_may_not_be_read_holds_up_nobody() -> None:
    """A 403 is an answer too; what is in files is served, and the log says which right is missing."""
    with capture_logs() as logs:
        async with Supervisor() as supervisor:
            setup = _Setup(supervisor, Places(namespace="own"))
            setup.maps["own"] = [refusal(403), page(_map("q", "1"))]
            await asyncio.sleep(0.2)
            assert setup.declarations.read_once.is_set()
            await asyncio.sleep(40)
            assert [contents for _, contents, _ in setup.engine.loads] == [["1"]]

    assert "namespace own" in logs[0]["error"]


async def test_changes_of_config_maps_are_news() -> None:
    """Seen within seconds, without looking again and again."""
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor, Places(namespace="own"))
        change = event("MODIFIED", _map("q", "2"))
        setup.maps["own"] = [page(_map("q", "1")), watch(lambda: asyncio.sleep(10), change, asyncio.Event().wait)]
        await asyncio.sleep(20)

        assert setup.engine.loads == [(0.0, ["1"], []), (11.0, ["2"], [])]


async def test_tenants_come_and_go_with_their_file(tmp_path: Path) -> None:
    """Only the namespaces that are listed are watched; a file that cannot be used changes nothing."""
    tenants = tmp_path / "tenants"
    _write(tenants, "shop: {groups: [shop.example.com]}")
    with capture_logs() as logs:
        async with Supervisor() as supervisor:
            setup = _Setup(supervisor, Places(tenants=tenants, namespace="own"))
            setup.maps["shop"] = [page(_map("q", "1", "shop"))]
            setup.maps["bank"] = [page(_map("q", "2", "bank"))]
            await asyncio.sleep(5)
            assert set(setup.asked) == {"own", "shop"}
            assert setup.engine.loads[-1][1:] == (["1"], ["shop"])

            _write(tenants, "shop: {groups: [x]}")
            await asyncio.sleep(5)
            assert setup.engine.loads[-1][1:] == (["1"], ["shop"])

            _write(tenants, "bank: {groups: [bank.example.com]}")
            await asyncio.sleep(5)
            assert setup.engine.loads[-1][1:] == (["2"], ["bank"])

    assert [line["event"] for line in logs if line["log_level"] == "warning"] == [
        f"--tenants: {tenants}: shop.groups[0]: 'x' is not an API group such as shop.example.com"
    ]


async def test_a_path_with_nothing_is_told_once(tmp_path: Path) -> None:
    """Whatever comes there later is taken."""
    with capture_logs() as logs:
        async with Supervisor() as supervisor:
            setup = _Setup(supervisor, Places((tmp_path / "none",)))
            await asyncio.sleep(10)
            (tmp_path / "none").mkdir()
            _write(tmp_path / "none" / "a.yaml", "1")
            await asyncio.sleep(5)
            assert [contents for _, contents, _ in setup.engine.loads] == [["1"]]

    assert [line["event"] for line in logs] == [f"--declarations: {tmp_path / 'none'} does not exist"]


async def test_reload_loads_what_did_not_change_too(tmp_path: Path) -> None:
    """SIGHUP: now, and all of it."""
    _write(tmp_path / "a.yaml", "1")
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor, Places((tmp_path,)))
        await asyncio.sleep(2.5)
        setup.declarations.reload()
        await asyncio.sleep(0.1)

        assert [time for time, _, _ in setup.engine.loads] == [0.0, 2.5]


@pytest.mark.parametrize("with_files", [False, True])
async def test_a_load_that_could_not_be_sure_is_tried_again(tmp_path: Path, with_files: bool) -> None:
    """As when kube-apiserver does not tell what else it serves; not each time that files are looked at."""
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor, Places((tmp_path,) if with_files else (), namespace="own"))
        setup.maps["own"] = [page(_map("q", "1"))]
        setup.engine.sure = False
        await asyncio.sleep(31)
        setup.engine.sure = True
        await asyncio.sleep(100)

        assert [time for time, _, _ in setup.engine.loads] == [0.0, 30.0, 60.0]


async def test_a_bug_in_a_load_takes_nothing_down(tmp_path: Path) -> None:
    """What is served stays; the next change is tried again."""
    _write(tmp_path / "a.yaml", "1")
    with capture_logs() as logs:
        async with Supervisor() as supervisor:
            setup = _Setup(supervisor, Places((tmp_path,)))
            setup.engine.fails = True
            await asyncio.sleep(1.5)
            setup.engine.fails = False
            await asyncio.sleep(AGAIN_S)
            assert [contents for _, contents, _ in setup.engine.loads] == [["1"]]

    assert [line["event"] for line in logs] == ["declarations cannot be taken, what is served stays; please report it"]
