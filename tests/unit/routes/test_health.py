"""Health roots speak as the real API server's do, and are open to all."""

import logging

import pytest

from app.errors import Problem
from app.routes.health import Check, HealthChecks, always_ok
from tests.unit.routes.server import Server

OK = Check("ping", always_ok)
BAD = Check("storage", lambda: "no samples yet")


def _raises() -> str:
    raise RuntimeError("secret")


def _server(*checks: Check) -> Server:
    return Server(checks=HealthChecks(checks, checks, checks))


@pytest.mark.parametrize("root", ["healthz", "livez", "readyz"])
async def test_passing(root: str) -> None:
    """A root that passes says ok and no more."""
    response = await _server(OK).get(f"/{root}")

    assert (200, "ok") == (response.status_code, response.text)
    assert ("text/plain; charset=utf-8", "nosniff") == (response.headers["content-type"], response.headers["x-content-type-options"])


@pytest.mark.parametrize(
    ("query", "status", "text"),
    [
        ("", 500, "[+]ping ok\n[-]storage failed: reason withheld\nreadyz check failed\n"),
        ("?verbose", 500, "[+]ping ok\n[-]storage failed: reason withheld\nreadyz check failed\n"),
        ("?exclude=storage", 200, "ok"),
        ("?exclude=storage&verbose", 200, "[+]ping ok\n[+]storage excluded: ok\nreadyz check passed\n"),
        ("?exclude=storage&exclude=ping&verbose=1", 200, "[+]ping excluded: ok\n[+]storage excluded: ok\nreadyz check passed\n"),
        (
            "?exclude=storage&exclude=b&exclude=a&verbose",
            200,
            (
                "[+]ping ok\n[+]storage excluded: ok\n"
                'warn: some health checks cannot be excluded: no matches for "a","b"\nreadyz check passed\n'
            ),
        ),
    ],
)
async def test_verbose_and_exclude(query: str, status: int, text: str) -> None:
    """A failure is always verbose, and reasons are withheld from those who are not known."""
    response = await _server(OK, BAD).get(f"/readyz{query}")

    assert (status, text) == (response.status_code, response.text)


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [("/livez/ping", 200, "ok"), ("/livez/storage", 500, "internal server error: no samples yet\n")],
)
async def test_single_checks(path: str, status: int, text: str) -> None:
    """A single check tells its reason, but only through the gate."""
    server = _server(OK, BAD)
    response = await server.get(path)

    assert (status, text) == (response.status_code, response.text)
    assert [path] == [asked.path for asked in server.gate.asked]


async def test_unknown_check() -> None:
    """A check that is not there is 404."""
    assert 404 == (await _server(OK).get("/livez/nope")).status_code


@pytest.mark.parametrize(
    ("path", "status"), [("/healthz", 200), ("/livez?verbose", 200), ("/readyz", 200), ("/healthz/", 403), ("/healthz/ping", 403)]
)
async def test_only_the_roots_are_open(path: str, status: int) -> None:
    """The exact roots ask nobody; all below them does."""
    server = _server(OK)
    server.gate.refusal = Problem(403, "Forbidden", "no")

    assert status == (await server.get(path)).status_code


async def test_a_check_that_raises_fails() -> None:
    """A fault of a check is a failure, without a traceback in the answer."""
    response = await _server(Check("broken", _raises)).get("/readyz/broken")

    assert 500 == response.status_code
    assert "secret" not in response.text


async def test_logged_on_change_only(caplog: pytest.LogCaptureFixture) -> None:
    """The log has a line when what fails changes, not one a probe."""
    reasons = ["down", "down", "", ""]
    server = _server(Check("source", lambda: reasons.pop(0)))
    with caplog.at_level(logging.INFO, "app.routes.health"):
        for _ in range(4):
            await server.get("/livez")

    assert ["livez fails: source: down", "livez passes"] == [record.message for record in caplog.records]
