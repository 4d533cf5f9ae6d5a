"""A PostgreSQL and a Redis that are killed, stand still and come back while kubeglance serves what they told: the shipped examples."""

from collections.abc import Iterator

import pytest

from tests.e2e.conftest import demand
from tests.e2e.controlplane import ControlPlane
from tests.e2e.controlplane.pki import FiledAuthority
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.declared import cool_resource, declaring, items, wait_for, write
from tests.e2e.sources import postgresql, redis
from tests.e2e.sources.collecting import example
from tests.e2e.sources.grants import grants, secret, trusted
from tests.e2e.sources.outages import OUTAGES, TIMES, Served, go_through
from tests.e2e.sources.postgresql import PASSWORD, PostgreSQLServer
from tests.e2e.sources.redis import RedisServer
from tests.e2e.stage import Stage

pytestmark = pytest.mark.e2e

COOL = "example.com/v1alpha1/coolresources"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory, _end_with_us: None) -> Iterator[PostgreSQLServer]:
    """Orders of two regions."""
    demand(postgresql.skip_reason())
    with PostgreSQLServer(FiledAuthority("source-ca", tmp_path_factory.mktemp("pki"))) as started:
        started.start()
        started.prepare()
        started.admin(
            "CREATE TABLE orders (id bigserial PRIMARY KEY, region text NOT NULL, state text NOT NULL, created timestamptz DEFAULT now())",
            "GRANT SELECT ON orders TO reader",
            "INSERT INTO orders (region, state) VALUES ('eu', 'waiting'), ('eu', 'waiting'), ('us', 'sent')",
        )
        yield started


@pytest.fixture(scope="module")
def cache(_end_with_us: None) -> Iterator[RedisServer]:
    """Queues as lists."""
    demand(redis.skip_reason())
    with RedisServer() as started:
        started.start()
        fill(started)
        yield started


def fill(cache: RedisServer) -> None:
    cache.admin(("RPUSH", "celery", "a", "b", "c"))


@pytest.fixture(scope="module")
def stage(plane: ControlPlane, database: PostgreSQLServer, cache: RedisServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A kubeglance with both examples, and a kind that asks nobody."""
    folder = tmp_path_factory.mktemp("declarations")
    orders = example("postgres-orders.yaml", host="localhost", port=database.port)
    queues = example("redis-queues.yaml", host="localhost", port=cache.port)
    for name, said in (("orders.yaml", orders), ("queues.yaml", queues)):
        said["spec"] |= TIMES
        write(folder / name, said)
    write(folder / "cool.yaml", cool_resource())
    groups = ["v1alpha1.shop.example.com", "v1alpha1.jobs.example.com", "v1alpha1.example.com"]
    with declaring(plane, "databases", f"--declarations={folder}", groups=groups) as made:
        readers = [secret("shop-db-reader", username="reader", password=PASSWORD), secret("redis-reader", password=PASSWORD)]
        read = [each["metadata"]["name"] for each in readers]
        plane.apply(grants("kubeglance-databases", namespaces=["shop", "jobs", "cool"], secrets=read, config_maps=["shop-db-ca"]))
        plane.apply([*readers, trusted("shop-db-ca", database.authority.pem)])
        wait_for(made, COOL)
        yield made


@pytest.fixture
def of_database(stage: Stage, database: PostgreSQLServer) -> Served:
    path = "shop.example.com/v1alpha1/namespaces/shop/orderbacklogs"
    return Served("orderbacklogs.shop.example.com", path, database, stage, 2, "waiting")


@pytest.fixture
def of_cache(stage: Stage, cache: RedisServer) -> Served:
    path = "jobs.example.com/v1alpha1/namespaces/jobs/redisqueues"
    return Served("redisqueues.jobs.example.com", path, cache, stage, 3, "waiting")


def test_both_as_kubectl_shows_them(stage: Stage, of_database: Served, of_cache: Served) -> None:
    """Passwords come from Secrets, and stand nowhere else."""
    of_database.wait_until_good()
    of_cache.wait_until_good()
    orders = [line.split() for line in stage.plane.kubectl("get", "orderbacklogs", "-n", "shop").stdout.splitlines()]
    queues = [line.split() for line in stage.plane.kubectl("get", "redisqueues", "-n", "jobs").stdout.splitlines()]
    collectors = stage.plane.kubectl("get", "collectors", "-o", "wide").stdout

    assert ["NAME", "WAITING", "DONE", "OLDEST"] == orders[0]
    assert [["eu", "2", "0"], ["us", "0", "1"]] == [line[:3] for line in orders[1:]]
    assert ["NAME", "WAITING"] == queues[0]
    assert [["celery", "3"], ["mails", "0"]] == queues[1:3]
    assert "postgresql://localhost" in collectors
    assert "redis://localhost" in collectors
    assert PASSWORD not in collectors + stage.replicas[0].log


@pytest.mark.parametrize("outage", OUTAGES)
def test_an_outage_of_postgresql(outage: str, of_database: Served, of_cache: Served) -> None:
    """Redis and a kind that asks nobody stay as they are."""
    go_through(outage, of_database, of_cache, secret=PASSWORD)

    assert 1 == len(items(of_database.stage, COOL))


@pytest.mark.parametrize("outage", OUTAGES)
def test_an_outage_of_redis(outage: str, cache: RedisServer, of_database: Served, of_cache: Served) -> None:
    """PostgreSQL and a kind that asks nobody stay as they are. A Redis that was killed forgot what it held."""
    go_through(outage, of_cache, of_database, secret=PASSWORD, after=lambda: fill(cache))

    assert 1 == len(items(of_cache.stage, COOL))


def test_a_table_that_is_locked(database: PostgreSQLServer, of_database: Served, of_cache: Served) -> None:
    """The cause is told, what was read stays, and goes on when the lock is gone."""
    good = of_database.wait_until_good()
    with database.locked("orders"):
        other = of_cache.wait_until_good()
        wait_until("the deadline", lambda: of_database.causes() == ["deadline"], seconds=30)
        assert of_database.figures(good) == of_database.figures(of_database.objects())
        assert of_cache.figures(other) == of_cache.figures(of_cache.wait_until_good())

    assert of_database.figures(good) == of_database.figures(of_database.wait_until_good())
