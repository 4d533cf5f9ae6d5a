"""`kubeglance check`: all that is wrong with declarations, before the server sees them. It asks a cluster only if it is told to."""

import argparse
import asyncio
import json
import re
import shlex
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from app.cli import names
from app.cli.arguments import Parser
from app.cli.declared_files import File, NothingToRead, read_files
from app.declared.check import Around, ServedNames, check
from app.declared.declaration import AnyDeclaration
from app.declared.faults import Fault, Place
from app.declared.prometheus_servers import ServersError, read_servers
from app.declared.served_names import served_names
from app.errors import KubeError

_LABEL = "kubeglance.io/declarations=true"
_NAME_LENGTH = 63
_KEY = re.compile(r"[-._a-zA-Z0-9]+")
"""A key of a ConfigMap, which a file's name need not be."""

_EPILOG = """\
Faults are printed one a line: FILE:LINE:COLUMN: PATH: what is wrong. A folder stands for all its *.yaml, *.yml and *.json files, but for
hidden ones and for those that a declaration names as inputFile. Exit code: 0 all is well (warnings may be told), 1 something is wrong,
2 wrong use."""


class Result(NamedTuple):
    """What came of it: how many files, the declarations without errors, all faults by place, and the files that are good as a whole."""

    files: int
    declarations: Sequence[AnyDeclaration]
    faults: Sequence[Fault]
    good: Sequence[Path]

    @property
    def errors(self) -> int:
        return sum(not fault.warning for fault in self.faults)

    @property
    def warnings(self) -> int:
        return len(self.faults) - self.errors


def run(argv: Sequence[str]) -> int:
    """Check and print; the answer is the exit code."""
    parser = _parser()
    try:
        arguments = parser.parse_args(argv)
        if not names.is_label(arguments.namespace):
            parser.error(f"--namespace={arguments.namespace}: is not {names.LABEL}")
        if not names.is_service(arguments.service):
            parser.error(f"--service={arguments.service}: is not {names.SERVICE}")
    except SystemExit as end:
        return int(end.code or 0)
    try:
        files = read_files(arguments.path)
        servers = None if arguments.prometheus_servers is None else read_servers(arguments.prometheus_servers)
        cluster = None if arguments.kubeconfig is None else asyncio.run(_cluster(arguments))
    except (NothingToRead, ServersError, KubeError) as err:
        print("\n".join(f"kubeglance check: {line}" for line in str(err).splitlines()), file=sys.stderr)
        return 2
    result = checked(files, cluster, servers)
    print(json.dumps(to_json(result), indent=2) if arguments.output == "json" else _text(result, arguments.namespace))
    return 1 if result.errors else 0


def _parser() -> Parser:
    parser = Parser("check", "Check declarations of live kinds and metrics: all faults at once, each with its place.")
    parser.epilog = _EPILOG
    parser.add_argument("path", nargs="+", type=Path, metavar="FILE|DIR", help="what to check")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="form of the output")
    parser.add_argument("--kubeconfig", type=Path, help="also check against what the cluster of this kubeconfig serves")
    parser.add_argument("--prometheus-servers", type=Path, metavar="FILE", help="also tell which servers are named that this file lacks")
    parser.add_argument("--namespace", default="kube-system", help="namespace of kubeglance")
    parser.add_argument("--service", default="kubeglance", help="name of kubeglance's Service")
    return parser


async def _cluster(arguments: argparse.Namespace) -> ServedNames:
    from app.kube.client import KubeClient  # noqa: PLC0415 -- who checks files alone needs no client
    from app.kube.config import load  # noqa: PLC0415

    async with KubeClient(load(arguments.kubeconfig)) as client:
        return await served_names(client, namespace=arguments.namespace, service=arguments.service)


def checked(files: Sequence[File], cluster: ServedNames | None = None, servers: Collection[str] | None = None) -> Result:
    """What is in the files, and all that is wrong with it; `cluster` is what one serves, None to ask none, and `servers` are the names of
    --prometheus-servers, None if they are not known."""
    declarations: list[AnyDeclaration] = []
    faults: list[Fault] = []
    good: list[Path] = []
    for file in files:
        around = Around(cluster=cluster, base=file.path.parent, others=tuple(declarations), servers=servers)
        outcome = check(file.documents, around)
        found = [*file.faults, *outcome.faults]
        if not file.documents and not found:
            found.append(Fault(Place(str(file.path)), "", "there is no declaration in this file", warning=True))
        if outcome.declarations and all(fault.warning for fault in found):
            good.append(file.path)
        declarations += outcome.declarations
        faults += found
    return Result(len(files), declarations, sorted(faults, key=lambda fault: (fault.place, fault.path, fault.message)), good)


def to_json(result: Result) -> Mapping[str, Any]:
    """The output of -o json.

    {"files": n, "errors": n, "warnings": n, "declarations": [{"name", "file", "line", "column"}], "faults": [{"severity": "error" or
    "warning", "file", "line", "column", "path", "message", "expected", "nearest"}]}. `declarations` are those without errors; texts that
    say nothing are "".
    """
    return {
        "files": result.files,
        "errors": result.errors,
        "warnings": result.warnings,
        "declarations": [{"name": each.name, **_where(each.place)} for each in result.declarations],
        "faults": [
            {
                "severity": "warning" if each.warning else "error",
                **_where(each.place),
                "path": each.path,
                "message": each.message,
                "expected": each.expected,
                "nearest": each.nearest,
            }
            for each in result.faults
        ],
    }


def _where(place: Place) -> dict[str, Any]:
    return {"file": place.file, "line": place.line, "column": place.column}


def _text(result: Result, namespace: str) -> str:
    said = f"{_count(len(result.declarations), 'good declaration')} in {_count(result.files, 'file')}"
    lines = [*map(str, result.faults), f"{said}, {_count(result.errors, 'error')}, {_count(result.warnings, 'warning')}"]
    if result.good:
        lines += ["", "In the cluster:", *(f"  {command}" for command in commands(result.good, namespace))]
    return "\n".join(lines)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def commands(files: Sequence[Path], namespace: str) -> list[str]:
    """For each file the line that puts it into a ConfigMap with the label that kubeglance looks for, anew as often as it is run."""
    stems = [_slug(file.stem) for file in files]
    lines = []
    for file, stem in zip(files, stems, strict=True):
        name = stem if stems.count(stem) == 1 else _slug(str(file.with_suffix("")))
        source = str(file) if _KEY.fullmatch(file.name) else f"{_slug(file.stem)}{file.suffix}={file}"
        lines.append(
            f"kubectl create configmap {name} -n {namespace} {shlex.quote(f'--from-file={source}')} --dry-run=client -o yaml"
            f" | kubectl label --local -f - {_LABEL} -o yaml | kubectl apply -f -"
        )
    return lines


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:_NAME_LENGTH].strip("-") or "declarations"
