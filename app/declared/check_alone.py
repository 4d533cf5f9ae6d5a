"""What is wrong with a declaration by itself, whatever else is declared or served: nearly all the work of a check.

Shape, names, source, schema, rules between fields and expressions are looked at one after the other; what one of them finds keeps none of
the others from looking, but for what depends on it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path as FilePath
from typing import Any, NamedTuple, Protocol

from app.declared import check_metric, check_names, check_rules, check_schema, check_source
from app.declared.check_shape import Wrong, shaped
from app.declared.faults import Path
from app.declared.finding import MOST_FINDINGS, Finding, listed
from app.declared.metric_model import LiveMetric
from app.declared.model import API_VERSION, LiveResource
from app.declared.tenants import Tenant
from app.nearest import nearest_word
from collectors._source import SourceType

_KINDS: Mapping[str, type[LiveResource | LiveMetric]] = {"LiveResource": LiveResource, "LiveMetric": LiveMetric}


class ExpressionFault(Protocol):
    """What is wrong in an expression of a declaration; `offset` is where in its text, None for the whole."""

    @property
    def path(self) -> Path: ...
    @property
    def message(self) -> str: ...
    @property
    def expected(self) -> str: ...
    @property
    def nearest(self) -> str: ...
    @property
    def offset(self) -> int | None: ...


Expressions = Callable[[LiveResource | LiveMetric], Sequence[ExpressionFault]]


class Rules(NamedTuple):
    """What a document is held to: the sources that there are, the checker of its expressions, its namespace and what a tenant may there
    (None where it is kubeglance's own), and the folder of its file, None if there is none."""

    types: Mapping[str, SourceType]
    expressions: Expressions
    namespace: str
    tenant: Tenant | None
    base: FilePath | None

    @property
    def owner(self) -> str:
        """The namespace that a document belongs to, "" where it is kubeglance's own."""
        return self.namespace if self.tenant is not None else ""


class Alone(NamedTuple):
    """What a document says, None if it cannot be said; all that is wrong with it; and where `resource` says something else than it."""

    resource: LiveResource | LiveMetric | None
    findings: Sequence[Finding]
    wrong: Wrong

    def sound(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Those that look at nothing that is wrong already."""
        return _sound(findings, self.wrong)


def alone(value: Any, rules: Rules) -> Alone:
    """Look at what a document says. Of very many findings some are left out."""
    unknown = list(_unknown(value))
    if unknown:
        return Alone(None, unknown, Wrong())
    result = shaped(_KINDS[value["kind"]], value)
    if result.model is None:
        return Alone(None, result.findings, result.wrong)
    beyond = _sound(_beyond_shape(result.model, rules, result.wrong), result.wrong)
    return Alone(result.model, [*result.findings, *islice(beyond, MOST_FINDINGS + 1)], result.wrong)


def _sound(findings: Iterable[Finding], wrong: Wrong) -> Iterator[Finding]:
    return (each for each in findings if not wrong.covers(each.path) and not any(map(wrong.touches, each.because)))


def _beyond_shape(resource: LiveResource | LiveMetric, rules: Rules, wrong: Wrong) -> Iterator[Finding]:
    source = check_source.sourced(resource.spec.source, rules.types)
    yield from source.findings
    yield from check_source.expressions(source)
    if rules.tenant is not None:
        yield from check_source.of_tenant(source, rules.tenant, rules.namespace)
    yield from check_rules.of_every(resource, rules.base)
    if isinstance(resource, LiveMetric):
        yield from check_metric.findings(resource, rules.owner)
        yield from _of_expressions(resource, rules)
    else:
        yield from _of_kind(resource, rules, wrong)


def _of_kind(resource: LiveResource, rules: Rules, wrong: Wrong) -> Iterator[Finding]:
    yield from check_names.findings(resource)
    yield from check_names.beside_built_in(resource.spec)
    if rules.tenant is not None:
        yield from _of_tenant(resource, rules.tenant, rules.namespace)
    of_schema = list(islice(check_schema.findings(resource.spec.schema_.openapi_v3_schema), MOST_FINDINGS + 1))
    yield from of_schema
    yield from check_rules.findings(resource)
    # Members are looked up in the schema: one that is broken would make every expression wrong.
    if not of_schema and not wrong.touches(("spec", "schema")):
        yield from _of_expressions(resource, rules)


def _of_expressions(resource: LiveResource | LiveMetric, rules: Rules) -> Iterator[Finding]:
    for each in rules.expressions(resource):
        yield Finding(each.path, each.message, each.expected, each.nearest, offset=each.offset)


def _unknown(value: Any) -> Iterator[Finding]:
    """Why a document is no declaration at all."""
    if not isinstance(value, dict):
        yield Finding((), "is not an object", f"a mapping with apiVersion: {API_VERSION} and kind: LiveResource or LiveMetric")
        return
    for field, known in (("apiVersion", (API_VERSION,)), ("kind", tuple(_KINDS))):
        said = value.get(field)
        if field not in value:
            yield Finding((field,), "Required value", listed(known))
        elif said not in known:
            text = said if isinstance(said, str) else ""
            yield Finding((field,), f"{text[:60] or 'this'} is not served by this version", listed(known), nearest_word(text, known))


def _of_tenant(resource: LiveResource, tenant: Tenant, namespace: str) -> Iterator[Finding]:
    """What declarations of another namespace than kubeglance's own may not."""
    spec = resource.spec
    if spec.scope != "Namespaced":
        yield Finding(("spec", "scope"), f"Forbidden: declarations of namespace {namespace} make Namespaced kinds only", '"Namespaced"')
    if spec.group not in tenant.groups:
        allowed = listed(tenant.groups) if tenant.groups else "no group: none is listed"
        what = f"Forbidden: group {spec.group} is not listed for namespace {namespace}"
        yield Finding(("spec", "group"), what, allowed, nearest_word(spec.group, tenant.groups))
    for index, name in enumerate(spec.allow_namespaces):
        if name != namespace:
            what = f"Forbidden: declarations of namespace {namespace} put objects there only"
            yield Finding(("spec", "allowNamespaces", index), what, f'"{namespace}"')
