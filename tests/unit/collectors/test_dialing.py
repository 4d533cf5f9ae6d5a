"""Addresses in turn, and what people are told of connections that fail."""

import asyncio
import errno
import os
import ssl
from collections.abc import Sequence

import pytest

from collectors._base import Cause, CollectError
from collectors._dialing import broken, dial
from collectors._tls import verifying


async def dialled(outcomes: dict[str, str | BaseException], *, addresses: Sequence[str] | None = None) -> tuple[str, list[str]]:
    """What a dial gives whose addresses end so, and which of them were tried."""
    tried: list[str] = []

    async def connect(address: str) -> str:
        tried.append(address)
        outcome = outcomes[address]
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    return await dial(list(outcomes) if addresses is None else addresses, connect, where="db:5432", timeout=30), tried


async def test_the_first_address_that_takes_it() -> None:
    """The others are not tried."""
    assert ("two", ["a", "b"]) == await dialled({"a": OSError(errno.ECONNREFUSED, "x"), "b": "two", "c": "three"})


async def test_the_last_failure_is_told() -> None:
    """With the host as it stands in the declaration."""
    with pytest.raises(CollectError) as failure:
        await dialled({"10.0.0.1": TimeoutError(), "10.0.0.2": OSError(errno.EHOSTUNREACH, "x")})

    assert (Cause.DIAL, "db:5432: no route to host") == (failure.value.cause, failure.value.message)


async def test_a_certificate_ends_it() -> None:
    """Another address will have the same."""
    with pytest.raises(CollectError) as failure:
        await dialled({"a": ssl.SSLCertVerificationError("x"), "b": "two"})

    assert Cause.CERTIFICATE == failure.value.cause


async def test_a_host_without_addresses() -> None:
    """Is told as one that does not resolve."""
    with pytest.raises(CollectError) as failure:
        await dialled({}, addresses=[])

    assert Cause.DNS == failure.value.cause


async def test_what_is_no_failure_to_connect_passes() -> None:
    """It is for whoever knows the protocol."""
    with pytest.raises(KeyError):
        await dialled({"a": KeyError("x"), "b": "two"})


async def test_a_cancellation_passes() -> None:
    """And no other address is tried."""
    with pytest.raises(asyncio.CancelledError):
        await dialled({"a": asyncio.CancelledError(), "b": "two"})


CAUSES: dict[str, tuple[OSError, Cause]] = {
    "refused": (ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED)), Cause.DIAL),
    "no answer": (TimeoutError(), Cause.DEADLINE),
    "reset": (ConnectionResetError(), Cause.CLOSED),
    "a pipe that broke": (BrokenPipeError(), Cause.CLOSED),
    "no TLS": (ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number"), Cause.CERTIFICATE),
    "an error without a number": (OSError("odd"), Cause.DIAL),
}


@pytest.mark.parametrize(("error", "cause"), CAUSES.values(), ids=CAUSES)
def test_causes(error: OSError, cause: Cause) -> None:
    """Each with what to do, and with where."""
    told = broken(error, "db:5432")

    assert cause == told.cause
    assert told.message.startswith("db:5432: ")
    assert told.remedy


@pytest.mark.parametrize("ca", ["nothing", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "né"])
def test_a_ca_that_is_none(ca: str) -> None:
    """Told before anybody is asked."""
    with pytest.raises(CollectError) as failure:
        verifying(ca, "db")

    assert Cause.CERTIFICATE == failure.value.cause


def test_what_is_always_verified() -> None:
    """The certificate, and the name."""
    context = verifying("", "db")

    assert (ssl.CERT_REQUIRED, True) == (context.verify_mode, context.check_hostname)
