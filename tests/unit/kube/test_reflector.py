import asyncio
from collections.abc import Sequence, Set
from contextlib import suppress
from typing import Any

import httpx
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw, Struct
from structlog.testing import capture_logs

from app.errors import KubeError
from app.kube.records import Key
from app.kube.reflector import Reflector
from app.kube.watched import NODES, PODS, Watched, one_config_map
from tests.fakes.clock import LoopClock
from tests.fakes.kube_server import KubeServer, client_of, event, page, refusal, watch

pytestmark = pytest.mark.looptime


class _Thing(Struct, frozen=True):
    namespace: str
    name: str
    value: int

    @property
    def key(self) -> Key:
        return (self.namespace, self.name)


class _Body(Struct):
    metadata: dict[str, str]
    value: int


def _decode(raw: Raw) -> _Thing:
    try:
        body = msgspec.json.decode(raw, type=_Body)
    except msgspec.MsgspecError as exc:
        raise KubeError(str(exc)) from exc
    return _Thing(body.metadata["namespace"], body.metadata["name"], body.value)


_THINGS = Watched(name="things", path="/things", decode=_decode, grant="grant things", params={"fieldSelector": "a=b"})


class _Store:
    def __init__(self) -> None:
        self.things: dict[Key, int] = {}
        self.calls: list[tuple[list[str], list[str]]] = []

    def apply(self, upserts: Sequence[_Thing], deletes: Sequence[Key]) -> None:
        self.calls.append(([thing.name for thing in upserts], [key[1] for key in deletes]))
        self.things.update({thing.key: thing.value for thing in upserts})
        for key in deletes:
            self.things.pop(key, None)

    def keys(self) -> Set[Key]:
        return self.things.keys()

    def names(self) -> dict[str, int]:
        return {key[1]: value for key, value in self.things.items()}


def _thing(name: str, value: Any = 1, version: str = "5") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "ns", "resourceVersion": version}, "value": value}


async def _for_ever() -> None:
    await asyncio.Event().wait()


async def _run(
    answers: Sequence[httpx.Response | Exception], *, seconds: float = 300.0, store: _Store | None = None, random: float = 0.0
) -> tuple[_Store, KubeServer, Reflector[_Thing]]:
    """Let a reflector run against `answers` for a while of virtual time. The last answer should be a watch that goes on."""
    store = store or _Store()
    server = KubeServer(answers)
    async with server.client() as client:
        reflector = Reflector(client, _THINGS, store, LoopClock(), random=lambda: random)
        try:
            async with asyncio.timeout(seconds):
                await reflector.run()
        except TimeoutError:
            pass
    return store, server, reflector


async def test_a_list_is_applied_page_by_page() -> None:
    """Each page goes to the store as it comes; the watch starts from the list's version."""
    store, server, reflector = await _run([page(_thing("a"), token="more"), page(_thing("b"), version="11"), watch(_for_ever)])

    assert (store.calls, reflector.synced.is_set(), reflector.tried.is_set()) == ([(["a"], []), (["b"], [])], True, True)
    assert server.requests == [
        ("list", {"fieldSelector": "a=b", "limit": "500"}),
        ("list", {"fieldSelector": "a=b", "limit": "500", "continue": "more"}),
        (
            "watch",
            {"fieldSelector": "a=b", "watch": "true", "resourceVersion": "11", "allowWatchBookmarks": "true", "timeoutSeconds": "300"},
        ),
    ]


async def test_what_a_new_list_lacks_is_deleted_after_its_last_page() -> None:
    """Nothing goes before the whole list is known."""
    store = _Store()
    store.things = {("ns", "old"): 1, ("ns", "a"): 1}
    await _run([page(_thing("a"), token="more"), page(_thing("b")), watch(_for_ever)], store=store)

    assert store.calls == [(["a"], []), (["b"], []), ([], ["old"])]


async def test_a_list_that_fails_halfway_deletes_nothing_and_begins_anew() -> None:
    """An expired continue token (410) is followed by a list from scratch."""
    store = _Store()
    store.things = {("ns", "old"): 1}
    _, server, _ = await _run(
        [page(_thing("a"), token="more"), refusal(410, "expired"), page(_thing("old")), watch(_for_ever)], store=store
    )

    assert store.names() == {"old": 1}
    assert [kind for kind, _ in server.requests] == ["list", "list", "list", "watch"]
    assert "continue" not in server.requests[2][1]


async def test_events_change_the_store() -> None:
    """ADDED, MODIFIED and DELETED do what they say."""
    lines = [event("ADDED", _thing("b")), event("MODIFIED", _thing("a", 2)), event("DELETED", _thing("c"))]
    store, _, _ = await _run([page(_thing("a"), _thing("c")), watch(b"".join(lines), _for_ever)])

    assert store.names() == {"a": 2, "b": 1}
    assert store.calls[-1] == (["b", "a"], ["c"])


async def test_of_several_events_about_one_object_the_last_counts() -> None:
    """A StatefulSet's pod that went and came again within one chunk is there, with its new state."""
    together = event("DELETED", _thing("a")) + event("ADDED", _thing("a", 7)) + event("ADDED", _thing("b")) + event("DELETED", _thing("b"))
    store, _, _ = await _run([page(_thing("a")), watch(together, _for_ever)])

    assert store.names() == {"a": 7}
    assert store.calls[-1] == (["a"], ["b"])


async def test_a_watch_that_ends_goes_on_from_the_last_version() -> None:
    """Bookmarks and events both move the version; a normal end needs no list and no pause."""
    bookmark = event("BOOKMARK", {"metadata": {"resourceVersion": "99"}})
    _, server, reflector = await _run([page(), watch(event("ADDED", _thing("a", version="12")), bookmark), watch(_for_ever)])

    assert [(kind, params.get("resourceVersion")) for kind, params in server.requests] == [("list", None), ("watch", "10"), ("watch", "99")]
    assert None is reflector.trouble


@pytest.mark.parametrize(
    "gone",
    [
        pytest.param(refusal(410, "too old resource version"), id="before the stream"),
        pytest.param(watch(event("ERROR", {"kind": "Status", "code": 410, "message": "too old resource version"})), id="in the stream"),
    ],
)
async def test_a_version_that_is_too_old_leads_to_a_new_list(gone: httpx.Response) -> None:
    """410 means that events were missed: only a list can tell what is there now."""
    store, server, _ = await _run([page(_thing("a"), _thing("b")), gone, page(_thing("b"), version="20"), watch(_for_ever)])

    assert store.names() == {"b": 1}
    assert [kind for kind, _ in server.requests] == ["list", "watch", "list", "watch"]


async def test_a_broken_watch_is_resumed() -> None:
    """A lost connection costs a pause and a new watch from where it was."""
    _, server, _ = await _run(
        [page(), watch(event("ADDED", _thing("a", version="12")), ConnectionResetError(104, "reset")), watch(_for_ever)]
    )

    assert [(kind, params.get("resourceVersion")) for kind, params in server.requests] == [("list", None), ("watch", "10"), ("watch", "12")]


async def test_events_before_an_error_count() -> None:
    """What came in the same chunk as the error is in the store, for the next watch starts behind it."""
    chunk = event("ADDED", _thing("a", version="12")) + event("ERROR", {"kind": "Status", "code": 500, "message": "etcd"})
    store, server, _ = await _run([page(), watch(chunk), watch(_for_ever)])

    assert (store.names(), server.requests[-1][1]["resourceVersion"]) == ({"a": 1}, "12")


@pytest.mark.parametrize(
    ("random", "expected"),
    [
        pytest.param(0.0, [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5], id="shortest"),
        pytest.param(1.0, [0, 1, 3, 7, 15, 31, 61, 91], id="longest"),
    ],
)
async def test_pauses_grow_with_full_jitter(random: float, expected: list[float]) -> None:
    """Between 0.5 s and 1, 2, 4, ... 30 s, anywhere in between."""
    times: list[float] = []

    def handle(request: httpx.Request) -> httpx.Response:
        times.append(asyncio.get_running_loop().time())
        return refusal(500)

    reflector = Reflector(client_of(handle), _THINGS, _Store(), LoopClock(), random=lambda: random)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(100):
            await reflector.run()

    assert expected == [round(time - times[0], 3) for time in times[: len(expected)]]


async def test_a_watch_that_always_ends_at_once_does_not_spin() -> None:
    """An empty watch that ends within a second counts as a failure."""
    _, server, reflector = await _run([page(), watch(), watch(), watch(_for_ever)])

    assert [kind for kind, _ in server.requests] == ["list", "watch", "watch", "watch"]
    assert reflector.trouble is not None


async def test_a_watch_that_says_nothing_is_left() -> None:
    """A little after timeoutSeconds, when the server would have ended it: a half-open connection is noticed."""
    seen: list[tuple[int, int]] = []

    def handle(request: httpx.Request) -> httpx.Response:
        if "watch" not in request.url.params:
            return page()
        seen.append((round(asyncio.get_running_loop().time()), int(request.url.params["timeoutSeconds"])))
        return watch(_for_ever)

    reflector = Reflector(client_of(handle), _THINGS, _Store(), LoopClock(), random=lambda: 0.999)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(700):
            await reflector.run()

    assert seen == [(0, 599), (630, 599)]


@pytest.mark.parametrize(
    ("code", "text"),
    [
        pytest.param(403, "grant things", id="forbidden says what to grant"),
        pytest.param(401, "credentials are not accepted", id="unauthorized"),
    ],
)
async def test_refusals_name_the_remedy(code: int, text: str) -> None:
    """403 and 401 are for people to mend: the message says how."""
    _, _, reflector = await _run([refusal(code, "no such luck")], seconds=0.1)

    assert reflector.trouble is not None
    assert text in reflector.trouble.message
    assert "no such luck" in reflector.trouble.message
    assert (reflector.tried.is_set(), reflector.synced.is_set()) == (True, False)


async def test_trouble_is_logged_once_and_its_end_too() -> None:
    """The same error again is no news; another error is; the end is."""
    with capture_logs() as logs:
        await _run([refusal(403), refusal(403), refusal(500), page(), watch(event("ADDED", _thing("a")), _for_ever)])

    assert [(entry["log_level"], entry["event"]) for entry in logs] == [
        ("warning", "kube-apiserver does not give us what we watch"),
        ("warning", "kube-apiserver does not give us what we watch"),
        ("info", "listed"),
        ("info", "kube-apiserver answers again"),
    ]


async def test_one_lost_connection_is_no_warning_but_a_second_failure_is() -> None:
    """An API server that restarts breaks every watch once; the same failure twice in a row is news."""
    lost = ConnectionRefusedError(111, "refused")
    with capture_logs() as logs:
        await _run([page(), watch(event("ADDED", _thing("a")), ConnectionResetError(104, "reset")), lost, lost, lost, watch(_for_ever)])

    assert [(entry["log_level"], entry["event"]) for entry in logs] == [
        ("info", "listed"),
        ("info", "kube-apiserver does not give us what we watch"),
        ("warning", "kube-apiserver does not give us what we watch"),
        ("info", "kube-apiserver answers again"),
    ]


async def test_a_version_that_is_too_old_is_no_trouble() -> None:
    """410 is part of the protocol, not a fault."""
    with capture_logs() as logs:
        _, _, reflector = await _run([page(), refusal(410, "too old"), page(), watch(_for_ever)])

    assert {entry["log_level"] for entry in logs} == {"info"}
    assert reflector.trouble is None


async def test_watches_that_break_before_any_event_are_trouble_until_one_works() -> None:
    """Accepting a watch is no recovery where the last one was accepted too, and broke."""
    broken = [watch(ConnectionResetError(104, "reset")) for _ in range(3)]
    with capture_logs() as logs:
        _, server, reflector = await _run([page(), *broken, watch(_for_ever)])

    assert reflector.trouble is not None
    assert [entry["log_level"] for entry in logs] == ["info", "info", "warning"]
    assert [kind for kind, _ in server.requests] == ["list", "watch", "watch", "watch", "watch"]


async def test_one_object_that_cannot_be_read_costs_itself_only() -> None:
    """It is left out with one warning; what was known of it before stays, and the watch goes on."""
    store = _Store()
    store.things = {("ns", "bad"): 3}
    with capture_logs() as logs:
        await _run(
            [
                page(_thing("bad", "x"), _thing("a")),
                watch(event("MODIFIED", _thing("bad", "y", "12")) + event("ADDED", _thing("b")), _for_ever),
            ],
            store=store,
        )

    assert store.names() == {"bad": 3, "a": 1, "b": 1}
    assert len([entry for entry in logs if entry["log_level"] == "warning"]) == 1


async def test_a_line_that_is_no_event_ends_the_watch() -> None:
    """Garbage means that this is no watch: try again from the last good version."""
    _, server, _ = await _run([page(), watch(b"garbage\n"), watch(_for_ever)])

    assert (server.requests[-1][0], server.requests[-1][1]["resourceVersion"]) == ("watch", "10")


async def test_a_big_page_is_decoded_in_pieces() -> None:
    """The loop gets its turn every hundred objects."""
    store, _, _ = await _run([page(*(_thing(f"t{number}") for number in range(250))), watch(_for_ever)])

    assert [len(upserts) for upserts, _ in store.calls] == [100, 100, 50]


async def test_what_is_gone_goes_in_pieces_too() -> None:
    """Also where a new list lacks most of what was known."""
    store = _Store()
    store.things = {("ns", f"t{number}"): 1 for number in range(250)}
    await _run([page(), watch(_for_ever)], store=store)

    assert [len(deletes) for _, deletes in store.calls if deletes] == [100, 100, 50]
    assert store.names() == {}


def test_a_node_weighs_as_much_as_its_pods() -> None:
    """Fewer of them are handled at a time."""
    assert NODES.piece < PODS.piece


def test_pods_that_are_over_are_not_watched() -> None:
    """Finished pods have no usage."""
    assert PODS.params["fieldSelector"] == "status.phase!=Succeeded,status.phase!=Failed"


def test_each_kind_names_its_rbac() -> None:
    """A 403 can be mended from the message alone."""
    assert "resources: [nodes], verbs: [get, list, watch]" in NODES.grant
    grant = one_config_map("kube-system", "extension-apiserver-authentication").grant
    assert "kubectl -n kube-system create rolebinding kubeglance-auth-reader --role=extension-apiserver-authentication-reader " in grant
    assert one_config_map("a", "x").params["fieldSelector"] == "metadata.name=x"


_OBJECTS = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: st.dictionaries(
        st.sampled_from(["type", "object", "metadata", "name", "namespace", "resourceVersion", "code", "spec", "status"]), inner, max_size=4
    ),
    max_leaves=12,
)
_EVENTS = st.fixed_dictionaries({"type": st.sampled_from(["ADDED", "DELETED", "ERROR", "?"]), "object": _OBJECTS})
_LINES = st.one_of(st.binary(max_size=60), st.one_of(_OBJECTS, _EVENTS).map(msgspec.json.encode))


class _Sink:
    def apply(self, upserts: Sequence[Any], deletes: Sequence[Key]) -> None:
        assert all(record.key for record in upserts)
        assert all(len(key) == 2 for key in deletes)

    def keys(self) -> Set[Key]:
        return frozenset()


@pytest.mark.parametrize("watched", [NODES, PODS, one_config_map("a", "b")], ids=lambda watched: watched.name)
@given(lines=st.lists(_LINES, max_size=4))
def test_no_event_crashes_it(watched: Watched[Any], lines: list[bytes]) -> None:
    """Whatever a watch sends: records, keys that are gone, or a KubeError."""

    async def take() -> None:
        client = client_of(lambda _request: httpx.Response(500))
        with capture_logs(), suppress(KubeError):
            Reflector(client, watched, _Sink(), LoopClock())._apply_events(lines)
        await client.aclose()

    asyncio.run(take())
