"""The shape of a LiveMetric (kubeglance.io/v1alpha1): a metric for the HPA. What it has in common with a LiveResource is in model.py."""

from typing import Any, Literal

from pydantic import Field

from app.declared.model import Cel, CollectedSpec, Duration, InputModel, Metadata
from collectors._source import Spec


class Describes(Spec):
    """The resource whose objects a custom metric is about: of the cluster, or a live kind."""

    group: str = Field("", description="API group; empty for the core group.")
    resource: str = Field(description="Plural name of the resource, such as pods.")


class SampleObject(Spec):
    """Which object a sample is about."""

    name: Cel = Field(description="CEL over `item`: the name of the object.")
    namespace: Cel | None = Field(None, description="CEL over `item`: the namespace of the object. Resources without namespaces have none.")


class Sample(Spec):
    """How an item becomes a series. Every leaf is CEL over `item`."""

    object: SampleObject | None = Field(None, description="The described object of a custom metric.")
    value: Cel = Field(description="The number. Text with a number is one too; NaN, infinite and null drop the item.")
    labels: dict[str, Cel] = Field(default_factory=dict, description="Labels of the series, for selectors of metrics.")
    observed_at: Cel | None = Field(None, description="When the source measured it; the time of the collection if it is left out.")


class Missing(Spec):
    """What is answered where the source gives no value any more. Without it a value is absent, and the HPA holds."""

    policy: Literal["Omit", "Hold", "Constant"] = Field(
        "Omit", description="Omit: absent. Hold: the last value, for a time. Constant: `value` instead."
    )
    for_: Duration | None = Field(None, alias="for", description="Of Hold: how long since the value was measured last.")
    value: Any = Field(None, description="Of Constant: the number, as number or text.")


class SeriesExpected(Spec):
    """One series that a test wants."""

    object: str | None = Field(None, description="NAMESPACE/NAME or NAME of the described object.")
    labels: dict[str, str] = Field(default_factory=dict, description="All labels of the series.")
    value: Any = Field(description="The number, as number or text.")


class SeriesExpect(Spec):
    """What a test wants of what comes out."""

    count: int | None = Field(None, ge=0, description="Number of series.")
    dropped: int | None = Field(None, ge=0, description="Number of items that become no series.")
    series: list[SeriesExpected] = Field(default_factory=list, description="Series that must be there.")


class MetricTest(InputModel):
    """A response of the source, and what must become of it."""

    expect: SeriesExpect = Field(description="What must come out.")


class LiveMetricSpec(CollectedSpec):
    """What metric is served, where it comes from, and how an item becomes a series."""

    api: Literal["custom", "external"] = Field(description="custom: about objects of the cluster. external: about nothing in it.")
    name: str = Field(description="Name of the metric, as in Prometheus.")
    describes: Describes | None = Field(None, description="Whose metric it is. Custom metrics need it.")
    sample: Sample
    window: Duration | None = Field(None, description="The time that a value is measured over, such as that of a rate.")
    namespaces: list[str] | Literal["own", "any"] | None = Field(
        None,
        description="Namespaces that the metric is served in: a list, `own` for that of the ConfigMap, or `any`. "
        "What is about objects of other namespaces is dropped. Left out: own for tenants, any for custom metrics of the operator.",
    )
    missing: Missing = Field(Missing.model_validate({}), description="What is answered where there is no value.")
    tests: list[MetricTest] = Field(default_factory=list, description="Run by `kubeglance test`.")


class LiveMetric(Spec):
    """A metric that is served from a source."""

    api_version: Literal["kubeglance.io/v1alpha1"]
    kind: Literal["LiveMetric"]
    metadata: Metadata
    spec: LiveMetricSpec


def served_in(metric: LiveMetric, namespace: str) -> frozenset[str] | None:
    """The namespaces that a metric is served in, None for all. `namespace` is the tenant's, "" where it is kubeglance's own."""
    said = metric.spec.namespaces
    if isinstance(said, list):
        return frozenset(said)
    return frozenset([namespace]) if namespace and said != "any" else None
