"""app/declared/prometheus_servers.py: the file of servers, and all that can be wrong in it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.declared.prometheus_servers import ServersError, parse_servers, read_servers

GOOD = """\
main:
  url: https://prometheus.monitoring.svc:9090
  auth: {bearer: {token: {valueFrom: {file: token}}}}
  method: POST
  concurrency: 2
  namespaces: [shop]
thanos:
  url: http://thanos:10902/prefix
  headers: {X-Scope-OrgID: shop}
"""


def test_servers_by_name() -> None:
    """In the words of declarations, with the defaults of each."""
    servers = parse_servers(GOOD, "servers.yaml")

    assert ["main", "thanos"] == list(servers)
    assert ("POST", 2, ["shop"]) == (servers["main"].method, servers["main"].concurrency, servers["main"].namespaces)
    assert ("GET", 8, []) == (servers["thanos"].method, servers["thanos"].concurrency, servers["thanos"].namespaces)
    assert {} == parse_servers("", "servers.yaml")


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        pytest.param("- main", ["servers.yaml:1:1: is no mapping; expected servers by name"], id="a list"),
        pytest.param("main: {}", ["servers.yaml:1:7: main.url: Required value"], id="no url"),
        pytest.param(
            "main: {url: 'http://p', metod: POST}",
            ['servers.yaml:1:25: main.metod: unknown field; did you mean "method"?'],
            id="a misspelt field",
        ),
        pytest.param(
            "main: {url: 'http://u:p@p'}",
            ["servers.yaml:1:13: main.url: must hold no credentials: use auth.basic"],
            id="credentials in the url",
        ),
        pytest.param(
            "Main: {url: 'http://p'}",
            ['servers.yaml:1:1: Main: "Main" is not a name; expected lower-case letters, digits and -'],
            id="a name in capitals",
        ),
        pytest.param(
            "a: {url: 'http://p'}\n---\nb: {url: 'http://p'}",
            ["servers.yaml:3:1: is a second document: there is one mapping of servers"],
            id="two documents",
        ),
        pytest.param(
            "a: {url: 'ftp://p'}\nb: {url: 'http://p', concurrency: 0}",
            ["servers.yaml:1:10: a.url: ", "servers.yaml:2:35: b.conc"],
            id="all at once",
        ),
        pytest.param("a: [", ["servers.yaml:"], id="no YAML"),
    ],
)
def test_faults(text: str, faults: list[str]) -> None:
    """Each with its place, in the words of declarations."""
    with pytest.raises(ServersError) as caught:
        parse_servers(text, "servers.yaml")

    told = str(caught.value).split("\n")
    assert len(faults) == len(told)
    assert all(each.startswith(fault) for each, fault in zip(told, faults, strict=True)), told


def test_secrets_are_not_shown() -> None:
    """A token in the wrong place is told by its place alone."""
    with pytest.raises(ServersError) as caught:
        parse_servers("main: {url: 'http://p', auth: {bearer: {token: hunter2}}}", "servers.yaml")

    assert "hunter2" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """The flag is named."""
    with pytest.raises(ServersError, match=r"--prometheus-servers=.*cannot be read"):
        read_servers(tmp_path / "servers.yaml")


@given(st.text(max_size=60) | st.binary(max_size=40) | st.text(max_size=30).map(lambda text: f"main:\n  url: {text}\n  auth: {text}\n"))
def test_no_file_crashes_it(content: str | bytes) -> None:
    """It gives servers, or all that is wrong with it, each with its place."""
    try:
        servers = parse_servers(content, "servers.yaml")
    except ServersError as error:
        assert str(error).startswith("servers.yaml:")  # noqa: PT017 -- any that is raised must say where
        return
    assert all(name for name in servers)
