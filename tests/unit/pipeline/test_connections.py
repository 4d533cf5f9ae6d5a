import resource
from contextlib import aclosing
from pathlib import Path

import httpx
import pytest

from app.errors import KubeError
from app.kube.config import Connection
from app.kube.credentials import FixedCredentials
from app.kubelet.client import KubeletClient
from app.pipeline.connections import kubelet_client, raise_file_limit
from app.settings import Settings
from tests.fakes.dialing import FunctionDialer

_CONNECTION = Connection("https://kube", credentials=FixedCredentials("Bearer t"))


async def _sent(settings: Settings) -> httpx.Request:
    requests: list[httpx.Request] = []

    def kubelet(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, content=b"ok")

    async with aclosing(kubelet_client(settings, _CONNECTION, dialer=FunctionDialer(kubelet))) as client:
        await client.get("https://10.0.0.7:10250/metrics/resource", limit=2)
    return requests[-1]


async def test_kubelets_get_the_bearer_token() -> None:
    """To kubelets we are who we are to kube-apiserver."""
    request = await _sent(Settings())

    assert "Bearer t" == request.headers["Authorization"]


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


async def test_the_real_client_can_be_made() -> None:
    """Without a dialer handed in, one is made with the machine's CAs or none."""
    async with aclosing(kubelet_client(Settings(kubelet_insecure_tls=True), _CONNECTION)) as client:
        assert isinstance(client, KubeletClient)


def test_the_file_limit_is_raised_to_the_hard_one() -> None:
    """Each node is a connection, each connection a file."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, before[1]), before[1]))
        assert raise_file_limit() == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        assert raise_file_limit() > 256
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
