"""collectors/_prometheus_servers.py: what is asked alike is asked once, and a server that hangs delays nobody else."""

import asyncio
import json
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from collectors._base import Cause, CollectError
from collectors._http_client import Answer, HttpClient, Request, Trust
from collectors._prometheus_servers import Servers, ServerSpec
from collectors._source import Limits, Means, Query, Response
from collectors.prometheus import SOURCE, PrometheusSpec
from tests.fakes.sources import FakeHttp, FakeSecrets, answer, means


def told(value: str) -> Answer:
    return answer(json.dumps({"status": "success", "data": {"resultType": "scalar", "result": [1, value]}}))


@dataclass
class Network:
    """Servers whose answers are let through one by one, by the host that is asked; others answer at once."""

    gates: dict[str, asyncio.Event] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    fail: bool = False

    def client(self, _trust: Trust) -> HttpClient:
        return self

    async def send(self, request: Request, *, limit: int) -> Answer:
        self.asked.append(request.url)
        host = request.url.split("/")[2]
        if host in self.gates:
            await self.gates[host].wait()
        if self.fail:
            raise CollectError(Cause.DIAL, "no")
        return told(str(len(self.asked)))

    async def aclose(self) -> None:
        """Nothing."""


class World:
    """Two servers, and those who ask them every ten seconds."""

    def __init__(self, **more: Any) -> None:
        self.now = 1000.0
        self.network = Network()
        own = means(FakeHttp(lambda _: told("0")), wall=lambda: self.now)
        self.own = replace(own, http=self.network.client, interval=10.0, limits=Limits())
        specs = {name: ServerSpec.model_validate({"url": f"http://{name}", **more}) for name in ("main", "other")}
        self.servers = Servers(specs, self.own)

    def query(self, text: str = "up", name: str = "main", **more: Any) -> Query:
        return self.servers.query(name, text, replace(self.own, **more))


def value(response: Response) -> Any:
    return response.value[0]["value"]


async def test_one_query_for_two_who_ask_alike() -> None:
    """The second takes the answer of the first, and knows how old it is."""
    world = World()
    one, two = world.query(), world.query()
    first = await one.ask()
    world.now += 4
    second = await two.ask()

    assert 1 == len(world.network.asked)
    assert (1, 0.0, 1, 4.0) == (value(first), first.age, value(second), second.age)


async def test_nobody_takes_its_own_answer_for_news() -> None:
    """A tick that is a little early asks anew; what is asked once an interval stays so however many ask."""
    world = World()
    one, two = world.query(), world.query()
    for _ in range(5):
        await one.ask()
        world.now += 6
        await two.ask()
        world.now += 3.9

    assert 5 == len(world.network.asked)


async def test_answers_of_one_alone_are_not_kept() -> None:
    """Nor is anything of a query that nobody asks any more."""
    world = World()
    one = world.query()
    await one.ask()
    two = world.query()
    await two.ask()
    assert 2 == len(world.network.asked)

    await one.aclose()
    await two.aclose()
    await world.query().ask()
    assert 3 == len(world.network.asked)


@pytest.mark.parametrize(
    ("text", "more"),
    [
        pytest.param("down", {}, id="another query"),
        pytest.param("up", {"name": "other"}, id="another server"),
        pytest.param("up", {"limits": Limits(body_bytes=5)}, id="another limit: whose answer is too large must fail"),
    ],
)
async def test_what_is_not_alike_is_asked_twice(text: str, more: dict[str, Any]) -> None:
    """They share nothing."""
    world = World()
    one, two = world.query(), world.query(text, **more)
    await one.ask()
    await two.ask()

    assert 2 == len(world.network.asked)


async def test_an_old_answer_is_not_taken_for_a_new_one_where_the_server_fails() -> None:
    """Else each would hand the last good answer to the others for as long as the outage is, as if it were of now."""
    world = World()
    one, two = world.query(), world.query()
    await one.ask()
    world.now += 15
    world.network.fail = True

    for query in (one, two):
        with pytest.raises(CollectError):
            await query.ask()


async def test_a_clock_that_went_back_shares_nothing() -> None:
    """How old the answer is cannot be known."""
    world = World()
    one, two = world.query(), world.query()
    await one.ask()
    world.now -= 100
    await two.ask()

    assert 2 == len(world.network.asked)


async def test_who_asks_meanwhile_waits_for_the_answer() -> None:
    """One request for all of them."""
    world = World()
    gate = world.network.gates["main"] = asyncio.Event()
    queries = [world.query() for _ in range(20)]
    asking = [asyncio.ensure_future(query.ask()) for query in queries]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert 1 == len(world.network.asked)
    gate.set()

    assert {1} == {value(each) for each in await asyncio.gather(*asking)}
    assert 1 == len(world.network.asked)


async def test_who_is_stopped_while_it_asks_takes_nobody_along() -> None:
    """The next in turn asks itself."""
    world = World()
    gate = world.network.gates["main"] = asyncio.Event()
    one, two = world.query(), world.query()
    first = asyncio.ensure_future(one.ask())
    await asyncio.sleep(0)
    second = asyncio.ensure_future(two.ask())
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    gate.set()

    assert 2 == value(await second)


async def test_failures_are_not_shared() -> None:
    """Each has its own, and none of them a value."""
    world = World()
    world.network.fail = True
    one, two = world.query(), world.query()
    for query in (one, two):
        with pytest.raises(CollectError):
            await query.ask()
    world.network.fail = False

    assert 3 == value(await one.ask())


async def test_a_server_that_hangs_delays_only_itself() -> None:
    """All its turns are taken; the other one answers at once."""
    world = World(concurrency=2)
    world.network.gates["main"] = asyncio.Event()
    hanging = [asyncio.ensure_future(world.query(f"q{index}").ask()) for index in range(5)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    assert 3 == value(await world.query(name="other").ask())
    assert 2 == len([url for url in world.network.asked if url.startswith("http://main")])
    for each in hanging:
        each.cancel()
    await asyncio.gather(*hanging, return_exceptions=True)


async def test_the_deadline_is_the_askers() -> None:
    """It counts from when the turn is waited for."""
    world = World(concurrency=1)
    world.network.gates["main"] = asyncio.Event()
    for text in ("a", "b"):
        with pytest.raises(CollectError) as caught:
            await world.query(text, timeout=0.0).ask()
        assert Cause.DEADLINE is caught.value.cause
        assert "http://main/api/v1/query" in caught.value.message


async def test_a_token_that_expired_is_read_anew() -> None:
    """After a 401 the query is asked once more, with the token of now."""
    secrets = FakeSecrets(token="old")
    http = FakeHttp(lambda request: told("7") if ("Authorization", "Bearer new") in request.headers else answer("", status=401))

    async def read(given: Any) -> str:
        return "new" if secrets.refused else await secrets.read(given)

    own: Means = replace(means(http, secrets), secret=read)
    token = {"valueFrom": {"secretKeyRef": {"name": "token", "key": "t"}}}
    servers = Servers({"main": ServerSpec.model_validate({"url": "http://main", "auth": {"bearer": {"token": token}}})}, own)

    assert 7 == value(await servers.query("main", "up", own).ask())
    assert 2 == len(http.requests)
    await servers.aclose()
    assert 0 == http.open


async def test_a_declaration_names_a_server() -> None:
    """As its source; what it is called is all that people see of where it asks."""
    world = World()
    spec = PrometheusSpec.model_validate({"server": "main", "query": "up"})
    source = SOURCE.open(spec, replace(world.own, prometheus=world.servers.query))

    assert 1 == value(await source.collect())
    await source.aclose()
    assert ("prometheus main", ()) == (SOURCE.endpoint(spec), SOURCE.hosts(spec))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        pytest.param({}, "exactly one of server, url", id="neither"),
        pytest.param({"server": "main", "url": "http://p"}, "exactly one of server, url", id="both"),
        pytest.param({"server": "main", "method": "POST"}, "remove method", id="a named server brings its own method"),
    ],
)
def test_specs_that_are_none(said: dict[str, Any], words: str) -> None:
    """A server by its name or by its URL."""
    with pytest.raises(ValueError, match=words):
        PrometheusSpec.model_validate({"query": "up", **said})


async def test_without_the_file_there_are_no_names() -> None:
    """And the flag is told."""
    source = SOURCE.open(PrometheusSpec.model_validate({"server": "main", "query": "up"}), World().own)

    with pytest.raises(CollectError) as caught:
        await source.collect()
    assert "--prometheus-servers" in caught.value.remedy
