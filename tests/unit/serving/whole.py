"""The whole frame on loopback: protocol, dispatcher, gate and routes as `serve` has them, over small fakes of the cluster."""

import asyncio
import gc
import logging
import ssl
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from app.auth.access import AccessReviewer
from app.auth.gate import DelegatingGate
from app.auth.token import TokenAuthenticator
from app.auth.trust import Trust
from app.kinds._catalog import Catalog, Served
from app.routes.app import create_app
from app.routes.by_group import ByGroup
from app.routes.health import HealthChecks
from app.routes.kind_descriptions import KindDescriptions
from app.routes.live import LiveAnswers
from app.routes.resources import create_resources
from app.routes.version import version_info
from app.serving.dispatch import Dispatcher
from app.serving.server import Server
from tests.fakes.clock import ManualClock
from tests.fakes.kinds import FakeVersions
from tests.fakes.reviews import FakeReviews
from tests.unit.routes.server import PING, example_served
from tests.unit.serving.loopback import connected, listening

API = "/apis/metrics.k8s.io/v1"
MIB = 1024 * 1024
TOKENS = {"good": {"user": {"username": "ann", "groups": ["dev"]}}}


async def _no_sleep(_seconds: float) -> None:
    return


def whole_app(
    trust: Trust,
    clock: ManualClock,
    served: Sequence[Served] | None = None,
    *,
    max_in_flight: int = 400,
    live: LiveAnswers | None = None,
) -> Dispatcher:
    """What `serve` gives to its listener. Reviews let everybody read but what is in namespace "secret"."""

    def may(spec: dict[str, Any]) -> bool:
        return bool(spec.get("resourceAttributes", {}).get("namespace") != "secret")

    reviews = FakeReviews(TOKENS, may)
    gate = DelegatingGate(
        trust, TokenAuthenticator(reviews, clock, sleep=_no_sleep), AccessReviewer(reviews, clock, sleep=_no_sleep), clock
    )
    catalog = Catalog(example_served() if served is None else served)
    kinds = create_resources(catalog, gate=gate, clock=clock, versions=FakeVersions(), live=live, rendered_bytes=MIB)
    resources = ByGroup(kinds, {})
    app = create_app(
        KindDescriptions(catalog),
        resources,
        gate=gate,
        checks=HealthChecks((PING,), (PING,), (PING,)),
        registry=CollectorRegistry(),
        clock=clock,
        version=version_info("0.1.0"),
    )
    return Dispatcher(app, resources, max_in_flight=max_in_flight)


class Whole:
    """A listening server, and what a test asks of it between its attacks. `shown` is the client's TLS, None for plain sockets."""

    def __init__(self, app: Dispatcher, server: Server, shown: ssl.SSLContext | None) -> None:
        self.app = app
        self.server = server
        self.shown = shown

    @property
    def port(self) -> int:
        return self.server.port

    async def is_well(self) -> None:
        """Health and discovery answer at once on a fresh connection."""
        headers = [(b"X-Remote-User", b"system:aggregator")] if self.shown else []
        async with connected(self.port, self.shown) as connection:
            for path in ("/healthz", "/apis", API):
                reply = await connection.get(path, *headers)
                assert 200 == reply.status, (path, reply)

    async def is_idle(self) -> None:
        """All that clients left behind is gone: connections, tasks and places among the requests in flight."""
        state = self.server.server_state
        while state.connections or state.tasks or self.app.in_flight:  # noqa: ASYNC110  nothing tells of the last one
            await asyncio.sleep(0.001)


@asynccontextmanager
async def serving(app: Dispatcher, listener: ssl.SSLContext | None = None, shown: ssl.SSLContext | None = None) -> AsyncIterator[Whole]:
    """`app` on a port of its own, to the end of the block."""
    async with listening(app, listener) as server:
        yield Whole(app, server, shown)


class _Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@contextmanager
def nothing_breaks() -> Iterator[None]:
    """Fail if anything is logged as an error or with a traceback meanwhile, by any logger or by the running loop."""
    kept, loop = _Kept(), asyncio.get_running_loop()
    told: list[dict[str, Any]] = []
    before = loop.get_exception_handler()
    loop.set_exception_handler(lambda _loop, context: told.append(context))
    roots = [logging.getLogger(), logging.getLogger("uvicorn"), logging.getLogger("uvicorn.error")]
    for logger in roots:
        logger.addHandler(kept)
    try:
        with capture_logs() as entries:
            yield
            gc.collect(0)  # an exception that nobody fetched is told when its task or future is collected
    finally:
        loop.set_exception_handler(before)
        for logger in roots:
            logger.removeHandler(kept)
    broken = [record.getMessage() for record in kept.records if record.levelno >= logging.ERROR or record.exc_info]
    broken += [str(entry) for entry in entries if entry["log_level"] in {"error", "critical"} or entry.get("exc_info")]
    broken += [str(context) for context in told]
    assert not broken, "\n".join(broken)
