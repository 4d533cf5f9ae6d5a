"""`kubeglance explain METRIC`: which rule of an adapter file serves a metric, what it asks, what is answered, and what becomes of it."""

import asyncio
import sys
from collections.abc import Iterator, Mapping, Sequence

from app.adapter import offline
from app.adapter.config import Config
from app.adapter.discovery import Discovery, Listed
from app.adapter.naming import NamingError
from app.adapter.prometheus import Prometheus, Sample, series_text
from app.adapter.provider import custom_queries, external_query
from app.adapter.query import QueryError
from app.adapter.serving import create_prometheus
from app.cli.arguments import Parser
from app.cli.flags import parse
from app.cli.sources import load
from app.clock import SystemClock
from app.errors import KubeglanceError, Problem, SettingsError
from app.nearest import nearest_word
from app.served_metrics.values import Question
from app.settings import Settings
from app.wire.label_selectors import LabelSelector, parse_label_selector
from app.wire.timestamps import format_time
from collectors._base import CollectError

_EPILOG = """\
All other flags are those of serve: --config is prometheus-adapter's file, --prometheus-url and the like say where Prometheus is.
Exit code: 0 the metric has values, 1 it has none or is not listed, 2 wrong use."""

_MOST_SAMPLES = 20


def run(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Print all that leads to a metric's values; the answer is the exit code."""
    parser = Parser("explain", "Show the rule, the query, the raw samples and the mapping of a metric of prometheus-adapter's file.")
    parser.epilog = _EPILOG
    parser.add_argument("metric", metavar="METRIC", help="its name, or RESOURCE/NAME as discovery has it")
    parser.add_argument("-n", "--in", dest="namespace", default="", metavar="NAMESPACE", help="the namespace that is asked (default: all)")
    parser.add_argument("--name", action="append", default=[], help="an object that is asked for, repeatable (default: all)")
    parser.add_argument("-l", "--metric-selector", default="", help="selector of series, as an HPA has it")
    try:
        arguments, rest = parser.parse_known_args(argv)
    except SystemExit as end:
        return int(end.code or 0)
    try:
        settings, _ = load(parse(rest), environ)
        config = _config(settings)
        question = Question(
            "custom",
            arguments.metric,
            namespace=arguments.namespace,
            name=arguments.name[0] if arguments.name else None,
            series=_selector(arguments.metric_selector),
        )
        return asyncio.run(_explain(config, settings, question, arguments.name))
    except SettingsError as err:
        print("\n".join(f"kubeglance explain: {fault}" for fault in err.faults), file=sys.stderr)
    except KubeglanceError as err:
        print(f"kubeglance explain: {err}", file=sys.stderr)
    return 2


def _config(settings: Settings) -> Config:
    if settings.config is None:
        raise SettingsError(["--config: is missing: the file of prometheus-adapter that has the metric's rule"])
    return offline.read_config(settings.config)


def _selector(text: str) -> LabelSelector:
    try:
        return parse_label_selector(text)
    except Problem as exc:
        raise SettingsError([f"--metric-selector={text}: {exc}"]) from exc


async def _explain(config: Config, settings: Settings, question: Question, names: Sequence[str]) -> int:
    clock = SystemClock()
    prometheus = create_prometheus(settings, clock)
    try:
        max_age = settings.metrics_max_age or settings.metrics_relist_interval
        found = await offline.listed(config, prometheus, clock, max_age, lambda line: print(f"kubeglance explain: {line}", file=sys.stderr))
        asked = [listed for listed in found.metrics.values() if question.metric in {listed.metric, listed.entry.discovery_name}]
        if not asked:
            print(_not_listed(question.metric, found), file=sys.stderr)
            return 1
        good = [await _explain_one(listed, question, names, prometheus) for listed in asked]
        return 0 if all(good) else 1
    finally:
        await prometheus.aclose()


def _not_listed(metric: str, found: Discovery) -> str:
    near = nearest_word(metric, [listed.metric for listed in found.metrics.values()])
    known = f'; did you mean "{near}"?' if near else f"; they list {len(found.metrics)} metrics" if found.metrics else "; they list nothing"
    return f"kubeglance explain: no rule lists {metric}{known}"


async def _explain_one(listed: Listed, question: Question, names: Sequence[str], prometheus: Prometheus) -> bool:
    """Print one metric of one resource; whether it has values."""
    rule = listed.rule
    print(f"{listed.entry.discovery_name} ({listed.entry.api})")
    print(f"  rule     {rule.place}: seriesQuery {rule.series_query}")
    print(f"  series   {listed.series}, named by {rule.names.matches} as {rule.names.output}")
    label = ""
    try:
        if listed.resource is None:
            queries: Sequence[str] = [external_query(listed, question)]
        else:
            label = listed.association.label(listed.resource)
            print(f"  object   {listed.resource} by label {label}")
            namespace = question.namespace if listed.namespaced else ""
            queries = custom_queries(listed, label, namespace, question, names)
            if not rule.by_object and not names:
                print("  note     metricsQuery may bring objects together: the real query names those that are asked for; see --name")
        samples: list[Sample] = []
        for query in queries:
            print(f"  query    {query}")
            result = await prometheus.query(query)
            samples += result.samples
            for line in (*result.dropped, *result.warnings):
                print(f"  dropped  {line}" if line in result.dropped else f"  warning  {line}")
    except (NamingError, QueryError, CollectError) as exc:
        print(f"  error    {exc}")
        return False
    lines = list(_mapped(samples, label, names))
    print("\n".join(f"  {line}" for line in lines[:_MOST_SAMPLES]) or "  samples  none: the metric is absent, and an HPA holds")
    if len(lines) > _MOST_SAMPLES:
        print(f"  ...      and {len(lines) - _MOST_SAMPLES} more")
    return any(" -> " in line for line in lines)


def _mapped(samples: Sequence[Sample], label: str, names: Sequence[str]) -> Iterator[str]:
    """Each raw sample, and what becomes of it."""
    for sample in samples:
        labels = dict(sample.labels)
        raw = f"sample   {series_text(labels)} {sample.value} at {format_time(sample.time)}"
        if not label:
            yield f"{raw} -> {sample.value}"
        elif label not in labels:
            yield f"{raw}: no object, for it has no label {label}: does metricsQuery aggregate by << .GroupBy >>?"
        elif names and labels[label] not in names:
            yield f"{raw}: {labels[label]} is not asked for"
        else:
            yield f"{raw} -> {labels[label]}: {sample.value}"
