"""How every outgoing connection begins: look-ups that hold up nothing else, and sockets that notice a vanished peer."""

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import aiohappyeyeballs

_NEXT_FAMILY_S = 0.25
"""Of the addresses of one name the next is tried beside the first after so long (RFC 8305)."""

Address = tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]
AddrInfo = tuple[int | socket.AddressFamily, int | socket.SocketKind, int, str, Address]


class Resolver:
    """getaddrinfo in a few threads of its own, so that a dead DNS server blocks nothing but look-ups."""

    def __init__(self, threads: int = 4) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="dns")

    async def addresses(self, host: str, port: int, family: int = socket.AF_UNSPEC) -> list[AddrInfo]:
        """Where `host`, a name or an IP, listens on `port`. Raises OSError (socket.gaierror)."""
        try:
            return [*socket.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)]
        except socket.gaierror:
            look_up = partial(socket.getaddrinfo, host, port, family=family, type=socket.SOCK_STREAM)
        except UnicodeError as exc:  # a label of more than 63 characters
            raise socket.gaierror(socket.EAI_NONAME, f"not a DNS name: {host[:64]}") from exc
        return [*await asyncio.get_running_loop().run_in_executor(self._executor, look_up)]

    async def connect(self, host: str, port: int) -> socket.socket:
        """A TCP connection to `host`, at whichever of its addresses answers first. Raises OSError."""
        return await connect(await self.addresses(host, port))

    def close(self) -> None:
        """End the threads."""
        self._executor.shutdown(wait=False, cancel_futures=True)


async def connect(addresses: list[AddrInfo]) -> socket.socket:
    """A TCP connection to whichever of `addresses` answers first. Raises OSError."""
    made = await aiohappyeyeballs.start_connection(addresses, happy_eyeballs_delay=_NEXT_FAMILY_S, socket_factory=keepalive_socket)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def keepalive_socket(address: AddrInfo) -> socket.socket:
    """A non-blocking socket for `address` that notices a vanished peer within about a minute."""
    made = socket.socket(address[0], address[1], address[2])
    made.setblocking(False)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made
