"""The checker of declarations, for `kubeglance check` and for the server alike: all faults at once, and the declarations that have none.

What is wrong with each by itself (app/declared/check_alone.py) is found first, then what is wrong with it beside others.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from app.declared import check_metric, check_names, check_overlap, check_source
from app.declared.check_alone import Alone, Expressions, Rules, alone
from app.declared.declaration import AnyDeclaration, Declared, is_kind, is_metric
from app.declared.documents import Document
from app.declared.faults import Fault, Place, Positions, path_text
from app.declared.finding import MOST_FINDINGS, Finding
from app.declared.metric_model import LiveMetric
from app.declared.model import LiveResource
from app.declared.neighbours import Neighbours
from app.declared.served_names import ServedNames
from app.declared.tenants import Tenant
from collectors import sources
from collectors._source import SourceType

__all__ = ["ALONE", "Around", "Checked", "Known", "ServedNames", "Tenant", "check"]


class Around(NamedTuple):
    """What declarations are checked against.

    `namespace` is that of the ConfigMap that they are in. `tenant` is what it may do, None where it is kubeglance's own, which may do all.
    `cluster` is what others serve, None if that is not known. `base` is the folder of the file, None if there is none. `others` are
    declarations of elsewhere that are there already. `servers` are the names of --prometheus-servers, None if they are not known.
    """

    namespace: str = ""
    tenant: Tenant | None = None
    cluster: ServedNames | None = None
    base: FilePath | None = None
    others: Sequence[AnyDeclaration] = ()
    servers: Collection[str] | None = None


ALONE = Around()
"""kubeglance's own declarations, beside no others and without a cluster."""


class Checked(NamedTuple):
    """The declarations that can be served, and everything that is wrong, warnings among it, by place."""

    declarations: list[AnyDeclaration]
    faults: list[Fault]


class Known:
    """What was found of documents by themselves, so that a load checks only what is new to it.

    It depends on what a document says, its namespace, and what a tenant may there. Where a document has a folder it depends on the files
    beside it too, and is not kept.
    """

    def __init__(self) -> None:
        self._before: dict[tuple[str, str, Tenant | None], Alone] = {}
        self._now: dict[tuple[str, str, Tenant | None], Alone] = {}

    def of(self, document: Document, rules: Rules) -> Alone:
        """As app.declared.check_alone.alone has it."""
        if rules.base is not None:
            return alone(document.value, rules)
        key = (document.digest, rules.namespace, rules.tenant)
        found = self._now.get(key) or self._before.get(key) or alone(document.value, rules)
        self._now[key] = found
        return found

    def forget(self) -> None:
        """Let go of what nobody asked for since this was last called."""
        self._before, self._now = self._now, {}


def check(
    documents: Sequence[Document],
    around: Around = ALONE,
    known: Known | None = None,
    *,
    types: Mapping[str, SourceType] | None = None,
    expressions: Expressions | None = None,
) -> Checked:
    """Check all documents. Of two that clash the first is taken. What is `known` is not found anew.

    `types` and `expressions` are the real ones unless others are given.
    """
    known = Known() if known is None else known
    rules = Rules(sources() if types is None else types, expressions or _expressions(), around.namespace, around.tenant, around.base)
    neighbours = Neighbours(around.others)
    declarations: list[AnyDeclaration] = []
    faults: list[Fault] = []
    for document in documents:
        by_itself = known.of(document, rules)
        resource = by_itself.resource
        others = _beside(resource, rules.owner, neighbours, around) if resource is not None else ()
        found = _told(_some(chain(by_itself.findings, by_itself.sound(others))), document)
        faults += found
        if document.sound and resource is not None and all(fault.warning for fault in found):
            declarations.append(Declared(resource, document.positions, rules.owner, document.digest))
            neighbours.add(declarations[-1])
    return Checked(declarations, sorted(faults, key=lambda fault: (fault.place, fault.path, fault.message)))


def _expressions() -> Expressions:
    from app.declared import expressions, metric_expressions  # noqa: PLC0415 -- CEL is loaded when something is declared, and not before

    def faults_of(resource: LiveResource | LiveMetric) -> Sequence[Any]:
        return metric_expressions.faults_of(resource) if isinstance(resource, LiveMetric) else expressions.faults_of(resource)

    return faults_of


def _beside(resource: LiveResource | LiveMetric, owner: str, neighbours: Neighbours, around: Around) -> Iterator[Finding]:
    """What is wrong with a declaration beside others, what the cluster serves, and how kubeglance is set up."""
    others = neighbours.of(resource, owner)
    yield from check_overlap.findings(resource, owner, others)
    if around.servers is not None:
        yield from check_source.named_server(resource.spec.source, around.servers)
    if isinstance(resource, LiveMetric):
        yield from check_metric.beside(resource, owner, [each for each in others if is_metric(each)])
        if around.cluster is not None:
            yield from check_metric.described(resource, around.cluster)
        return
    yield from check_names.beside(resource, [each for each in others if is_kind(each)])
    if around.cluster is not None:
        yield from check_names.served(resource.spec, around.cluster)


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
