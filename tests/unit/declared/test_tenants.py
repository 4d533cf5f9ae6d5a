"""The operator's file that says what other namespaces may declare."""

import contextlib
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.clock import SystemClock
from app.declared.tenants import Tenant, TenantsError, TenantsFile, parse_tenants


def test_tenants_are_read_by_namespace() -> None:
    """Groups and hosts as they are written; a namespace with nothing listed may be there, and may do nothing."""
    text = 'shop:\n  groups: [shop.example.com]\n  hosts: ["*.shop.svc", "api.example.com:443", "10.0.0.7", "[fd00::1]:80"]\nbank:\n'

    assert parse_tenants(text) == {
        "shop": Tenant(("shop.example.com",), ("*.shop.svc", "api.example.com:443", "10.0.0.7", "[fd00::1]:80")),
        "bank": Tenant(),
    }
    assert parse_tenants("") == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("shop: [", "is not valid YAML", id="broken YAML"),
        pytest.param("- shop", "must map namespaces", id="a list"),
        pytest.param("Shop: {}", '"Shop": is not a name of a namespace', id="a name that no namespace has"),
        pytest.param("shop: yes", "shop: must have groups and hosts", id="no mapping"),
        pytest.param("shop: {group: [a.b]}", "shop.group: unknown field", id="a field misspelt"),
        pytest.param("shop: {groups: a.b}", "shop.groups: must be a list", id="text for a list"),
        pytest.param("shop: {groups: [apps]}", "shop.groups[0]: 'apps' is not an API group", id="a group without a dot"),
        pytest.param("shop: {groups: ['*.example.com']}", "is not an API group", id="groups have no wildcards"),
        pytest.param("shop: {hosts: ['*']}", "shop.hosts[0]: '*' is not a host", id="everything"),
        pytest.param("shop: {hosts: ['a.b:99999']}", "is not a host", id="no port"),
        pytest.param("shop: {hosts: ['http://a.b']}", "is not a host", id="a URL"),
        pytest.param("shop: {hosts: [7]}", "is not a host", id="a number"),
    ],
)
def test_a_file_that_could_mean_something_else_is_refused(text: str, said: str) -> None:
    """Rights are given by what is written, and never by what may have been meant."""
    with pytest.raises(TenantsError) as caught:
        parse_tenants(text)

    assert said in str(caught.value)


def test_all_faults_are_told_at_once() -> None:
    """One line for each."""
    with pytest.raises(TenantsError) as caught:
        parse_tenants("a: {groups: [x, y]}\nB: {hosts: ['*']}")

    assert len(str(caught.value).splitlines()) == 4


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("none", "does not exist"),
        ("folder", "is a folder"),
        ("odd", "cannot be read"),
        ("pipe", "is no file"),
        ("large", "of which at most"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_fault(tmp_path: Path, name: str, reason: str) -> None:
    """It says why, each time, is no traceback, and keeps nobody waiting."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "odd").write_bytes(b"\xff")
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "large").open("wb") as large:
        large.truncate(2**30)
    file = TenantsFile(tmp_path / name, SystemClock().wall)

    for _ in range(2):
        with pytest.raises(TenantsError, match=reason):
            file.read()


def test_a_file_that_stays_as_it_is_is_not_parsed_again(tmp_path: Path) -> None:
    """It is looked at each second: the same tenants, until what is in it is another."""
    path = tmp_path / "tenants.yaml"
    path.write_text("shop: {groups: [shop.example.com]}", encoding="utf-8")
    file = TenantsFile(path, SystemClock().wall)
    first = file.read()

    assert file.read() is first
    path.write_text("bank: {}", encoding="utf-8")
    assert file.read() == {"bank": Tenant()}


@given(
    st.one_of(
        st.binary(max_size=60),
        st.lists(st.sampled_from(["a: ", "groups: ", "hosts: ", "[", "]", "{", "}", "x.y", "*.z", ":1", "2026-99-99", "\n", "? "])).map(
            lambda parts: "".join(parts).encode()
        ),
    )
)
def test_no_file_crashes_it(content: bytes) -> None:
    """Tenants, or all that is wrong."""
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(TenantsError):
        (Path(folder) / "tenants.yaml").write_bytes(content)
        TenantsFile(Path(folder) / "tenants.yaml", SystemClock().wall).read()
