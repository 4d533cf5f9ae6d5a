from typing import Any

import pytest
from structlog.testing import capture_logs

from app.auth.extension import NAME, NAMESPACE, ExtensionAuthentication
from app.auth.trust import Trust
from app.kube.decode import ConfigMapRecord
from tests.unit.auth.authorities import Authorities


@pytest.fixture(scope="module")
def cas() -> Authorities:
    return Authorities()


def record(data: dict[str, str], name: str = NAME) -> ConfigMapRecord:
    return ConfigMapRecord(NAMESPACE, name, data)


def warnings(logs: Any) -> list[str]:
    return [entry["event"] for entry in logs if entry["log_level"] == "warning"]


def test_the_configmap_comes_into_force(cas: Authorities) -> None:
    """What the reflector brings is the bundle from then on; the log names each authority."""
    trust = Trust()
    sink = ExtensionAuthentication(trust)
    assert set() == sink.keys()
    with capture_logs() as logs:
        sink.apply([record(cas.data())], [])
    assert (cas.users.certificate,) == trust.bundle.client_cas
    assert {(NAMESPACE, NAME)} == sink.keys()
    assert [("users", "CN=users-ca"), ("front proxy", "CN=front-proxy-ca")] == [(entry["use"], entry["subject"]) for entry in logs]
    assert [] == warnings(logs)


def test_a_bad_update_keeps_the_last_good_with_one_warning(cas: Authorities) -> None:
    """A ConfigMap that cannot be read changes nothing, and is told once, with the command to look at it."""
    trust = Trust()
    sink = ExtensionAuthentication(trust)
    with capture_logs() as logs:
        sink.apply([record(cas.data())], [])
        for _ in range(3):
            sink.apply([record({**cas.data(), "client-ca-file": "rubbish"})], [])
    assert 1 == trust.bundle.generation
    assert 1 == len(warnings(logs))
    assert f"kubectl -n {NAMESPACE} get configmap {NAME} -o yaml" in warnings(logs)[0]
    with capture_logs() as logs:
        sink.apply([record(cas.data())], [])
        sink.apply([record({**cas.data(), "client-ca-file": "rubbish"})], [])
    assert 1 == len(warnings(logs)), "after a good one, a bad one is news again"


def test_a_deleted_configmap_keeps_the_last_good(cas: Authorities) -> None:
    """kube-apiserver writes it anew; until then the known authorities serve."""
    trust = Trust()
    sink = ExtensionAuthentication(trust)
    with capture_logs() as logs:
        sink.apply([record(cas.data())], [])
        sink.apply([], [(NAMESPACE, NAME)])
    assert 1 == trust.bundle.generation
    assert set() == sink.keys()
    assert 1 == len(warnings(logs))


def test_other_configmaps_are_ignored(cas: Authorities) -> None:
    """Only the one name counts."""
    trust = Trust()
    ExtensionAuthentication(trust).apply([record(cas.data(), "other")], [(NAMESPACE, "another")])
    assert 0 == trust.bundle.generation


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({"requestheader_client_ca_file": None}, "--requestheader-client-ca-file", id="no front-proxy CA"),
        pytest.param({"requestheader_username_headers": None}, "--requestheader-username-headers", id="no username header"),
    ],
)
def test_missing_parts_are_told_with_the_fix(cas: Authorities, changes: dict[str, Any], words: str) -> None:
    """A cluster without aggregation flags is used as it is; one warning names the flag."""
    trust = Trust()
    with capture_logs() as logs:
        ExtensionAuthentication(trust).apply([record(cas.data(**changes))], [])
    assert 1 == trust.bundle.generation
    assert words in warnings(logs)[0]


def test_one_ca_for_both_is_a_loud_warning(cas: Authorities) -> None:
    """One authority in both sets and no allowed names: said as what it is."""
    with capture_logs() as logs:
        ExtensionAuthentication(Trust()).apply(
            [record(cas.data(requestheader_client_ca_file=cas.users.certificate_pem, requestheader_allowed_names=None))], []
        )
    assert warnings(logs)[0].startswith("SECURITY: ")
