"""Hostile bytes against the whole server: answers that are well-formed and a Status where they are failures, or a close; and it lives on.

Each example writes some bytes to a fresh connection. An own parser tells how many requests they are: there are never more answers than
requests, as many as requests with whole headers unless the connection is closed, and a close behind what is no HTTP. Then a request that
is known to be good must get its own answer, where the connection is still usable: so no request has two. The deadline is for hangs alone.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.auth.trust import Trust
from app.clock import SystemClock
from app.serving.protocol import MAX_BODY_BYTES, MAX_HEADER_BYTES
from tests.fakes.clock import ManualClock
from tests.unit.auth.authorities import Authorities
from tests.unit.serving.loopback import LOOPS, client_context, connected, serving_tls
from tests.unit.serving.raw_http import check_failure, read_answer, read_requests
from tests.unit.serving.whole import Whole, nothing_breaks, serving, whole_app

HANG_SECONDS = 30
"""Far above what an example takes on a machine that does many things at once."""

LAST = b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n"

METHODS = st.one_of(
    st.sampled_from([b"GET", b"HEAD"]),
    st.sampled_from(
        [b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS", b"TRACE", b"CONNECT", b"PRI", b"get", b"QUERY", b"G@T", b"", b"G T"]
    ),
)
PATHS = st.sampled_from(
    [
        b"/",
        b"/apis",
        b"/apis/metrics.k8s.io/v1",
        b"/apis/metrics.k8s.io/v1/pods",
        b"/apis/metrics.k8s.io/v1beta1/nodes",
        b"/apis/metrics.k8s.io/v1/namespaces/a/pods",
        b"/apis/metrics.k8s.io/v1/namespaces/a/pods/one",
        b"/apis/metrics.k8s.io/v1/namespaces/secret/pods",
        b"/apis/metrics.k8s.io/v1/watch/pods",
        b"/openapi/v2",
        b"/openapi/v3",
        b"/version",
        b"/metrics",
        b"/healthz",
        b"/readyz/ping",
    ]
)
QUERIES = st.sampled_from(
    [
        b"?limit=1",
        b"?limit=x",
        b"?limit=1&continue=x",
        b"?labelSelector=" + b"a%20in%20(b)," * 500 + b"c",
        b"?labelSelector=" + b"a," * 2000,
        b"?labelSelector=%00%ff%zz",
        b"?labelSelector=a%20in%20(",
        b"?fieldSelector=metadata.name%3Done%5C",
        b"?resourceVersion=-1&resourceVersionMatch=Exact",
        b"?watch=1",
        b"?pretty=true&pretty=false",
        b"?%",
        b"?a=b;c=d&&&=",
        b"?verbose&exclude=%22%0d%0a",
        b"?hash=x",
    ]
)
BAD_TARGETS = st.one_of(
    st.sampled_from(
        [
            b"*",
            b"",
            b"//",
            b"//apis//metrics.k8s.io",
            b"/%",
            b"/%zz",
            b"/%00",
            b"/\x00",
            b"/%ff%fe",
            b"/%0d%0aX:%20y",
            b"/\xc3\xa9",
            b"/apis/../../etc/passwd",
            b"/apis/metrics.k8s.io/v1/namespaces/%2e%2e/pods/%2fetc",
            b"/apis/metrics.k8s.io/v1/namespaces/a/pods/one%0astatus",
            b"http://h/apis",
            b"http://h:99999999/apis",
            b"http://",
            b"https://user@[::1]:1/healthz",
            b"h:443",
            b"?",
            b"#",
            b"/apis#x",
            b"apis",
            b"/a b",
            b"/" + b"a/" * 2000,
            b"/" + b"%41" * 15_000,
            b"/" + b"x" * MAX_HEADER_BYTES,
        ]
    ),
    st.binary(max_size=30).map(lambda raw: b"/" + raw),
)
TARGETS = st.one_of(PATHS, st.tuples(PATHS, QUERIES).map(b"".join), BAD_TARGETS)
VERSIONS = st.sampled_from([b"HTTP/1.1"] * 6 + [b"HTTP/1.0", b"HTTP/2.0", b"HTTP/0.9", b"http/1.1", b"HTTP/1.1 ", b""])
HEADERS = st.one_of(
    st.sampled_from(
        [
            b"Host: h",
            b"Host: h\r\nHost: i",
            b"Accept: application/json",
            b"Accept: application/vnd.kubernetes.protobuf",
            b"Accept: application/json;as=Table;g=meta.k8s.io;v=v1",
            b"Accept: application/openmetrics-text; version=x; q=nan, */*;q=",
            b"Accept: text/plain;;;=,,, \xff",
            b"Accept: a/b",
            b"Accept-Encoding: gzip, br;q=0, identity;q=0, *;q=0",
            b"Authorization: Bearer good",
            b"Authorization: Bearer bad",
            b"Authorization: Bearer \xff\xfe",
            b"Authorization:",
            b"X-Remote-User: ann",
            b"X-Remote-User: \xff",
            b"X-Remote-Extra-%zz%2F: \x80",
            b"X_Remote_User: root",
            b"Impersonate-User: root",
            b"Audit-Id: a",
            b"Audit-Id: \xe9",
            b"Audit-Id: " + b"a" * 100,
            b"User-Agent: curl/8",
            b"If-None-Match: *",
            b'If-None-Match: W/"x", ,"',
            b"Connection: close",
            b"Connection: keep-alive",
            b"Connection: close, keep-alive, ,",
            b"Connection: Upgrade\r\nUpgrade: h2c",
            b"Upgrade: websocket",
            b"Expect: 100-continue",
            b"Expect: 200-ok",
            b"X: a\r\n folded",
            b" X: leading space",
            b"X : space before the colon",
            b"no colon",
            b": no name",
            b"X: bare\rreturn",
            b"X: bare\nline",
            b"X: \x00",
            b"X\xe9: y",
            b"X: " + b"y" * 5000,
            b"X: " + b"y" * (MAX_HEADER_BYTES + 1),
            b"\r\n".join(b"X-%d: y" % number for number in range(1500)),
            b"\r\n".join([b"X: yyyyyyyy"] * 6000),
        ]
    ),
    st.binary(max_size=30),
)
BODIES = st.sampled_from(
    [
        (b"", b""),
        (b"Content-Length: 0\r\n", b""),
        (b"Content-Length: 5\r\n", b"12345"),
        (b"Content-Length: 5\r\n", b"123"),
        (b"Content-Length: 1\r\n", b"12345"),
        (b"Content-Length: -1\r\n", b"x"),
        (b"Content-Length: +5\r\n", b"12345"),
        (b"Content-Length: 0x5\r\n", b"12345"),
        (b"Content-Length: 5, 5\r\n", b"12345"),
        (b"Content-Length: 5\r\nContent-Length: 6\r\n", b"123456"),
        (b"Content-Length: 99999999999999999999\r\n", b"x"),
        (b"Content-Length: %d\r\n" % (MAX_BODY_BYTES + 1), b"x"),
        (b"Content-Length: 200000\r\n", b"x" * 200_000),
        (b"Transfer-Encoding: chunked\r\n", b"5\r\n12345\r\n0\r\n\r\n"),
        (b"Transfer-Encoding: chunked\r\n", b"5\r\n123"),
        (b"Transfer-Encoding: chunked\r\n", b"zz\r\n"),
        (b"Transfer-Encoding: chunked\r\n", b"-1\r\nx\r\n"),
        (b"Transfer-Encoding: chunked\r\n", b"ffffffffffffffffff\r\nx"),
        (b"Transfer-Encoding: chunked\r\n", b"1;" + b"e" * 5000 + b"\r\nx\r\n0\r\n\r\n"),
        (b"Transfer-Encoding: chunked\r\n", b"1\r\nx\r\n0\r\nTrailer: y\r\n\r\n"),
        (b"Transfer-Encoding: chunked\r\n", b"1\r\nxx\r\n"),
        (b"Transfer-Encoding: gzip, chunked\r\n", b"0\r\n\r\n"),
        (b"Transfer-Encoding: chunked, identity\r\n", b"0\r\n\r\n"),
        (b"Transfer-Encoding: xchunked\r\n", b"x"),
        (b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"),
    ]
)


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    """One request, good or not."""
    line = b" ".join((draw(METHODS), draw(TARGETS), draw(VERSIONS)))
    headers = b"".join(header + b"\r\n" for header in draw(st.lists(HEADERS, max_size=4)))
    length, body = draw(BODIES)
    return line + b"\r\n" + headers + length + b"\r\n" + body


GOOD = st.builds(
    lambda method, path, query, headers: b"%s %s HTTP/1.1\r\n%s\r\n" % (method, path + query, b"".join(h + b"\r\n" for h in headers)),
    st.sampled_from([b"GET", b"HEAD"]),
    PATHS,
    st.sampled_from([b"", b"?limit=1", b"?pretty=1"]),
    st.lists(st.sampled_from([b"Host: h", b"Accept: */*", b"Authorization: Bearer good", b"X-Remote-User: ann"]), max_size=2, unique=True),
)
CONVERSATIONS = st.lists(st.one_of(requests(), GOOD), min_size=1, max_size=4).map(b"".join)
_BYTES = st.one_of(
    st.sampled_from([b"\r\n", b"\r", b"\n", b" ", b":", b"\x00", b"\xff", b"%", b"\r\n\r\n", b"HTTP/1.1"]), st.binary(max_size=3)
)


@st.composite
def mutations(draw: st.DrawFn) -> bytes:
    """Good requests, one behind the other, with a few bytes changed."""
    sent = b"".join(draw(st.lists(GOOD, min_size=1, max_size=3)))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(sent)))
        end = min(len(sent), start + draw(st.integers(0, 6)))
        sent = draw(
            st.sampled_from([sent[:start] + sent[end:], sent[:start] + draw(_BYTES) + sent[end:], sent[:end] + sent[start:], sent[:start]])
        )
    return sent


CUTS = st.lists(st.integers(0, 300), max_size=4)


class Fuzzer:
    """A server that lives as long as the examples, on a loop that runs only for them."""

    def __init__(self, runner: asyncio.Runner, whole: Whole) -> None:
        self._runner = runner
        self.whole = whole
        self._tasks = self._runner.run(_tasks())

    def play(self, sent: bytes, cuts: Sequence[int]) -> None:
        self._runner.run(self._play(sent, cuts))

    async def _play(self, sent: bytes, cuts: Sequence[int]) -> None:
        with nothing_breaks():
            try:
                async with asyncio.timeout(HANG_SECONDS):
                    await self._converse(sent, cuts)
                    await self.whole.is_well()
                    await self.whole.is_idle()
            except TimeoutError:
                pytest.fail(f"the server hung: neither an answer nor a close within {HANG_SECONDS} s")
        assert self._tasks == len(asyncio.all_tasks())

    async def _converse(self, sent: bytes, cuts: Sequence[int]) -> None:
        reading = read_requests(sent)
        async with connected(self.whole.port, self.whole.shown) as connection:
            for piece in _pieces(sent, cuts):
                if not connection.writer.is_closing():
                    connection.writer.write(piece)
                await asyncio.sleep(0)
            asked, answers = reading.asked, 0
            while reading.broken or answers < len(asked):
                request = asked[answers] if answers < len(asked) else None
                head = None if request is None else request.method == b"HEAD"
                answer = await read_answer(connection.reader, head=head)
                if answer is None:
                    return
                answers += 1
                assert answers <= max(1, reading.begun), answer
                if answer.status >= 400:
                    check_failure(answer, request, head=bool(head))
                if request is None or answer.headers.get(b"connection") == b"close":
                    assert await read_answer(connection.reader, head=False) is None
                    return
            if reading.between_requests and not connection.writer.is_closing():
                connection.writer.write(LAST)
                answer = await read_answer(connection.reader, head=False)
                assert answer is None or (200, b"ok") == (answer.status, answer.body)


async def _tasks() -> int:
    return len(asyncio.all_tasks())


def _pieces(sent: bytes, cuts: Sequence[int]) -> Iterator[bytes]:
    start = 0
    for cut in cuts:
        yield sent[start : start + cut]
        start += cut
    yield sent[start:]


async def _plain(stack: AsyncExitStack, _folder: Path, clock: ManualClock) -> Whole:
    return await stack.enter_async_context(serving(whole_app(Trust(), clock)))


async def _tls(stack: AsyncExitStack, folder: Path, clock: ManualClock) -> Whole:
    """The client is the front proxy: what it says of users is believed."""
    cas = Authorities(clock)
    trust, tls = Trust(), serving_tls(folder, cas.stranger)
    trust.on_change(tls.use_bundle)
    trust.replace(cas.bundle())
    shown = client_context(folder, cas.stranger, cas.proxy.issue("front-proxy-client", client=True))
    return await stack.enter_async_context(serving(whole_app(trust, clock), tls.context, shown))


Begin = Callable[[AsyncExitStack, Path, ManualClock], Coroutine[Any, Any, Whole]]


@pytest.fixture(scope="module", params=[pytest.param(_plain, id="plain"), pytest.param(_tls, id="TLS")])
def fuzzer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuzzer]:
    begin: Begin = request.param
    with asyncio.Runner(loop_factory=LOOPS["uvloop"]) as runner:
        stack = AsyncExitStack()
        whole = runner.run(begin(stack, tmp_path_factory.mktemp("fuzz"), ManualClock(SystemClock().wall())))
        yield Fuzzer(runner, whole)
        runner.run(stack.aclose())


bounded = settings(deadline=None, max_examples=120, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@bounded
@given(CONVERSATIONS, CUTS)
def test_whatever_is_asked(fuzzer: Fuzzer, sent: bytes, cuts: list[int]) -> None:
    """Requests that are odd in every part, one behind the other."""
    fuzzer.play(sent, cuts)


@bounded
@given(mutations(), CUTS)
def test_good_requests_with_some_bytes_changed(fuzzer: Fuzzer, sent: bytes, cuts: list[int]) -> None:
    """What is nearly right is the likeliest to be taken for something else."""
    fuzzer.play(sent, cuts)
