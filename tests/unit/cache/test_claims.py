"""Which claims have an object, and which pods mount each."""

from msgspec.structs import replace

from app.cache.claims import Claim, Claims
from app.cache.cluster import Pods
from app.cache.versions import Versions
from app.kube.records import ClaimRecord, Key, PodRecord
from tests.fakes.clock import ManualClock
from tests.unit.cache.test_store import pod


def claim(name: str = "data", **changes: object) -> ClaimRecord:
    record = ClaimRecord("ns", name, f"uid of {name}", (("app", "db"),), 0, "Bound", 2**30, 2**30, "fast", "pv-1", False, "")
    return replace(record, **changes)


def mounting(*claims: str, name: str = "p", **changes: object) -> PodRecord:
    return replace(pod(name), claims=claims, **changes)


class World:
    def __init__(self) -> None:
        self.pods = Pods()
        self.claims = Claims(self.pods, Versions(ManualClock(), instance=1))

    def of(self, name: str = "data") -> Claim | None:
        item = self.claims.members.get(("ns", name))
        return item.value if item is not None else None

    def mounts(self, name: str = "data") -> tuple[Key, ...] | None:
        known = self.of(name)
        return known.pods if known is not None else None


def test_every_claim_has_an_object_mounted_or_not() -> None:
    """With the labels of the claim."""
    world = World()
    world.claims.apply([claim("data"), claim("spare")], ())
    world.pods.apply([mounting("data")], ())

    assert (world.mounts("data"), world.mounts("spare")) == ((("ns", "p"),), ())
    assert [item.labels for item in world.claims.members.snapshot()] == [(("app", "db"),)] * 2


def test_a_claim_follows_its_pods_whoever_comes_first() -> None:
    """Pods come, change and go before and after the claim does; a shared claim has all of them, by name."""
    world = World()
    world.pods.apply([mounting("data", name="b"), mounting("data", "other", name="a")], ())
    world.claims.apply([claim("data")], ())
    assert world.mounts() == (("ns", "a"), ("ns", "b"))
    world.pods.apply([mounting("other", name="a")], ())
    assert world.mounts() == (("ns", "b"),)
    world.pods.apply((), [("ns", "b")])
    assert world.mounts() == ()


def test_what_only_pods_tell_of_counts_until_claims_were_listed() -> None:
    """Where kubeglance may not list claims those that are mounted have an object all the same; a claim that does not exist has none."""
    world = World()
    world.pods.apply([mounting("data", "missing")], ())
    assert world.of("missing") == Claim(None, (("ns", "p"),))
    world.claims.apply([claim("data")], ())
    world.claims.listed()
    assert (world.of("missing"), world.mounts("data")) == (None, (("ns", "p"),))
    world.pods.apply([mounting("data", "missing", name="q")], ())
    assert world.of("missing") is None


def test_a_deleted_claim_is_gone_at_once() -> None:
    """Also where a pod still names it."""
    world = World()
    world.claims.apply([claim("data")], ())
    world.claims.listed()
    world.pods.apply([mounting("data")], ())
    world.claims.apply((), [("ns", "data")])
    assert (world.of(), len(world.claims), world.claims.keys()) == (None, 0, set())


def test_a_change_is_a_new_version_and_a_heartbeat_is_none() -> None:
    """A pod's status is told many times: only node, phase and claims matter here."""
    world = World()
    world.claims.apply([claim("data")], ())
    world.pods.apply([mounting("data", phase="Pending")], ())
    before = world.claims.members.version
    world.pods.apply([mounting("data", phase="Pending", ready=False)], ())
    assert world.claims.members.version == before
    world.pods.apply([mounting("data", phase="Running")], ())
    assert world.claims.members.version > before


def test_why_there_is_none() -> None:
    """Before claims were listed nobody can say that one does not exist."""
    world = World()
    why = world.claims.members.why
    assert why(("ns", "x")) == "the persistent volume claims of the cluster were not listed yet"
    world.claims.listed()
    assert why(("ns", "x")) is None
