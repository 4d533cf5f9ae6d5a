"""app/registrar/run.py: rounds against a kube-apiserver that keeps objects, and a kubeglance that says what it serves."""

import base64

import httpx
import pytest
import yaml

from app.errors import KubeError, KubeUnavailable
from app.registrar.cluster import Cluster
from app.registrar.events import Invalid
from app.registrar.registration import Group, Install, Resource
from app.registrar.rotation import Lifetimes
from app.registrar.run import GONE_S, Registrar, Served
from tests.fakes.clock import ManualClock
from tests.fakes.kube_server import refusal
from tests.fakes.object_server import ObjectServer

INSTALL = Install("kg", "kubeglance", built_in=frozenset({"metrics.k8s.io"}))
QUEUES = Group("msg.example.com", ("v1alpha1",), (Resource("queues", namespaced=True),))
API_SERVICE = "/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.msg.example.com"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
ROLE = f"{ROLES}/kubeglance:reader:msg.example.com"
STATUS = "/api/v1/namespaces/kg/configmaps/kubeglance-registrar"
SERVING, AUTHORITY = "/api/v1/namespaces/kg/secrets/kubeglance-tls", "/api/v1/namespaces/kg/secrets/kubeglance-ca"


class Stage:
    """A registrar, the cluster that it writes to, and what kubeglance answers it."""

    def __init__(self) -> None:
        self.server = ObjectServer()
        self.server.put("/api/v1/namespaces/kg", {"metadata": {"name": "kg"}})
        self.clock = ManualClock()
        self.served: Served | KubeError = Served([QUEUES])
        cluster = Cluster(
            self.server.client(), INSTALL, authority_secret="kubeglance-ca", serving_secret="kubeglance-tls", status="kubeglance-registrar"
        )
        names = ("kubeglance.kg.svc", "kubeglance")
        self.registrar = Registrar(
            cluster, self._ask, INSTALL, lifetimes=Lifetimes(90_000.0, 9_000.0, 600.0), names=names, clock=self.clock
        )

    async def _ask(self, bundle: bytes) -> Served:
        assert bundle
        if isinstance(self.served, KubeError):
            raise self.served
        return self.served

    async def look(self, *, after: float = 5.0) -> list[str]:
        """One more round; what it wrote, without the status."""
        self.clock.advance(after)
        before = len(self.server.writes)
        await self.registrar.look()
        return [write for write in self.server.writes[before:] if not write.endswith(("/configmaps", STATUS))]

    def state(self) -> dict[str, str]:
        found: dict[str, str] = yaml.safe_load(self.server.objects[STATUS]["data"]["state.yaml"])
        return found


async def test_the_first_look_makes_certificates_and_registers_what_is_served() -> None:
    """Secrets first: without a certificate kubeglance cannot even start."""
    stage = Stage()

    assert [
        "POST /api/v1/namespaces/kg/secrets",
        "POST /api/v1/namespaces/kg/secrets",
        f"POST {ROLES}",
        "POST /apis/apiregistration.k8s.io/v1/apiservices",
    ] == await stage.look()
    bundle = base64.b64decode(stage.server.objects[API_SERVICE]["spec"]["caBundle"])
    assert bundle == base64.b64decode(stage.server.objects[SERVING]["data"]["ca.crt"])
    assert "kubernetes.io/tls" == stage.server.objects[SERVING]["type"]
    assert {"msg.example.com": "registered"} == stage.state()


async def test_a_second_look_writes_nothing() -> None:
    """All is as it should be."""
    stage = Stage()
    await stage.look()

    assert [] == await stage.look()


async def test_a_group_that_is_gone_goes_after_a_moment() -> None:
    """A replica that has just started may not know all: its APIService stays for two looks."""
    stage = Stage()
    await stage.look()
    stage.served = Served([])

    assert [] == await stage.look()
    assert [] == await stage.look(after=GONE_S - 1)
    assert [f"DELETE {API_SERVICE}", f"DELETE {ROLE}"] == await stage.look(after=1)


async def test_a_group_that_comes_back_in_time_was_never_away() -> None:
    """And the time begins anew when it goes again."""
    stage = Stage()
    await stage.look()
    for served in (Served([]), Served([QUEUES]), Served([])):
        stage.served = served
        assert [] == await stage.look(after=GONE_S - 1)


async def test_while_kubeglance_does_not_answer_all_stays() -> None:
    """Also for a registrar that has just started and never heard of the group."""
    stage = Stage()
    await stage.look()
    stage.served = KubeUnavailable("down")

    assert [] == await stage.look(after=1000)


async def test_a_rotation_reaches_the_api_services_before_the_certificate_changes() -> None:
    """And kubeglance may be away meanwhile: what is registered gets its bundle."""
    stage = Stage()
    await stage.look()
    leaf = stage.server.objects[SERVING]["data"]["tls.crt"]
    stage.served = KubeUnavailable("down")
    stage.clock.advance(61_000)
    await stage.look()
    bundle = base64.b64decode(stage.server.objects[API_SERVICE]["spec"]["caBundle"])
    assert 2 == bundle.count(b"BEGIN CERTIFICATE")
    renewed = stage.server.objects[SERVING]["data"]["tls.crt"]
    assert leaf != renewed, "the certificate was due by itself"

    await stage.look()
    await stage.look(after=600)
    assert renewed != stage.server.objects[SERVING]["data"]["tls.crt"], "the new authority signs now"
    await stage.look(after=600)
    bundle = base64.b64decode(stage.server.objects[API_SERVICE]["spec"]["caBundle"])
    assert 1 == bundle.count(b"BEGIN CERTIFICATE")


async def test_a_role_that_it_may_not_grant_is_left_to_an_administrator() -> None:
    """RBAC lets nobody grant what he does not have. The group is registered all the same; the status has the role to apply."""
    stage = Stage()
    stage.server.refuse["POST", ROLES] = refusal(403, "attempting to grant RBAC permissions not currently held", "Forbidden")
    await stage.look()

    assert API_SERVICE in stage.server.objects
    assert "must be made by an administrator" in stage.state()["ClusterRole kubeglance:reader:msg.example.com"]
    role = yaml.safe_load(stage.server.objects[STATUS]["data"]["todo.yaml"])
    assert ["msg.example.com"] == role["rules"][0]["apiGroups"]


async def test_one_object_that_fails_costs_that_object() -> None:
    """The others are written."""
    stage = Stage()
    other = Group("other.example.com", ("v1",), (Resource("others", namespaced=True),))
    stage.served = Served([QUEUES, other])
    stage.server.refuse["POST", "/apis/apiregistration.k8s.io/v1/apiservices"] = refusal(500, "etcd is full")
    await stage.look()

    assert 2 == sum(path.startswith(ROLES) for path in stage.server.objects)
    assert "etcd is full" in stage.state()["APIService v1.other.example.com"]


async def test_a_secret_of_somebody_else_is_not_touched() -> None:
    """Nor is anything else done: with another certificate nothing could be verified."""
    stage = Stage()
    stage.server.put(AUTHORITY, {"metadata": {"name": "kubeglance-ca"}, "data": {}})

    with pytest.raises(KubeError, match="was not made by this registrar"):
        await stage.look()
    assert [] == stage.server.writes


async def test_when_its_namespace_goes_the_api_services_go_first() -> None:
    """Else the namespace could not even be deleted: its own content would be asked of a server that is gone."""
    stage = Stage()
    await stage.look()
    stage.server.put("/api/v1/namespaces/kg", {"metadata": {"name": "kg", "deletionTimestamp": "2026-01-01T00:00:00Z"}})

    assert [f"DELETE {API_SERVICE}", f"DELETE {ROLE}"] == await stage.look()


async def test_a_declaration_that_is_wrong_makes_one_event() -> None:
    """On the ConfigMap that it stands in; again only when it was mended in between or says something else."""
    stage = Stage()
    stage.served = Served([QUEUES], [Invalid("queues.msg.example.com", "configmap shop/live:q.yaml:3:1", "unknown field")])
    events = "/api/v1/namespaces/shop/events"

    assert f"POST {events}" in await stage.look()
    assert [] == await stage.look()
    made = next(item for path, item in stage.server.objects.items() if path.startswith(events))
    assert ("ConfigMap", "shop", "live") == tuple(made["involvedObject"][key] for key in ("kind", "namespace", "name"))
    assert "queues.msg.example.com: unknown field" == made["message"]


async def test_an_event_that_was_made_before_is_no_fault() -> None:
    """A registrar that was started anew finds its own."""
    stage = Stage()
    stage.served = Served([QUEUES], [Invalid("q", "queues.yaml:1:1", "wrong")])
    stage.server.refuse["POST", "/api/v1/namespaces/kg/events"] = httpx.Response(409, json={"kind": "Status", "message": "exists"})

    await stage.look()
    assert [] == await stage.look()
