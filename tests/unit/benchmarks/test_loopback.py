import asyncio
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.loopback import Connection, Request, response

TWO = (
    b"GET /metrics/resource?x=1 HTTP/1.1\r\nHost: a\r\nuser-agent: kubeglance/1\r\n\r\n"
    b"POST /review HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"
)


class Transport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.written = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data


@given(st.sets(st.integers(1, len(TWO) - 1)))
def test_requests_are_found_however_they_are_cut(cuts: set[int]) -> None:
    seen: list[Request] = []

    def answer(request: Request, _transport: asyncio.Transport) -> bytes:
        seen.append(request)
        return response(200, "text/plain", request.target.encode())

    connection, transport = Connection(answer), Transport()
    connection.connection_made(transport)
    for start, end in pairwise([0, *sorted(cuts), len(TWO)]):
        connection.data_received(TWO[start:end])
    first, second = seen
    assert ("GET", "/metrics/resource?x=1", b"") == (first.method, first.target, first.body)
    assert (first.header("User-Agent"), first.header("Accept")) == ("kubeglance/1", "")
    assert ("POST", "/review", b"hello") == (second.method, second.target, second.body)
    assert transport.written.count(b"HTTP/1.1 200 OK\r\n") == 2
    assert transport.written.endswith(b"Content-Length: 7\r\n\r\n/review")
