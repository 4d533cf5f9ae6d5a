"""`kubeglance convert prometheus-adapter FILE`: the metrics of an adapter file as LiveMetrics, which need no discovery of series."""

import asyncio
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import yaml

from app.adapter import offline
from app.adapter.config import Config
from app.adapter.conversion import Converted, NotConvertible, Source, custom, external, live_metrics
from app.adapter.discovery import Listed
from app.adapter.naming import Find
from app.adapter.prometheus import Prometheus
from app.adapter.serving import create_prometheus
from app.cli import names
from app.cli.arguments import Parser
from app.cli.flags import parse
from app.cli.sources import load
from app.clock import SystemClock
from app.declared.check import check
from app.declared.documents import MAX_BYTES, MAX_DOCUMENTS, read
from app.declared.faults import in_one_line
from app.errors import KubeglanceError, SettingsError
from app.settings import Settings, flag_name
from collectors._base import CollectError

_EPILOG = """\
The flags of serve that begin with --prometheus- say where Prometheus is: it is asked which series there are, and which labels they have.
Without --prometheus-url only rules are converted whose seriesQuery names one series. Credentials are not converted.
What cannot be converted is told on standard error; what differs of what was converted stands in comments above it.
Exit code: 0 all was converted, 1 some was not, 2 wrong use."""

_CREDENTIALS = (
    "prometheus_auth_incluster",
    "prometheus_auth_config",
    "prometheus_ca_file",
    "prometheus_client_tls_cert_file",
    "prometheus_client_tls_key_file",
    "prometheus_token_file",
    "prometheus_header",
)


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
        for namespace in arguments.namespace:
            if not names.is_label(namespace):
                parser.error(f"--namespace={namespace}: is not {names.LABEL}")
    except SystemExit as end:
        return int(end.code or 0)
    told: list[str] = []
    try:
        settings, _ = load(parse(rest), environ)
        config = offline.read_config(arguments.file)
        converted = asyncio.run(_converted(config, settings, tuple(dict.fromkeys(arguments.namespace)), told))
    except SettingsError as err:
        print("\n".join(f"kubeglance convert: {fault}" for fault in err.faults), file=sys.stderr)
        return 2
    except KubeglanceError as err:
        print(f"kubeglance convert: {err}", file=sys.stderr)
        return 2
    text = "".join(_texts(converted, told))
    if len(converted) > MAX_DOCUMENTS or len(text.encode()) > MAX_BYTES:
        told.append(f"more than one file of declarations may hold ({MAX_DOCUMENTS:,} documents, {MAX_BYTES >> 20} MiB): split it")
    print(text, end="")
    for line in told:
        print(in_one_line(f"kubeglance convert: {line}"), file=sys.stderr)
    return 1 if told else 0


def _texts(converted: Sequence[tuple[Listed, Converted]], told: list[str]) -> Iterator[str]:
    """Each as a document, below its notes. What the checks of declarations refuse is `told` instead."""
    documents = live_metrics([each for _, each in converted])
    for (listed, _), (each, metric) in zip(converted, documents, strict=True):
        text = yaml.safe_dump(metric, sort_keys=False, width=140)
        faults = [fault for fault in check(read(text, "")[0]).faults if not fault.warning]
        if faults:
            told += [f"{_what(listed)}: {fault.path}: {fault.message}" for fault in faults]
            continue
        yield "".join(("---\n", *(in_one_line(f"# {note}") + "\n" for note in (_what(listed), *each.notes)), text))


async def _converted(config: Config, settings: Settings, namespaces: Sequence[str], told: list[str]) -> list[tuple[Listed, Converted]]:
    """All that the rules list as LiveMetrics; what is not among them is `told`."""
    clock = SystemClock()
    source = Source(settings.prometheus_url, settings.prometheus_verb)
    prometheus = create_prometheus(settings, clock) if "prometheus_url" in settings.model_fields_set else None
    try:
        max_age = settings.metrics_max_age or settings.metrics_relist_interval
        found = await offline.listed(config, prometheus or offline.Written(config.rules), clock, max_age, told.append)
        if config.resource_rules is not None:
            told.append("resourceRules: no LiveMetric serves metrics.k8s.io; kubelets are asked for it, or keep the file for these")
        if given := [flag_name(field) for field in _CREDENTIALS if field in settings.model_fields_set]:
            told.append(f"{', '.join(given)}: not converted; write headers, auth and tls below source.prometheus of each LiveMetric")
        metrics = []
        for listed in found.metrics.values():
            for namespace in namespaces if listed.resource is None and listed.rule.namespaced and namespaces else ("",):
                try:
                    metrics.append((listed, await _one(listed, namespace, found.find, source, prometheus)))
                except (NotConvertible, CollectError) as exc:
                    told.append(f"{_what(listed)}{f' in namespace {namespace}' if namespace else ''}: {exc}")
        return metrics
    finally:
        if prometheus is not None:
            await prometheus.aclose()


async def _one(listed: Listed, namespace: str, find: Find, source: Source, prometheus: Prometheus | None) -> Converted:
    """One metric, with what only samples of its query tell. Raises NotConvertible and CollectError."""
    one = external(listed, source, namespace) if listed.resource is None else custom(listed, listed.resource, find, source)
    if prometheus is None:
        return one.unseen().noting("--prometheus-url was not given: url is the default of that flag")
    return one.seen((await prometheus.query(one.query)).samples)


def _what(listed: Listed) -> str:
    return f"{listed.rule.place}: {listed.entry.discovery_name}"
