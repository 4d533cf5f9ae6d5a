"""Which of a network's interfaces count, and how much went through them. Pure."""

import re
from collections.abc import Sequence, Set

from msgspec import Struct

from app.cache.stats import PAIR_MIN
from collectors._summary_records import Interface, NetworkStats

SECOND = 10**9

_BEHIND = re.compile(
    r"(lo|ifb|dummy|veth|cali|cni|flannel|lxc|lxd|cilium|docker|podman|br-|br[0-9]|virbr|kube-|nodelocaldns|tunl|vxlan|geneve|genev_|gre|ip6tnl|sit|"
    r"weave|ovs-|ovn-|antrea-|azv|gke|nerdctl|vmnet|tap|tun|wg|eni[0-9a-f]{9})",
    re.ASCII,
)
"""Names of interfaces behind which pods and tunnels are: what goes through them goes through the node's outer interface too, or never
leaves the node."""
_BONDS = re.compile(r"(bond|team)[0-9]+", re.ASCII)


class Rates(Struct, frozen=True, gc=False):
    """Bytes per second received and sent over `window` ns."""

    rx: int
    tx: int
    window: int


class Counters(Struct, frozen=True, gc=False):
    """What the interfaces that count sum up to; None where one of them does not tell it."""

    rx_bytes: int | None
    tx_bytes: int | None
    rx_errors: int | None
    tx_errors: int | None


def counted(network: NetworkStats) -> Sequence[Interface]:
    """The interfaces that stand for a node or pod: the default one if the kubelet knows it (it looks for eth0).

    Else the outer ones: no bridges and tunnels, which would be counted twice; of a bond the bond, of a VLAN what it lies on. None at all
    where only inner ones are told.
    """
    interfaces = network.interfaces
    if network.default:
        return [each for each in interfaces if each.name == network.default]
    bonds = [each for each in interfaces if _BONDS.fullmatch(each.name)]
    names = {each.name for each in interfaces}
    return bonds or [each for each in interfaces if not _BEHIND.match(each.name) and not _lies_on(each.name, names)]


def _lies_on(name: str, names: Set[str]) -> bool:
    """Whether an interface is a VLAN of another one, as ens5.100 of ens5."""
    base, dot, _ = name.rpartition(".")
    return bool(dot) and base in names


def counters(network: NetworkStats) -> Counters:
    """The sums over what counts."""
    told = counted(network)
    return Counters(
        _sum([each.rx_bytes for each in told]),
        _sum([each.tx_bytes for each in told]),
        _sum([each.rx_errors for each in told]),
        _sum([each.tx_errors for each in told]),
    )


def rates(earlier: NetworkStats | None, now: NetworkStats | None) -> Rates | None:
    """What went through per second between two samples, by their own times.

    None where they are the same sample or too near, are of other interfaces, or any counter went back: the machine or pod is another.
    """
    if earlier is None or now is None or now.time - earlier.time < PAIR_MIN:
        return None
    before, after = {each.name: each for each in counted(earlier)}, {each.name: each for each in counted(now)}
    if not after or before.keys() != after.keys():
        return None
    window, rx, tx = now.time - earlier.time, 0, 0
    for name, new in after.items():
        old = before[name]
        if old.rx_bytes is None or old.tx_bytes is None or new.rx_bytes is None or new.tx_bytes is None:
            return None
        if new.rx_bytes < old.rx_bytes or new.tx_bytes < old.tx_bytes:
            return None
        rx, tx = rx + new.rx_bytes - old.rx_bytes, tx + new.tx_bytes - old.tx_bytes
    return Rates(rx * SECOND // window, tx * SECOND // window, window)


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None
