"""Sources that are killed, stand still and come back while kubeglance serves what they told, through a real kube-apiserver."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.conftest import demand
from tests.e2e.controlplane import ControlPlane
from tests.e2e.controlplane.pki import FiledAuthority
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.declared import cool_resource, declaring, items, wait_for, write
from tests.e2e.sources import prometheus, rabbitmq
from tests.e2e.sources.collecting import example
from tests.e2e.sources.grants import grants, secret, trusted
from tests.e2e.sources.outages import OUTAGES, TIMES, Served, go_through
from tests.e2e.sources.prometheus import PrometheusServer
from tests.e2e.sources.rabbitmq import PASSWORD, USER, RabbitMQServer
from tests.e2e.stage import Stage

pytestmark = pytest.mark.e2e

QUEUES = {"orders": 3, "mails": 1}
COOL = "example.com/v1alpha1/coolresources"
READER = "rabbitmq-reader"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, _end_with_us: None) -> Iterator[RabbitMQServer]:
    demand(rabbitmq.skip_reason())
    with RabbitMQServer(FiledAuthority("source-ca", tmp_path_factory.mktemp("pki"))) as started:
        started.start()
        for queue, messages in QUEUES.items():
            started.declare(queue, messages=messages)
        started.wait_counted(QUEUES)
        yield started


@pytest.fixture(scope="module")
def monitor(_end_with_us: None) -> Iterator[PrometheusServer]:
    demand(prometheus.skip_reason())
    with PrometheusServer() as started:
        started.start()
        wait_until("the first scrape", lambda: started.query("up"), seconds=60)
        yield started


@pytest.fixture(scope="module")
def stage(
    plane: ControlPlane, broker: RabbitMQServer, monitor: PrometheusServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    """A kubeglance with the example's queues, a query, and a kind that asks nobody."""
    folder = tmp_path_factory.mktemp("declarations")
    write(folder / "queues.yaml", queues(broker))
    write(folder / "ups.yaml", ups(monitor))
    write(folder / "cool.yaml", cool_resource())
    groups = ["v1alpha1.msg.example.com", "v1alpha1.prom.example.com", "v1alpha1.example.com"]
    with declaring(plane, "outages", f"--declarations={folder}", groups=groups) as made:
        plane.apply(grants("kubeglance-sources", namespaces=["mq", "cool"], secrets=[READER], config_maps=["rabbitmq-ca"]))
        plane.apply([secret(READER, password=PASSWORD), trusted("rabbitmq-ca", broker.authority.pem)])
        wait_for(made, COOL)
        yield made


def queues(broker: RabbitMQServer) -> dict[str, Any]:
    """deploy/examples/rabbitmq-queues.yaml, asked more often."""
    basic = {"username": {"value": USER}, "password": {"valueFrom": {"secretKeyRef": {"name": READER, "key": "password"}}}}
    said = example("rabbitmq-queues.yaml", url=f"https://localhost:{broker.port}/api/queues", auth={"basic": basic})
    said["spec"] |= TIMES
    return said


def ups(monitor: PrometheusServer) -> dict[str, Any]:
    """Whether what Prometheus scrapes is up."""
    properties = {"status": {"type": "object", "properties": {"up": {"type": "integer", "format": "int64"}}}}
    return {
        "apiVersion": "kubeglance.io/v1alpha1",
        "kind": "LiveResource",
        "metadata": {"name": "ups.prom.example.com"},
        "spec": {
            "group": "prom.example.com",
            "version": "v1alpha1",
            "scope": "Cluster",
            "names": {"kind": "Up", "plural": "ups"},
            "source": {"prometheus": {"url": f"http://localhost:{monitor.port}", "query": "up"}},
            **TIMES,
            "items": "response",
            "object": {"name": "item.labels.job", "status": {"up": "int(item.value)"}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
            "additionalPrinterColumns": [{"name": "Up", "type": "integer", "jsonPath": ".status.up"}],
        },
    }


@pytest.fixture
def of_broker(stage: Stage, broker: RabbitMQServer) -> Served:
    return Served("queues.msg.example.com", "msg.example.com/v1alpha1/namespaces/mq/queues", broker, stage, len(QUEUES), "ready")


@pytest.fixture
def of_monitor(stage: Stage, monitor: PrometheusServer) -> Served:
    return Served("ups.prom.example.com", "prom.example.com/v1alpha1/ups", monitor, stage, 1, "up")


def test_the_queues_as_kubectl_shows_them(stage: Stage, of_broker: Served) -> None:
    """The password comes from a Secret that kubeglance may read by a Role of that one name."""
    of_broker.wait_until_good()

    lines = stage.plane.kubectl("get", "q", "-n", "mq").stdout.splitlines()
    assert lines[0].split()[:3] == ["NAME", "READY", "UNACKED"]
    assert {line.split()[0]: int(line.split()[1]) for line in lines[1:]} == QUEUES
    assert PASSWORD not in stage.replicas[0].log


def test_the_query_as_kubectl_shows_it(stage: Stage, of_monitor: Served) -> None:
    """Each series is an object."""
    of_monitor.wait_until_good()

    assert stage.plane.kubectl("get", "ups").stdout.split() == ["NAME", "UP", "prometheus", "1"]


@pytest.mark.parametrize("outage", OUTAGES)
@pytest.mark.parametrize("name", ["of_broker", "of_monitor"])
def test_an_outage(name: str, outage: str, of_broker: Served, of_monitor: Served) -> None:
    """Of the one or the other; a kind that asks nobody stays, too."""
    served, other = (of_broker, of_monitor) if name == "of_broker" else (of_monitor, of_broker)
    go_through(outage, served, other, secret=PASSWORD)

    assert len(items(served.stage, COOL)) == 1


def test_a_secret_that_changes(stage: Stage, broker: RabbitMQServer, of_broker: Served) -> None:
    """The broker's password is changed, then the Secret: no restart, no reload. Until then collectors tell the cause, and no password."""
    of_broker.wait_until_good()
    broker.change_password("another secret of tests")
    try:
        wait_until("to be refused", lambda: of_broker.causes() == ["unauthorized"], seconds=60)
        stage.plane.apply([secret(READER, password="another secret of tests")])
        of_broker.wait_until_good()
    finally:
        broker.change_password(PASSWORD)
        stage.plane.apply([secret(READER, password=PASSWORD)])
    of_broker.wait_until_good()
    assert "secret of tests" not in stage.replicas[0].log
