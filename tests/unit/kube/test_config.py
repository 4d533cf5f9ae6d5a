import re
import ssl
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import trustme
import yaml
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat
from hypothesis import given, settings
from hypothesis import strategies as st

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
        pytest.param("[" * 20_000, "does not have the form of a kubeconfig", id="deep"),
        pytest.param("a: 2023-99-99", "does not have the form of a kubeconfig", id="a date that is none"),
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


@pytest.mark.parametrize(
    ("server", "fault"),
    [
        pytest.param("https://[::1", "Invalid IPv6 URL", id="half an address"),
        pytest.param("ftp://kube", 'the scheme "ftp" is not known', id="scheme"),
        pytest.param("https://kube:99999", "Port out of range 0-65535", id="port"),
        pytest.param("https://kube:0", "the port must be from 1 to 65535", id="port 0"),
        pytest.param("https://kube:x", "Port could not be cast", id="port in letters"),
        pytest.param("https://", "it has no ", id="nothing behind the scheme"),
        pytest.param("https:///x", "it has no host", id="no host"),
        pytest.param("kube", "it has no scheme", id="no scheme"),
    ],
)
@pytest.mark.parametrize("what", ["server", "proxy-url"])
def test_a_url_that_cannot_be_asked_is_refused_at_start(tmp_path: Path, what: str, server: str, fault: str) -> None:
    """The file is named; else each request would fail, with other words."""
    path = _write(tmp_path / "config", {"token": "t"}, {what: server})

    with pytest.raises(KubeError, match=re.escape(fault)) as caught:
        load(path, environ={})
    assert f"the {what} " in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("server", ["http://127.0.0.1:8001", "https://[::1]:6443", "https://kube/clusters/c-1"])
def test_other_urls_are_taken_as_they_are(tmp_path: Path, server: str) -> None:
    """Plain http for kubectl proxy, IPv6, and paths as multi-cluster gateways have them."""
    assert server == load(_write(tmp_path / "config", {"token": "t"}, {"server": server}), environ={}).server


def test_a_folder_is_no_kubeconfig(tmp_path: Path) -> None:
    """It does exist."""
    with pytest.raises(KubeError, match=f"--kubeconfig: kubeconfig {tmp_path} is a directory"):
        load(tmp_path, environ={})


def test_the_flag_that_gave_the_file_is_named(tmp_path: Path) -> None:
    """There are three flags for kubeconfigs."""
    (tmp_path / "config").write_text("[]")

    for path in (tmp_path / "config", tmp_path / "none"):
        with pytest.raises(KubeError, match=r"^--authentication-kubeconfig: ") as caught:
            load(path, environ={}, flag="--authentication-kubeconfig")
        assert " --kubeconfig" not in str(caught.value)


@pytest.mark.parametrize(
    ("cluster", "user", "said"),
    [
        pytest.param({"certificate-authority-data": "anVuaw=="}, {"token": "t"}, "in certificate-authority-data of {}: ", id="CA"),
        pytest.param(
            {},
            {"client-certificate-data": "anVuaw==", "client-key-data": "eA=="},
            "the client certificate client-certificate-data of {0} with the key client-key-data of {0}: ",
            id="client",
        ),
    ],
)
def test_bad_data_in_a_kubeconfig_is_found_where_it_is(tmp_path: Path, cluster: dict[str, Any], user: dict[str, Any], said: str) -> None:
    """The official loader's temporary files mean nothing to anybody."""
    path = _write(tmp_path / "config", user, cluster)

    with pytest.raises(KubeError) as caught:
        load(path, environ={})
    assert said.format(path) in str(caught.value)


def test_an_encrypted_key_is_refused_without_asking(tmp_path: Path) -> None:
    """OpenSSL would ask for the pass phrase on the terminal, and a service has none."""
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
    (tmp_path / "key.pem").write_bytes(pem)
    leaf = trustme.CA().issue_cert("client")
    leaf.cert_chain_pems[0].write_to_path(str(tmp_path / "leaf.pem"))

    with pytest.raises(KubeError, match=r"key\.pem: the private key is encrypted, which is not supported"):
        client_context(None, certificate=tmp_path / "leaf.pem", key=tmp_path / "key.pem")


def test_a_token_with_a_line_break_is_refused_at_start(tmp_path: Path) -> None:
    """It cannot be sent in a header: each request would fail, with words about an attack."""
    path = _write(tmp_path / "config", {"token": "a\nb"})

    with pytest.raises(KubeError, match=f"the token of kubeconfig {path} has a line break"):
        load(path, environ={})


def test_without_any_configuration_the_ways_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A user who starts it outside a cluster learns what to give."""
    monkeypatch.setenv("HOME", str(tmp_path))

    with pytest.raises(KubeError, match="give --kubeconfig"):
        load(environ={})


@pytest.mark.parametrize(
    ("environ", "server"),
    [
        pytest.param({"KUBERNETES_SERVICE_PORT": "6443"}, "https://10.0.0.1:6443", id="IPv4"),
        pytest.param({"KUBERNETES_SERVICE_HOST": "fd00::1"}, "https://[fd00::1]:443", id="IPv6, no port"),
    ],
)
async def test_in_a_pod(tmp_path: Path, environ: dict[str, str], server: str) -> None:
    """The kubelet puts address, token and CA of the cluster into every pod, and renews the token."""
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "ca.crt"))
    (tmp_path / "token").write_text("one\n")
    clock = ManualClock()
    found = load(environ={"KUBERNETES_SERVICE_HOST": "10.0.0.1", **environ}, clock=clock, service_account=tmp_path)
    first = await found.credentials.header()
    (tmp_path / "token").write_text("two\n")
    clock.advance(60)

    assert (server, tmp_path / "ca.crt") == (found.server, found.ca_file)
    assert ("Bearer one", "Bearer two") == (first, await found.credentials.header())
    assert found.ssl_context is not None
    assert found.ssl_context.verify_mode == ssl.CERT_REQUIRED


@pytest.mark.parametrize("missing", ["token", "ca.crt"])
def test_in_a_pod_without_a_service_account(tmp_path: Path, missing: str) -> None:
    """A pod with automountServiceAccountToken false gets told so."""
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "ca.crt"))
    (tmp_path / "token").write_text("t")
    (tmp_path / missing).unlink()

    with pytest.raises(KubeError, match="automountServiceAccountToken"):
        load(environ={"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, service_account=tmp_path)


@pytest.mark.parametrize("what", ["ca", "certificate"])
def test_a_bad_certificate_file_is_named(tmp_path: Path, what: str) -> None:
    """A file that is no PEM is named, whichever it is."""
    bad = tmp_path / "bad.pem"
    bad.write_text("nonsense")

    with pytest.raises(KubeError, match=str(bad)):
        client_context(bad if what == "ca" else None, certificate=bad if what == "certificate" else None)


_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["c", "k", "u", "https://kube:6443", "http://["]),
)
_KEYS = [
    *("current-context", "contexts", "clusters", "users", "name", "context", "cluster", "user", "server", "token", "tokenFile"),
    *("certificate-authority-data", "client-certificate-data", "client-key-data", "proxy-url", "tls-server-name", "password"),
]
_YAML = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=5), max_leaves=15
)
_USERS = st.dictionaries(
    st.sampled_from(["token", "tokenFile", "client-certificate-data", "client-key-data", "username", "password", "exec", "auth-provider"]),
    _YAML,
    max_size=3,
)
_CLUSTERS = st.dictionaries(
    st.sampled_from(["server", "certificate-authority-data", "insecure-skip-tls-verify", "proxy-url", "tls-server-name"]), _YAML, max_size=3
)


@settings(max_examples=60)
@given(st.one_of(st.binary(max_size=60), _YAML, st.tuples(_USERS, _CLUSTERS)))
def test_no_kubeconfig_crashes_it(content: Any) -> None:
    """Any file is a connection, or a KubeError; programs that it names are another matter (none can be started here)."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "config"
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif isinstance(content, tuple):
            _write(path, *content)
        else:
            path.write_text(yaml.safe_dump(content))
        with suppress(KubeError):
            load(path, clock=ManualClock(), environ={})
