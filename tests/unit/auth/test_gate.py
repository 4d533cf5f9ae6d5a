from contextlib import suppress
from typing import Any

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from app.auth.access import AccessReviewer
from app.auth.certificate import CREDENTIAL_ID
from app.auth.gate import DelegatingGate
from app.auth.identity import ANONYMOUS, PEER_KEY, Attributes, User
from app.auth.token import TokenAuthenticator
from app.auth.trust import Trust
from app.errors import KubeUnavailable, Problem
from app.serving.peer import ConnectionPeer
from tests.fakes.clock import ManualClock
from tests.fakes.reviews import FakeReviews
from tests.unit.auth.authorities import Authorities

LIST = Attributes("list", group="metrics.k8s.io", version="v1", resource="pods", namespace="ns")
REMOTE_ANN = ((b"x-remote-user", b"ann"), (b"x-remote-group", b"dev"))
TOKEN = (b"authorization", b"Bearer good")
CLOSES = (("connection", "close"),)


class Bench:
    """A gate with all around it; `trust` holds generation 1 with the users' and the front proxy's CA."""

    def __init__(self, **changes: Any) -> None:
        self.clock = ManualClock()
        self.cas = Authorities(self.clock)
        self.trust = Trust()
        self.trust.replace(self.cas.bundle(**changes))
        self.reviews = FakeReviews({"good": {"user": {"username": "token-user", "groups": ["system:serviceaccounts"]}}})
        self.gate = self.make()

    def make(self, **options: Any) -> DelegatingGate:
        async def no_sleep(_seconds: float) -> None:
            return

        return DelegatingGate(
            self.trust,
            TokenAuthenticator(self.reviews, self.clock, sleep=no_sleep),
            AccessReviewer(self.reviews, self.clock, sleep=no_sleep),
            self.clock,
            **options,
        )

    def scope(self, *headers: tuple[bytes, bytes], chain: tuple[bytes, ...] = (), generation: int = 1) -> dict[str, Any]:
        return {"type": "http", "headers": list(headers), PEER_KEY: ConnectionPeer(chain, generation)}

    async def admit(self, *headers: tuple[bytes, bytes], chain: tuple[bytes, ...] = (), generation: int = 1) -> User:
        return await self.gate.admit(self.scope(*headers, chain=chain, generation=generation), LIST)

    async def refused(self, *headers: tuple[bytes, bytes], chain: tuple[bytes, ...] = (), generation: int = 1) -> Problem:
        with capture_logs(), pytest.raises(Problem) as caught:
            await self.admit(*headers, chain=chain, generation=generation)
        return caught.value


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_the_front_proxy_speaks_for_users(bench: Bench) -> None:
    """Front-proxy certificate, allowed name, headers: the user of the headers."""
    user = await bench.admit(*REMOTE_ANN, chain=bench.cas.chain(bench.cas.proxy, "front-proxy-client"))
    assert User("ann", groups=("dev", "system:authenticated")) == user


async def test_requests_without_groups_are_authenticated(bench: Bench) -> None:
    """The aggregator's discovery and OpenAPI requests carry a user and no group."""
    user = await bench.admit((b"x-remote-user", b"system:aggregator"), chain=bench.cas.chain(bench.cas.proxy, "front-proxy-client"))
    assert User("system:aggregator", groups=("system:authenticated",)) == user


@pytest.mark.parametrize(
    ("headers", "groups"),
    [
        pytest.param([(b"x-remote-user", b"ann"), (b"x-remote-group", b"system:authenticated")], ("system:authenticated",), id="there"),
        pytest.param(
            [(b"x-remote-user", b"system:anonymous"), (b"x-remote-group", b"system:unauthenticated")],
            ("system:unauthenticated",),
            id="anonymous through the aggregator",
        ),
        pytest.param([(b"x-remote-user", b"system:anonymous")], (), id="anonymous without group"),
    ],
)
async def test_groups_that_stay(bench: Bench, headers: Any, groups: tuple[str, ...]) -> None:
    """system:authenticated is added once, and never to the anonymous."""
    user = await bench.admit(*headers, chain=bench.cas.chain(bench.cas.proxy, "front-proxy-client"))
    assert groups == user.groups


async def test_a_client_certificate_is_its_own_identity(bench: Bench) -> None:
    """Attack: a user's certificate with X-Remote-User headers. They are ignored, the certificate counts."""
    chain = bench.cas.chain(bench.cas.users, "mallory", ("dev",))
    user = await bench.admit((b"x-remote-user", b"admin"), (b"x-remote-group", b"system:masters"), chain=chain)
    assert "mallory" == user.name
    assert ("dev", "system:authenticated") == user.groups
    assert CREDENTIAL_ID == user.extra[0][0]


async def test_the_allowed_name_from_the_users_ca_is_no_proxy(bench: Bench) -> None:
    """Attack: a user's certificate named as the front proxy's."""
    chain = bench.cas.chain(bench.cas.users, "front-proxy-client")
    user = await bench.admit((b"x-remote-user", b"admin"), (b"x-remote-group", b"system:masters"), chain=chain)
    assert "front-proxy-client" == user.name
    assert ("system:authenticated",) == user.groups


async def test_a_foreign_name_of_the_front_proxy_ca_is_refused(bench: Bench) -> None:
    """A certificate of the front proxy's CA with another CN is neither proxy nor user."""
    problem = await bench.refused(*REMOTE_ANN, chain=bench.cas.chain(bench.cas.proxy, "somebody-else"))
    assert (401, "Unauthorized", "Unauthorized") == (problem.code, problem.reason, problem.message)


async def test_any_name_without_allowed_names() -> None:
    """An empty list allows every certificate of the front proxy's CA, if that CA is its own."""
    bench = Bench(requestheader_allowed_names=[])
    assert "ann" == (await bench.admit(*REMOTE_ANN, chain=bench.cas.chain(bench.cas.proxy, "whoever"))).name


async def test_the_front_proxy_without_headers_is_nobody(bench: Bench) -> None:
    """The front proxy is no user of its own."""
    assert 401 == (await bench.refused(chain=bench.cas.chain(bench.cas.proxy, "front-proxy-client"))).code


async def test_one_ca_for_both_needs_names() -> None:
    """Attack: one CA in both sets and no allowed names. Headers are refused; the certificate's own name counts."""
    clock = ManualClock()
    shared = Authorities(clock)
    bench = Bench(
        client_ca_file=shared.users.certificate_pem,
        requestheader_client_ca_file=shared.users.certificate_pem,
        requestheader_allowed_names=None,
    )
    user = await bench.admit(*REMOTE_ANN, chain=shared.chain(shared.users, "mallory"))
    assert "mallory" == user.name


@pytest.mark.parametrize(("name", "expected"), [("front-proxy-client", "ann"), ("mallory", "mallory")])
async def test_one_ca_for_both_with_names(name: Any, expected: Any) -> None:
    """One CA in both sets: the allowed name is the proxy, all others are themselves."""
    shared = Authorities(ManualClock())
    bench = Bench(client_ca_file=shared.users.certificate_pem, requestheader_client_ca_file=shared.users.certificate_pem)
    assert expected == (await bench.admit(*REMOTE_ANN, chain=shared.chain(shared.users, name))).name


@pytest.mark.parametrize(
    "smuggled",
    [
        pytest.param((b"x_remote_user", b"admin"), id="underscores"),
        pytest.param((b"x-remote_user", b"admin"), id="one underscore"),
        pytest.param((b"x-remote-user ", b"admin"), id="a space"),
        pytest.param((b"x-remote-users", b"admin"), id="longer"),
    ],
)
async def test_variants_of_names_are_other_headers(bench: Bench, smuggled: tuple[bytes, bytes]) -> None:
    """Attack: header names that other servers would take for X-Remote-User."""
    chain = bench.cas.chain(bench.cas.proxy, "front-proxy-client")
    assert "ann" == (await bench.admit(smuggled, *REMOTE_ANN, chain=chain)).name
    assert 401 == (await bench.refused(smuggled, chain=chain)).code


@pytest.mark.parametrize("headers", [REMOTE_ANN, ((b"x-remote-user", b"admin"), (b"x-remote-group", b"system:masters"))])
async def test_headers_without_a_certificate_are_nothing(bench: Bench, headers: Any) -> None:
    """Attack: X-Remote-User from anybody, also on a resumed session, which has no chain: anonymous."""
    assert ANONYMOUS == await bench.admit(*headers)


async def test_a_token_is_its_user(bench: Bench) -> None:
    """Without a certificate, the token counts; its bearer is authenticated."""
    assert User("token-user", groups=("system:serviceaccounts", "system:authenticated")) == await bench.admit(TOKEN)


async def test_a_certificate_comes_before_a_token(bench: Bench) -> None:
    """The first who knows the caller wins."""
    assert "ann" == (await bench.admit(TOKEN, chain=bench.cas.chain(bench.cas.users, "ann"))).name
    assert 0 == sum(body["kind"] == "TokenReview" for body in bench.reviews.asked)


async def test_a_token_helps_where_a_certificate_is_refused(bench: Bench) -> None:
    """A union: a good token makes up for a certificate that names nobody."""
    assert "token-user" == (await bench.admit(TOKEN, chain=bench.cas.chain(bench.cas.proxy, "somebody-else"))).name


async def test_wrong_tokens_are_unauthorized(bench: Bench) -> None:
    """Wrong credentials are not the same as none."""
    assert 401 == (await bench.refused((b"authorization", b"Bearer bad"))).code


async def test_tokens_are_unauthorized_while_reviews_fail(bench: Bench) -> None:
    """Without a review there is no identity, as in kube-apiserver: 401."""
    bench.reviews.error = KubeUnavailable("down")
    assert 401 == (await bench.refused(TOKEN)).code


async def test_no_credentials_are_anonymous(bench: Bench) -> None:
    """Nobody is system:anonymous in system:unauthenticated, and authorisation decides."""
    assert ANONYMOUS == await bench.admit()
    bench.reviews.may = lambda _spec: False
    bench.clock.advance(11)
    problem = await bench.refused()
    assert 403 == problem.code
    assert 'User "system:anonymous" cannot list resource "pods"' in problem.message


async def test_anonymous_can_be_switched_off(bench: Bench) -> None:
    """Without anonymous requests, no credentials are 401."""
    with pytest.raises(Problem) as caught:
        await bench.make(anonymous=False).admit(bench.scope(), LIST)
    assert 401 == caught.value.code


async def test_a_certificate_that_ended_closes_the_connection(bench: Bench) -> None:
    """Attack: a certificate that ends while its connection stays open. 401, and the connection is closed."""
    chain = bench.cas.chain(bench.cas.users, "ann", days=1)
    assert "ann" == (await bench.admit(chain=chain)).name
    bench.clock.advance(86_401)
    problem = await bench.refused(chain=chain)
    assert (401, CLOSES) == (problem.code, problem.headers)


async def test_a_certificate_of_the_future_closes_the_connection(bench: Bench) -> None:
    """Before its window a certificate counts as little as after it."""
    chain = bench.cas.chain(bench.cas.users, "ann")
    bench.clock.jump(-7200)
    problem = await bench.refused(chain=chain)
    assert (401, CLOSES) == (problem.code, problem.headers)


@pytest.mark.parametrize("token", [pytest.param((), id="alone"), pytest.param((TOKEN,), id="with a good token")])
async def test_a_ca_that_left_the_bundle_closes_its_connections(bench: Bench, token: Any) -> None:
    """Attack: a certificate whose CA was taken out, on a connection from before. 401, and the connection is closed."""
    chain = bench.cas.chain(bench.cas.users, "ann")
    assert "ann" == (await bench.admit(chain=chain)).name
    bench.trust.replace(bench.cas.bundle(client_ca_file=bench.cas.stranger.certificate_pem))
    problem = await bench.refused(*token, chain=chain)
    assert (401, CLOSES) == (problem.code, problem.headers)


async def test_a_front_proxy_ca_that_left_the_bundle(bench: Bench) -> None:
    """The same for the front proxy: it speaks for nobody any more."""
    chain = bench.cas.chain(bench.cas.proxy, "front-proxy-client")
    assert "ann" == (await bench.admit(*REMOTE_ANN, chain=chain)).name
    bench.trust.replace(bench.cas.bundle(requestheader_client_ca_file=bench.cas.stranger.certificate_pem))
    problem = await bench.refused(*REMOTE_ANN, chain=chain)
    assert (401, CLOSES) == (problem.code, problem.headers)


async def test_a_ca_that_moved_to_the_users_speaks_for_nobody(bench: Bench) -> None:
    """A connection's chain is judged by the sets in force now: a CA that is no front proxy's any more gives users only."""
    chain = bench.cas.chain(bench.cas.proxy, "front-proxy-client")
    bench.trust.replace(
        bench.cas.bundle(client_ca_file=bench.cas.proxy.certificate_pem, requestheader_client_ca_file=bench.cas.stranger.certificate_pem)
    )
    assert "front-proxy-client" == (await bench.admit(*REMOTE_ANN, chain=chain)).name


async def test_a_ca_that_is_added_disturbs_nobody(bench: Bench) -> None:
    """While authorities are rotated with overlap, connections of the old one are served on, never 401."""
    chain = bench.cas.chain(bench.cas.proxy, "front-proxy-client")
    both = bench.cas.proxy.certificate_pem + bench.cas.stranger.certificate_pem
    bench.trust.replace(bench.cas.bundle(requestheader_client_ca_file=both))
    assert "ann" == (await bench.admit(*REMOTE_ANN, chain=chain, generation=1)).name


async def test_a_connection_older_than_the_bundle_is_asked_to_come_again(bench: Bench) -> None:
    """Who was never asked for a certificate would stay anonymous for as long as the connection lives: 401 and close, once."""
    problem = await bench.refused(*REMOTE_ANN, generation=0)
    assert (401, CLOSES) == (problem.code, problem.headers)
    assert "token-user" == (await bench.admit(TOKEN, generation=0)).name


@pytest.mark.parametrize("name", [b"impersonate-user", b"impersonate-group", b"impersonate-uid", b"impersonate-extra-scopes"])
@pytest.mark.parametrize("caller", ["proxy", "user", "token", "anonymous"])
async def test_impersonation_is_refused(bench: Bench, name: Any, caller: str) -> None:
    """Impersonate-* reaches us only directly, and is neither obeyed nor ignored: 403."""
    headers, chain = {
        "proxy": (REMOTE_ANN, bench.cas.chain(bench.cas.proxy, "front-proxy-client")),
        "user": ((), bench.cas.chain(bench.cas.users, "ann", ("system:masters",))),
        "token": ((TOKEN,), ()),
        "anonymous": ((), ()),
    }[caller]
    problem = await bench.refused(*headers, (name, b"admin"), chain=chain)
    assert (403, "Forbidden") == (problem.code, problem.reason)
    assert "cannot impersonate here" in problem.message


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
async def test_health_roots_are_open(bench: Bench, path: str) -> None:
    """Probes ask neither who nor whether: also with wrong credentials and without a kube-apiserver."""
    bench.reviews.error = KubeUnavailable("down")
    scope = bench.scope((b"authorization", b"Bearer bad"))
    assert ANONYMOUS == await bench.gate.admit(scope, Attributes("get", path=path))
    assert [] == bench.reviews.asked


@pytest.mark.parametrize("path", ["/healthz/ping", "/livez/", "/readyzz", "/metrics", "/apis"])
async def test_all_other_paths_are_guarded(bench: Bench, path: str) -> None:
    """Only the exact roots are open."""
    bench.reviews.may = lambda _spec: False
    with pytest.raises(Problem) as caught:
        await bench.gate.admit(bench.scope(), Attributes("get", path=path))
    assert 403 == caught.value.code


@pytest.mark.parametrize("path", ["/apis", "/apis/metrics.k8s.io", "/apis/metrics.k8s.io/v1", "/openapi/v2", "/openapi/v3", "/version"])
async def test_discovery_of_the_authenticated_waits_for_no_verdict(bench: Bench, path: str) -> None:
    """The aggregator's own reads bear no group, and must not fail while authorisation is away."""
    bench.reviews.error = KubeUnavailable("down")
    chain = bench.cas.chain(bench.cas.proxy, "front-proxy-client")
    user = await bench.gate.admit(bench.scope((b"x-remote-user", b"system:aggregator"), chain=chain), Attributes("get", path=path))
    assert "system:aggregator" == user.name
    assert [] == bench.reviews.asked


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(Attributes("post", path="/apis"), id="a write"),
        pytest.param(Attributes("get", path="/apisx"), id="another path"),
        pytest.param(Attributes("get", path="/metrics"), id="our own metrics"),
        pytest.param(Attributes("list", path="/apis/g/v/pods", group="g", version="v", resource="pods"), id="objects"),
    ],
)
async def test_all_else_of_the_authenticated_is_reviewed(bench: Bench, asked: Attributes) -> None:
    """Only reads of what kinds there are go without a review."""
    bench.reviews.may = lambda _spec: False
    chain = bench.cas.chain(bench.cas.users, "ann")
    with pytest.raises(Problem) as caught:
        await bench.gate.admit(bench.scope(chain=chain), asked)
    assert 403 == caught.value.code


async def test_authoriser_down_is_500(bench: Bench) -> None:
    """Known callers get no data while nobody can say what they may."""
    bench.reviews.error = KubeUnavailable("down")
    problem = await bench.refused(chain=bench.cas.chain(bench.cas.users, "ann"))
    assert (500, "InternalError") == (problem.code, problem.reason)


async def test_routes_see_no_credentials(bench: Bench) -> None:
    """After the gate the headers hold neither token nor identity; all others stay, in order."""
    scope = bench.scope(
        (b"accept", b"a"),
        TOKEN,
        *REMOTE_ANN,
        (b"x-remote-extra-k", b"v"),
        (b"x-remote-uid", b"1"),
        (b"accept", b"b"),
        chain=bench.cas.chain(bench.cas.proxy, "front-proxy-client"),
    )
    await bench.gate.admit(scope, LIST)
    assert [(b"accept", b"a"), (b"accept", b"b")] == scope["headers"]


async def test_an_unreadable_chain_is_unauthorized(bench: Bench) -> None:
    """OpenSSL may accept what the certificate library does not: no identity then."""
    assert 401 == (await bench.refused(chain=(b"rubbish", b"rubbish"))).code


GET = Attributes("get", group="metrics.k8s.io", version="v1", resource="pods", namespace="ns", name="web")
CHAINS = ["none", "user", "proxy", "another proxy", "stranger", "ended"]
HEADERS = [(), (TOKEN,), ((b"authorization", b"Bearer bad"),), REMOTE_ANN, (*REMOTE_ANN, TOKEN), (TOKEN, (b"impersonate-user", b"root"))]


def chain_of(bench: Bench, which: str) -> tuple[bytes, ...]:
    cas = bench.cas
    chains = {
        "user": lambda: cas.chain(cas.users, "ann", ("dev",)),
        "proxy": lambda: cas.chain(cas.proxy, "front-proxy-client"),
        "another proxy": lambda: cas.chain(cas.proxy, "somebody-else"),
        "stranger": lambda: cas.chain(cas.stranger, "ann"),
        "ended": lambda: cas.chain(cas.users, "ann", days=1),
    }
    chain = chains[which]() if which in chains else ()
    if which == "ended":
        bench.clock.advance(2 * 86_400)
    return chain


@pytest.mark.parametrize("headers", HEADERS, ids=str)
@pytest.mark.parametrize("which", CHAINS)
@pytest.mark.parametrize("allowed", [True, False])
async def test_what_is_known_is_what_would_be_found_out(which: str, headers: tuple[tuple[bytes, bytes], ...], allowed: bool) -> None:
    """`known` gives the user of `admit` or nobody, lets in nobody else, asks nobody, leaves the scope as it is, and logs nothing."""
    bench = Bench()
    bench.reviews.may = lambda _spec: allowed
    scope = bench.scope(*headers, chain=chain_of(bench, which))

    def known() -> User | None:
        before, asked = list(scope["headers"]), len(bench.reviews.asked)
        try:
            with capture_logs() as logs:
                return bench.gate.known(scope, GET)
        except Problem:
            return None
        finally:
            assert (before, asked, []) == (scope["headers"], len(bench.reviews.asked), logs)

    assert known() is None
    admitted = None
    with capture_logs(), suppress(Problem):
        admitted = await bench.gate.admit({**scope}, GET)
    assert known() in (admitted, None)
    if admitted in (None, ANONYMOUS):
        assert known() is None
    else:
        assert admitted == known()
    bench.clock.advance(11)
    assert known() is None


async def test_who_is_known_for_one_thing_is_not_for_another(bench: Bench) -> None:
    """A verdict is about what was asked, whatever the name; one on a name says nothing of others."""
    await bench.gate.admit(bench.scope(TOKEN), GET)
    scope = bench.scope(TOKEN)

    assert bench.gate.known(scope, replace(GET, name="other")) is not None
    for other in (replace(GET, namespace="other"), replace(GET, verb="list"), replace(GET, resource="nodes"), replace(GET, group="x")):
        assert bench.gate.known(scope, other) is None

    bench.reviews.may = lambda spec: spec["resourceAttributes"]["name"] == "web"
    bench.clock.advance(11)
    await bench.gate.admit(bench.scope(TOKEN), GET)
    assert bench.gate.known(scope, GET) is None


async def test_masters_are_known_without_a_verdict(bench: Bench) -> None:
    """They may do everything, as in kube-apiserver."""
    chain = bench.cas.chain(bench.cas.users, "root", ("system:masters",))
    assert "root" == getattr(bench.gate.known(bench.scope(chain=chain), GET), "name", None)
