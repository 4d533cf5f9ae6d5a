"""The source http against a real RabbitMQ: the example's queues, and a broker that is killed, stands still or refuses us."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.cli.main import main
from collectors._base import Cause, CollectError
from tests.e2e.conftest import demand
from tests.e2e.controlplane.pki import FiledAuthority
from tests.e2e.sources import rabbitmq
from tests.e2e.sources.collecting import Collecting, Objects, declared, example, written
from tests.e2e.sources.rabbitmq import HOST, PASSWORD, USER, RabbitMQServer

EXAMPLE = "rabbitmq-queues.yaml"
QUEUES = {"orders": 3, "mails": 0, "jobs": 1, "Audit": 0, "retries": 2}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> FiledAuthority:
    """Who signs the broker's certificate."""
    return FiledAuthority("source-ca", tmp_path_factory.mktemp("pki"))


@pytest.fixture(scope="module")
def broker(authority: FiledAuthority, _end_with_us: None) -> Iterator[RabbitMQServer]:
    """A broker with five queues in it, counted."""
    demand(rabbitmq.skip_reason())
    with RabbitMQServer(authority) as started:
        started.start()
        for queue, messages in QUEUES.items():
            started.declare(queue, messages=messages)
        started.wait_counted(QUEUES)
        yield started


def objects(authority: FiledAuthority, *, password: str = PASSWORD) -> Objects:
    """What the example reads from the cluster."""
    return Objects(
        secrets={"rabbitmq-reader": {"password": password}},
        config_maps={"rabbitmq-ca": {"ca.crt": authority.pem.decode()}},
    )


def queues(broker: RabbitMQServer, *, size: int = 500, pages: int = 20, timeout: str = "10s", **source: Any) -> dict[str, Any]:
    """The example as it is shipped, but for where the broker is, who we are, and how it is asked."""
    said = example(
        EXAMPLE,
        url=f"https://localhost:{broker.port}/api/queues",
        auth={
            "basic": {
                "username": {"value": USER},
                "password": {"valueFrom": {"secretKeyRef": {"name": "rabbitmq-reader", "key": "password"}}},
            }
        },
        paginate={"page": {"param": "page", "sizeParam": "page_size", "size": size, "last": "response.page_count"}},
        **source,
    )
    said["spec"] |= {"timeout": timeout, "limits": {**said["spec"]["limits"], "pages": pages}}
    return said


async def failure(said: dict[str, Any], known: Objects) -> CollectError:
    async with Collecting(said, known) as collecting:
        with pytest.raises(CollectError) as caught:
            await collecting.collect()
    assert caught.value.remedy
    assert PASSWORD not in caught.value.message
    return caught.value


@pytest.mark.parametrize("size", [500, 2])
async def test_the_examples_queues(broker: RabbitMQServer, authority: FiledAuthority, size: int) -> None:
    """All of them, on one page or on three, with what the broker counts."""
    async with Collecting(queues(broker, size=size), objects(authority)) as collecting:
        _, mapped = await collecting.collect()

    found = {each.value.spec["queue"]: (each.key[0], each.value.status["ready"]) for each in mapped.objects}
    assert {queue: ("mq", messages) for queue, messages in QUEUES.items()} == found
    assert not mapped.dropped
    names = {each.key[1] for each in mapped.objects}
    assert {"orders", "mails", "jobs", "retries"} < names
    assert any(name.startswith("audit-") for name in names)


async def test_more_pages_than_allowed(broker: RabbitMQServer, authority: FiledAuthority) -> None:
    """The collection fails as a whole."""
    assert (await failure(queues(broker, size=2, pages=2), objects(authority))).cause is Cause.TOO_LARGE


async def test_a_password_that_is_refused_and_then_changed(broker: RabbitMQServer, authority: FiledAuthority) -> None:
    """401 is told with its cause; the Secret that was changed meanwhile is used without a restart."""
    known = objects(authority, password="wrong password")
    async with Collecting(queues(broker), known) as collecting:
        with pytest.raises(CollectError) as caught:
            await collecting.collect()
        known.objects |= objects(authority).objects
        _, mapped = await collecting.collect()

    assert caught.value.cause is Cause.UNAUTHORIZED
    assert len(mapped.objects) == len(QUEUES)


async def test_the_server_name(broker: RabbitMQServer, authority: FiledAuthority) -> None:
    """An address that the certificate does not have is refused, unless the declaration names whom it expects there."""
    url = f"https://127.0.0.1:{broker.port}/api/queues"
    ca = {"ca": {"valueFrom": {"configMapKeyRef": {"name": "rabbitmq-ca", "key": "ca.crt"}}}}
    there = queues(broker) | {}
    there["spec"]["source"]["http"] |= {"url": url}
    assert (await failure(there, objects(authority))).cause is Cause.CERTIFICATE

    there["spec"]["source"]["http"] |= {"tls": {**ca, "serverName": HOST}}
    async with Collecting(there, objects(authority)) as collecting:
        assert len((await collecting.collect())[1].objects) == len(QUEUES)


async def test_another_authority(broker: RabbitMQServer, tmp_path: Path) -> None:
    """A broker whose certificate another authority signed is not told our password."""
    assert (await failure(queues(broker), objects(FiledAuthority("other-ca", tmp_path)))).cause is Cause.CERTIFICATE


async def test_a_broker_that_is_killed_and_comes_back(broker: RabbitMQServer, authority: FiledAuthority) -> None:
    """The same source goes on with the broker's next life."""
    async with Collecting(queues(broker), objects(authority)) as collecting:
        await collecting.collect()
        broker.kill()
        with pytest.raises(CollectError) as caught:
            await collecting.collect()
        broker.start()
        broker.wait_counted(QUEUES)
        _, mapped = await collecting.collect()

    assert caught.value.cause in {Cause.DIAL, Cause.CLOSED}
    assert QUEUES == {each.value.spec["queue"]: each.value.status["ready"] for each in mapped.objects}


async def test_a_broker_that_stands_still(broker: RabbitMQServer, authority: FiledAuthority) -> None:
    """The kernel takes the connection and nobody answers: the deadline ends it, and it is as before when the broker goes on."""
    async with Collecting(queues(broker, timeout="1s"), objects(authority)) as collecting:
        await collecting.collect()
        broker.freeze()
        try:
            with pytest.raises(CollectError) as caught:
                await collecting.collect()
        finally:
            broker.thaw()
    async with Collecting(queues(broker), objects(authority)) as collecting:
        assert len((await collecting.collect())[1].objects) == len(QUEUES)

    assert caught.value.cause is Cause.DEADLINE


def test_probe(broker: RabbitMQServer, authority: FiledAuthority, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The whole of it is shown, and no secret."""
    (tmp_path / "password").write_text(PASSWORD)
    (tmp_path / "ca.crt").write_bytes(authority.pem)
    said = queues(broker, tls={"ca": {"valueFrom": {"file": "ca.crt"}}})
    said["spec"]["source"]["http"]["auth"]["basic"]["password"] = {"valueFrom": {"file": "password"}}
    file = written(said, tmp_path / "queues.yaml")

    assert main(["probe", str(file), f"--secret-dir={tmp_path}"], {}) == 0
    told = capsys.readouterr().out
    assert f"> GET https://localhost:{broker.port}/api/queues?page=1&page_size=500\n" in told
    assert "5 objects, 0 items without; 1 requests" in told
    assert declared(said).name in told
    assert PASSWORD not in told
