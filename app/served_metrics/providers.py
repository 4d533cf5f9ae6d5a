"""Who serves metrics: each provider knows some, and the first that knows the one that is asked for answers."""

from collections.abc import Callable, Sequence
from typing import Protocol

import structlog

from app.served_metrics.values import Absent, Answer, Entry, Question

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


class Registry:
    """All providers, in order of preference. Listeners hear when what is served changes; a provider says so by calling `changed`."""

    def __init__(self) -> None:
        self._providers: list[Provider] = []
        self._entries: tuple[Entry, ...] = ()
        self._clashes: frozenset[Entry] = frozenset()
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
        first: dict[tuple[str, str], Entry] = {}
        all_entries = [entry for provider in self._providers for entry in provider.entries()]
        clashes = [entry for entry in all_entries if first.setdefault((entry.api, entry.discovery_name), entry) is not entry]
        for entry in clashes:
            if entry not in self._clashes:
                taken = first[entry.api, entry.discovery_name].provider
                _log.warning("two serve one metric: the first answers", metric=entry.discovery_name, first=taken, second=entry.provider)
        self._clashes = frozenset(clashes)
        entries = tuple(first[key] for key in sorted(first))
        if entries != self._entries:
            self._entries = entries
            for listener in self.listeners:
                listener()

    async def answer(self, question: Question) -> Answer | Absent:
        """What the first provider says that knows the metric; else the first reason why one does not."""
        unknown: Absent | None = None
        for provider in self._providers:
            found = await provider.answer(question)
            if isinstance(found, Absent) and not found.known:
                unknown = unknown or found
            elif found is not None:
                return found
        return unknown or Absent(f"nothing serves {question.metric}{_of(question)}", known=False)


def _of(question: Question) -> str:
    """What a metric is asked of, in words."""
    return " as an external metric" if question.resource is None else f" of {question.resource}"
