"""Rules between the fields of one declaration: times and tests of every one; namespaces, columns and metrics of a live kind."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path as FilePath
from pathlib import PurePosixPath

from app.declared.faults import Path
from app.declared.finding import Finding, duplicate, invalid, repeated
from app.declared.metric_model import LiveMetric
from app.declared.model import CollectedSpec, ColumnModel, InputModel, LiveResource, LiveResourceSpec
from app.duration import format_duration
from app.wire.object_names import is_label

MIN_INTERVAL = 1.0
RESERVED_COLUMN = "Name"
TREND_COLUMN = "Trend"

_SPEC: Path = ("spec",)
_COLUMN_FORMATS = ("int32", "int64", "float", "double", "byte", "date", "date-time", "password")
METRIC_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
METRIC_RULE = "a name as in Prometheus: letters, digits, _ and :, no digit first"
_CONSTANT = re.compile(r"""\s*(?:"([^"\\]*)"|'([^'\\]*)')\s*""")
_MAX_INPUT_BYTES = 64 << 20


def of_every(resource: LiveResource | LiveMetric, base: FilePath | None) -> Iterator[Finding]:
    """What is wrong with what all have. `base` is the folder of the declaration's file, None if it is in no folder."""
    yield from _times(resource.spec)
    for index, test in enumerate(resource.spec.tests):
        yield from _test(test, (*_SPEC, "tests", index), base)


def findings(resource: LiveResource) -> Iterator[Finding]:
    """What is wrong between the fields of a live kind."""
    yield from _namespaces(resource.spec)
    yield from _columns(resource.spec)
    yield from _metrics(resource.spec)
    if resource.spec.subresources.log and "kubernetes" not in resource.spec.source:
        what = "Forbidden: only objects of the cluster have pods with logs"
        yield Finding((*_SPEC, "subresources", "log"), what, "the source kubernetes", because=((*_SPEC, "source"),))


def _times(spec: CollectedSpec) -> Iterator[Finding]:
    interval, timeout, ttl = (*_SPEC, "interval"), (*_SPEC, "timeout"), (*_SPEC, "ttl")
    if spec.interval < MIN_INTERVAL:
        yield Finding(interval, f'Invalid value: "{_duration(spec.interval)}"', "at least 1s")
    elif spec.timeout >= spec.interval and "timeout" in spec.model_fields_set:
        what = f'Invalid value: "{_duration(spec.timeout)}"'
        yield Finding(timeout, what, f"less than interval, which is {_duration(spec.interval)}", because=(interval,))
    elif spec.timeout >= spec.interval:
        what = f'Invalid value: "{_duration(spec.interval)}"'
        yield Finding(interval, what, f"more than timeout, which is {_duration(spec.timeout)} if it is left out", because=(timeout,))
    if spec.timeout <= 0:
        yield Finding(timeout, f'Invalid value: "{_duration(spec.timeout)}"', "more than 0s")
    if spec.ttl is not None and spec.ttl < spec.interval:
        what = f'Invalid value: "{_duration(spec.ttl)}"'
        yield Finding(ttl, what, f"at least interval, which is {_duration(spec.interval)}", because=(interval,))


def _duration(seconds: float) -> str:
    return format_duration(round(seconds * 10**9))


def namespaces(names: Sequence[str], path: Path) -> Iterator[Finding]:
    """What is wrong with a list of names of namespaces."""
    again = repeated(names)
    for index, name in enumerate(names):
        if not is_label(name):
            expected = "a name of a namespace: lower-case letters, digits and dashes, at most 63 characters"
            yield invalid((*path, index), name, expected)
        elif index in again:
            yield duplicate((*path, index), name)


def _namespaces(spec: LiveResourceSpec) -> Iterator[Finding]:
    scope, allowed, namespace = (*_SPEC, "scope"), (*_SPEC, "allowNamespaces"), (*_SPEC, "object", "namespace")
    yield from namespaces(spec.allow_namespaces, allowed)
    if spec.scope == "Cluster":
        if spec.object.namespace is not None:
            yield Finding(namespace, "Forbidden: objects of scope Cluster have no namespace", "no namespace", because=(scope,))
        if spec.allow_namespaces:
            yield Finding(allowed, "Forbidden: objects of scope Cluster have no namespace", "no allowNamespaces", because=(scope,))
        return
    if spec.object.namespace is None:
        yield Finding(namespace, "Required value", "CEL for the namespace of an object, as scope is Namespaced", because=(scope,))
    if not spec.allow_namespaces:
        yield Finding(allowed, "Required value", "the namespaces that objects may be in, as scope is Namespaced", because=(scope,))
    elif (constant := _CONSTANT.fullmatch(spec.object.namespace or "")) is not None:
        name = constant[1] or constant[2] or ""
        if name not in spec.allow_namespaces:
            what = f'"{name}" is not one of allowNamespaces, so every item would be dropped'
            yield Finding(namespace, what, "a namespace that is listed there", because=(allowed,))


def _columns(spec: LiveResourceSpec) -> Iterator[Finding]:
    history = spec.subresources.history
    taken = {RESERVED_COLUMN.lower(): "is reserved: the first column is always the object's name"}
    if history is not None and history.trend is not None:
        taken[TREND_COLUMN.lower()] = "is reserved: subresources.history draws this column"
    for index, column in enumerate(spec.additional_printer_columns):
        path = (*_SPEC, "additionalPrinterColumns", index)
        word = column.name.lower()
        if word in taken:
            yield Finding((*path, "name"), f'Invalid value: "{column.name}" {taken[word]}', "another heading")
        taken.setdefault(word, "is the heading of another column; kubectl prints headings in capitals")
        yield from _column(column, path)


def _column(column: ColumnModel, path: Path) -> Iterator[Finding]:
    if (column.json_path is None) == (column.cel is None):
        what = "has neither jsonPath nor cel" if column.cel is None else "has both jsonPath and cel"
        yield Finding(path, what, "exactly one of them", because=((*path, "jsonPath"), (*path, "cel")))
    if column.format and column.format not in _COLUMN_FORMATS:
        yield invalid((*path, "format"), column.format, f"one of {', '.join(_COLUMN_FORMATS)}")
    if column.json_path is not None and not column.json_path.startswith("."):
        near = f".{column.json_path.removeprefix('$').removeprefix('{').removesuffix('}').removeprefix('.')}"
        yield invalid((*path, "jsonPath"), column.json_path, "a path that begins with a dot, such as .status.ready", near)


def _metrics(spec: LiveResourceSpec) -> Iterator[Finding]:
    names: set[str] = set()
    for index, metric in enumerate(spec.metrics):
        path = (*_SPEC, "metrics", index)
        if METRIC_NAME.fullmatch(metric.name) is None:
            yield invalid((*path, "name"), metric.name, METRIC_RULE)
        elif metric.name in names:
            yield duplicate((*path, "name"), metric.name)
        names.add(metric.name)
        for place in sorted(repeated(metric.apis)):
            yield duplicate((*path, "apis", place), metric.apis[place])


def _test(test: InputModel, path: Path, base: FilePath | None) -> Iterator[Finding]:
    given = {"input", "input_file"} & test.model_fields_set
    if len(given) != 1:
        what = "has both input and inputFile" if given else "has neither input nor inputFile"
        yield Finding(path, what, "exactly one of them", because=((*path, "input"), (*path, "inputFile")))
    if test.input_file is not None and base is not None:
        yield from _input_file(test.input_file, (*path, "inputFile"), base)


def _input_file(name: str, path: Path, base: FilePath) -> Iterator[Finding]:
    """The file must be there, beside the declaration or below. In the cluster there are no such files, and tests are not run."""
    relative = PurePosixPath(name)
    if relative.is_absolute() or ".." in relative.parts or not name.isprintable():
        yield invalid(path, name, "a path below the folder of this file")
        return
    try:
        with (base / relative).open("rb") as file:
            file.read(1)
        if (base / relative).stat().st_size > _MAX_INPUT_BYTES:
            yield Finding(path, f"{name} is larger than {_MAX_INPUT_BYTES >> 20} MiB")
    except OSError as err:
        yield Finding(path, f"cannot read {base / relative}: {err.strerror}", "a file with a response of the source, as JSON or YAML")
