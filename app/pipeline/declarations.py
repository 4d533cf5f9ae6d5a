"""Finds what is declared and has it served: files are looked at each second, ConfigMaps are watched.

As long as nothing is declared nothing is loaded either: models, checks and expressions are imported when the first text is found.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import structlog

from app.clock import Clock
from app.declared.config_maps import ConfigMaps, declarations_in
from app.declared.files import Files
from app.declared.tenants import Tenant, TenantsError, TenantsFile
from app.declared.texts import Text
from app.kube.client import KubeClient
from app.kube.decode import ConfigMapRecord
from app.kube.reflector import Reflector
from app.pipeline.apart import Apart
from app.pipeline.supervise import Children

LOOK_S = 1.0
"""Between two looks at the files, and how long what was found has to stay as it is before it counts: editors write in several steps."""

_MOST_LOOKS = 5
"""A text that changes all the time is taken as it is after so many looks."""

AGAIN_S = 30.0
"""After a load that could not find out what the cluster serves it is tried anew."""

log = structlog.get_logger(__name__)


class Engine(Protocol):
    """What makes served kinds of texts."""

    async def apply(self, texts: Sequence[Text], tenants: dict[str, Tenant]) -> bool:
        """Serve what is good of `texts`. False where it should be tried again, though nothing changed."""
        ...


@dataclass(frozen=True)
class Places:
    """Where declarations are looked for: files and folders, the tenants' file, and, of ConfigMaps, kubeglance's own namespace ("" for
    none)."""

    paths: tuple[Path, ...] = ()
    tenants: Path | None = None
    namespace: str = ""


class Declarations:
    """Keeps what is served equal to what is declared. `run` never returns."""

    def __init__(
        self,
        places: Places,
        client: KubeClient,
        clock: Clock,
        *,
        apart: Apart,
        children: Children,
        engine: Callable[[], Engine],
    ) -> None:
        """`children` run the watches of ConfigMaps. `engine` makes the Engine; it is called in a thread, once, and takes a while."""
        self._places = places
        self._client = client
        self._clock = clock
        self._apart = apart
        self._children = children
        self._make_engine = engine
        self._engine: Engine | None = None
        self._files = Files(places.paths, clock.wall)
        self._config_maps: dict[str, tuple[ConfigMaps, Reflector[ConfigMapRecord]]] = {}
        self._tenants_file = TenantsFile(places.tenants, clock.wall) if places.tenants is not None else None
        self._tenants: dict[str, Tenant] = {}
        self._warned: set[str] = set()
        self._news = asyncio.Event()
        self._forced = False
        self.read_once = asyncio.Event()
        """Set when all that was declared at the start was read, whatever came of it."""

    def reload(self) -> None:
        """Read everything now, changed or not."""
        self._forced = True
        self._news.set()

    async def run(self) -> None:
        """Look, load what changed, wait for news; for ever."""
        await self._read_tenants()
        self._follow()
        for _, reflector in list(self._config_maps.values()):
            await reflector.tried.wait()
        taken: tuple[Sequence[Text], dict[str, Tenant]] | None = None
        again: float | None = None
        """When a load that was not sure is to be tried anew (monotonic seconds)."""
        while True:
            self._news.clear()
            found = await self._look()
            if taken is not None and found != taken and not self._forced:
                found = await self._settled(found)
            if found != taken or self._forced or (again is not None and self._clock.monotonic() >= again):
                self._forced = False
                again = None if await self._load(*found) else self._clock.monotonic() + AGAIN_S
                taken = found
            self.read_once.set()
            await self._wait(again)

    async def _load(self, texts: Sequence[Text], tenants: dict[str, Tenant]) -> bool:
        if self._engine is None:
            if not texts:
                return True
            self._engine = await self._apart(self._make_engine)
        try:
            return await self._engine.apply(texts, tenants)
        except Exception:
            log.exception("declarations cannot be taken, what is served stays; please report it")
            return False

    async def _look(self) -> tuple[Sequence[Text], dict[str, Tenant]]:
        """All texts and tenants of now."""
        if self._places.tenants is not None:
            await self._read_tenants()
            self._follow()
        texts: list[Text] = []
        if self._places.paths:
            texts += await self._apart(self._files.look)
            missing = await self._apart(self._files.missing)
            self._warn({f"--declarations: {path} does not exist" for path in missing}, "--declarations")
        for namespace in sorted(self._config_maps, key=lambda name: (name != self._places.namespace, name)):
            texts += self._config_maps[namespace][0].texts()
        return texts, self._tenants

    async def _settled(self, found: tuple[Sequence[Text], dict[str, Tenant]]) -> tuple[Sequence[Text], dict[str, Tenant]]:
        """What is found once it stays the same for a moment."""
        for _ in range(_MOST_LOOKS):
            await asyncio.sleep(LOOK_S)
            before, found = found, await self._look()
            if found == before:
                break
        return found

    async def _wait(self, again: float | None) -> None:
        """Until there are news, or there may be."""
        polls = bool(self._places.paths) or self._places.tenants is not None
        longest = LOOK_S if polls else None if again is None else max(0.0, again - self._clock.monotonic())
        try:
            async with asyncio.timeout(longest):
                await self._news.wait()
        except TimeoutError:
            pass

    async def _read_tenants(self) -> None:
        """The tenants of now; those of before while the file cannot be used."""
        if self._tenants_file is None:
            return
        try:
            self._tenants = await self._apart(self._tenants_file.read)
        except TenantsError as exc:
            self._warn({f"--tenants: {self._places.tenants}: {line}" for line in str(exc).splitlines()}, "--tenants")
        else:
            self._warn(set(), "--tenants")

    def _follow(self) -> None:
        """Watch the ConfigMaps of kubeglance's own namespace and of every tenant's, and of no other."""
        own = self._places.namespace
        wanted = {own, *self._tenants} if own else set()
        for namespace in self._config_maps.keys() - wanted:
            del self._config_maps[namespace]
            self._children.stop(namespace)
            self._news.set()
        for namespace in wanted - self._config_maps.keys():
            store = ConfigMaps(namespace, own=namespace == own, changed=self._news.set)
            reflector = Reflector(self._client, declarations_in(namespace), store, self._clock)
            self._config_maps[namespace] = (store, reflector)
            self._children.start(namespace, reflector.run)

    def _warn(self, lines: set[str], about: str) -> None:
        """Each fault once, as long as it lasts."""
        for line in sorted(lines - self._warned):
            log.warning(line)
        self._warned = {line for line in self._warned if not line.startswith(f"{about}:")} | lines
