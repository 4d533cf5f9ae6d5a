"""What an adapter answers, as our own: the list of its metrics, and the values of one.

Forms: app/wire/metric_values.py, read backwards; v1beta1 and v1beta2 differ in the name of the window.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from app.declared.times import unix_ns
from app.kube.records import Key
from app.served_metrics.values import NAMESPACES, Question, Resource, Series
from app.wire.quantity import parse_decimal
from collectors._base import Cause

MOST_LISTED = 20_000
"""Metrics of one adapter; more are left out."""

_LIST_KINDS = {"custom": "MetricValueList", "external": "ExternalMetricValueList"}


_NO_ANSWER = frozenset({Cause.DNS, Cause.DIAL, Cause.CERTIFICATE, Cause.DEADLINE, Cause.CLOSED})


class BackendError(Exception):
    """An adapter did not answer as it should: the message says how, in words."""

    def __init__(self, message: str, cause: Cause = Cause.PAYLOAD) -> None:
        super().__init__(message)
        self.cause = cause

    @property
    def answered(self) -> bool:
        """Whether there was an answer at all."""
        return self.cause not in _NO_ANSWER


class Listed(NamedTuple):
    """A metric that an adapter lists. `resource` is None for an external one."""

    resource: Resource | None
    metric: str
    namespaced: bool


def listed_in(answer: Any, api: str) -> tuple[Listed, ...]:
    """The metrics of an APIResourceList, each once and in its order. What is none is left out. Raises BackendError."""
    resources = answer.get("resources") if isinstance(answer, Mapping) else None
    if not isinstance(resources, list):
        raise BackendError("its discovery is no APIResourceList")
    found: dict[Listed, None] = {}
    for each in resources:
        name = each.get("name") if isinstance(each, Mapping) else None
        if isinstance(name, str) and each.get("kind", _LIST_KINDS[api]) == _LIST_KINDS[api] and len(found) < MOST_LISTED:
            resource, slash, metric = name.rpartition("/")
            if api == "external" and metric and not slash:
                found[Listed(None, metric, True)] = None
            elif api == "custom" and metric and resource and "/" not in resource:
                plural, _, group = resource.partition(".")
                found[Listed(Resource(group, plural), metric, each.get("namespaced") is True)] = None
    return tuple(found)


def series_in(answer: Any, question: Question, *, namespaced: bool) -> list[Series]:
    """The values of a list, in the order of objects and labels.

    A value that cannot be read costs a custom metric one object, which an HPA takes for missing. An external metric is the sum of its
    values: fewer of them would be a wrong one. Raises BackendError, also where no value is left, or where one is of what was not asked for.
    """
    items = answer.get("items") if isinstance(answer, Mapping) else None
    if not isinstance(items, list):
        raise BackendError("its answer is no list of values")
    found: list[Series] = []
    fault = ""
    for item in items:
        try:
            found.append(_series(item, question, namespaced=namespaced))
        except ValueError as exc:
            fault = fault or str(exc)
    if fault and (not found or question.resource is None):
        raise BackendError(f"its answer has a value that cannot be read: {fault}")
    return sorted(found, key=lambda series: (series.object or ("", ""), series.labels))


def _series(item: Any, question: Question, *, namespaced: bool) -> Series:
    """One value. Raises ValueError."""
    if not isinstance(item, Mapping):
        raise ValueError("it is no object")  # noqa: TRY004 -- one error for all that is no value
    quantity, window = item.get("value"), item.get("windowSeconds", item.get("window"))
    if not isinstance(quantity, str):
        raise ValueError("value is missing, or no text")  # noqa: TRY004 -- as above
    if window is not None and (isinstance(window, bool) or not isinstance(window, int) or window < 0):
        raise ValueError("window is no number of seconds")
    value = parse_decimal(quantity)
    try:
        time = unix_ns(item.get("timestamp"))
    except ValueError as exc:
        raise ValueError(f"timestamp {exc}") from exc
    if not time:
        raise ValueError("timestamp was never set")
    described = _object(item.get("describedObject"), question, namespaced=namespaced) if question.resource is not None else None
    labels = item.get("metricLabels") if question.resource is None else None
    if labels is not None and not (isinstance(labels, Mapping) and all(isinstance(each, str) for each in labels.values())):
        raise ValueError("metricLabels are no labels")
    return Series(described, tuple(sorted((labels or {}).items())), value, time, None if window is None else window * 10**9)


def _object(described: Any, question: Question, *, namespaced: bool) -> Key:
    """The object of a value. Who asked was allowed what they asked for: an object of another namespace is not handed on."""
    name = described.get("name") if isinstance(described, Mapping) else None
    if not isinstance(name, str) or not name:
        raise ValueError("describedObject has no name")
    if question.name is not None and name != question.name:
        raise ValueError(f"it is of {name[:80]}, and {question.name} was asked for")
    if not namespaced or question.resource == NAMESPACES:
        return "", name
    namespace = described.get("namespace") or ""
    if not isinstance(namespace, str) or (question.namespace and namespace != question.namespace):
        raise ValueError(f"it is of namespace {str(namespace)[:80] or '(none)'}, and {question.namespace} was asked for")
    return namespace, name
