import socket

import pytest

from app.http1.dialing import Resolver, keepalive_socket


@pytest.mark.parametrize(
    ("host", "family", "address"),
    [
        pytest.param("127.0.0.1", socket.AF_INET, ("127.0.0.1", 443), id="IPv4"),
        pytest.param("fd00::1", socket.AF_INET6, ("fd00::1", 443, 0, 0), id="IPv6"),
    ],
)
async def test_an_ip_needs_no_look_up(host: str, family: int, address: object) -> None:
    """It is its own address, even after the look-ups ended."""
    resolver = Resolver()
    resolver.close()
    (found,) = await resolver.addresses(host, 443)

    assert (family, socket.SOCK_STREAM, address) == (found[0], found[1], found[4])


@pytest.mark.parametrize("name", [pytest.param("no-such-host.invalid", id="unknown"), pytest.param("a" * 64, id="too long a label")])
async def test_what_is_no_name_is_a_dns_failure(name: str) -> None:
    """The resolver's own error (.invalid never resolves, RFC 2606)."""
    resolver = Resolver()
    with pytest.raises(socket.gaierror):
        await resolver.addresses(name, 443)
    resolver.close()


def test_a_vanished_peer_is_noticed() -> None:
    """Nothing is sent on a connection that rests or waits: without probes a machine that lost power would hold it for ever."""
    (address,) = socket.getaddrinfo("127.0.0.1", 443, type=socket.SOCK_STREAM)
    with keepalive_socket(address) as made:
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert not made.getblocking()
