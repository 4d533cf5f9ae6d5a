"""`kubeglance convert prometheus-adapter FILE`: the metrics of an adapter file as LiveMetrics, which need no discovery of series."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from app.adapter import offline
from app.adapter.config import Config
from app.adapter.conversion import NotConvertible, custom, external, with_labels
from app.adapter.discovery import Discovery, Listed
from app.adapter.prometheus import Prometheus
from app.adapter.serving import create_prometheus
from app.cli.arguments import Parser
from app.cli.flags import parse
from app.cli.sources import load
from app.clock import SystemClock
from app.errors import KubeglanceError, SettingsError
from app.settings import Settings
from collectors._base import CollectError

_EPILOG = """\
The flags of serve that begin with --prometheus- say where Prometheus is: it is asked which series there are, and which labels they have.
Without --prometheus-url only rules are converted whose seriesQuery names one series. Credentials are not converted.
What cannot be converted is told on standard error. Exit code: 0 all was converted, 1 some was not, 2 wrong use."""


def run(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Print the LiveMetrics; the answer is the exit code."""
    parser = Parser("convert", "Print the metrics of a prometheus-adapter file as LiveMetrics.")
    parser.epilog = _EPILOG
    parser.add_argument("what", choices=("prometheus-adapter",), help="what FILE belongs to")
    parser.add_argument("file", type=Path, metavar="FILE", help="its configuration file")
    parser.add_argument(
        "-n", "--namespace", action="append", default=[], help="a namespace to serve namespaced external metrics in, repeatable"
    )
    try:
        arguments, rest = parser.parse_known_args(argv)
    except SystemExit as end:
        return int(end.code or 0)
    told: list[str] = []
    try:
        settings, _ = load(parse(rest), environ)
        config = offline.read_config(arguments.file)
        asked = "prometheus_url" in settings.model_fields_set
        metrics = asyncio.run(_converted(config, settings, arguments.namespace, told, asked=asked))
    except SettingsError as err:
        print("\n".join(f"kubeglance convert: {fault}" for fault in err.faults), file=sys.stderr)
        return 2
    except KubeglanceError as err:
        print(f"kubeglance convert: {err}", file=sys.stderr)
        return 2
    print("".join(f"---\n{yaml.safe_dump(metric, sort_keys=False, width=140)}" for metric in metrics), end="")
    for line in told:
        print(f"kubeglance convert: {line}", file=sys.stderr)
    return 1 if told else 0


async def _converted(
    config: Config, settings: Settings, namespaces: Sequence[str], told: list[str], *, asked: bool
) -> list[dict[str, Any]]:
    """The LiveMetrics of all that the rules list; what is not among them is `told`."""
    clock = SystemClock()
    prometheus = create_prometheus(settings, clock) if asked else None
    try:
        max_age = settings.metrics_max_age or settings.metrics_relist_interval
        found = await offline.listed(config, prometheus or offline.Written(config.rules), clock, max_age, told.append)
        metrics: list[dict[str, Any]] = []
        if config.resource_rules is not None:
            told.append("resourceRules: no LiveMetric serves metrics.k8s.io; kubelets are asked for it, or keep the file for these")
        for listed in found.metrics.values():
            try:
                metrics += await _of(listed, found, settings.prometheus_url, namespaces, prometheus)
            except (NotConvertible, CollectError) as exc:
                told.append(f"{listed.rule.place}: {listed.entry.discovery_name}: {exc}")
        return metrics
    finally:
        if prometheus is not None:
            await prometheus.aclose()


async def _of(listed: Listed, found: Discovery, url: str, namespaces: Sequence[str], prometheus: Prometheus | None) -> list[dict[str, Any]]:
    """The LiveMetrics of one metric, with the labels that its series have now where Prometheus can be asked."""
    if listed.resource is not None:
        return [custom(listed, listed.resource, found.find, url)]
    metrics = external(listed, url, namespaces)
    if prometheus is None:
        return metrics
    labelled = []
    for metric in metrics:
        result = await prometheus.query(metric["spec"]["source"]["prometheus"]["query"])
        labels = {label for sample in result.samples for label, _ in sample.labels}
        labelled.append(
            with_labels(metric, sorted(label for label in labels if all(label in dict(each.labels) for each in result.samples)))
        )
    return labelled
