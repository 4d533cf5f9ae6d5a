"""TLS over loopback sockets: whose certificate is believed when, on both event loops."""

import asyncio
import json
import ssl
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from structlog.testing import capture_logs

from app.auth.access import AccessReviewer
from app.auth.gate import DelegatingGate
from app.auth.identity import PEER_KEY, Attributes
from app.auth.token import TokenAuthenticator
from app.auth.trust import Trust
from app.certs import Authority
from app.clock import SystemClock
from app.errors import Problem, SettingsError
from app.serving.tls import Offer, ServerTLS
from tests.fakes.bent_pem import bent_pem
from tests.fakes.clock import ManualClock
from tests.fakes.reviews import FakeReviews
from tests.unit.auth.authorities import Authorities, der
from tests.unit.serving.loopback import (
    LOOPS,
    Connection,
    blocking_get,
    client_context,
    connected,
    listening,
    run,
    serving_files,
    serving_tls,
)

LIST = Attributes("list", group="metrics.k8s.io", version="v1", resource="pods", namespace="ns")
ADMIN = ((b"X-Remote-User", b"admin"), (b"X-Remote-Group", b"system:masters"))

both_loops = pytest.mark.parametrize("loop", LOOPS)


class World:
    """Authorities, trust, a TLS server with a gate that answers who was admitted. Wall time starts now, for OpenSSL has its own clock."""

    def __init__(self, folder: Path, *, trusted: bool = True) -> None:
        self.folder = folder
        self.clock = ManualClock(wall=SystemClock().wall())
        self.cas = Authorities(self.clock)
        self.trust = Trust()
        self.tls = serving_tls(folder, self.cas.stranger)
        self.trust.on_change(self.tls.use_bundle)
        if trusted:
            self.trust.replace(self.cas.bundle())
        reviews = FakeReviews({"good": {"user": {"username": "token-user"}}})
        self.gate = DelegatingGate(self.trust, TokenAuthenticator(reviews, self.clock), AccessReviewer(reviews, self.clock), self.clock)

    async def app(self, scope: Any, _receive: Any, send: Any) -> None:
        peer = scope[PEER_KEY]
        answer: dict[str, Any] = {"certificates": len(peer.chain), "generation": peer.trust_generation}
        status, headers = 200, []
        try:
            user = await self.gate.admit(scope, LIST)
            answer |= {"user": user.name, "groups": user.groups}
        except Problem as problem:
            status, headers = problem.code, [(name.encode(), value.encode()) for name, value in problem.headers]
        body = json.dumps(answer).encode()
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"%d" % len(body)), *headers]})
        await send({"type": "http.response.body", "body": body})

    def client(self, authority: str = "", name: str = "ann", *, tls12: bool = False, days: float = 1, clock: Any = None) -> ssl.SSLContext:
        pair = None
        if authority:
            issuer = getattr(self.cas, authority)
            pair = issuer.issue(name, ("dev",), client=True, days=days)
        return client_context(self.folder, self.cas.stranger, pair, tls12=tls12)


async def asked(connection: Connection, *headers: tuple[bytes, bytes]) -> dict[str, Any]:
    reply = await connection.get("/", *headers)
    return {"status": reply.status, **json.loads(reply.body)}


@both_loops
@pytest.mark.parametrize("tls12", [pytest.param(False, id="TLS1.3"), pytest.param(True, id="TLS1.2")])
def test_certificates_decide_who_calls(loop: str, tls12: bool, tmp_path: Path) -> None:
    """The front proxy's certificate lets headers speak, a user's certificate never does, none is anonymous."""

    async def test() -> None:
        world = World(tmp_path)
        async with listening(world.app, world.tls.context) as server:
            found = []
            for client in (
                world.client("proxy", "front-proxy-client", tls12=tls12),
                world.client("users", "mallory", tls12=tls12),
                world.client("proxy", "foreign", tls12=tls12),
                world.client(tls12=tls12),
            ):
                async with connected(server.port, client) as connection:
                    answer = await asked(connection, *ADMIN)
                    found.append((answer["status"], answer.get("user"), answer["certificates"]))
            assert [(200, "admin", 2), (200, "mallory", 2), (401, None, 2), (200, "system:anonymous", 0)] == found

    run(loop, test())


@both_loops
def test_unknown_authorities_end_the_handshake(loop: str, tmp_path: Path) -> None:
    """A certificate of an authority in neither set reaches no request."""

    async def test() -> None:
        world = World(tmp_path)
        async with listening(world.app, world.tls.context) as server:
            with pytest.raises((OSError, asyncio.IncompleteReadError)):
                async with connected(server.port, world.client("stranger")) as connection:
                    await asked(connection)

    run(loop, test())


@both_loops
def test_expired_certificates_end_the_handshake(loop: str, tmp_path: Path) -> None:
    """A certificate that has ended is refused by TLS itself."""

    async def test() -> None:
        world = World(tmp_path)
        expired = world.client("users", days=-1 / 48)
        async with listening(world.app, world.tls.context) as server:
            with pytest.raises((OSError, asyncio.IncompleteReadError)):
                async with connected(server.port, expired) as connection:
                    await asked(connection)

    run(loop, test())


@both_loops
def test_a_certificate_that_ends_on_an_open_connection(loop: str, tmp_path: Path) -> None:
    """While the connection stays open the certificate ends: 401, and the server closes."""

    async def test() -> None:
        world = World(tmp_path)
        async with listening(world.app, world.tls.context) as server, connected(server.port, world.client("users")) as connection:
            assert "ann" == (await asked(connection))["user"]
            world.clock.advance(86_401)
            reply = await connection.get("/")
            assert (401, "close") == (reply.status, reply.headers["connection"])
            assert b"" == await connection.rest()

    run(loop, test())


@both_loops
def test_a_removed_authority_is_gone_at_once(loop: str, tmp_path: Path) -> None:
    """New handshakes fail; a connection from before gets 401 and is closed."""

    async def test() -> None:
        world = World(tmp_path)
        client = world.client("users")
        async with listening(world.app, world.tls.context) as server:
            async with connected(server.port, client) as connection:
                answer = await asked(connection)
                assert (1, "ann") == (answer["generation"], answer["user"])
                world.trust.replace(world.cas.bundle(client_ca_file=None))
                reply = await connection.get("/")
                assert (401, "close") == (reply.status, reply.headers["connection"])
                assert b"" == await connection.rest()
            with pytest.raises((OSError, asyncio.IncompleteReadError)):
                async with connected(server.port, client) as connection:
                    await asked(connection)

    run(loop, test())


@both_loops
def test_a_handshake_begun_under_the_old_bundle(loop: str, tmp_path: Path) -> None:
    """Even one that slips through with the old context is judged by the bundle in force."""

    async def test() -> None:
        world = World(tmp_path)
        async with listening(world.app, world.tls.context) as server:
            old = world.tls.context.current
            world.trust.replace(world.cas.bundle(client_ca_file=None))
            world.tls.context.current = old
            async with connected(server.port, world.client("users")) as connection:
                answer = await asked(connection)
                assert (401, 1) == (answer["status"], answer["generation"])

    run(loop, test())


@both_loops
def test_an_added_authority_counts_at_once(loop: str, tmp_path: Path) -> None:
    """The bundle may come after the start: connections from before are asked to come again, new ones show certificates."""

    async def test() -> None:
        world = World(tmp_path, trusted=False)
        client = world.client("users")
        async with listening(world.app, world.tls.context) as server:
            async with connected(server.port, client) as connection:
                assert "system:anonymous" == (await asked(connection))["user"]
                world.trust.replace(world.cas.bundle())
                assert 401 == (await asked(connection))["status"]
                assert b"" == await connection.rest()
            async with connected(server.port, client) as connection:
                assert "ann" == (await asked(connection))["user"]

    run(loop, test())


@both_loops
def test_rotation_with_overlap_disturbs_nobody(loop: str, tmp_path: Path) -> None:
    """Old and new authority side by side: connections of the old one live on, both can connect."""

    async def test() -> None:
        world = World(tmp_path)
        async with listening(world.app, world.tls.context) as server, connected(server.port, world.client("users")) as connection:
            assert 200 == (await asked(connection))["status"]
            world.trust.replace(world.cas.bundle(client_ca_file=world.cas.users.certificate_pem + world.cas.stranger.certificate_pem))
            assert "ann" == (await asked(connection))["user"]
            for authority in ("users", "stranger"):
                async with connected(server.port, world.client(authority, "bob")) as other:
                    assert "bob" == (await asked(other))["user"]

    run(loop, test())


@both_loops
@pytest.mark.parametrize(
    ("tls12", "resumed"),
    [pytest.param(False, False, id="TLS1.3: no tickets, never resumed"), pytest.param(True, True, id="TLS1.2: by session id")],
)
def test_resumed_sessions_carry_no_certificate(loop: str, tls12: bool, resumed: bool, tmp_path: Path) -> None:
    """Attack: a resumed session, whose chain nobody verified now. Never an identity, never the front proxy."""

    async def test() -> None:
        world = World(tmp_path)
        client = world.client("proxy", "front-proxy-client", tls12=tls12)
        request = b"GET / HTTP/1.1\r\nHost: l\r\nX-Remote-User: admin\r\nConnection: close\r\n\r\n"
        async with listening(world.app, world.tls.context) as server:
            first, _, session = await asyncio.to_thread(blocking_get, server.port, client, request)
            assert b'"user": "admin"' in first
            if session is None:
                assert not resumed
                return
            second, was_resumed, _ = await asyncio.to_thread(blocking_get, server.port, client, request, session)
            assert resumed == was_resumed
            assert (b'"user": "admin"' in second) is not resumed
            assert (b'"certificates": 0' in second) is resumed

    run(loop, test())


@both_loops
def test_a_renewed_serving_certificate_is_shown(loop: str, tmp_path: Path) -> None:
    """Files that change are shown from the next handshake on; open connections stay."""

    async def test() -> None:
        world = World(tmp_path)
        client = world.client("users")
        async with listening(world.app, world.tls.context) as server, connected(server.port, client) as connection:
            before = connection.shown
            certificate, _ = serving_files(tmp_path, world.cas.stranger)
            with capture_logs():
                assert world.tls.reload_if_changed()
            assert not world.tls.reload_if_changed()
            async with connected(server.port, client) as other:
                assert der(certificate.read_bytes()) == other.shown
                assert "ann" == (await asked(other))["user"]
            assert before != der(certificate.read_bytes())
            assert "ann" == (await asked(connection))["user"]

    run(loop, test())


@pytest.mark.parametrize("broken", ["certificate", "key", "empty", "gone", "mismatch"])
def test_a_bad_pair_keeps_the_last_good(broken: str, tmp_path: Path) -> None:
    """What cannot be used is told once, and the good pair serves on; the next good one is taken."""
    world = World(tmp_path)
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    good = world.tls.context.current
    match broken:
        case "certificate":
            certificate.write_bytes(b"rubbish")
        case "key":
            key.write_bytes(b"rubbish")
        case "empty":
            certificate.write_bytes(b"")
        case "gone":
            key.unlink()
        case _:
            key.write_bytes(world.cas.users.issue("x", server=True)[1])
    with capture_logs() as logs:
        assert not world.tls.reload_if_changed()
        assert not world.tls.reload_if_changed()
    assert ["error"] == [entry["log_level"] for entry in logs]
    assert good is world.tls.context.current
    serving_files(tmp_path, world.cas.stranger)
    with capture_logs():
        assert world.tls.reload_if_changed()


def test_a_server_does_not_start_with_a_bad_pair(tmp_path: Path) -> None:
    """At the start there is no last good pair: a clear error names the files."""
    with pytest.raises(SettingsError, match=r"tls\.crt with key .*tls\.key cannot be used"):
        ServerTLS(tmp_path / "tls.crt", tmp_path / "tls.key")


def test_the_end_of_the_certificate_is_known(tmp_path: Path) -> None:
    """For the metric of its expiry."""
    world = World(tmp_path)
    assert 365 * 86_400 == pytest.approx(world.tls.not_after - world.clock.wall(), abs=2)


@both_loops
def test_refusals_over_tls(loop: str, tmp_path: Path) -> None:
    """A malformed request gets its Status whole, then the connection is closed."""

    async def test() -> None:
        world = World(tmp_path)
        async with listening(world.app, world.tls.context) as server, connected(server.port, world.client()) as connection:
            reply = await connection.send(b"GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello")
            assert (400, "BadRequest") == (reply.status, json.loads(reply.body)["reason"])
            assert b"" == await connection.rest()

    run(loop, test())


def test_settings_of_a_context(tmp_path: Path) -> None:
    """TLS 1.2 is the least. Strict checks are off, for many clusters' authorities lack key identifiers; partial chains are off too."""
    context = World(tmp_path).tls.context.current
    assert ssl.TLSVersion.TLSv1_2 == context.minimum_version
    assert 0 == context.num_tickets
    assert context.options & ssl.OP_NO_TICKET
    flags = context.verify_flags
    assert not flags & ssl.VERIFY_X509_STRICT
    assert not flags & 0x80000  # X509_V_FLAG_PARTIAL_CHAIN


def test_an_offer_narrows_what_handshakes_may_agree_on(tmp_path: Path) -> None:
    """--tls-cipher-suites and --tls-min-version; suites of TLS 1.3 cannot be chosen."""
    offer = Offer("ECDHE-RSA-AES128-GCM-SHA256:AES256-SHA", ssl.TLSVersion.TLSv1_3)
    context = ServerTLS(*serving_files(tmp_path, _AUTHORITY), offer=offer).context.current
    names = {str(each["name"]) for each in context.get_ciphers() if each["protocol"] != "TLSv1.3"}

    assert ({"ECDHE-RSA-AES128-GCM-SHA256", "AES256-SHA"}, ssl.TLSVersion.TLSv1_3) == (names, context.minimum_version)


def test_an_offer_of_nothing_is_refused(tmp_path: Path) -> None:
    """At the start."""
    with pytest.raises(SettingsError, match="cannot be used"):
        ServerTLS(*serving_files(tmp_path, _AUTHORITY), offer=Offer("NONSENSE"))


_AUTHORITY = Authority.create("ca", SystemClock())
_PAIR = _AUTHORITY.issue("leaf", dns=["localhost"], server=True)


@given(bent_pem(_PAIR[0]), bent_pem(_PAIR[1]))
def test_no_serving_file_crashes_it(certificate: bytes, key: bytes) -> None:
    """Any two files are a pair to serve with, or a SettingsError."""
    with TemporaryDirectory() as folder:
        files = Path(folder) / "tls.crt", Path(folder) / "tls.key"
        files[0].write_bytes(certificate)
        files[1].write_bytes(key)
        with suppress(SettingsError):
            ServerTLS(*files)
