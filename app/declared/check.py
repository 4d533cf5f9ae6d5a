"""The checker of declarations, for `kubeglance check` and for the server alike: all faults at once, and the declarations that have none.

Shape, names, source, schema, rules between fields and expressions are looked at one after the other; what one of them finds keeps none of
the others from looking, but for what depends on it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path as FilePath
from typing import Any, NamedTuple, Protocol

from app.declared import check_metric, check_names, check_overlap, check_rules, check_schema, check_source
from app.declared.check_shape import Wrong, shaped
from app.declared.declaration import AnyDeclaration, Declared, is_kind, is_metric
from app.declared.documents import Document
from app.declared.faults import Fault, Path, Place, Positions, path_text
from app.declared.finding import MOST_FINDINGS, Finding, listed
from app.declared.metric_model import LiveMetric
from app.declared.model import API_VERSION, LiveResource
from app.declared.served_names import ServedNames
from app.declared.tenants import Tenant
from app.nearest import nearest_word
from collectors import sources
from collectors._source import SourceType

__all__ = ["ALONE", "Around", "Checked", "ExpressionFault", "ServedNames", "Tenant", "check"]

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


class Around(NamedTuple):
    """What declarations are checked against.

    `namespace` is that of the ConfigMap that they are in. `tenant` is what it may do, None where it is kubeglance's own, which may do all.
    `cluster` is what others serve, None if that is not known. `base` is the folder of the file, None if there is none. `others` are
    declarations of elsewhere that are there already.
    """

    namespace: str = ""
    tenant: Tenant | None = None
    cluster: ServedNames | None = None
    base: FilePath | None = None
    others: Sequence[AnyDeclaration] = ()


ALONE = Around()
"""kubeglance's own declarations, beside no others and without a cluster."""


class Checked(NamedTuple):
    """The declarations that can be served, and everything that is wrong, warnings among it, by place."""

    declarations: list[AnyDeclaration]
    faults: list[Fault]


def check(
    documents: Sequence[Document],
    around: Around = ALONE,
    *,
    types: Mapping[str, SourceType] | None = None,
    expressions: Expressions | None = None,
) -> Checked:
    """Check all documents. Of two that clash the first is taken. `types` and `expressions` are the real ones unless others are given."""
    declarations: list[AnyDeclaration] = []
    faults: list[Fault] = []
    for document in documents:
        checker = _Checker(around, sources() if types is None else types, expressions or _expressions())
        others = [*around.others, *declarations]
        found = _told(_some(checker.findings(document.value, others)), document)
        faults += found
        if document.sound and checker.resource is not None and all(fault.warning for fault in found):
            declarations.append(Declared(checker.resource, document.positions, checker.tenant, document.digest))
    return Checked(declarations, sorted(faults, key=lambda fault: (fault.place, fault.path, fault.message)))


def _expressions() -> Expressions:
    from app.declared import expressions, metric_expressions  # noqa: PLC0415 -- CEL is loaded when something is declared, and not before

    def faults_of(resource: LiveResource | LiveMetric) -> Sequence[ExpressionFault]:
        return metric_expressions.faults_of(resource) if isinstance(resource, LiveMetric) else expressions.faults_of(resource)

    return faults_of


class _Checker:
    """Looks at one document. `resource` is what it says, None if it cannot be said."""

    def __init__(self, around: Around, types: Mapping[str, SourceType], expressions: Expressions) -> None:
        self._around, self._types, self._expressions = around, types, expressions
        self.resource: LiveResource | LiveMetric | None = None

    def findings(self, value: Any, others: Sequence[AnyDeclaration]) -> Iterator[Finding]:
        """All that is wrong, each thing once."""
        unknown = list(_unknown(value))
        yield from unknown
        if unknown:
            return
        result = shaped(_KINDS[value["kind"]], value)
        yield from result.findings
        if result.model is None:
            return
        self.resource = result.model
        wrong = result.wrong
        for finding in self._beyond_shape(result.model, others, wrong):
            if not wrong.covers(finding.path) and not any(map(wrong.touches, finding.because)):
                yield finding

    def _beyond_shape(self, resource: LiveResource | LiveMetric, others: Sequence[AnyDeclaration], wrong: Wrong) -> Iterator[Finding]:
        source = check_source.sourced(resource.spec.source, self._types)
        yield from source.findings
        yield from check_source.expressions(source)
        if self._around.tenant is not None:
            yield from check_source.of_tenant(source, self._around.tenant, self._around.namespace)
        yield from check_rules.of_every(resource, self._around.base)
        yield from check_overlap.findings(resource, self.tenant, others)
        if isinstance(resource, LiveMetric):
            yield from self._of_metric(resource, others)
        else:
            yield from self._of_kind(resource, others, wrong)

    @property
    def tenant(self) -> str:
        """The namespace that a document belongs to, "" where it is kubeglance's own."""
        return self._around.namespace if self._around.tenant is not None else ""

    def _of_kind(self, resource: LiveResource, others: Sequence[AnyDeclaration], wrong: Wrong) -> Iterator[Finding]:
        spec = resource.spec
        yield from check_names.findings(resource)
        yield from check_names.beside(resource, [each for each in others if is_kind(each)])
        yield from check_names.beside_built_in(spec)
        if self._around.cluster is not None:
            yield from check_names.served(spec, self._around.cluster)
        if self._around.tenant is not None:
            yield from _of_tenant(resource, self._around.tenant, self._around.namespace)
        of_schema = list(islice(check_schema.findings(spec.schema_.openapi_v3_schema), MOST_FINDINGS + 1))
        yield from of_schema
        yield from check_rules.findings(resource)
        # Members are looked up in the schema: one that is broken would make every expression wrong.
        if not of_schema and not wrong.touches(("spec", "schema")):
            yield from self._of_expressions(resource)

    def _of_metric(self, metric: LiveMetric, others: Sequence[AnyDeclaration]) -> Iterator[Finding]:
        yield from check_metric.findings(metric, self.tenant)
        yield from check_metric.beside(metric, self.tenant, [each for each in others if is_metric(each)])
        if self._around.cluster is not None:
            yield from check_metric.described(metric, self._around.cluster)
        yield from self._of_expressions(metric)

    def _of_expressions(self, resource: LiveResource | LiveMetric) -> Iterator[Finding]:
        for each in self._expressions(resource):
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


def _some(findings: Iterator[Finding]) -> list[Finding]:
    """Not all, where there are very many."""
    found = list(islice(findings, MOST_FINDINGS + 1))
    if len(found) > MOST_FINDINGS:
        found[MOST_FINDINGS:] = [Finding((), f"there is more: only {MOST_FINDINGS} faults are told of one document")]
    return found


def _told(findings: Sequence[Finding], document: Document) -> list[Fault]:
    """Findings with their places in the file."""
    return [
        Fault(
            _place(each, document.value, document.positions), path_text(each.path), each.message, each.expected, each.nearest, each.warning
        )
        for each in dict.fromkeys(findings)
    ]


def _place(finding: Finding, value: Any, positions: Positions) -> Place:
    if finding.offset is None:
        return positions.of(finding.path, key=finding.key)
    for part in finding.path:
        value = value[part]
    return positions.within(finding.path, value, finding.offset) if isinstance(value, str) else positions.of(finding.path)
