import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from app.auth.identity import User
from app.auth.token import TokenAuthenticator, bearer_token
from app.errors import KubeError, KubeUnavailable
from tests.fakes.clock import ManualClock
from tests.fakes.reviews import FakeReviews

ANN = {"user": {"username": "ann", "uid": "1", "groups": ["dev"], "extra": {"b": ["2"], "a": ["1"]}}}


class Sleeps(list[float]):
    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        pytest.param([(b"authorization", b"Bearer abc")], "abc", id="bearer"),
        pytest.param([(b"authorization", b"bEARER abc")], "abc", id="any case"),
        pytest.param([(b"authorization", b"Bearer abc def")], "abc", id="what follows is ignored"),
        pytest.param([(b"authorization", b"Bearer  abc")], "", id="two spaces, as in Go"),
        pytest.param([(b"authorization", b"Basic abc")], "", id="another scheme"),
        pytest.param([(b"authorization", b"Bearer")], "", id="no token"),
        pytest.param([(b"authorization", b"Basic x"), (b"authorization", b"Bearer y")], "", id="only the first header counts"),
        pytest.param([(b"x-authorization", b"Bearer y")], "", id="another header"),
        pytest.param([], "", id="none"),
    ],
)
def test_bearer_token(headers: Any, expected: Any) -> None:
    """The token is found as Go's bearertoken request authenticator finds it."""
    assert expected == bearer_token(headers)


async def test_a_good_token_is_its_user() -> None:
    """The review's user is the caller; no audiences are asked for by default."""
    reviews = FakeReviews({"good": ANN})
    user = await TokenAuthenticator(reviews, ManualClock()).authenticate("good")
    assert User("ann", "1", ("dev",), (("a", ("1",)), ("b", ("2",)))) == user
    assert [{"token": "good"}] == reviews.specs


@pytest.mark.parametrize("token", [pytest.param("good", id="authenticated"), pytest.param("bad", id="not authenticated")])
async def test_verdicts_are_kept_ten_seconds(token: Any) -> None:
    """A yes and a no are both kept for 10 s, then asked for anew."""
    clock, reviews = ManualClock(), FakeReviews({"good": ANN})
    tokens = TokenAuthenticator(reviews, clock)
    first = await tokens.authenticate(token)
    clock.advance(9.9)
    assert first == await tokens.authenticate(token)
    assert 1 == len(reviews.asked)
    clock.advance(0.2)
    await tokens.authenticate(token)
    assert 2 == len(reviews.asked)


@pytest.mark.parametrize(
    ("status", "why"),
    [
        pytest.param({"user": {"username": "ann"}, "authenticated": False}, "not authenticated", id="a name alone is no proof"),
        pytest.param({"user": {}}, "no name", id="no name"),
        pytest.param({}, "no user", id="no user"),
    ],
)
async def test_nobody(status: dict[str, Any], why: str) -> None:
    """Only `authenticated: true` with a username makes a user."""
    assert await TokenAuthenticator(FakeReviews({"t": status}), ManualClock()).authenticate("t") is None


@pytest.mark.parametrize(
    ("audiences", "known"),
    [pytest.param(["kubeglance"], True, id="ours"), pytest.param(["other"], False, id="another's"), pytest.param(None, False, id="none")],
)
async def test_audiences(audiences: list[str] | None, known: bool) -> None:
    """With audiences configured, the review must name one of them."""
    reviews = FakeReviews({"t": {**ANN, "audiences": audiences}})
    user = await TokenAuthenticator(reviews, ManualClock(), audiences=("kubeglance",)).authenticate("t")
    assert known == (user is not None)
    assert [{"token": "t", "audiences": ["kubeglance"]}] == reviews.specs


async def test_unavailability_is_tried_five_times_with_growing_pauses() -> None:
    """500 ms, then half as much more each time, up to 20 % jitter (k8s.io/apiserver webhook defaults)."""
    reviews, sleeps = FakeReviews({"good": ANN}), Sleeps()
    reviews.failures = 4
    assert await TokenAuthenticator(reviews, ManualClock(), sleep=sleeps).authenticate("good") is not None
    assert 5 == len(reviews.asked)
    for pause, base in zip(sleeps, (0.5, 0.75, 1.125, 1.6875), strict=True):
        assert base <= pause <= base * 1.2


async def test_errors_are_not_kept() -> None:
    """An error is nobody's token now, and is asked about again at once; the log says why."""
    reviews, sleeps = FakeReviews({"good": ANN}), Sleeps()
    tokens = TokenAuthenticator(reviews, ManualClock(), sleep=sleeps)
    reviews.error = KubeUnavailable("connection refused")
    with capture_logs() as logs:
        assert await tokens.authenticate("good") is None
    assert ["connection refused"] == [entry["error"] for entry in logs]
    reviews.error = None
    assert await tokens.authenticate("good") is not None


async def test_a_refusal_is_not_tried_again_and_names_the_fix() -> None:
    """403 on tokenreviews means a binding is missing: the log has the command."""
    reviews = FakeReviews()
    reviews.error = KubeError("tokenreviews is forbidden", status=403, reason="Forbidden")
    with capture_logs() as logs:
        assert await TokenAuthenticator(reviews, ManualClock()).authenticate("t") is None
    assert 1 == len(reviews.asked)
    assert "--clusterrole=system:auth-delegator" in logs[0]["fix"]
    assert not any("t" == value for value in logs[0].values())


@pytest.mark.looptime
async def test_a_silent_server_is_given_up_after_ten_seconds() -> None:
    """The whole review has 10 s."""
    reviews = FakeReviews()
    reviews.gate = asyncio.Event()
    before = asyncio.get_running_loop().time()
    with capture_logs() as logs:
        assert await TokenAuthenticator(reviews, ManualClock()).authenticate("t") is None
    assert 10.0 == pytest.approx(asyncio.get_running_loop().time() - before)
    assert "within 10 s" in logs[0]["error"]


async def test_same_token_at_the_same_time_is_one_review() -> None:
    """A burst of requests with one token is one review."""
    reviews = FakeReviews({"good": ANN})
    reviews.gate = asyncio.Event()
    tokens = TokenAuthenticator(reviews, ManualClock())
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(tokens.authenticate("good")) for _ in range(5)]
        await asyncio.sleep(0)
        reviews.gate.set()
    assert all(User("ann", "1", ("dev",), (("a", ("1",)), ("b", ("2",)))) == task.result() for task in tasks)
    assert 1 == len(reviews.asked)


async def test_an_answer_without_status_is_an_error() -> None:
    """What cannot be understood is no yes."""

    class Odd(FakeReviews):
        async def create(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
            return {"status": {"authenticated": "yes"}}

    with capture_logs():
        assert await TokenAuthenticator(Odd(), ManualClock()).authenticate("t") is None


@given(st.lists(st.tuples(st.sampled_from([b"authorization", b"x"]), st.one_of(st.binary(), st.binary().map(b"Bearer ".__add__)))))
def test_no_header_crashes_it(headers: list[tuple[bytes, bytes]]) -> None:
    """Whatever the headers are, there is a token without spaces in it, or none."""
    assert " " not in bearer_token(headers)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["status", "authenticated", "user", "username", "groups", "extra", "uid", "a"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


class _Says:
    """Answers each review with the same."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def create(self, path: str, body: dict[str, Any]) -> Any:
        return self.answer


@given(st.one_of(JSON, st.fixed_dictionaries({"status": JSON})))
def test_no_review_crashes_it(answer: Any) -> None:
    """Whatever kube-apiserver answers: a user with a name, or nobody."""

    async def ask() -> None:
        with capture_logs():
            user = await TokenAuthenticator(_Says(answer), ManualClock()).authenticate("t")
        assert user is None or user.name

    asyncio.run(ask())
