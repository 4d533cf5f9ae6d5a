"""`kubeglance test`: the tests that declarations bring along, without their sources and without a cluster."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from app.cli.arguments import Parser
from app.cli.check import checked
from app.cli.declared_files import NothingToRead, read_files
from app.cli.render import told_of
from app.cli.rendered import Rendered, read_response, rendered
from app.declared.declaration import AnyDeclaration
from app.declared.metric_model import SeriesExpect
from app.declared.model import ExpectModel, InputModel
from app.served_metrics.numbers import exact
from collectors._base import CollectError

_EPILOG = """\
A test gives a response of the source and what must become of it: the count of objects, how many items are dropped, and parts of objects.
What is seen in a test is seen at 2026-01-01T00:00:00Z. Exit code: 0 all passed, 1 some failed or a declaration is wrong, 2 wrong use."""

_SEEN = 1_767_225_600.0
_SHOWN = 200
_MOST_NAMES = 10


class _Then:
    """The clock of tests: it stands still."""

    def wall(self) -> float:
        return _SEEN

    def monotonic(self) -> float:
        return 0.0


def run(argv: Sequence[str]) -> int:
    """Run the tests and print how they went; the answer is the exit code."""
    parser = Parser("test", "Run the tests of declarations.")
    parser.epilog = _EPILOG
    parser.add_argument("path", nargs="+", type=Path, metavar="FILE|DIR", help="declarations; a folder stands for those in it")
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as end:
        return int(end.code or 0)
    try:
        result = checked(read_files(arguments.path))
    except NothingToRead as err:
        print(f"kubeglance test: {err}", file=sys.stderr)
        return 2
    for fault in result.faults:
        print(fault)
    ran = failed = 0
    for declaration in result.declarations:
        for index, test in enumerate(declaration.resource.spec.tests):
            ran += 1
            failed += not _ran(declaration, index, test)
        if not declaration.resource.spec.tests:
            print(f"-     {declaration.name}: has no tests")
    wrong = f", {result.errors} faults in declarations" if result.errors else ""
    print(f"{ran - failed} of {ran} tests passed, of {len(result.declarations)} declarations{wrong}")
    return 1 if failed or result.errors else 0


def _ran(declaration: AnyDeclaration, index: int, test: InputModel) -> bool:
    """Run one test and print how it went; the answer is whether it passed."""
    place = declaration.positions.of(("spec", "tests", index))
    name = f"{declaration.name}: {test.name or f'tests[{index}]'}"
    try:
        result = rendered(declaration, _response(declaration, test), _Then())
        expect = declaration.resource.spec.tests[index].expect
        faults = list(of_series(expect, result) if isinstance(expect, SeriesExpect) else differences(expect, result))
        notes = told_of(result.mapped.dropped, result.mapped.blank)
    except CollectError as err:
        faults, notes = [err.message], []
    print(f"{'FAIL' if faults else 'ok  '}  {name}{f'  ({place})' if faults else ''}")
    for line in [*faults, *(notes if faults else [])]:
        print(f"        {line}")
    return not faults


def _response(declaration: AnyDeclaration, test: InputModel) -> Any:
    return test.input if test.input_file is None else read_response(Path(declaration.place.file).parent / test.input_file)


def differences(expect: ExpectModel, result: Rendered) -> Iterator[str]:
    """How what came out is not what was expected, a line each: where, what was expected, and what was found."""
    found = {_name(each): each for each in result.objects}
    yield from _counts(expect, result, _names(found))
    for name, wanted in expect.items.items():
        if name not in found:
            yield f"items[{name}]: expected an object, found {_names(found)}"
        else:
            yield from _unlike(wanted, found[name], f"items[{name}]")


def of_series(expect: SeriesExpect, result: Rendered) -> Iterator[str]:
    """The same of a metric. A series is found by its object and all of its labels; numbers are equal whichever way they are written."""
    found = {_series_name(each["object"], each["labels"]): each["value"] for each in result.objects}
    yield from _counts(expect, result, _names(found))
    for index, wanted in enumerate(expect.series):
        name, path = _series_name(wanted.object, wanted.labels), f"series[{index}]"
        if name not in found:
            yield f"{path}: expected {name}, found {_names(found)}"
        elif exact(wanted.value) != exact(found[name]):
            yield f"{path}: expected {wanted.value}, found {found[name]}"


def _series_name(described: str | None, labels: Mapping[str, str]) -> str:
    return f"{described or ''}{{{', '.join(f'{key}={text}' for key, text in sorted(labels.items()))}}}"


def _counts(expect: ExpectModel | SeriesExpect, result: Rendered, names: str) -> Iterator[str]:
    if expect.count is not None and expect.count != len(result.objects):
        yield f"count: expected {expect.count}, found {len(result.objects)}: {names}"
    dropped = len(result.mapped.dropped)
    if expect.dropped is not None and expect.dropped != dropped:
        yield f"dropped: expected {expect.dropped}, found {dropped}"


def _names(found: Mapping[str, Any]) -> str:
    names = sorted(found)
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{', '.join(names[:_MOST_NAMES])}{more}" or "none"


def _name(obj: Mapping[str, Any]) -> str:
    metadata = obj["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if "namespace" in metadata else str(metadata["name"])


def _unlike(wanted: Any, found: Any, path: str) -> Iterator[str]:
    """Mappings need to have what is wanted and may have more; all else is equal, and so is the length of lists. null is nothing."""
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        for name, part in wanted.items():
            yield from _unlike(part, found.get(name), f"{path}.{name}")
    elif isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        for index, (part, of_found) in enumerate(zip(wanted, found, strict=True)):
            yield from _unlike(part, of_found, f"{path}[{index}]")
    elif wanted != found or isinstance(wanted, bool) != isinstance(found, bool):
        yield f"{path}: expected {_shown(wanted)}, found {_shown(found)}"


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
