import ssl
import sys
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml

from app.errors import KubeError
from app.kube.config import client_context, load
from tests.fakes.clock import ManualClock


def _write(path: Path, user: dict[str, Any], cluster: dict[str, Any] | None = None) -> Path:
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "c",
                "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
                "clusters": [{"name": "k", "cluster": {"server": "https://kube:6443/", **(cluster or {})}}],
                "users": [{"name": "u", "user": user}],
            }
        )
    )
    return path


@pytest.fixture
def ca(tmp_path: Path) -> Path:
    path = tmp_path / "ca.pem"
    trustme.CA().cert_pem.write_to_path(str(path))
    return path


async def test_a_kubeconfig_with_a_token(tmp_path: Path, ca: Path) -> None:
    """Server, CA, server name, proxy and token are taken over."""
    cluster = {"certificate-authority": str(ca), "tls-server-name": "inner", "proxy-url": "http://proxy:3128"}
    found = load(_write(tmp_path / "config", {"token": "t"}, cluster), environ={})

    assert ("https://kube:6443", ca, "inner", "http://proxy:3128") == (found.server, found.ca_file, found.server_name, found.proxy)
    assert await found.credentials.header() == "Bearer t"
    assert found.ssl_context is not None
    assert found.ssl_context.verify_mode == ssl.CERT_REQUIRED
    assert not found.ssl_context.verify_flags & ssl.VERIFY_X509_STRICT


async def test_a_token_file_of_a_kubeconfig_is_read_again(tmp_path: Path) -> None:
    """A relative tokenFile is found beside the kubeconfig, and followed when it changes."""
    (tmp_path / "tok").write_text("one")
    clock = ManualClock()
    found = load(_write(tmp_path / "config", {"tokenFile": "tok"}), clock=clock, environ={})
    first = await found.credentials.header()
    (tmp_path / "tok").write_text("two")
    clock.advance(60)

    assert (first, await found.credentials.header()) == ("Bearer one", "Bearer two")


async def test_an_exec_plugin_is_run_again(tmp_path: Path) -> None:
    """Cloud kubeconfigs get short-lived tokens from a program."""
    count = tmp_path / "count"
    program = (
        f"import json,pathlib; p=pathlib.Path({str(count)!r}); n=int(p.read_text()) if p.exists() else 0; p.write_text(str(n+1)); "
        "print(json.dumps({'apiVersion':'client.authentication.k8s.io/v1','kind':'ExecCredential','status':{'token':f't{n}'}}))"
    )
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": ["-c", program],
        "interactiveMode": "Never",
    }
    clock = ManualClock()
    found = load(_write(tmp_path / "config", {"exec": plugin}), clock=clock, environ={})
    first = await found.credentials.header()
    clock.advance(60)

    assert (first, await found.credentials.header()) == ("Bearer t0", "Bearer t1")


async def test_kubeconfig_of_the_environment(tmp_path: Path) -> None:
    """$KUBECONFIG is used where no file is given, as by kubectl."""
    found = load(environ={"KUBECONFIG": str(_write(tmp_path / "config", {"token": "t"}))})

    assert found.server == "https://kube:6443"


async def test_client_certificates_are_loaded(tmp_path: Path, ca: Path) -> None:
    """A user with a certificate needs no header."""
    leaf = trustme.CA().issue_cert("client")
    leaf.private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "leaf.pem"))
    user = {"client-certificate": str(tmp_path / "leaf.pem"), "client-key": str(tmp_path / "leaf.pem")}
    found = load(_write(tmp_path / "config", user, {"certificate-authority": str(ca)}), environ={})

    assert None is await found.credentials.header()
    assert (found.certificate, found.key) == (tmp_path / "leaf.pem", tmp_path / "leaf.pem")


def test_insecure_skip_tls_verify(tmp_path: Path) -> None:
    """Who asks for no verification in a kubeconfig gets none."""
    found = load(_write(tmp_path / "config", {"token": "t"}, {"insecure-skip-tls-verify": True}), environ={})

    assert found.ssl_context is not None
    assert (found.ssl_context.verify_mode, found.ssl_context.check_hostname) == (ssl.CERT_NONE, False)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param(None, "does not exist; give --kubeconfig", id="missing"),
        pytest.param("", "kubectl config view", id="empty"),
        pytest.param(":\n- ][", "kubectl config view", id="not YAML"),
        pytest.param("[]", "kubectl config view", id="a list"),
        pytest.param("kind: Config", "kubectl config view", id="no context"),
        pytest.param(
            "{current-context: c, contexts: [{name: c, context: {cluster: k}}], clusters: [{name: k, cluster: "
            "{server: 'https://k', certificate-authority: /no/such/file}}]}",
            "/no/such/file",
            id="CA file missing",
        ),
    ],
)
def test_a_bad_kubeconfig_is_a_clear_error(tmp_path: Path, content: str | None, text: str) -> None:
    """The error says which file, and what to do."""
    path = tmp_path / "config"
    if content is not None:
        path.write_text(content)

    with pytest.raises(KubeError, match=text) as caught:
        load(path, environ={})
    assert str(path) in str(caught.value)


def test_without_any_configuration_the_ways_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A user who starts it outside a cluster learns what to give."""
    monkeypatch.setenv("HOME", str(tmp_path))

    with pytest.raises(KubeError, match="give --kubeconfig"):
        load(environ={})


def test_in_a_pod_without_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod with automountServiceAccountToken false gets told so."""
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")

    with pytest.raises(KubeError, match="automountServiceAccountToken"):
        load(environ={"KUBERNETES_SERVICE_HOST": "10.0.0.1"})


@pytest.mark.parametrize("what", ["ca", "certificate"])
def test_a_bad_certificate_file_is_named(tmp_path: Path, what: str) -> None:
    """A file that is no PEM is named, whichever it is."""
    bad = tmp_path / "bad.pem"
    bad.write_text("nonsense")

    with pytest.raises(KubeError, match=str(bad)):
        client_context(bad if what == "ca" else None, certificate=bad if what == "certificate" else None)
