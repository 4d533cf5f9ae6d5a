"""OpenAPI v2 and v3 of what is served: the same bytes as long as that is the same, listing our own groups only.

They are made when somebody asks for them after a change: kube-apiserver does once a minute, however often kinds change meanwhile.
"""

import asyncio
from collections.abc import Mapping, Sequence
from email.utils import formatdate
from typing import Any

import msgspec
from msgspec import Raw, Struct

from app.clock import Clock
from app.routes.descriptions import Description, Descriptions, GroupVersion, by_group_version, same
from app.routes.documents import Document, make_document, tagged
from app.routes.respond import Answer, Scope, joined_header, query_of
from app.routes.schemas import V2_REFS, V3_REFS, meta_schemas
from app.wire.accept import accepts_json
from app.wire.query import parse_query
from app.wire.status import unknown_path

_YEAR = 365 * 24 * 3600


class _Pieces(Struct, frozen=True):
    """What one description adds to a document: paths and models, encoded, by name."""

    paths: Mapping[str, Raw]
    models: Mapping[str, Raw]


class _Made(Struct, frozen=True):
    """The pieces of one description: by version, for OpenAPI v2 and v3."""

    description: Description
    v2: Mapping[str, _Pieces]
    v3: Mapping[str, _Pieces]


class _Documents(Struct, frozen=True):
    """All documents of some descriptions."""

    descriptions: tuple[Description, ...]
    v2: Document
    root: Document
    v3: Mapping[GroupVersion, tuple[tuple[Description, ...], Document]]


class OpenApi:
    """The OpenAPI documents of what is described, and the answers to requests for them."""

    def __init__(self, descriptions: Descriptions, clock: Clock, version: str) -> None:
        self._descriptions = descriptions
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
        """The documents of what is served now. What is made of a description is made once, and others get their turn behind each."""
        async with self._making:
            described, known = self._descriptions.current(), self._documents
            if known is not None and same(known.descriptions, described):
                return known
            made: dict[int, _Made] = {}
            for each in described:
                before = self._made.get(id(each))
                if before is None:
                    before = _make(each)
                    await asyncio.sleep(0)
                made[id(each)] = before
            self._made = made
            self._documents = self._assemble(described, known)
            return self._documents

    def _assemble(self, described: tuple[Description, ...], known: _Documents | None) -> _Documents:
        """The documents, of the pieces. A group version whose descriptions are those that `known` has keeps its document."""
        served = by_group_version(described)
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
        return _Documents(described, self._v2(served), make_document(root), documents)

    def _v3(self, version: str, descriptions: Sequence[Description]) -> Document:
        paths, models = _joined([self._made[id(each)].v3[version] for each in descriptions], meta_schemas(V3_REFS))
        return make_document({"openapi": "3.0.0", "info": self._info, "paths": paths, "components": {"schemas": models}})

    def _v2(self, served: Mapping[GroupVersion, Sequence[Description]]) -> Document:
        pieces = [self._made[id(each)].v2[version] for (_, version), descriptions in served.items() for each in descriptions]
        paths, models = _joined(pieces, meta_schemas(V2_REFS))
        return make_document({"swagger": "2.0", "info": self._info, "paths": paths, "definitions": models})


def _not_acceptable() -> Answer:
    return Answer(406, b"", "", (("vary", "Accept"),))


def _joined(pieces: Sequence[_Pieces], shared: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Paths and models of several descriptions. Models that all share stay what they are, whatever a kind is called."""
    paths = {path: item for each in pieces for path, item in each.paths.items()}
    models: dict[str, Any] = {name: model for each in pieces for name, model in each.models.items()}
    return paths, dict(sorted({**models, **shared}.items()))


def _make(description: Description) -> _Made:
    return _Made(
        description,
        {version: _pieces(description, version, version_3=False) for version in description.versions},
        {version: _pieces(description, version, version_3=True) for version in description.versions},
    )


def _pieces(description: Description, version: str, *, version_3: bool) -> _Pieces:
    paths = description.paths(version, version_3=version_3)
    models = description.models(version, version_3=version_3)
    return _Pieces({path: _encoded(item) for path, item in paths.items()}, {name: _encoded(model) for name, model in models.items()})


def _encoded(value: Any) -> Raw:
    return Raw(msgspec.json.encode(value))
