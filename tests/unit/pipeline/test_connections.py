import resource
from pathlib import Path

import httpx
import pytest

from app.errors import KubeError
from app.kube.config import Connection
from app.kube.credentials import FixedCredentials
from app.pipeline.connections import kubelet_client, raise_file_limit
from app.settings import Settings

_CONNECTION = Connection("https://kube", credentials=FixedCredentials("Bearer t"))


async def _sent(settings: Settings) -> httpx.Request:
    requests: list[httpx.Request] = []

    def kubelet(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, headers={"Set-Cookie": "a=b"})

    async with kubelet_client(settings, _CONNECTION, transport=httpx.MockTransport(kubelet)) as client:
        await client.get("https://10.0.0.7:10250/metrics/resource")
        await client.get("https://10.0.0.7:10250/metrics/resource")
    return requests[-1]


async def test_kubelets_get_the_bearer_token_and_plain_requests() -> None:
    """No compressed bodies are asked for, no cookie is kept, and the deadline is the loop's."""
    request = await _sent(Settings())

    assert (request.headers["Authorization"], request.headers["Accept-Encoding"]) == ("Bearer t", "identity")
    assert "Cookie" not in request.headers
    assert request.extensions["timeout"] == {"connect": 4.0, "read": None, "write": None, "pool": None}


async def test_a_client_certificate_stands_in_for_the_token() -> None:
    """Who authenticates by certificate does not hand the token to kubelets as well."""
    request = await _sent(Settings(kubelet_client_certificate=Path("c"), kubelet_client_key=Path("k")))

    assert "Authorization" not in request.headers


@pytest.mark.parametrize("fields", [["kubelet_certificate_authority"], ["kubelet_client_certificate", "kubelet_client_key"]])
def test_a_bad_certificate_file_is_named_at_start(fields: list[str], tmp_path: Path) -> None:
    """Nobody should find out from 5,000 failed scrapes."""
    settings = Settings.model_validate(dict.fromkeys(fields, tmp_path / "no-such-file"))

    with pytest.raises(KubeError, match="no-such-file"):
        kubelet_client(settings, _CONNECTION)


async def test_the_real_transport_can_be_made() -> None:
    """Without a transport handed in, one is made with the machine's CAs or none."""
    async with kubelet_client(Settings(kubelet_insecure_tls=True), _CONNECTION) as client:
        assert not client.is_closed


def test_the_file_limit_is_raised_to_the_hard_one() -> None:
    """Each node is a connection, each connection a file."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, before[1]), before[1]))
        assert raise_file_limit() == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        assert raise_file_limit() > 256
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
