"""/log: of the right pods, for who may read their logs, bounded, and told when it breaks."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.auth.identity import Attributes, User
from app.declared.pod_logs import LONGEST_LINE, MOST_BYTES, MOST_PODS, PodLogs, Selection, selections
from app.errors import KubeError, KubeUnavailable, Problem
from app.kinds._base import Asked
from app.wire.request_info import is_path_segment
from tests.fakes.kinds import make_item

EXPRESSIONS = [{"key": "k", "operator": "In", "values": ["a", "b"]}, {"key": "n", "operator": "DoesNotExist"}]
FLUX = "helm.toolkit.fluxcd.io/v2"
ANN = User("ann", "17", ("dev",), (("scopes", ("a",)),))


def pod(name: str, *containers: str, owner: str = "", **annotations: str) -> dict[str, Any]:
    owners = [{"uid": owner}] if owner else []
    return {
        "metadata": {"name": name, "namespace": "a", "ownerReferences": owners, "annotations": annotations},
        "spec": {"containers": [{"name": container} for container in containers or ("main",)]},
    }


def source(kind: str = "Thing", group: str = "example.com/v1", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": group, "kind": kind, "metadata": {"name": "x", "namespace": "a", "uid": "u1"}, **fields}


class FakeCluster:
    """Pods and their logs. A log is pieces of bytes, an error, or an event that is waited for."""

    def __init__(self, *pods: dict[str, Any], logs: Mapping[str, list[Any]] | None = None, error: KubeError | None = None) -> None:
        self._pods = pods
        self._logs = logs or {}
        self._error = error
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.read: list[tuple[str, dict[str, Any]]] = []
        self.closed: list[str] = []

    async def get_json(self, path: str, params: Mapping[str, str | int] | None = None) -> Any:
        self.asked.append((path, dict(params or {})))
        if self._error is not None:
            raise self._error
        if path.endswith("/pods"):
            return {"items": list(self._pods)}
        return self._pods[0]

    async def stream(self, path: str, params: Mapping[str, str | int], *, patience: float | None = 30.0) -> AsyncGenerator[bytes, None]:
        self.read.append((path, dict(params)))
        name = path.split("/")[-2]
        try:
            first = True
            for step in self._logs.get(name, [f"log of {name}\n".encode()]):
                if isinstance(step, KubeError):
                    raise step
                if isinstance(step, asyncio.Event):
                    await step.wait()
                    continue
                if first:
                    yield b""
                    first = False
                yield step
        finally:
            self.closed.append(name)


class FakeAccess:
    """Who may read the logs of which pods."""

    def __init__(self, *refused: str) -> None:
        self._refused = refused
        self.asked: list[tuple[User, Attributes]] = []

    async def check(self, user: User, attributes: Attributes) -> None:
        self.asked.append((user, attributes))
        if attributes.name in self._refused:
            raise Problem(403, "Forbidden", f"{attributes.name} is not for you")


async def told(
    cluster: FakeCluster,
    item: Any = None,
    access: FakeAccess | None = None,
    *,
    most_bytes: int = MOST_BYTES,
    query: Mapping[str, str] | None = None,
) -> bytes:
    logs = PodLogs(cluster, access or FakeAccess(), most_bytes=most_bytes)
    subresource = logs.subresource("Thing", lambda _value: source() if item is None else item)
    body = (await subresource.answer(Asked(make_item("a", "x"), query or {}, ANN))).body
    assert not isinstance(body, bytes)
    async with aclosing(body) as pieces:
        return b"".join([piece async for piece in pieces])


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"metadata": {"name": "x", "namespace": "a"}, "spec": {"containers": []}}, [Selection("a", name="x")]),
        (source("Deployment", "apps/v1", spec={"selector": {"matchLabels": {"app": "x", "tier": "y"}}}), [Selection("a", "app=x,tier=y")]),
        (source("Service", "v1", spec={"selector": {"app": "x"}}), [Selection("a", "app=x")]),
        (source(spec={"selector": {"matchExpressions": EXPRESSIONS}}), [Selection("a", "k in (a,b),!n")]),
        (source("HelmRelease", FLUX), [Selection("a", "app.kubernetes.io/instance=x")]),
        (source("HelmRelease", FLUX, spec={"releaseName": "r"}), [Selection("a", "app.kubernetes.io/instance=r")]),
        (source("HelmRelease", FLUX, spec={"targetNamespace": "t"}), [Selection("t", "app.kubernetes.io/instance=t-x")]),
        (
            source("HelmRelease", f"{FLUX}beta2", spec={}, status={"history": [{"name": "h", "namespace": "hn"}]}),
            [Selection("hn", "app.kubernetes.io/instance=h")],
        ),
        (source(), [Selection("a", owner="u1"), Selection("a", "app.kubernetes.io/instance=x")]),
    ],
)  # fmt: skip
def test_which_pods(item: Any, expected: list[Selection]) -> None:
    """By name, by the release, by the selector; else by owner, and then by the label that charts and operators set."""
    assert expected == selections(item)


@pytest.mark.parametrize(
    "item",
    [
        None,
        "text",
        {"metadata": {"name": "x"}},
        {"metadata": []},
        source(spec={"selector": {"matchLabels": {}}}),
        source(spec={"selector": {"matchExpressions": [{"key": "k", "operator": "Like"}]}}),
    ],
)
def test_what_has_no_pods(item: Any) -> None:
    """What is no object of a namespace, or would select all of it, is a 400 that says so."""
    with pytest.raises(Problem) as caught:
        selections(item)

    assert (400, True) == (caught.value.code, caught.value.message.startswith("there are no logs: "))


_NAMES = ["metadata", "name", "namespace", "uid", "spec", "selector", "matchLabels", "matchExpressions", "key", "operator", "values"]
_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=3), st.sampled_from(["In", "a", "..", "HelmRelease"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.sampled_from([*_NAMES, "status", "history", "containers", "kind"]), inner)
    ),
)


@given(_JSON, _JSON, _JSON)
def test_any_item_has_an_answer(item: Any, spec: Any, status: Any) -> None:
    """Whatever a source gave: where to look, or a Problem; and never a path that leads elsewhere."""
    for each in (item, source(spec=spec, status=status), source("HelmRelease", FLUX, spec=spec, status=status)):
        with suppress(Problem):
            found = selections(each)
            assert found
            assert all(is_path_segment(selection.namespace) and is_path_segment(selection.name) for selection in found)


async def test_who_may_read_no_logs_is_not_told_that_there_are_none() -> None:
    """Neither of pods that are selected, nor of one by its name, nor that nothing was found."""
    cluster, refused = FakeCluster(), FakeAccess("", "x")
    for item in (source(), {"metadata": {"name": "x", "namespace": "a"}, "spec": {"containers": []}}):
        with pytest.raises(Problem, match='cannot get resource "pods/log"') as caught:
            await told(cluster, item, refused)
        assert 403 == caught.value.code

    assert {"/api/v1/namespaces/a/pods"} == {path for path, _ in cluster.asked}


async def test_one_pod_has_its_log_as_it_is() -> None:
    cluster = FakeCluster(pod("x-1", owner="u1"), pod("other", owner="u2"))

    assert b"log of x-1\n" == await told(cluster, query={"tailLines": "5"})
    assert [("/api/v1/namespaces/a/pods/x-1/log", {"limitBytes": MOST_BYTES, "tailLines": 5, "container": "main"})] == cluster.read


async def test_several_pods_are_told_apart() -> None:
    """Each line says whose it is; the last one, too, that does not end."""
    cluster = FakeCluster(pod("x-2"), pod("x-1"), logs={"x-2": [b"a\nb", b"c"], "x-1": []})

    assert b"[pod/x-2/main] a\n[pod/x-2/main] bc\n" == await told(cluster, source("Service", "v1", spec={"selector": {"app": "x"}}))
    assert ["x-1", "x-2"] == [path.split("/")[-2] for path, _ in cluster.read]


async def test_the_label_where_nobody_owns_it() -> None:
    """No pod names it as an owner: then those that bear its name as an instance."""
    cluster = FakeCluster(pod("x-1"))
    await told(cluster)

    assert [{"limit": 500}, {"limit": 500, "labelSelector": "app.kubernetes.io/instance=x"}] == [params for _, params in cluster.asked]


async def test_the_caller_must_be_allowed_each_pod() -> None:
    """The question is the caller's own, with all that is known of them, for the log of each pod, before any is read."""
    cluster, access = FakeCluster(pod("x-1", owner="u1"), pod("x-2", owner="u1")), FakeAccess()
    await told(cluster, access=access)

    assert [(ANN, "x-1"), (ANN, "x-2")] == [(user, attributes.name) for user, attributes in access.asked]
    assert {("get", "", "v1", "pods", "log", "a")} == {
        (each.verb, each.group, each.version, each.resource, each.subresource, each.namespace) for _, each in access.asked
    }


async def test_who_may_not_read_one_reads_none() -> None:
    """403 in upstream's words, without the name of the pod, and nothing is read."""
    cluster = FakeCluster(pod("x-1", owner="u1"), pod("x-2", owner="u1"))
    with pytest.raises(Problem) as caught:
        await told(cluster, access=FakeAccess("x-2"))

    assert 'pods is forbidden: User "ann" cannot get resource "pods/log" in API group "" in the namespace "a"' == caught.value.message
    assert (403, []) == (caught.value.code, cluster.read)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({"tailLines": "x"}, "ParseInt"),
        ({"tailLines": "-1"}, "must not be negative"),
        ({"container": "none"}, "none of 1 pods has a container"),
    ],
)
async def test_bad_query(query: dict[str, str], text: str) -> None:
    with pytest.raises(Problem, match=text) as caught:
        await told(FakeCluster(pod("x-1", owner="u1")), query=query)

    assert 400 == caught.value.code


@pytest.mark.parametrize(
    ("query", "container"),
    [({}, "second"), ({"container": "first"}, "first")],
)
async def test_which_container(query: dict[str, str], container: str) -> None:
    """The one that is asked for, else the one that kubectl logs takes."""
    cluster = FakeCluster(pod("x-1", "first", "second", owner="u1", **{"kubectl.kubernetes.io/default-container": "second"}))
    await told(cluster, query=query)

    assert container == cluster.read[0][1]["container"]


async def test_no_pods() -> None:
    with pytest.raises(Problem, match="no pods belong to it") as caught:
        await told(FakeCluster())

    assert 404 == caught.value.code


@pytest.mark.parametrize("follow", ["true", "false"])
@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (KubeError("no", status=403), 503, "kubeglance may not read logs: it needs get on pods/log of its own"),
        (KubeError("waiting to start", status=400), 400, "waiting to start"),
        (KubeError("gone", status=404), 404, "gone"),
        (KubeUnavailable("down"), 503, "the log cannot be had"),
    ],
)
async def test_a_log_that_cannot_be_opened(error: KubeError, code: int, text: str, follow: str) -> None:
    """It is told as a Status; that kubeglance lacks a right is never told as the caller's 403."""
    cluster = FakeCluster(pod("x-1", owner="u1"), logs={"x-1": [error]})
    with pytest.raises(Problem, match=text) as caught:
        await told(cluster, query={"follow": follow})

    assert (code, ["x-1"]) == (caught.value.code, cluster.closed)


async def test_pods_that_cannot_be_listed() -> None:
    with pytest.raises(Problem, match="get and list on pods") as caught:
        await told(FakeCluster(error=KubeError("no", status=403)))

    assert 503 == caught.value.code


async def test_a_log_that_breaks_off_says_so() -> None:
    """What was told cannot be taken back: a line of kubeglance's own tells that there was more."""
    cluster = FakeCluster(pod("x-1", owner="u1"), logs={"x-1": [b"one\n", KubeUnavailable("cut")]})

    assert b"one\nkubeglance: the log of pod x-1, container main, broke off: cut\n" == await told(cluster)


async def test_one_of_several_that_cannot_be_opened() -> None:
    cluster = FakeCluster(pod("x-1", owner="u1"), pod("x-2", owner="u1"), logs={"x-2": [KubeError("waiting", status=400)]})

    assert b"[pod/x-1/main] log of x-1\nkubeglance: waiting\n" == await told(cluster)


async def test_following_tells_what_comes_first() -> None:
    """Of several logs the one that says something is told, while another says nothing; when the reader leaves, all are closed."""
    silent = asyncio.Event()
    cluster = FakeCluster(pod("x-1", owner="u1"), pod("x-2", owner="u1"), logs={"x-1": [silent], "x-2": [b"a\n", silent, b"b\n"]})
    logs = PodLogs(cluster, FakeAccess(), opening=0.01)
    body = (await logs.subresource("Thing", lambda _value: source()).answer(Asked(make_item("a", "x"), {"follow": "1"}, ANN))).body
    assert not isinstance(body, bytes)
    pieces = []
    async with aclosing(body):
        async for piece in body:
            pieces.append(piece)
            if b"a\n" in piece:
                break

    assert b"[pod/x-2/main] a\n" == b"".join(pieces)
    assert ["x-1", "x-2"] == sorted(cluster.closed)
    assert {"true"} == {params["follow"] for _, params in cluster.read}


async def test_bounds() -> None:
    """So many pods, so many bytes, and lines of a length that others can be told between."""
    many = FakeCluster(*(pod(f"x-{number:02}", owner="u1") for number in range(MOST_PODS + 5)))
    await told(many)
    one = FakeCluster(pod("x-1", owner="u1"), logs={"x-1": [b"0123456789", b"rest"]})

    assert b"0123456789\nkubeglance: the rest is left out: an answer has at most 10 bytes\n" == await told(one, most_bytes=10)
    assert MOST_PODS == len(many.read)


async def test_long_lines_go_in_parts() -> None:
    cluster = FakeCluster(pod("x-1", owner="u1"), pod("x-2", owner="u1"), logs={"x-1": [b"a" * (LONGEST_LINE + 1), b"b\n"], "x-2": []})

    assert [LONGEST_LINE + 16, 16] == [len(line) for line in (await told(cluster)).splitlines()]
