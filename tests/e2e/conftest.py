"""Fixtures of the end-to-end tests: real control planes, made once a session.

Where the programs are missing the tests are skipped with one line that says how to get them; with KUBEGLANCE_TEST_ALL=1 they fail.
"""

import os
from collections.abc import Iterator

import pytest

from tests.e2e import node
from tests.e2e.controlplane import NEEDED, ControlPlane, Profile, network, programs
from tests.e2e.controlplane.processes import stop_all_at_exit


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "e2e: needs a real control plane (make controlplane)")
    config.addinivalue_line("markers", "real_node: needs containers too: root, containerd, runc, CNI plugins")


def demand(reason: str | None) -> None:
    """Skip for this reason, or fail where nothing may be skipped."""
    if reason is None:
        return
    if os.environ.get("KUBEGLANCE_TEST_ALL") == "1":
        pytest.fail(f"KUBEGLANCE_TEST_ALL=1 and {reason}", pytrace=False)
    pytest.skip(reason)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Here and not in the fixtures: so pytest sums up all skipped tests in one line."""
    if item.get_closest_marker("e2e") is None:
        return
    demand(programs.skip_reason(*NEEDED))
    if item.get_closest_marker("real_node") is not None:
        demand(programs.skip_reason(*node.PROGRAMS) or node.skip_reason())
    if "routed_plane" in getattr(item, "fixturenames", ()):
        demand(network.skip_reason())


@pytest.fixture(scope="session")
def _end_with_us() -> None:
    stop_all_at_exit()


@pytest.fixture(scope="session")
def plane(tmp_path_factory: pytest.TempPathFactory, _end_with_us: None) -> Iterator[ControlPlane]:
    """The loopback profile."""
    with ControlPlane.start(tmp_path_factory.mktemp("loopback")) as started:
        yield started


@pytest.fixture(scope="session")
def routed_plane(tmp_path_factory: pytest.TempPathFactory, _end_with_us: None) -> Iterator[ControlPlane]:
    """The routed profile, for replicas in network namespaces."""
    demand(network.skip_reason())  # for those who ask for it by name only
    with ControlPlane.start(tmp_path_factory.mktemp("routed"), profile=Profile.ROUTED) as started:
        yield started
