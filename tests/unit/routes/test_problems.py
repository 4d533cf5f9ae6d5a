"""Whatever goes wrong in a FastAPI application with our handlers ends as a Status."""

import httpx
import pytest
from fastapi import FastAPI

from app.errors import Problem
from app.routes.problems import install_handlers
from app.wire.status import bad_request


def _app() -> FastAPI:
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    install_handlers(app)

    @app.get("/problem")
    async def problem() -> None:
        raise bad_request("no such thing")

    @app.get("/later")
    async def later() -> None:
        raise Problem(503, "ServiceUnavailable", "later", headers=(("X-Cause", "test"),))

    @app.get("/fault")
    async def fault() -> None:
        raise KeyError("secret")

    return app


@pytest.mark.parametrize(
    ("method", "path", "code", "reason"),
    [
        ("GET", "/problem", 400, "BadRequest"),
        ("GET", "/later", 503, "ServiceUnavailable"),
        ("GET", "/fault", 500, "InternalError"),
        ("GET", "/nowhere", 404, "NotFound"),
        ("POST", "/problem", 405, "MethodNotAllowed"),
    ],
)
async def test_everything_is_a_status(method: str, path: str, code: int, reason: str) -> None:
    """Problems, faults and the framework's own errors have one shape, the headers of every answer, and no secrets."""
    transport = httpx.ASGITransport(app=_app(), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="https://kubeglance.test") as client:
        response = await client.request(method, path, headers={"audit-id": "id-1"})

    status = response.json()
    assert (code, code, "Status", reason) == (response.status_code, status["code"], status["kind"], status["reason"])
    assert ("application/json", "id-1") == (response.headers["content-type"], response.headers["audit-id"])
    assert "no-cache, private" == response.headers["cache-control"]
    assert (code == 503) is ("retry-after" in response.headers)
    assert "secret" not in response.text
