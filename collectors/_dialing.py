"""Connecting to a source that speaks a protocol of its own: the addresses in turn, and what failed in our words."""

import asyncio
import os
import ssl
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from collectors._base import Cause, CollectError

T = TypeVar("T")


async def dial(addresses: Sequence[str], connect: Callable[[str], Awaitable[T]], *, where: str, timeout: float) -> T:
    """What `connect` makes of the first address that takes it. `where` is the host and port for messages.

    All addresses share the `timeout` (seconds). Raises CollectError with what the last one failed with; what is no OSError passes.
    """
    failure: OSError | None = None
    for address in addresses:
        try:
            async with asyncio.timeout(timeout / len(addresses)):
                return await connect(address)
        except OSError as exc:  # TimeoutError and ssl.SSLError are OSErrors too
            failure = exc
            if isinstance(exc, ssl.SSLError):
                break  # it answers; another address will have the same certificate
    if failure is None:
        raise CollectError(Cause.DNS, f"{where}: no such host", "check the host's name")
    raise broken(failure, where) from failure


def broken(error: OSError, where: str) -> CollectError:
    """What people are told of a connection that could not be made, or that broke."""
    match error:
        case ssl.SSLCertVerificationError():
            remedy = "set tls.ca to the CA that signed the server's certificate, and host to a name that the certificate has"
            return CollectError(Cause.CERTIFICATE, f"{where}: x509: {getattr(error, 'verify_message', error)}", remedy)
        case ssl.SSLError():
            said = (getattr(error, "reason", None) or "handshake failed").replace("_", " ").lower()
            return CollectError(Cause.CERTIFICATE, f"{where}: TLS: {said}", "is it TLS that the server speaks on this port?")
        case TimeoutError():
            return CollectError(Cause.DEADLINE, f"{where}: timed out", "is it overloaded or stopped, or does something drop packets?")
        case ConnectionResetError() | BrokenPipeError() | ConnectionAbortedError():
            return CollectError(Cause.CLOSED, f"{where}: the connection was closed", "look at the server's log: it may have restarted")
        case _:
            said = os.strerror(error.errno).lower() if error.errno else "no connection"
            remedy = "check host and port, that the server runs, and that network policies let kubeglance reach it"
            return CollectError(Cause.DIAL, f"{where}: {said}", remedy)
