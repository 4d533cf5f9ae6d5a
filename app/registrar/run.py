"""The registrar's loop: look at what is there, renew what is due, write what is missing, tell what could not be done, and again.

It keeps no state of its own but what it has told already: a registrar that is started anew goes on where the last one ended.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import structlog

from app.clock import Clock
from app.errors import KubeError, KubeglanceError
from app.registrar.cluster import Cluster, is_conflict
from app.registrar.events import Invalid, event_of
from app.registrar.registration import API_SERVICE, Action, Group, Install, Manifest, Ref, Refusal, of_existing, plan, ref
from app.registrar.rotation import Holdings, Lifetimes, advance
from app.registrar.status import REGISTERED, Failure, status_of

LOOK_S = 5.0
GONE_S = 10.0
"""A group must have been gone for this long before its APIService goes too: a replica that has just started may not know all yet."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Served:
    """What kubeglance answers: the groups of its discovery, and the declarations that it could not take."""

    groups: Sequence[Group]
    invalid: Sequence[Invalid] = ()


Ask = Callable[[bytes], Awaitable[Served]]
"""Asks kubeglance what it serves, verified by this bundle. Raises KubeError."""


class Registrar:
    """`run` goes on for ever; `look` is one round of it."""

    def __init__(self, cluster: Cluster, ask: Ask, install: Install, *, lifetimes: Lifetimes, names: Sequence[str], clock: Clock) -> None:
        """`names` are those of the serving certificate."""
        self._cluster = cluster
        self._ask = ask
        self._install = install
        self._lifetimes = lifetimes
        self._names = names
        self._clock = clock
        self._absent: dict[str, float] = {}
        """Since when (monotonic) a group that is registered has been served no more."""
        self._told: dict[str, str] = {}
        """What was logged last of each matter, so that it is logged once."""
        self._events: set[Invalid] = set()

    async def run(self) -> None:
        """Look again and again."""
        while True:
            try:
                await self.look()
            except KubeglanceError as error:
                self._tell("look", str(error))
            else:
                self._tell("look", "")
            await asyncio.sleep(LOOK_S)

    async def look(self) -> None:
        """One round. Raises KubeError where nothing at all can be done; what goes wrong with one object costs that object."""
        existing = await self._cluster.existing()
        if await self._cluster.namespace_ends():
            await self.remove()
            return
        holdings = await self._renewed(existing)
        served = await self._served(holdings)
        groups = self._still_served(served.groups, existing) if served is not None else of_existing(existing, self._install)
        todo = plan(groups, existing, self._install, holdings.bundle, keep=served is None)
        failed = [failure for action in todo.actions if (failure := await self._act(action)) is not None]
        await self._report(groups, todo.refused, failed)
        if served is not None:
            await self._make_events(served.invalid)

    async def remove(self) -> None:
        """Take away all that was registered, APIServices first. Raises KubeError."""
        existing = await self._cluster.existing()
        for action in plan((), existing, self._install, b"").actions:
            await self._cluster.act(action)
            _log.info("removed", kind=ref(action.manifest)[0], name=ref(action.manifest)[1])

    async def _renewed(self, existing: Mapping[Ref, Manifest]) -> Holdings:
        """The certificates after what is due, written."""
        holdings = await self._cluster.holdings()
        published = bool(holdings.next) and self._is_published(existing, holdings)
        renewed = advance(holdings, clock=self._clock, names=self._names, lifetimes=self._lifetimes, published=published)
        if renewed != holdings:
            await self._cluster.keep(renewed)
            _log.info("certificates renewed", **_changes(holdings, renewed))
        return renewed

    def _is_published(self, existing: Mapping[Ref, Manifest], holdings: Holdings) -> bool:
        """Whether every APIService of ours has the bundle already."""
        groups = of_existing(existing, self._install)
        wanted = plan(groups, existing, self._install, holdings.bundle, keep=True)
        return not any(ref(action.manifest)[0] == API_SERVICE for action in wanted.actions)

    async def _served(self, holdings: Holdings) -> Served | None:
        try:
            served = await self._ask(holdings.bundle)
        except KubeError as error:
            self._tell("ask", f"kubeglance does not tell what it serves, so nothing is registered or removed: {error}")
            return None
        self._tell("ask", "")
        return served

    def _still_served(self, groups: Sequence[Group], existing: Mapping[Ref, Manifest]) -> list[Group]:
        """The groups that are served, and those that have not been gone for long."""
        now = self._clock.monotonic()
        names = {group.name for group in groups}
        lingering = [group for group in of_existing(existing, self._install) if group.name not in names]
        self._absent = {group.name: self._absent.get(group.name, now) for group in lingering}
        return [*groups, *(group for group in lingering if now - self._absent[group.name] < GONE_S)]

    async def _act(self, action: Action) -> Failure | None:
        kind, name = ref(action.manifest)
        try:
            await self._cluster.act(action)
        except KubeError as error:
            if not is_conflict(error):
                return Failure(action, error)
        else:
            _log.info({"create": "created", "replace": "changed", "delete": "removed"}[action.verb], kind=kind, name=name)
        return None

    async def _report(self, groups: Sequence[Group], refused: Sequence[Refusal], failed: Sequence[Failure]) -> None:
        """Say in the log, once, and in the ConfigMap what is registered, what is refused, and what an administrator must do."""
        status = status_of(groups, refused, failed)
        for name, text in status.state.items():
            self._tell(name, "" if text == REGISTERED else f"{name}: {text}")
        for name, role in status.todo.items():
            self._tell(f"role {name}", f"an administrator must make this role:\n{role}")
        try:
            await self._cluster.tell(status.data())
        except KubeError as error:
            self._tell("status", f"cannot write the status: {error}")

    async def _make_events(self, invalid: Sequence[Invalid]) -> None:
        """An Event for each declaration that was newly found to be wrong."""
        for fault in invalid:
            if fault in self._events:
                continue
            try:
                await self._cluster.event(event_of(fault, self._install, self._clock.wall()))
            except KubeError as error:
                if not is_conflict(error):  # else it was made before
                    self._tell("events", f"cannot make an Event: {error}")
                    return
        self._events = set(invalid)

    def _tell(self, matter: str, text: str) -> None:
        """Log a matter when it changes; an empty text ends it."""
        if text and self._told.get(matter) != text:
            _log.warning(text)
        self._told[matter] = text


def _changes(before: Holdings, after: Holdings) -> dict[str, bool]:
    """What changed, for the log."""
    return {name: True for name in ("current", "next", "previous", "leaf") if getattr(before, name) != getattr(after, name)}
