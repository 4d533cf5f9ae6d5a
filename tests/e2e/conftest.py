"""Fixtures of the end-to-end tests: real control planes, made once a session.

Where the programs are missing the tests are skipped with one line that says how to get them; with KUBEGLANCE_TEST_ALL=1 they fail.
"""

import os
from collections.abc import Iterator

import pytest

from tests.e2e import node
from tests.e2e.controlplane import NEEDED, ControlPlane, Profile, network, programs
from tests.e2e.controlplane.processes import stop_all_at_exit
from tests.e2e.registration import NAMESPACE, RIGHTS


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


_LEFT_OVER = {
    "apiservices": "!kube-aggregator.kubernetes.io/automanaged",
    "clusterrolebindings": "kubernetes.io/bootstrapping!=rbac-defaults",
    "clusterroles": "kubernetes.io/bootstrapping!=rbac-defaults",
    "namespaces": "kubernetes.io/metadata.name notin (default,kube-system,kube-public,kube-node-lease)",
}
"""What is not kube-apiserver's own, in the order in which it goes: a group without a server would hold up the deletion of namespaces."""

_OF_ALL = {f"namespace/{NAMESPACE}", *(f"{kind}/{name}" for name in RIGHTS for kind in ("clusterrole", "clusterrolebinding"))}


@pytest.fixture(scope="module", autouse=True)
def _leave_it_as_it_was(request: pytest.FixtureRequest) -> Iterator[None]:
    """Rights, namespaces and APIServices that a module left in the common control plane would be there for the next one too."""
    mine = [item for item in request.session.items if getattr(item, "module", None) is request.module]
    if not any("plane" in getattr(item, "fixturenames", ()) for item in mine):
        yield
        return
    plane: ControlPlane = request.getfixturevalue("plane")
    before = _listed(plane)
    yield
    left = [name for name in _listed(plane) if name not in before and name.replace(".rbac.authorization.k8s.io", "") not in _OF_ALL]
    if left:
        plane.kubectl("delete", *left, "--ignore-not-found", "--timeout=90s")


def _listed(plane: ControlPlane) -> list[str]:
    return [name for kind, own in _LEFT_OVER.items() for name in plane.kubectl("get", kind, "-l", own, "-o", "name").stdout.split()]


@pytest.fixture(scope="session")
def routed_plane(tmp_path_factory: pytest.TempPathFactory, _end_with_us: None) -> Iterator[ControlPlane]:
    """The routed profile, for replicas in network namespaces."""
    demand(network.skip_reason())  # for those who ask for it by name only
    with ControlPlane.start(tmp_path_factory.mktemp("routed"), profile=Profile.ROUTED) as started:
        yield started
