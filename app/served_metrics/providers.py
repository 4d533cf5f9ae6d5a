"""Who serves metrics: each provider knows some, and the first that knows the one that is asked for answers."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Protocol

import structlog
from msgspec.structs import replace

from app.served_metrics.values import NAMESPACES, Absent, Answer, Entry, Question, Resource, State

_log = structlog.get_logger(__name__)


class Provider(Protocol):
    """Serves some metrics. A new one is registered in app/main.py."""

    @property
    def name(self) -> str:
        """For people: what of the configuration it stands for."""
        ...

    def entries(self) -> Sequence[Entry]:
        """All that it serves, from memory: it never waits, and never asks a source."""
        ...

    async def answer(self, question: Question) -> Answer | Absent | None:
        """The series, or why there are none. May wait, bounded, for a first value.

        None for a metric that it does not know. Absent that is not `known` says as much, with a reason of its own: others are asked too.
        """
        ...

    def state(self, entry: Entry) -> State:
        """How one of its metrics is, from memory."""
        ...


class Answering(Protocol):
    """Part of a Provider."""

    async def answer(self, question: Question) -> Answer | Absent | None: ...


async def first_answer(asked: Iterable[Answering], question: Question) -> Answer | Absent | None:
    """What the first says that knows the metric; else the first reason why one does not, None if nobody gives one."""
    unknown: Absent | None = None
    for each in asked:
        found = await each.answer(question)
        if isinstance(found, Absent) and not found.known:
            unknown = unknown or found
        elif found is not None:
            return found
    return unknown


class Registry:
    """All providers, in order of preference. Listeners hear when what is served changes; a provider says so by calling `changed`."""

    def __init__(self, name: Callable[[Resource], Awaitable[Resource]] | None = None) -> None:
        """`name` gives the resource that a path names in the plural, whichever of its names the path uses."""
        self._name = name
        self._providers: list[Provider] = []
        self._entries: tuple[Entry, ...] = ()
        self._owners: dict[Entry, Provider] = {}
        self._resources: set[Resource | None] = set()
        self._clashes: set[Entry] = set()
        self.listeners: list[Callable[[], None]] = []

    def add(self, provider: Provider) -> None:
        """Have a provider asked after those that were added before."""
        self._providers.append(provider)
        self.changed()

    def entries(self) -> tuple[Entry, ...]:
        """Each metric once, by API, resource and name."""
        return self._entries

    def changed(self) -> None:
        """Look anew at what is served."""
        owners: dict[tuple[str, str], tuple[Entry, Provider]] = {}
        clashes: set[Entry] = set()
        for provider in self._providers:
            for entry in provider.entries():
                taken, owner = owners.setdefault((entry.api, entry.discovery_name), (entry, provider))
                if owner is not provider:
                    clashes.add(entry)
                    if entry not in self._clashes:
                        _log.warning(
                            "two serve one metric: the first answers",
                            metric=entry.discovery_name,
                            first=taken.provider,
                            second=entry.provider,
                        )
        self._clashes = clashes
        self._owners = dict(owners[key] for key in sorted(owners))
        self._resources = {entry.resource for entry in self._owners}
        entries = tuple(self._owners)
        if entries != self._entries:
            self._entries = entries
            for listener in self.listeners:
                listener()

    def states(self) -> Iterator[tuple[Entry, State]]:
        """Each metric, and how it is now."""
        for entry, provider in self._owners.items():
            yield entry, provider.state(entry)

    async def answer(self, question: Question) -> Answer | Absent:
        """What the first provider says that knows the metric; else the first reason why one does not."""
        if self._name is not None and question.resource is not None and question.resource not in self._resources:
            resource = await self._name(question.resource)
            if resource != question.resource:
                question = replace(question, resource=resource)
        if question.resource == NAMESPACES and question.namespace and question.name != question.namespace:
            # The right to a path of one namespace, and an HPA in it, must not lead to what is told of others.
            return Absent(f"of the namespaces a path in {question.namespace} leads to {question.namespace} only")
        found = await first_answer(self._providers, question)
        return found or Absent(f"nothing serves {question.metric}{_of(question)}", known=False)


def _of(question: Question) -> str:
    """What a metric is asked of, in words."""
    return " as an external metric" if question.resource is None else f" of {question.resource}"
