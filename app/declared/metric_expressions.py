"""What is wrong with the expressions of a LiveMetric, and with the objects that its tests name."""

from collections.abc import Iterator

from app.declared.expressions import NAMES, NUMBERS, TEXTS, TIMES, ExpressionFault, of_item, of_items
from app.declared.faults import Path
from app.declared.metric_model import LiveMetric, LiveMetricSpec

_SAMPLE: Path = ("spec", "sample")


def faults_of(metric: LiveMetric) -> list[ExpressionFault]:
    """All that is wrong with the expressions of a metric whose shape is well."""
    spec = metric.spec
    return [*of_items(spec), *_sample(spec), *_tests(spec)]


def _sample(spec: LiveMetricSpec) -> Iterator[ExpressionFault]:
    sample = spec.sample
    yield from of_item(sample.value, (*_SAMPLE, "value"), NUMBERS | {"string"}, "a number")
    if sample.object is not None:
        yield from of_item(sample.object.name, (*_SAMPLE, "object", "name"), NAMES, "string")
        if sample.object.namespace is not None:
            yield from of_item(sample.object.namespace, (*_SAMPLE, "object", "namespace"), frozenset({"string", "dyn"}), "string")
    for key, text in sample.labels.items():
        yield from of_item(text, (*_SAMPLE, "labels", key), TEXTS, "string")
    if sample.observed_at is not None:
        yield from of_item(sample.observed_at, (*_SAMPLE, "observedAt"), TIMES, "timestamp, RFC 3339 text or Unix seconds")


def _tests(spec: LiveMetricSpec) -> Iterator[ExpressionFault]:
    """Series that a test expects have an object where the metric has."""
    for index, test in enumerate(spec.tests):
        for number, series in enumerate(test.expect.series):
            path: Path = ("spec", "tests", index, "expect", "series", number)
            if spec.sample.object is None:
                if series.object is not None:
                    yield ExpressionFault((*path, "object"), "external metrics describe no object", "no object")
            elif series.object is None:
                yield ExpressionFault(path, "names no object", "object: NAMESPACE/NAME")
            elif ("/" in series.object) != (spec.sample.object.namespace is not None):
                yield ExpressionFault((*path, "object"), f"{series.object} is named otherwise", "NAMESPACE/NAME, or NAME without one")
