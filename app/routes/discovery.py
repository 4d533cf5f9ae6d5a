"""Discovery: what is served, told from the declared kinds. Bytes in memory from construction on; no source is ever asked.

/apis answers an APIGroupList, or by Accept the aggregated form (KEP-3352) with ETag and 304.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from app.kinds._base import Kind
from app.routes.documents import Document, groups_of, make_document, negotiated, tagged
from app.routes.respond import Answer, Scope, joined_header
from app.wire.accept import JSON, Target, parse_accept, target_of
from app.wire.status import unknown_path

_AGGREGATED_VERSIONS = ("v2", "v2beta1")


class Discovery:
    """The discovery documents of some kinds, and the answers to requests for them."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        groups = groups_of(kinds)
        group_objects = {group: _group(group, versions) for group, versions in groups.items()}
        self._list = make_document({"kind": "APIGroupList", "apiVersion": "v1", "groups": list(group_objects.values())})
        self._groups = {group: make_document({"kind": "APIGroup", "apiVersion": "v1", **value}) for group, value in group_objects.items()}
        self._resources = {
            (group, version): make_document(_resource_list(group, version, kinds))
            for group, versions in groups.items()
            for version in versions
        }
        self._aggregated = {version: make_document(_aggregated(version, groups, kinds)) for version in _AGGREGATED_VERSIONS}

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
        return negotiated(scope, _known(self._groups.get(scope["path_params"]["group"])))

    async def resources(self, scope: Scope) -> Answer:
        """GET /apis/GROUP/VERSION."""
        params = scope["path_params"]
        return negotiated(scope, _known(self._resources.get((params["group"], params["version"]))))


def _known(document: Document | None) -> Document:
    if document is None:
        raise unknown_path()
    return document


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


def _resource_list(group: str, version: str, kinds: Sequence[Kind]) -> dict[str, Any]:
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/{version}",
        "resources": [_resource(kind) for kind in _in_version(group, version, kinds)],
    }


def _resource(kind: Kind) -> dict[str, Any]:
    resource: dict[str, Any] = {
        "name": kind.resource,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        resource["shortNames"] = list(kind.short_names)
    if kind.categories:
        resource["categories"] = list(kind.categories)
    return resource


def _aggregated(version: str, groups: Mapping[str, Sequence[str]], kinds: Sequence[Kind]) -> dict[str, Any]:
    items = [
        {
            "metadata": {"name": group},
            "versions": [
                {
                    "version": served,
                    "resources": [_aggregated_resource(kind, served) for kind in _in_version(group, served, kinds)],
                    "freshness": "Current",
                }
                for served in versions
            ],
        }
        for group, versions in groups.items()
    ]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": f"apidiscovery.k8s.io/{version}", "metadata": {}, "items": items}


def _aggregated_resource(kind: Kind, version: str) -> dict[str, Any]:
    resource: dict[str, Any] = {
        "resource": kind.resource,
        "responseKind": {"group": kind.group, "version": version, "kind": kind.kind},
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        resource["shortNames"] = list(kind.short_names)
    if kind.categories:
        resource["categories"] = list(kind.categories)
    return resource


def _in_version(group: str, version: str, kinds: Sequence[Kind]) -> list[Kind]:
    served = [kind for kind in kinds if kind.group == group and version in kind.versions]
    return sorted(served, key=lambda kind: kind.resource)
