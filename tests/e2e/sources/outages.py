"""What must hold of a kind that is served while its source is killed or stands still, and comes back."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.declared import items
from tests.e2e.sources.server import Server
from tests.e2e.stage import Stage

TIMES = {"interval": "2s", "timeout": "1500ms", "ttl": "12s"}
"""How often a declaration asks, so that its objects' time ends while a test waits."""

OUTAGES = ("killed", "frozen")


@dataclass(frozen=True)
class Served:
    """A kind that is served from a server: the declaration's name, where its objects are listed, how many there are.

    `figure` is a field of their status that does not change while nobody changes what the server holds.
    """

    name: str
    path: str
    server: Server
    stage: Stage
    count: int
    figure: str

    def objects(self) -> dict[str, dict[str, Any]]:
        """Status of each object, by name."""
        return {item["metadata"]["name"]: item["status"] for item in items(self.stage, self.path)}

    def figures(self, objects: dict[str, dict[str, Any]]) -> dict[str, Any]:
        """The figure of each object."""
        return {name: status.get(self.figure) for name, status in objects.items()}

    def collector(self) -> dict[str, Any]:
        """What the kind Collector tells of the source."""
        answer = self.stage.plane.kubectl("get", "collectors", self.name, "-o", "json").stdout
        status: dict[str, Any] = json.loads(answer)["status"]
        return status

    def causes(self) -> list[str]:
        """The causes that are told now."""
        return [target["cause"] for target in self.collector().get("targets", [])]

    def wait_until_good(self) -> dict[str, dict[str, Any]]:
        """Until all objects are there and fresh."""

        def look() -> dict[str, dict[str, Any]] | None:
            found = self.objects()
            return found if len(found) == self.count and {fresh(status) for status in found.values()} == {"True"} else None

        return wait_until(f"fresh objects of {self.name}", look, seconds=90)


def fresh(status: dict[str, Any]) -> str:
    """The condition Fresh."""
    return str(next(each["status"] for each in status["conditions"] if each["type"] == "Fresh"))


def _stale(objects: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]] | None:
    """The objects, if there are some and none is fresh."""
    return objects if {fresh(each) for each in objects.values()} == {"False"} else None


def go_through(outage: str, served: Served, other: Served, *, secret: str, after: Callable[[], None] = lambda: None) -> None:
    """Values and times stay until their time to live ends, then the objects go. `other` stays as it is. The kind Collector tells why.

    `after` fills a server that forgot what it held when it was killed.
    """
    good = served.wait_until_good()
    if outage == "killed":
        served.server.kill()
    else:
        served.server.freeze()
    try:
        causes = {"dial", "closed"} if outage == "killed" else {"deadline"}
        wait_until(f"a cause of {causes}", lambda: causes & set(served.causes()), seconds=60)
        stale = wait_until("stale objects", lambda: _stale(served.objects()), seconds=30)
        assert served.figures(good) == served.figures(stale)
        assert stale == served.objects()  # their time stays too
        assert served.collector()["state"] == "Failing"
        assert secret not in json.dumps(served.collector())
        untouched = other.wait_until_good()

        wait_until("the end of their time", lambda: not served.objects(), seconds=60)
        later = other.wait_until_good()
        assert max(status["observedAt"] for status in later.values()) > max(status["observedAt"] for status in untouched.values())
    finally:
        if outage == "killed":
            served.server.start()
            after()
        else:
            served.server.thaw()
    # A server that counts, as RabbitMQ does, needs a while until it tells what it told before.
    wait_until("the figures of before", lambda: served.figures(good) == served.figures(served.wait_until_good()), seconds=90)
