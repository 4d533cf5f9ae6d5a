"""Clusters that are made up from a few numbers."""

from app.simulation.generate import generate
from tests.fakes.clock import ManualClock


def test_names_that_are_drawn_twice_are_drawn_again() -> None:
    """Five letters recur in a big cluster: with this seed some pod's name did."""
    assert len(generate(ManualClock(), nodes=20, pods=3000, seed=1).pods) == 60_000


def test_a_cluster_has_claims_of_every_kind() -> None:
    """Those of each pod of a StatefulSet, one that several share, a device, one without statistics, one that nobody mounts, one unbound."""
    cluster = generate(ManualClock(), nodes=3, pods=10, seed=1)
    mounts = {claim.key: sum(claim in pod.claims.values() for pod in cluster.pods.values()) for claim in cluster.claims.values()}

    assert mounts["data", "data-postgres-0"] == 1
    assert mounts["shop", "uploads"] == 2
    assert [claim.name for claim in cluster.claims.values() if not mounts[claim.key]] == ["backup-of-spring", "build-cache"]
    assert {(claim.bound, claim.block, claim.reports) for claim in cluster.claims.values()} == {
        (True, False, True),
        (True, True, True),
        (True, False, False),
        (False, False, True),
    }
    assert all(0 <= claim.used_at(cluster.now()) < claim.filesystem for claim in cluster.claims.values())
    assert generate(ManualClock(), nodes=0, pods=0).claims == {}
