"""Discovery: what is served, told from descriptions of it. Bytes in memory at any moment; no source is ever asked.

/apis answers an APIGroupList, or by Accept the aggregated form (KEP-3352) with ETag and 304.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from app.routes.descriptions import Description, Descriptions, GroupVersion, by_group_version, same, versions_of
from app.routes.documents import Document, make_document, negotiated, tagged
from app.routes.respond import Answer, Scope, joined_header
from app.wire.accept import JSON, Target, parse_accept, target_of
from app.wire.status import unknown_path

_AGGREGATED_VERSIONS = ("v2", "v2beta1")


class _Part(msgspec.Struct, frozen=True):
    """What discovery says of one group version: its own document, and its part in the aggregated ones."""

    descriptions: tuple[Description, ...]
    resources: Document
    aggregated: Raw


class Discovery:
    """The discovery documents of what is described, made anew with each change of it, and the answers to requests for them."""

    def __init__(self, descriptions: Descriptions) -> None:
        self._descriptions = descriptions
        self._parts: dict[GroupVersion, _Part] = {}
        descriptions.on_change(self._take)
        self._take()

    def _take(self) -> None:
        """Make what changed; a group version whose descriptions stayed keeps its bytes."""
        before = self._parts
        parts = {}
        for at, described in by_group_version(self._descriptions.current()).items():
            known = before.get(at)
            parts[at] = known if known is not None and same(known.descriptions, described) else _part(*at, described)
        groups = versions_of(parts)
        objects = {group: _group(group, versions) for group, versions in groups.items()}
        self._parts = parts
        self._list = make_document({"kind": "APIGroupList", "apiVersion": "v1", "groups": list(objects.values())})
        self._groups = {group: make_document({"kind": "APIGroup", "apiVersion": "v1", **value}) for group, value in objects.items()}
        self._aggregated = {version: make_document(_aggregated(version, groups, parts)) for version in _AGGREGATED_VERSIONS}

    async def all_groups(self, scope: Scope) -> Answer:
        """GET /apis."""
        version = _aggregated_version(joined_header(scope, b"accept"))
        if version:
            content_type = f"{JSON};g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
            return tagged(scope, self._aggregated[version], (("vary", "Accept"), ("cache-control", "public")), content_type)
        answer = negotiated(scope, self._list)
        return Answer(answer.status, answer.body, answer.content_type, (("vary", "Accept"),))

    async def group(self, scope: Scope) -> Answer:
        """GET /apis/GROUP."""
        document = self._groups.get(scope["path_params"]["group"])
        if document is None:
            raise unknown_path()
        return negotiated(scope, document)

    async def resources(self, scope: Scope) -> Answer:
        """GET /apis/GROUP/VERSION."""
        params = scope["path_params"]
        part = self._parts.get((params["group"], params["version"]))
        if part is None:
            raise unknown_path()
        return negotiated(scope, part.resources)


def _aggregated_version(accept: str) -> str:
    """The version of the aggregated form that is asked for, "" for the old form."""
    for clause in parse_accept(accept):
        target = target_of(clause)
        is_json = (clause.type, clause.subtype) in {("application", "json"), ("application", "*"), ("*", "*")}
        if target and is_json and target in _AGGREGATED_TARGETS:
            return target.version
    return ""


_AGGREGATED_TARGETS = {Target("APIGroupDiscoveryList", "apidiscovery.k8s.io", version) for version in _AGGREGATED_VERSIONS}


def _group(group: str, versions: Sequence[str]) -> dict[str, Any]:
    entries = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    return {"name": group, "versions": entries, "preferredVersion": entries[0]}


def _part(group: str, version: str, descriptions: tuple[Description, ...]) -> _Part:
    resources = {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/{version}",
        "resources": [resource for each in descriptions for resource in each.resources(version)],
    }
    aggregated = {
        "version": version,
        "resources": [resource for each in descriptions for resource in each.aggregated(version)],
        "freshness": "Current",
    }
    return _Part(descriptions, make_document(resources), Raw(msgspec.json.encode(aggregated)))


def _aggregated(version: str, groups: Mapping[str, Sequence[str]], parts: Mapping[GroupVersion, _Part]) -> dict[str, Any]:
    items = [
        {"metadata": {"name": group}, "versions": [parts[group, served].aggregated for served in versions]}
        for group, versions in groups.items()
    ]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": f"apidiscovery.k8s.io/{version}", "metadata": {}, "items": items}
