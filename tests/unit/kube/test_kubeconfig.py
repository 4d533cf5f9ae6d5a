"""app/kube/kubeconfig.py: what stands in a kubeconfig means what it means to the official loader, and to kubectl where the two differ."""

import base64
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import trustme
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from kubernetes.client import Configuration
from kubernetes.config import load_kube_config

from app.errors import KubeError
from app.kube.config import load
from tests.fakes.clock import ManualClock

_CA = trustme.CA()
_LEAF = _CA.issue_cert("client")
_PEM = {
    "certificate-authority": _CA.cert_pem.bytes(),
    "client-certificate": _LEAF.cert_chain_pems[0].bytes(),
    "client-key": _LEAF.private_key_pem.bytes(),
}


def _document(cluster: dict[str, Any], user: dict[str, Any], *, name: str = "c") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "clusters": [{"name": name, "cluster": {"server": "https://kube:6443", **cluster}}],
        "users": [{"name": name, "user": user}],
    }


def _pem(*keys: str) -> st.SearchStrategy[dict[str, str]]:
    """Nothing, files beside the kubeconfig, files elsewhere, or the data itself."""
    return st.sampled_from(
        [
            {},
            {key: f"{key}.pem" for key in keys},
            {key: f"ABSOLUTE/{key}.pem" for key in keys},
            {f"{key}-data": base64.b64encode(_PEM[key]).decode() for key in keys},
            {**dict.fromkeys(keys, "no-such-file"), **{f"{key}-data": base64.b64encode(_PEM[key]).decode() for key in keys}},
        ]
    )


_WORDS = st.text("abcXYZ019-._", min_size=1, max_size=8)
_CLUSTERS = st.tuples(
    st.fixed_dictionaries(
        {},
        optional={
            "server": st.sampled_from(["https://kube:6443/", "https://[::1]:6443", "https://kube/clusters/c-1", "http://127.0.0.1:8001"]),
            "insecure-skip-tls-verify": st.booleans(),
            "tls-server-name": _WORDS,
            "proxy-url": st.sampled_from(["http://proxy:3128", "https://proxy:3129"]),
        },
    ),
    _pem("certificate-authority"),
).map(lambda parts: {**parts[0], **parts[1]})
_USERS = st.tuples(
    st.one_of(
        st.just({}),
        st.fixed_dictionaries({"token": _WORDS}),
        st.just({"tokenFile": "token.txt"}),
        st.fixed_dictionaries({"username": _WORDS, "password": _WORDS}),
        st.fixed_dictionaries({"token": _WORDS, "username": _WORDS, "password": _WORDS}),
    ),
    _pem("client-certificate", "client-key"),
).map(lambda parts: {**parts[0], **parts[1]})


def _content(path: object) -> bytes | None:
    return Path(str(path)).read_bytes() if path else None


@settings(max_examples=60)
@given(cluster=_CLUSTERS, user=_USERS)
async def test_it_is_read_as_the_official_loader_reads_it(cluster: dict[str, Any], user: dict[str, Any]) -> None:
    """The loader that is not imported any more stays the reference: same server, same files, same header."""
    with TemporaryDirectory() as folder:
        for key, content in _PEM.items():
            (Path(folder) / f"{key}.pem").write_bytes(content)
        (Path(folder) / "token.txt").write_text("from-a-file")
        path = Path(folder) / "config"
        path.write_text(yaml.safe_dump(_document(cluster, user)).replace("ABSOLUTE", folder))
        official = Configuration()
        official.proxy = None
        load_kube_config(config_file=str(path), client_configuration=official, persist_config=False)  # type: ignore[no-untyped-call]

        found = load(path, clock=ManualClock(), environ={})

        assert official.host == found.server
        assert official.proxy == found.proxy
        assert official.api_key.get("BearerToken") == await found.credentials.header()
        if found.ssl_context is not None:
            assert official.tls_server_name == found.server_name
            assert official.verify_ssl == found.ssl_context.check_hostname
            assert _content(official.ssl_ca_cert) == _content(found.ca_file)
            assert (_content(official.cert_file), _content(official.key_file)) == (_content(found.certificate), _content(found.key))


async def test_the_first_of_several_files_wins(tmp_path: Path) -> None:
    """$KUBECONFIG may list files: the first that sets the current context, and the first that has a name, counts, as in kubectl."""
    names = ("one", "two")
    for name in names:
        (tmp_path / name).write_text(yaml.safe_dump(_document({"server": f"https://{name}"}, {"token": name}, name=name)))
    (tmp_path / "three").write_text(yaml.safe_dump(_document({"server": "https://three"}, {"token": "three"}, name="one")))
    paths = os.pathsep.join(str(tmp_path / name) for name in ("absent", *names, "three"))

    found = load(environ={"KUBECONFIG": paths})

    assert ("https://one", "Bearer one") == (found.server, await found.credentials.header())


async def test_a_token_file_wins_over_a_token(tmp_path: Path) -> None:
    """As in kubectl: the file is what stays fresh."""
    (tmp_path / "tok").write_text("fresh\n")
    (tmp_path / "config").write_text(yaml.safe_dump(_document({}, {"token": "stale", "tokenFile": "tok"})))

    assert "Bearer fresh" == await load(tmp_path / "config", environ={}).credentials.header()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param({"current-context": ""}, "sets no current-context", id="no current context"),
        pytest.param({"current-context": "other"}, "no context named other", id="unknown context"),
        pytest.param({"clusters": []}, "no cluster named c", id="unknown cluster"),
        pytest.param({"users": [{"name": "c", "user": {"tokenFile": "none"}}]}, "cannot read the token file", id="no token file"),
        pytest.param({"users": [{"name": "c", "user": {"client-key": "none"}}]}, "its client-key .*none is no file", id="no key file"),
        pytest.param({"users": [{"name": "c", "user": {"token": 7}}]}, "does not have the form", id="a token that is no text"),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    """The error says what the kubeconfig lacks, at start and not at the first request."""
    (tmp_path / "config").write_text(yaml.safe_dump({**_document({}, {}), **change}))

    with pytest.raises(KubeError, match=said):
        load(tmp_path / "config", environ={})


def test_only_a_true_switches_verification_off(tmp_path: Path) -> None:
    """A text in its place is a mistake, and the safe reading of it is that nothing was switched off."""
    (tmp_path / "config").write_text(yaml.safe_dump(_document({"insecure-skip-tls-verify": "false"}, {})))
    context = load(tmp_path / "config", environ={}).ssl_context

    assert context is not None
    assert context.check_hostname


def test_inline_keys_are_for_our_eyes_only(tmp_path: Path) -> None:
    """OpenSSL reads files: what a kubeconfig holds itself is in one that no other user can read."""
    user = {f"{key}-data": base64.b64encode(_PEM[key]).decode() for key in ("client-certificate", "client-key")}
    (tmp_path / "config").write_text(yaml.safe_dump(_document({}, user)))
    found = load(tmp_path / "config", environ={})

    assert found.key is not None
    assert (0o100600, _PEM["client-key"]) == (found.key.stat().st_mode, found.key.read_bytes())
