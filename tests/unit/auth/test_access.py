import asyncio
from typing import Any

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from app.auth.access import AccessReviewer, forbidden
from app.auth.identity import Attributes, User
from app.errors import KubeError, KubeUnavailable, Problem
from tests.fakes.clock import ManualClock
from tests.fakes.reviews import FakeReviews

ANN = User("ann", "1", ("dev",), (("k", ("v",)),))
LIST = Attributes("list", group="metrics.k8s.io", version="v1", resource="pods", namespace="ns")
GET = Attributes("get", group="metrics.k8s.io", version="v1", resource="pods", namespace="ns", name="web")


async def no_sleep(_seconds: float) -> None:
    return


def reviewer(reviews: FakeReviews, clock: ManualClock | None = None) -> AccessReviewer:
    return AccessReviewer(reviews, clock or ManualClock(), sleep=no_sleep)


async def refusal(access: AccessReviewer, user: User, attributes: Attributes) -> Problem:
    with capture_logs(), pytest.raises(Problem) as caught:
        await access.check(user, attributes)
    return caught.value


async def test_the_first_question_has_no_name_and_no_selectors() -> None:
    """One verdict serves all names: the question leaves them out, and repeats the caller whole."""
    reviews = FakeReviews()
    access = reviewer(reviews)
    await access.check(ANN, GET)
    await access.check(ANN, Attributes("get", group="metrics.k8s.io", version="v1", resource="pods", namespace="ns", name="other"))
    expected = {
        "user": "ann",
        "uid": "1",
        "groups": ["dev"],
        "extra": {"k": ["v"]},
        "resourceAttributes": {
            "verb": "get",
            "group": "metrics.k8s.io",
            "version": "v1",
            "resource": "pods",
            "subresource": "",
            "namespace": "ns",
            "name": "",
        },
    }
    assert [expected] == reviews.specs


async def test_a_name_is_asked_for_after_a_no() -> None:
    """A Role with resourceNames allows the one name; the verdict is kept for that name only."""
    reviews = FakeReviews(may=lambda spec: spec["resourceAttributes"]["name"] == "web")
    access = reviewer(reviews)
    await access.check(ANN, GET)
    await access.check(ANN, GET)
    assert ["", "web"] == [spec["resourceAttributes"]["name"] for spec in reviews.specs]
    other = Attributes("get", group="metrics.k8s.io", version="v1", resource="pods", namespace="ns", name="db")
    assert 403 == (await refusal(access, ANN, other)).code
    assert ["", "web", "db"] == [spec["resourceAttributes"]["name"] for spec in reviews.specs]


async def test_selectors_are_asked_for_after_a_no() -> None:
    """The second question of a list carries its selectors in the review's own form."""
    reviews = FakeReviews(may=lambda spec: "labelSelector" in spec["resourceAttributes"])
    asked = Attributes(
        "list",
        group="g",
        version="v1",
        resource="r",
        label_selector=(("app", "In", ("a", "b")), ("x", "Exists", ())),
        field_selector=(("metadata.name", "In", ("n",)),),
    )
    await reviewer(reviews).check(ANN, asked)
    assert "labelSelector" not in reviews.specs[0]["resourceAttributes"]
    attributes = reviews.specs[1]["resourceAttributes"]
    assert {"requirements": [{"key": "app", "operator": "In", "values": ["a", "b"]}, {"key": "x", "operator": "Exists"}]} == attributes[
        "labelSelector"
    ]
    assert {"requirements": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]} == attributes["fieldSelector"]


async def test_selectors_are_read_after_a_no_only() -> None:
    """Who may list all has no selectors read; who may not is asked about once more, with what they make of the question."""
    read: list[str] = []

    def narrowed() -> Attributes:
        read.append("selectors")
        return replace(LIST, name="web")

    await reviewer(FakeReviews()).check(ANN, LIST, narrowed)
    assert [] == read
    reviews = FakeReviews(may=lambda spec: spec["resourceAttributes"]["name"] == "web")
    await reviewer(reviews).check(ANN, LIST, narrowed)
    assert (["selectors"], ["", "web"]) == (read, [spec["resourceAttributes"]["name"] for spec in reviews.specs])


async def test_a_no_names_what_was_asked_last() -> None:
    """The text of a 403 has the name that a field selector gives, and a question that did not get narrower is not asked again."""
    reviews = FakeReviews(may=lambda _spec: False)
    access = reviewer(reviews)
    with pytest.raises(Problem, match='"web" is forbidden'):
        await access.check(ANN, LIST, lambda: replace(LIST, name="web"))
    with pytest.raises(Problem, match=r"pods\.metrics\.k8s\.io is forbidden"):
        await access.check(ANN, LIST, lambda: LIST)
    assert 2 == len(reviews.asked)


@pytest.mark.parametrize("allowed", [True, False])
async def test_verdicts_are_kept_ten_seconds(allowed: bool) -> None:
    """A yes and a no are kept for 10 s."""
    clock, reviews = ManualClock(), FakeReviews(may=lambda _spec: allowed)
    access = reviewer(reviews, clock)

    async def check() -> bool:
        try:
            await access.check(ANN, LIST)
        except Problem:
            return False
        return True

    assert allowed == await check()
    clock.advance(9.9)
    assert allowed == await check()
    assert 1 == len(reviews.asked)
    clock.advance(0.2)
    assert allowed == await check()
    assert 2 == len(reviews.asked)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param((User("bob", "1", ("dev",), (("k", ("v",)),)), LIST), id="user"),
        pytest.param((User("ann", "2", ("dev",), (("k", ("v",)),)), LIST), id="uid"),
        pytest.param((User("ann", "1", ("ops",), (("k", ("v",)),)), LIST), id="groups"),
        pytest.param((User("ann", "1", ("dev",), (("k", ("w",)),)), LIST), id="extra"),
        pytest.param((ANN, Attributes("watch", group="metrics.k8s.io", version="v1", resource="pods", namespace="ns")), id="verb"),
        pytest.param((ANN, Attributes("list", group="other", version="v1", resource="pods", namespace="ns")), id="group"),
        pytest.param((ANN, Attributes("list", group="metrics.k8s.io", version="v1beta1", resource="pods", namespace="ns")), id="version"),
        pytest.param((ANN, Attributes("list", group="metrics.k8s.io", version="v1", resource="nodes", namespace="ns")), id="resource"),
        pytest.param(
            (ANN, Attributes("list", group="metrics.k8s.io", version="v1", resource="pods", subresource="log", namespace="ns")),
            id="subresource",
        ),
        pytest.param((ANN, Attributes("list", group="metrics.k8s.io", version="v1", resource="pods", namespace="other")), id="namespace"),
        pytest.param((ANN, Attributes("list", group="metrics.k8s.io", version="v1", resource="pods")), id="all namespaces"),
    ],
)
async def test_no_verdict_leaks_to_another_question(other: Any) -> None:
    """Whatever differs in caller or question makes it another question."""
    reviews = FakeReviews()
    access = reviewer(reviews)
    await access.check(ANN, LIST)
    reviews.may = lambda _spec: False
    assert 403 == (await refusal(access, *other)).code


async def test_denied_beats_allowed() -> None:
    """An answer that says both is a no."""
    reviews = FakeReviews(may=lambda _spec: {"allowed": True, "denied": True, "reason": "policy"})
    assert (await refusal(reviewer(reviews), ANN, LIST)).message.endswith('in the namespace "ns": policy')


async def test_authoriser_down_is_500_after_the_cached_verdict_ended() -> None:
    """A verdict already known serves until its 10 s end; then nothing is served: 500 InternalError."""
    clock, reviews = ManualClock(), FakeReviews()
    access = reviewer(reviews, clock)
    await access.check(ANN, LIST)
    reviews.error = KubeUnavailable("connection refused")
    clock.advance(9.9)
    await access.check(ANN, LIST)
    clock.advance(0.2)
    problem = await refusal(access, ANN, LIST)
    assert (500, "InternalError") == (problem.code, problem.reason)
    assert problem.message.startswith("Internal error occurred: ")
    assert "connection refused" not in problem.message
    reviews.error = None
    await access.check(ANN, LIST)


async def test_errors_are_not_kept_and_refusals_name_the_fix() -> None:
    """403 on subjectaccessreviews means a binding is missing: 500 to the caller, the command in the log."""
    reviews = FakeReviews()
    reviews.error = KubeError("forbidden", status=403, reason="Forbidden")
    access = reviewer(reviews)
    with capture_logs() as logs, pytest.raises(Problem):
        await access.check(ANN, LIST)
    assert "--clusterrole=system:auth-delegator" in logs[0]["fix"]
    assert 1 == len(reviews.asked)


async def test_masters_are_not_asked_about() -> None:
    """The aggregator's availability check comes as system:masters: it never waits for kube-apiserver."""
    reviews = FakeReviews(may=lambda _spec: False)
    await reviewer(reviews).check(User("system:kube-aggregator", groups=("system:masters",)), LIST)
    assert [] == reviews.asked


async def test_long_questions_are_not_kept() -> None:
    """Attributes over 10,000 bytes would fill the memory: asked each time."""
    reviews = FakeReviews()
    access = reviewer(reviews)
    long = Attributes("get", path="/" + "x" * 10_001)
    await access.check(ANN, long)
    await access.check(ANN, long)
    assert 2 == len(reviews.asked)


async def test_paths_are_asked_by_path_and_verb() -> None:
    """Non-resource requests have path and method."""
    reviews = FakeReviews()
    await reviewer(reviews).check(ANN, Attributes("get", path="/metrics"))
    assert {"path": "/metrics", "verb": "get"} == reviews.specs[0]["nonResourceAttributes"]


async def test_same_question_at_the_same_time_is_asked_once() -> None:
    """A burst of one caller is one review."""
    reviews = FakeReviews()
    reviews.gate = asyncio.Event()
    access = reviewer(reviews)
    async with asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(access.check(ANN, LIST))
        await asyncio.sleep(0)
        reviews.gate.set()
    assert 1 == len(reviews.asked)


@pytest.mark.parametrize(
    ("attributes", "reason", "message", "details"),
    [
        pytest.param(
            LIST,
            "",
            'pods.metrics.k8s.io is forbidden: User "u" cannot list resource "pods" in API group "metrics.k8s.io" in the namespace "ns"',
            {"group": "metrics.k8s.io", "kind": "pods"},
            id="namespace",
        ),
        pytest.param(
            Attributes("list", group="metrics.k8s.io", version="v1", resource="nodes"),
            "",
            'nodes.metrics.k8s.io is forbidden: User "u" cannot list resource "nodes" in API group "metrics.k8s.io" at the cluster scope',
            {"group": "metrics.k8s.io", "kind": "nodes"},
            id="cluster scope",
        ),
        pytest.param(
            GET,
            "",
            'pods.metrics.k8s.io "web" is forbidden: '
            'User "u" cannot get resource "pods" in API group "metrics.k8s.io" in the namespace "ns"',
            {"name": "web", "group": "metrics.k8s.io", "kind": "pods"},
            id="a name",
        ),
        pytest.param(
            Attributes("get", group="g", version="v1", resource="r", subresource="scale", name="n"),
            "because",
            'r.g "n" is forbidden: User "u" cannot get resource "r/scale" in API group "g" at the cluster scope: because',
            {"name": "n", "group": "g", "kind": "r"},
            id="subresource and reason",
        ),
        pytest.param(Attributes("get", path="/x"), "", 'forbidden: User "u" cannot get path "/x"', {}, id="path"),
    ],
)
def test_forbidden_has_kube_apiservers_words(attributes: Attributes, reason: str, message: str, details: dict[str, str]) -> None:
    """403 texts are those of k8s.io/apiserver's responsewriters."""
    problem = forbidden(User("u"), attributes, reason)
    assert (403, "Forbidden", message, details) == (problem.code, problem.reason, problem.message, problem.details)
    assert (("X-Content-Type-Options", "nosniff"),) == problem.headers
