"""Which interfaces count, and the rates between two samples."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cache.network import Rates, counted, counters, rates
from collectors._summary_records import Interface, NetworkStats

SECOND = 10**9


def network(at: float, *interfaces: Interface, default: str = "") -> NetworkStats:
    return NetworkStats(round(at * SECOND), interfaces, default)


def eth0(rx: int | None, tx: int | None) -> Interface:
    return Interface("eth0", rx, tx, 0, 0)


@pytest.mark.parametrize(
    ("default", "names", "expected"),
    [
        pytest.param("eth0", "ifb0 eth0 cni0", "eth0", id="the kubelet knows the outer one: bridges beside it would count twice"),
        pytest.param("", "ens5 cni0 flannel.1 cali0123456789a", "ens5", id="no eth0: the outer ones, without bridges and tunnels"),
        pytest.param("", "ens5 ens6 docker0 veth12ab", "ens5 ens6", id="two outer ones"),
        pytest.param("", "eno1 eno2 bond0 bond0.100", "bond0", id="of a bond the bond"),
        pytest.param("", "ens5 ens5.100", "ens5", id="of a VLAN what it lies on"),
        pytest.param("", "ens5.100", "ens5.100", id="a VLAN whose base is not told"),
        pytest.param("", "net1", "net1", id="a pod of a network of its own"),
        pytest.param("", "cni0 lo", "", id="only inner ones: nobody knows"),
        pytest.param("eth0", "ens5", "", id="a default that is not there"),
    ],
)
def test_which_interfaces_count(default: str, names: str, expected: str) -> None:
    """Trap 9: kubelets look for eth0, and list whatever the kernel has."""
    told = network(0, *(Interface(name, 1, 1) for name in names.split()), default=default)

    assert [each.name for each in counted(told)] == expected.split()


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(network(0, eth0(100, 50)), network(20, eth0(300, 60)), Rates(10, 0, 20 * SECOND), id="rounded down"),
        pytest.param(network(0, eth0(100, 50)), network(0, eth0(300, 60)), None, id="of one time: one sample"),
        pytest.param(network(0, eth0(100, 50)), network(9, eth0(300, 60)), None, id="too near: times are whole seconds"),
        pytest.param(network(20, eth0(100, 50)), network(0, eth0(300, 60)), None, id="an older one"),
        pytest.param(network(0, eth0(100, 50)), network(20, eth0(99, 60)), None, id="a counter went back: anew"),
        pytest.param(network(0, eth0(100, 50)), network(20, eth0(100, 50)), Rates(0, 0, 20 * SECOND), id="nothing went through"),
        pytest.param(network(0, eth0(100, 50)), network(20, eth0(None, 60)), None, id="a counter that is not told"),
        pytest.param(network(0, eth0(1, 1)), network(20, Interface("ens5", 9, 9)), None, id="another interface"),
        pytest.param(network(0, Interface("cni0", 1, 1)), network(20, Interface("cni0", 9, 9)), None, id="only inner ones"),
        pytest.param(None, network(20, eth0(1, 1)), None, id="one sample makes no rate"),
        pytest.param(network(0, eth0(1, 1)), None, None, id="no sample now"),
    ],
)
def test_rates(before: NetworkStats | None, after: NetworkStats | None, expected: Rates | None) -> None:
    """Traps 12 and 15: by the samples' own times, and never over a restart."""
    assert rates(before, after) == expected


def test_counters_are_sums() -> None:
    """Of what counts; not known where one of them is not."""
    told = counters(network(0, Interface("ens5", 1, 2, 3, 4), Interface("ens6", 10, None, 30, 40), Interface("cni0", 99, 99, 99, 99)))

    assert (told.rx_bytes, told.tx_bytes, told.rx_errors, told.tx_errors) == (11, None, 33, 44)


INTERFACES = st.lists(
    st.builds(
        Interface,
        st.sampled_from(["eth0", "ens5", "bond0", "cni0", "eth0.1"]),
        st.none() | st.integers(0, 2**63 - 1),
        st.none() | st.integers(0, 2**63 - 1),
    ),
    max_size=3,
)
NETWORKS = st.none() | st.builds(
    NetworkStats, st.integers(0, 100).map(lambda s: s * SECOND), INTERFACES.map(tuple), st.sampled_from(["", "eth0"])
)


@given(NETWORKS, NETWORKS)
def test_no_pair_gives_a_wild_rate(before: NetworkStats | None, after: NetworkStats | None) -> None:
    """A rate is never negative, and never without two samples of one time each."""
    rate = rates(before, after)

    assert rate is None or (rate.rx >= 0 and rate.tx >= 0 and rate.window >= 10 * SECOND)
