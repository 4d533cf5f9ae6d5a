"""What discovery, OpenAPI and the index tell of what is served, whatever answers requests for it: kinds, and metrics for the HPA."""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from app.wire.api_versions import preference

GroupVersion = tuple[str, str]


class Description(Protocol):
    """What is told of one kind, or of the metrics of one API. It never changes: what changed has another one."""

    @property
    def group(self) -> str: ...

    @property
    def versions(self) -> Sequence[str]: ...

    @property
    def name(self) -> str:
        """Its place among the others of a group version."""
        ...

    def resources(self, version: str) -> list[dict[str, Any]]:
        """APIResources of an APIResourceList (meta/v1)."""
        ...

    def aggregated(self, version: str) -> list[dict[str, Any]]:
        """APIResourceDiscoveries of an APIGroupDiscoveryList (apidiscovery.k8s.io/v2)."""
        ...

    def paths(self, version: str, *, version_3: bool) -> Mapping[str, Any]:
        """Path items of OpenAPI v2 or v3, by path."""
        ...

    def models(self, version: str, *, version_3: bool) -> Mapping[str, Any]:
        """Schemas of OpenAPI v2 or v3, by name."""
        ...


class Descriptions(Protocol):
    """A source of descriptions: bytes in memory at any moment. It never waits, and never asks anybody."""

    def current(self) -> tuple[Description, ...]:
        """All that is served now; what has not changed is the very same object as before."""
        ...

    def on_change(self, listener: Callable[[], None]) -> None:
        """Have `listener` called after each change."""
        ...


class Together:
    """Several sources as one."""

    def __init__(self, sources: Sequence[Descriptions]) -> None:
        self._sources = tuple(sources)

    def current(self) -> tuple[Description, ...]:
        return tuple(description for source in self._sources for description in source.current())

    def on_change(self, listener: Callable[[], None]) -> None:
        for source in self._sources:
            source.on_change(listener)


def by_group_version(descriptions: Iterable[Description]) -> dict[GroupVersion, tuple[Description, ...]]:
    """What each group and version has. Groups by name, versions preferred first: the same however descriptions came in."""
    found: dict[GroupVersion, list[Description]] = {}
    for description in descriptions:
        for version in description.versions:
            found.setdefault((description.group, version), []).append(description)
    order = sorted(found, key=lambda at: (at[0], preference(at[1])))
    return {at: tuple(sorted(found[at], key=lambda description: description.name)) for at in order}


def versions_of(groups: Iterable[GroupVersion]) -> dict[str, list[str]]:
    """The versions of each group, in the order of `groups`."""
    versions: dict[str, list[str]] = {}
    for group, version in groups:
        versions.setdefault(group, []).append(version)
    return versions


def same(some: Sequence[Description] | None, others: Sequence[Description]) -> bool:
    """Whether these are the very same, so that what was made of them is still right."""
    return some is not None and len(some) == len(others) and all(map(operator.is_, some, others))
