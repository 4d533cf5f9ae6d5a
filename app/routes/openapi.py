"""OpenAPI v2 and v3 of the kinds in the catalog: the same bytes as long as the kinds are the same, listing our own groups only.

They are made when somebody asks for them after a change: kube-apiserver does once a minute, however often kinds change meanwhile.
"""

import asyncio
from collections.abc import Mapping, Sequence
from email.utils import formatdate
from typing import Any

import msgspec
from msgspec import Raw, Struct

from app.clock import Clock
from app.kinds._base import Kind, Subresource
from app.kinds._catalog import Catalog
from app.routes.documents import Document, GroupVersion, by_group_version, make_document, same, tagged
from app.routes.respond import Answer, Scope, joined_header, query_of
from app.routes.schemas import V2_REFS, V3_REFS, group_version_kind, kind_schemas, meta_schemas, model_name
from app.wire.accept import JSON, PROTOBUF, accepts_json
from app.wire.field_selectors import FIELDS
from app.wire.query import parse_query
from app.wire.status import unknown_path

_YEAR = 365 * 24 * 3600

_QUERY_PARAMETERS = (
    ("labelSelector", "string", "Selects objects by their labels."),
    ("fieldSelector", "string", "Selects objects by {fields}."),
    ("limit", "integer", "The most objects of one page; the answer then has a token for the next."),
    ("continue", "string", "The token of the page before."),
    ("resourceVersion", "string", "The version that the answer must not be older than, or must be, as resourceVersionMatch says."),
    ("resourceVersionMatch", "string", "NotOlderThan or Exact."),
)
_PATH_PARAMETERS = {"namespace": "Namespace of the objects.", "name": "Name of the object."}


class _Pieces(Struct, frozen=True):
    """What one kind adds to a document: paths and models, encoded, by name."""

    paths: Mapping[str, Raw]
    models: Mapping[str, Raw]


class _Made(Struct, frozen=True):
    """The pieces of one kind: by version, for OpenAPI v2 and v3."""

    kind: Kind
    v2: Mapping[str, _Pieces]
    v3: Mapping[str, _Pieces]


class _Documents(Struct, frozen=True):
    """All documents of some kinds."""

    kinds: tuple[Kind, ...]
    v2: Document
    root: Document
    v3: Mapping[GroupVersion, tuple[tuple[Kind, ...], Document]]


class OpenApi:
    """The OpenAPI documents of a catalog, and the answers to requests for them."""

    def __init__(self, catalog: Catalog, clock: Clock, version: str) -> None:
        self._catalog = catalog
        self._clock = clock
        self._info = {"title": "kubeglance", "version": version}
        self._making = asyncio.Lock()
        self._made: dict[int, _Made] = {}
        self._documents: _Documents | None = None

    async def v2(self, scope: Scope) -> Answer:
        """GET /openapi/v2."""
        if not accepts_json(joined_header(scope, b"accept")):
            return _not_acceptable()
        return tagged(scope, (await self._current()).v2, (("vary", "Accept"),))

    async def v3_root(self, scope: Scope) -> Answer:
        """GET /openapi/v3: where the document of each group version is."""
        return tagged(scope, (await self._current()).root)

    async def v3(self, scope: Scope) -> Answer:
        """GET /openapi/v3/apis/GROUP/VERSION.

        A document named by its hash never changes. Another hash gets the current document: the aggregator refuses redirects.
        """
        root, _, group_version = scope["path_params"]["document"].partition("/")
        group, _, version = group_version.partition("/")
        found = (await self._current()).v3.get((group, version)) if root == "apis" else None
        if found is None:
            raise unknown_path()
        if not accepts_json(joined_header(scope, b"accept")):
            return _not_acceptable()
        _, document = found
        headers = [("vary", "Accept")]
        if parse_query(query_of(scope)).get("hash") == document.etag.strip('"'):
            headers.append(("cache-control", "public, immutable"))
            headers.append(("expires", formatdate(self._clock.wall() + _YEAR, usegmt=True)))
        return tagged(scope, document, headers)

    async def _current(self) -> _Documents:
        """The documents of what the catalog has now. What is made of a kind is made once, and others get their turn behind each."""
        async with self._making:
            kinds, known = self._catalog.kinds, self._documents
            if known is not None and same(known.kinds, kinds):
                return known
            made: dict[int, _Made] = {}
            for kind in kinds:
                before = self._made.get(id(kind))
                if before is None:
                    before = _make(kind)
                    await asyncio.sleep(0)
                made[id(kind)] = before
            self._made = made
            self._documents = self._assemble(kinds, known)
            return self._documents

    def _assemble(self, kinds: tuple[Kind, ...], known: _Documents | None) -> _Documents:
        """The documents, of the pieces. A group version whose kinds are those that `known` has keeps its document."""
        served = by_group_version(kinds)
        documents = {}
        for at, of_version in served.items():
            before = known.v3.get(at) if known is not None else None
            documents[at] = before if before is not None and same(before[0], of_version) else (of_version, self._v3(at[1], of_version))
        root = {
            "paths": {
                f"apis/{group}/{version}": {"serverRelativeURL": f"/openapi/v3/apis/{group}/{version}?hash={document.etag.strip(chr(34))}"}
                for (group, version), (_, document) in documents.items()
            }
        }
        return _Documents(kinds, self._v2(served), make_document(root), documents)

    def _v3(self, version: str, kinds: Sequence[Kind]) -> Document:
        paths, models = _joined([self._made[id(kind)].v3[version] for kind in kinds], meta_schemas(V3_REFS))
        return make_document({"openapi": "3.0.0", "info": self._info, "paths": paths, "components": {"schemas": models}})

    def _v2(self, served: Mapping[GroupVersion, Sequence[Kind]]) -> Document:
        pieces = [self._made[id(kind)].v2[version] for (_, version), kinds in served.items() for kind in kinds]
        paths, models = _joined(pieces, meta_schemas(V2_REFS))
        return make_document({"swagger": "2.0", "info": self._info, "paths": paths, "definitions": models})


def _not_acceptable() -> Answer:
    return Answer(406, b"", "", (("vary", "Accept"),))


def _joined(pieces: Sequence[_Pieces], shared: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Paths and models of several kinds. Models that all share stay what they are, whatever a kind is called."""
    paths = {path: item for each in pieces for path, item in each.paths.items()}
    models: dict[str, Any] = {name: model for each in pieces for name, model in each.models.items()}
    return paths, dict(sorted({**models, **shared}.items()))


def _make(kind: Kind) -> _Made:
    return _Made(
        kind,
        {version: _pieces(kind, version, version_3=False) for version in kind.versions},
        {version: _pieces(kind, version, version_3=True) for version in kind.versions},
    )


def _pieces(kind: Kind, version: str, *, version_3: bool) -> _Pieces:
    models = kind_schemas(kind, version, V3_REFS if version_3 else V2_REFS)
    paths = _paths(kind, version, version_3=version_3)
    return _Pieces({path: _encoded(item) for path, item in paths.items()}, {name: _encoded(model) for name, model in models.items()})


def _encoded(value: Any) -> Raw:
    return Raw(msgspec.json.encode(value))


def _paths(kind: Kind, version: str, *, version_3: bool) -> dict[str, Any]:
    """The paths of a kind, each with its one operation."""
    base = f"/apis/{kind.group}/{version}"
    own = f"{base}/namespaces/{{namespace}}/{kind.resource}" if kind.namespaced else f"{base}/{kind.resource}"
    inside = ("namespace",) if kind.namespaced else ()
    paths = {
        own: _path(kind, version, "list", inside, version_3=version_3),
        f"{own}/{{name}}": _path(kind, version, "get", (*inside, "name"), version_3=version_3),
    }
    for subresource in sorted(kind.subresources, key=lambda each: each.name):
        path = f"{own}/{{name}}/{subresource.name}"
        paths[path] = _path(kind, version, "get", (*inside, "name"), version_3=version_3, subresource=subresource)
    if kind.namespaced:
        paths[f"{base}/{kind.resource}"] = _path(kind, version, "list", (), version_3=version_3, suffix="ForAllNamespaces")
    return paths


def _path(
    kind: Kind,
    version: str,
    action: str,
    variables: Sequence[str],
    *,
    version_3: bool,
    suffix: str = "",
    subresource: Subresource | None = None,
) -> dict[str, Any]:
    """A path item. Parameters and bodies differ between the two versions of OpenAPI, the rest is the same."""
    told = kind.list_kind if action == "list" else kind.kind if subresource is None else subresource.kind
    produces = [JSON] if kind.protobuf is None or subresource is not None else [JSON, PROTOBUF]
    schema: dict[str, Any] = {"$ref": (V3_REFS if version_3 else V2_REFS) + model_name(kind, version, told)}
    if subresource is not None and subresource.schema is None:
        produces, schema = ["text/plain"], {"type": "string"}
    answer: dict[str, Any] = {"description": "OK"}
    answer.update({"content": {media: {"schema": schema} for media in produces}} if version_3 else {"schema": schema})
    operation: dict[str, Any] = {
        "description": f"{action} {_what(kind, subresource)}",
        "operationId": _operation_id(kind, version, action, variables, suffix=suffix, subresource=subresource),
        **({} if version_3 else {"produces": produces, "schemes": ["https"]}),
        "tags": [f"{_camel(kind.group)[:1].lower()}{_camel(kind.group)[1:]}_{version}"],
        "parameters": [
            *(_parameter(name, "path", "string", _PATH_PARAMETERS[name], version_3=version_3) for name in variables),
            *(_parameter(*parameter, version_3=version_3) for parameter in _query_parameters(kind, action, subresource)),
        ],
        "responses": {"200": answer, "401": {"description": "Unauthorized"}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": group_version_kind(kind, version, kind.kind if action == "list" else told),
    }
    return {"get": operation}


def _what(kind: Kind, subresource: Subresource | None) -> str:
    return f"objects of kind {kind.kind}" if subresource is None else f"{subresource.name} of an object of kind {kind.kind}"


def _query_parameters(kind: Kind, action: str, subresource: Subresource | None) -> list[tuple[str, str, str, str]]:
    if subresource is not None:
        return [(name, "query", "string", text) for name, text in subresource.parameters.items()]
    if action == "get":
        return []
    *fields, last = (*FIELDS, *kind.fields)
    selectable = f"{', '.join(fields)} and {last}"
    return [(name, "query", kind_of, text.format(fields=selectable)) for name, kind_of, text in _QUERY_PARAMETERS]


def _operation_id(kind: Kind, version: str, action: str, variables: Sequence[str], *, suffix: str, subresource: Subresource | None) -> str:
    """An id that no other operation has. Those of metrics.k8s.io are upstream's; for groups of any name CamelCase would not tell a-b.c
    from a.b.c, so the id is the path's own words with what none of them has between them."""
    read = "read" if action == "get" else action
    if kind.group.endswith(".k8s.io") and subresource is None:
        scope = "Namespaced" if "namespace" in variables else ""
        return f"{read}{_camel(kind.group)}{version.capitalize()}{scope}{kind.kind}{suffix}"
    scope = "namespaced" if "namespace" in variables else "all"
    below = [subresource.name] if subresource is not None else []
    return "_".join([read, kind.group, version, scope, kind.resource, *below])


def _camel(group: str) -> str:
    return "".join(part.capitalize() for part in group.removesuffix(".k8s.io").replace("-", ".").split("."))


def _parameter(name: str, place: str, kind: str, description: str, *, version_3: bool) -> dict[str, Any]:
    shape: dict[str, Any] = {"schema": {"type": kind, "uniqueItems": True}} if version_3 else {"type": kind, "uniqueItems": True}
    return {"name": name, "in": place, "description": description, **({"required": True} if place == "path" else {}), **shape}
