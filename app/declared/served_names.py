"""What the cluster serves beside us: whose each API group is, and which names kubectl knows already."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from app.errors import KubeError
from app.kube.client import KubeClient

_API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
_AT_A_TIME = 4


class ServedNames(Struct, frozen=True):
    """`groups` has who serves each group that is not ours, in words; `names` the resource that kubectl takes for each plural, singular
    and short name, of those groups."""

    groups: Mapping[str, str]
    names: Mapping[str, str]


async def served_names(client: KubeClient, *, namespace: str, service: str) -> ServedNames:
    """Ask kube-apiserver. Ours are the groups whose every APIService leads to our own Service. Raises KubeError.

    A group that cannot be asked for its resources now has none: it is known whose it is all the same.
    """
    listed = await client.get_json(_API_SERVICES)
    groups = _groups(_objects(listed, "items"), {"namespace": namespace, "name": service})
    paths = [("", "/api/v1"), *sorted(_paths(_objects(await client.get_json("/apis"), "groups"), groups))]
    turns = asyncio.Semaphore(_AT_A_TIME)

    async def ask(group: str, path: str) -> list[tuple[str, str]]:
        async with turns:
            try:
                return list(_names(group, _objects(await client.get_json(path), "resources")))
            except KubeError:
                return []

    found = await asyncio.gather(*(ask(group, path) for group, path in paths))
    names: dict[str, str] = {}
    for name, resource in (pair for pairs in found for pair in pairs):
        names.setdefault(name, resource)
    return ServedNames(groups, names)


def _groups(api_services: Iterable[Mapping[str, Any]], own: Mapping[str, str]) -> dict[str, str]:
    groups: dict[str, str] = {}
    for each in api_services:
        spec = each.get("spec")
        group = spec.get("group") if isinstance(spec, dict) else None
        if not isinstance(spec, dict) or not isinstance(group, str) or not group:
            continue
        service = spec.get("service")
        if not isinstance(service, dict):
            groups.setdefault(group, "kube-apiserver (built in, or by a CustomResourceDefinition)")
        elif any(service.get(key) != value for key, value in own.items()):
            groups[group] = f"the Service {service.get('namespace')}/{service.get('name')}"
    return groups


def _paths(discovered: Iterable[Mapping[str, Any]], groups: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Where the resources of each group are, in the version that kubectl prefers."""
    for each in discovered:
        preferred = each.get("preferredVersion")
        version = preferred.get("groupVersion") if isinstance(preferred, dict) else None
        if each.get("name") in groups and isinstance(version, str):
            yield str(each["name"]), f"/apis/{version}"


def _names(group: str, resources: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for each in resources:
        plural, short = each.get("name"), each.get("shortNames")
        if isinstance(plural, str) and "/" not in plural:
            full = f"{plural}.{group}" if group else plural
            named = [plural, each.get("singularName"), *(short if isinstance(short, list) else [])]
            yield from ((name, full) for name in named if isinstance(name, str) and name)


def _objects(answer: Any, field: str) -> Iterator[Mapping[str, Any]]:
    found = answer.get(field) if isinstance(answer, dict) else None
    return (each for each in (found if isinstance(found, list) else []) if isinstance(each, dict))
