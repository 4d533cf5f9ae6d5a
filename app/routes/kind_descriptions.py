"""What discovery and OpenAPI tell of the kinds in the catalog."""

from collections.abc import Callable, Sequence
from typing import Any

from app.kinds._base import Kind, Subresource
from app.kinds._catalog import Catalog
from app.routes.operations import Operation, Parameter, camel, path_item
from app.routes.schemas import V2_REFS, V3_REFS, group_version_kind, kind_schemas, model_name
from app.wire.accept import JSON, PROTOBUF
from app.wire.field_selectors import FIELDS

_QUERY_PARAMETERS = (
    ("labelSelector", "string", "Selects objects by their labels."),
    ("fieldSelector", "string", "Selects objects by {fields}."),
    ("limit", "integer", "The most objects of one page; the answer then has a token for the next."),
    ("continue", "string", "The token of the page before."),
    ("resourceVersion", "string", "The version that the answer must not be older than, or must be, as resourceVersionMatch says."),
    ("resourceVersionMatch", "string", "NotOlderThan or Exact."),
)
_PATH_PARAMETERS = {"namespace": "Namespace of the objects.", "name": "Name of the object."}


class KindDescriptions:
    """app.routes.descriptions.Descriptions of the kinds in a catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._known: dict[int, KindDescription] = {}

    def current(self) -> tuple["KindDescription", ...]:
        known = self._known
        self._known = {id(kind): known.get(id(kind)) or KindDescription(kind) for kind in self._catalog.kinds}
        return tuple(self._known.values())

    def on_change(self, listener: Callable[[], None]) -> None:
        self._catalog.listeners.append(listener)


class KindDescription:
    """app.routes.descriptions.Description of a kind and of what is below its objects."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self.group = kind.group
        self.versions = kind.versions
        self.name = kind.resource
        self._subresources = sorted(kind.subresources, key=lambda subresource: subresource.name)

    def resources(self, version: str) -> list[dict[str, Any]]:
        """The kind and what is below its objects: a resource each, the same in each version."""
        del version
        kind = self._kind
        own: dict[str, Any] = {
            "name": kind.resource,
            "singularName": kind.singular,
            "namespaced": kind.namespaced,
            "kind": kind.kind,
            "verbs": list(kind.verbs),
            **_names(kind),
        }
        below = [
            {
                "name": f"{kind.resource}/{subresource.name}",
                "singularName": "",
                "namespaced": kind.namespaced,
                "kind": subresource.kind,
                "verbs": ["get"],
            }
            for subresource in self._subresources
        ]
        return [own, *below]

    def aggregated(self, version: str) -> list[dict[str, Any]]:
        kind = self._kind
        resource: dict[str, Any] = {
            "resource": kind.resource,
            "responseKind": {"group": kind.group, "version": version, "kind": kind.kind},
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "singularResource": kind.singular,
            "verbs": list(kind.verbs),
            **_names(kind),
        }
        if self._subresources:
            resource["subresources"] = [
                {
                    "subresource": subresource.name,
                    "responseKind": {"group": kind.group, "version": version, "kind": subresource.kind},
                    "verbs": ["get"],
                }
                for subresource in self._subresources
            ]
        return [resource]

    def paths(self, version: str, *, version_3: bool) -> dict[str, Any]:
        """The paths of the kind, each with its one operation."""
        kind = self._kind
        base = f"/apis/{kind.group}/{version}"
        own = f"{base}/namespaces/{{namespace}}/{kind.resource}" if kind.namespaced else f"{base}/{kind.resource}"
        inside = ("namespace",) if kind.namespaced else ()
        operations = {
            own: _operation(kind, version, "list", inside),
            f"{own}/{{name}}": _operation(kind, version, "get", (*inside, "name")),
        }
        for subresource in self._subresources:
            operations[f"{own}/{{name}}/{subresource.name}"] = _operation(kind, version, "get", (*inside, "name"), subresource=subresource)
        if kind.namespaced:
            operations[f"{base}/{kind.resource}"] = _operation(kind, version, "list", (), suffix="ForAllNamespaces")
        return {path: path_item(operation, version_3=version_3) for path, operation in operations.items()}

    def models(self, version: str, *, version_3: bool) -> dict[str, Any]:
        return kind_schemas(self._kind, version, V3_REFS if version_3 else V2_REFS)


def _names(kind: Kind) -> dict[str, list[str]]:
    """Short names and categories, where there are any."""
    names = {"shortNames": list(kind.short_names), "categories": list(kind.categories)}
    return {field: values for field, values in names.items() if values}


def _operation(
    kind: Kind, version: str, action: str, variables: Sequence[str], *, suffix: str = "", subresource: Subresource | None = None
) -> Operation:
    told = kind.list_kind if action == "list" else kind.kind if subresource is None else subresource.kind
    is_text = subresource is not None and subresource.schema is None
    json = [JSON] if kind.protobuf is None or subresource is not None else [JSON, PROTOBUF]
    return Operation(
        id=_operation_id(kind, version, action, variables, suffix=suffix, subresource=subresource),
        description=f"{action} {_what(kind, subresource)}",
        action=action,
        group=kind.group,
        version=version,
        kind=group_version_kind(kind, version, kind.kind if action == "list" else told),
        model=None if is_text else model_name(kind, version, told),
        media=["text/plain"] if is_text else json,
        parameters=[
            *(Parameter(name, "path", "string", _PATH_PARAMETERS[name]) for name in variables),
            *_query_parameters(kind, action, subresource),
        ],
    )


def _what(kind: Kind, subresource: Subresource | None) -> str:
    return f"objects of kind {kind.kind}" if subresource is None else f"{subresource.name} of an object of kind {kind.kind}"


def _query_parameters(kind: Kind, action: str, subresource: Subresource | None) -> list[Parameter]:
    if subresource is not None:
        return [Parameter(name, "query", "string", text) for name, text in subresource.parameters.items()]
    if action == "get":
        return []
    *fields, last = (*FIELDS, *kind.fields)
    selectable = f"{', '.join(fields)} and {last}"
    return [Parameter(name, "query", type_, text.format(fields=selectable)) for name, type_, text in _QUERY_PARAMETERS]


def _operation_id(kind: Kind, version: str, action: str, variables: Sequence[str], *, suffix: str, subresource: Subresource | None) -> str:
    """An id that no other operation has. Those of metrics.k8s.io are upstream's; for groups of any name CamelCase would not tell a-b.c
    from a.b.c, so the id is the path's own words with what none of them has between them."""
    read = "read" if action == "get" else action
    if kind.group.endswith(".k8s.io") and subresource is None:
        scope = "Namespaced" if "namespace" in variables else ""
        return f"{read}{camel(kind.group)}{version.capitalize()}{scope}{kind.kind}{suffix}"
    scope = "namespaced" if "namespace" in variables else "all"
    below = [subresource.name] if subresource is not None else []
    return "_".join([read, kind.group, version, scope, kind.resource, *below])
