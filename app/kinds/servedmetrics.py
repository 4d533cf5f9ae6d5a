"""ServedMetric: each metric that is served to autoscalers, whoever serves it, and how it is now. Discovery stays small; this has all."""

import re
from typing import Any

import msgspec
from msgspec import Struct

from app.kinds import _live as live
from app.kinds._base import Cell, Column, Kind
from app.wire.object_names import object_name

_PLAIN = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*")
_CUSTOM, _EXTERNAL = "custom.metrics.k8s.io", "external.metrics.k8s.io"
_encode = msgspec.json.Encoder().encode


class ServedMetricNow(Struct, frozen=True):
    """One metric. `resource` is what it describes (pods, ingresses.networking.k8s.io), "" of an external one. `provider` is who serves it,
    `source` what it is collected from. `series` is how many there are now, None where nobody knows before it is asked for; `last` is the
    time of the newest sample (Unix ns), 0 without one; `error` the last error, "" without one.
    """

    metric: str
    api: str
    resource: str
    namespaced: bool
    provider: str
    source: str
    series: int | None
    last: int
    error: str


def name_of(metric: str, resource: str) -> str:
    """The object's name: orders_waiting -> orders-waiting, http_requests of pods -> http-requests.pods.

    Where the metric has more than lower-case letters, digits and single underscores, a hash tells those apart that would read alike.
    """
    if _PLAIN.fullmatch(metric) is None:
        return object_name(f"{metric}/{resource}")
    plain = metric.replace("_", "-")
    return object_name(f"{plain}.{resource}" if resource else plain)


def json(metric: ServedMetricNow) -> bytes:
    """The fields behind metadata."""
    spec: dict[str, Any] = live.known(
        metric=metric.metric,
        api=_group(metric),
        resource=metric.resource or None,
        namespaced=metric.namespaced,
        provider=metric.provider,
        source=metric.source or None,
    )
    status = live.known(
        series=metric.series, lastSampleAt=live.time_field(metric.last), lastError=metric.error or None, conditions=[_serving(metric)]
    )
    return _encode({"spec": spec, "status": status})


def cells(name: str, metric: ServedMetricNow) -> tuple[Cell, ...]:
    """One cell a column."""
    return (
        name,
        metric.metric,
        metric.api,
        metric.resource or live.NOT_SET,
        metric.source or live.NOT_SET,
        live.count_cell(metric.series),
        live.seen_cell(metric.last),
        live.cut(metric.error) or live.NOT_SET,
        metric.provider,
        "true" if metric.namespaced else "false",
    )


def _group(metric: ServedMetricNow) -> str:
    return _CUSTOM if metric.api == "custom" else _EXTERNAL


def _serving(metric: ServedMetricNow) -> live.Object:
    """For `kubectl wait --for=condition=Serving`: whether there are series now."""
    if metric.series is None:
        return _condition("Unknown", "NotAskedFor", "its series are known when it is asked for")
    if metric.series:
        return _condition("True", "HasSeries", metric.error)
    return _condition("False", "NoSeries", metric.error or "there are no samples")


def _condition(status: str, reason: str, message: str) -> live.Object:
    return live.known(type="Serving", status=status, reason=reason, message=message or None)


KIND = Kind(
    group=live.GROUP,
    versions=live.VERSIONS,
    kind="ServedMetric",
    resource="servedmetrics",
    singular="servedmetric",
    namespaced=False,
    short_names=("sm",),
    categories=live.CATEGORIES,
    columns=(
        Column("Name", format="name", description="The metric and what it describes, as a name of an object."),
        live.column("Metric", "Its name in an HPA; key: .spec.metric."),
        live.column("API", "custom or external."),
        live.column("Resource", "The objects that it describes; key: .spec.resource."),
        live.column("Source", "What it is collected from; key: .spec.source."),
        live.column("Series", f"Series that there are now, {live.UNKNOWN} before it is asked for; key: .status.series."),
        Column("Last", type="date", description="How long ago the newest sample was measured."),
        live.column("Error", f"The last error, cut at {live.LONGEST_ERROR} characters; key: .status.lastError."),
        live.column("Provider", "Who serves it: a declaration, a rule, a route; key: .spec.provider.", wide=True),
        live.column("Namespaced", "Whether it is asked for in a namespace; key: .spec.namespaced.", wide=True),
    ),
    schema={
        "description": "A metric that is served to autoscalers, with how it is now.",
        "properties": {
            "spec": live.fields(
                "What is served.",
                metric=live.text("Its name in an HPA."),
                api=live.text(f"{_CUSTOM} or {_EXTERNAL}."),
                resource=live.text("The objects that it describes, as in paths; nothing of an external metric."),
                namespaced={"type": "boolean", "description": "Whether it is asked for in a namespace."},
                provider=live.text("Who serves it: a declaration, a rule, a route."),
                source=live.text("What it is collected from."),
            ),
            "status": live.fields(
                "How it is.",
                series=live.integer("Series that there are now; missing before it is asked for."),
                lastSampleAt=live.moment("When the newest sample was measured."),
                lastError=live.text("The last error, without secrets."),
                conditions=live.items(
                    "Serving: whether there are series now.",
                    type=live.text("Serving."),
                    status=live.text("True, False or Unknown."),
                    reason=live.text("HasSeries, NoSeries or NotAskedFor."),
                    message=live.text("The error, if there is one."),
                ),
            ),
        },
    },
    created=lambda _metric: 0,
    measured=lambda metric: metric.last,
    annotations=lambda _metric: (),
    uid=lambda key, _metric: live.uid_of("ServedMetric", key[1]),
    json=json,
    cells=cells,
    edit="it tells what is served: change the declaration or the rule in the column PROVIDER of -o wide",
)
