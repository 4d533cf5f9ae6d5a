"""`kubeglance render`: what kubectl would print of a response of a declaration's source, without the source and without a cluster."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from app.cli.arguments import Parser
from app.cli.declared_files import NothingToRead, chosen
from app.cli.kubectl_output import table, yaml_text
from app.cli.rendered import Rendered, read_response, rendered
from app.clock import Clock, SystemClock
from app.declared.declaration import AnyDeclaration
from app.declared.faults import in_one_line
from app.declared.objects import Dropped
from collectors._base import CollectError

_EPILOG = """\
Objects go to standard output, as `kubectl get PLURAL -A` prints them. Items that become none, and cells that are blank for an error, are
told on standard error. Exit code: 0 every item became an object, 1 some did not or the declaration is wrong, 2 wrong use."""

_MOST_TOLD = 20


def run(argv: Sequence[str], clock: Clock | None = None) -> int:
    """Render and print; the answer is the exit code."""
    parser = Parser("render", "Print what kubectl would of a sample of what a source answers.")
    parser.epilog = _EPILOG
    parser.add_argument("file", type=Path, metavar="FILE", help="the declaration")
    parser.add_argument("--input", type=Path, help="a response of the source: JSON, YAML or Prometheus text; source static has its own")
    parser.add_argument("-o", "--output", choices=("table", "wide", "yaml"), default="table", help="form of the output")
    parser.add_argument("--kind", default="", help="which of several in the file: its kind, plural or metadata.name")
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as end:
        return int(end.code or 0)
    try:
        declaration = chosen(arguments.file, arguments.kind)
        if declaration is None:
            return 1
        result = rendered(declaration, _response(declaration, arguments.input), clock or SystemClock())
    except NothingToRead as err:
        print(f"kubeglance render: {err}", file=sys.stderr)
        return 2
    except CollectError as err:
        print(f"kubeglance render: {err.message}", file=sys.stderr)
        return 1
    print(_printed(result, arguments.output), end="")
    told = told_of(result.mapped.dropped, result.mapped.blank)
    if told:
        print("\n".join(told), file=sys.stderr)
    return 1 if result.mapped.dropped else 0


def _response(declaration: AnyDeclaration, given: Path | None) -> Any:
    """What the source answers. Raises CollectError, and NothingToRead where nobody says what it answers."""
    if given is not None:
        return read_response(given)
    written: Mapping[str, Any] = declaration.resource.spec.source
    if "static" in written:
        return written["static"]
    raise NothingToRead("--input is needed: a file with what the source answers; kubeglance probe asks the source itself")


def _printed(result: Rendered, output: str) -> str:
    if output == "yaml":
        return yaml_text({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": result.objects})
    text = table(result.table, wide=output == "wide", namespaces=result.namespaced)
    if not text:
        print("No resources found", file=sys.stderr)
        return ""
    return f"{text}\n"


def told_of(dropped: Sequence[Dropped], blank: Sequence[Dropped]) -> list[str]:
    """Lines on what of a response is no object, and which cells are blank for an error."""
    lines = [f"dropped: item {each.index}{_named(each)}: {each.reason}" for each in dropped[:_MOST_TOLD]]
    if len(dropped) > _MOST_TOLD:
        lines.append(f"dropped: {len(dropped) - _MOST_TOLD} more")
    lines += [f"blank: item {each.index}{_named(each)}: {each.reason}" for each in blank[:_MOST_TOLD]]
    if len(blank) > _MOST_TOLD:
        lines.append(f"blank: {len(blank) - _MOST_TOLD} more")
    return [in_one_line(line) for line in lines]


def _named(dropped: Dropped) -> str:
    return f' "{dropped.name}"' if dropped.name else ""
