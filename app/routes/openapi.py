"""OpenAPI v2 and v3 of the declared kinds: made once, the same bytes every time, listing our own groups only."""

from collections.abc import Sequence
from email.utils import formatdate
from typing import Any

from app.clock import Clock
from app.kinds._base import Kind
from app.routes.documents import groups_of, make_document, tagged
from app.routes.respond import Answer, Scope, joined_header, query_of
from app.routes.schemas import group_version_kind, kind_schemas, meta_schemas, model_name
from app.wire.accept import JSON, PROTOBUF, accepts_json
from app.wire.query import parse_query
from app.wire.status import unknown_path

_YEAR = 365 * 24 * 3600
_V2_REFS, _V3_REFS = "#/definitions/", "#/components/schemas/"

_QUERY_PARAMETERS = (
    ("labelSelector", "string", "Selects objects by their labels."),
    ("fieldSelector", "string", "Selects objects by metadata.name and metadata.namespace."),
    ("limit", "integer", "The most objects of one page; the answer then has a token for the next."),
    ("continue", "string", "The token of the page before."),
    ("resourceVersion", "string", "The version that the answer must not be older than, or must be, as resourceVersionMatch says."),
    ("resourceVersionMatch", "string", "NotOlderThan or Exact."),
)
_PATH_PARAMETERS = {"namespace": "Namespace of the objects.", "name": "Name of the object."}


class OpenApi:
    """The OpenAPI documents of some kinds, and the answers to requests for them."""

    def __init__(self, kinds: Sequence[Kind], clock: Clock, version: str) -> None:
        self._clock = clock
        info = {"title": "kubeglance", "version": version}
        groups = groups_of(kinds)
        pairs = [(group, served) for group, versions in groups.items() for served in versions]
        self._documents = {f"apis/{group}/{served}": make_document(_v3(info, group, served, kinds)) for group, served in pairs}
        self._v2 = make_document(_v2(info, kinds))
        self._root = make_document(
            {
                "paths": {
                    path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={document.etag.strip(chr(34))}"}
                    for path, document in self._documents.items()
                }
            }
        )

    async def v2(self, scope: Scope) -> Answer:
        """GET /openapi/v2."""
        if not accepts_json(joined_header(scope, b"accept")):
            return _not_acceptable()
        return tagged(scope, self._v2, (("vary", "Accept"),))

    async def v3_root(self, scope: Scope) -> Answer:
        """GET /openapi/v3: where the document of each group version is."""
        return tagged(scope, self._root)

    async def v3(self, scope: Scope) -> Answer:
        """GET /openapi/v3/apis/GROUP/VERSION.

        A document named by its hash never changes. Another hash gets the current document: the aggregator refuses redirects.
        """
        document = self._documents.get(scope["path_params"]["document"])
        if document is None:
            raise unknown_path()
        if not accepts_json(joined_header(scope, b"accept")):
            return _not_acceptable()
        headers = [("vary", "Accept")]
        if parse_query(query_of(scope)).get("hash") == document.etag.strip('"'):
            headers.append(("cache-control", "public, immutable"))
            headers.append(("expires", formatdate(self._clock.wall() + _YEAR, usegmt=True)))
        return tagged(scope, document, headers)


def _not_acceptable() -> Answer:
    return Answer(406, b"", "", (("vary", "Accept"),))


def _v3(info: dict[str, str], group: str, version: str, kinds: Sequence[Kind]) -> dict[str, Any]:
    paths: dict[str, Any] = {}
    schemas = meta_schemas(_V3_REFS)
    for kind in _sorted(kinds):
        if kind.group == group and version in kind.versions:
            schemas.update(kind_schemas(kind, version, _V3_REFS))
            paths.update(_paths(kind, version, version_3=True))
    return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": dict(sorted(schemas.items()))}}


def _v2(info: dict[str, str], kinds: Sequence[Kind]) -> dict[str, Any]:
    paths: dict[str, Any] = {}
    definitions = meta_schemas(_V2_REFS)
    for kind in _sorted(kinds):
        for version in kind.versions:
            definitions.update(kind_schemas(kind, version, _V2_REFS))
            paths.update(_paths(kind, version, version_3=False))
    return {"swagger": "2.0", "info": info, "paths": paths, "definitions": dict(sorted(definitions.items()))}


def _sorted(kinds: Sequence[Kind]) -> list[Kind]:
    return sorted(kinds, key=lambda kind: (kind.group, kind.resource))


def _paths(kind: Kind, version: str, *, version_3: bool) -> dict[str, Any]:
    """The paths of a kind, each with its one operation."""
    base = f"/apis/{kind.group}/{version}"
    if not kind.namespaced:
        return {
            f"{base}/{kind.resource}": _path(kind, version, "list", (), version_3=version_3),
            f"{base}/{kind.resource}/{{name}}": _path(kind, version, "get", ("name",), version_3=version_3),
        }
    inside = f"{base}/namespaces/{{namespace}}/{kind.resource}"
    return {
        inside: _path(kind, version, "list", ("namespace",), version_3=version_3),
        f"{inside}/{{name}}": _path(kind, version, "get", ("namespace", "name"), version_3=version_3),
        f"{base}/{kind.resource}": _path(kind, version, "list", (), version_3=version_3, suffix="ForAllNamespaces"),
    }


def _path(kind: Kind, version: str, action: str, variables: Sequence[str], *, version_3: bool, suffix: str = "") -> dict[str, Any]:
    """A path item. Parameters and bodies differ between the two versions of OpenAPI, the rest is the same."""
    model = model_name(kind, version, kind.list_kind if action == "list" else kind.kind)
    schema = {"$ref": (_V3_REFS if version_3 else _V2_REFS) + model}
    answer: dict[str, Any] = {"description": "OK"}
    produces = [JSON] if kind.protobuf is None else [JSON, PROTOBUF]
    answer.update({"content": {media: {"schema": schema} for media in produces}} if version_3 else {"schema": schema})
    scope = "Namespaced" if "namespace" in variables else ""
    group = "".join(part.capitalize() for part in kind.group.removesuffix(".k8s.io").replace("-", ".").split("."))
    operation: dict[str, Any] = {
        "description": f"{action} objects of kind {kind.kind}",
        "operationId": f"{'read' if action == 'get' else action}{group}{version.capitalize()}{scope}{kind.kind}{suffix}",
        **({} if version_3 else {"produces": produces, "schemes": ["https"]}),
        "tags": [f"{group[:1].lower()}{group[1:]}_{version}"],
        "parameters": [
            *(_parameter(name, "path", "string", _PATH_PARAMETERS[name], version_3=version_3) for name in variables),
            *(
                _parameter(name, "query", kind_of, text, version_3=version_3)
                for name, kind_of, text in (_QUERY_PARAMETERS if action == "list" else ())
            ),
        ],
        "responses": {"200": answer, "401": {"description": "Unauthorized"}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": group_version_kind(kind, version, kind.kind),
    }
    return {"get": operation}


def _parameter(name: str, place: str, kind: str, description: str, *, version_3: bool) -> dict[str, Any]:
    shape: dict[str, Any] = {"schema": {"type": kind, "uniqueItems": True}} if version_3 else {"type": kind, "uniqueItems": True}
    return {"name": name, "in": place, "description": description, **({"required": True} if place == "path" else {}), **shape}
