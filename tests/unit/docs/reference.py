"""docs/reference-liveresource.md and docs/reference-livemetric.md, made from the JSON Schemas that editors get."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from app.declared.check_schema import KEYWORDS
from app.declared.json_schema import schema
from collectors import sources

_HEAD = """\
# LiveResource, field by field

This page is made from the models that check declarations.
`kubeglance check` tells what is wrong with a declaration.
[The JSON Schema](schema/liveresource.json), which `kubeglance schema` prints too, makes editors check it while it is written:

```yaml
# yaml-language-server: $schema=liveresource.json
```

`kubeglance check FILE|DIR` ends with 0 if all is well (there may be warnings), with 1 if a declaration is wrong, with 2 for wrong use.
It asks no cluster; `--kubeconfig` has it look at what the cluster serves too: groups of others, and names that kubectl knows already.
`--prometheus-servers` has it tell which servers are named that the file lacks.
Each fault is one line, `FILE:LINE:COLUMN: PATH: what is wrong; expected ...; did you mean ...?`; `-o json` gives the same as

```json
{"files": 1, "errors": 1, "warnings": 0, "declarations": [{"name": "queues.msg.example.com", "file": "q.yaml", "line": 1, "column": 1}],
 "faults": [{"severity": "error", "file": "q.yaml", "line": 33, "column": 32, "path": "spec.additionalPrinterColumns[1].priorty",
             "message": "unknown field", "expected": "", "nearest": "priority"}]}
```

A declaration is YAML 1.2 or JSON, at most 1 MiB a file; several documents may stand in a YAML file.
Unknown fields are errors. `yes`, `no`, `on` and `off` are text, as are dates.
CEL is the [Common Expression Language](https://cel.dev), as in Kubernetes.
Durations are written as in Go: `15s`, `1m30s`. Bytes are quantities: `1Mi`, or a number.
"""

_METRIC_HEAD = """\
# LiveMetric, field by field

This page is made from the models that check declarations.
A LiveMetric is a metric for the HorizontalPodAutoscaler: served as a custom metric of objects (`api: custom`), or as an external one.
It is found, checked and reloaded as a LiveResource is: see [declarations](declarations.md).
[The JSON Schema](schema/livemetric.json), which `kubeglance schema LiveMetric` prints too, makes editors check it while it is written.
[LiveResource, field by field](reference-liveresource.md) has the sources, and how faults are told.

```yaml
# yaml-language-server: $schema=livemetric.json
apiVersion: kubeglance.io/v1alpha1
kind: LiveMetric
metadata: {name: orders-waiting}
spec:
  api: external
  name: orders_waiting
  namespaces: [shop]
  source: {static: {items: [{region: eu, waiting: 12}, {region: us, waiting: 30}]}}
  items: response.items
  sample: {value: item.waiting, labels: {region: item.region}}
  missing: {policy: Hold, for: 2m}
  tests:
  - input: {items: [{region: eu, waiting: 12}, {region: us, waiting: null}]}
    expect: {count: 1, dropped: 1, series: [{labels: {region: eu}, value: 12}]}
```

## Rules

- An item becomes one series. One without a number (null, NaN, infinite, text that is none) is dropped, counted and named: it never becomes
  zero. Numbers are exact, also those beyond 64 bits, and those that stand as text.
- Of two items with the same object and labels the first is kept: an HPA would add both.
- Values have the time at which they were measured, and live `ttl` from then; whoever reads never gets an older one.
- What describes an object that is gone is gone with it.
- Two metrics of one `api`, `name` and `describes` may not share a namespace: the second is a fault.

| `missing.policy` | the source fails | the source answers, without the series |
|---|---|---|
| `Omit` | the value stands until `ttl` is over, then it is absent | absent at once |
| `Hold` | it stands until `for` or `ttl`, whichever is longer, is over | it stands until `for` is over |
| `Constant` | the value stands until `ttl` is over, then `value` is served | `value` is served at once |

A constant is served for each object that is asked for and has no series, whatever labels are asked for.
Series that the source leaves out are held as many as `limits.items`, those that stand for longest.
Where a metric is absent an HPA does not scale on it, and never scales down for it.

`kubectl get servedmetrics` lists all served metrics, with the series, the newest sample and the last error of each.
A 404 says which cause it is: no such metric, no such object, no data yet, expired, a source that fails (its error, and for how long), no
series for the selector.

`metrics` of a [LiveResource](reference-liveresource.md) serve fields of a live kind without a declaration of their own.
"""

_SOURCES = """\
## Sources

Exactly one of these stands under `spec.source`. Everything below it is literal, but for what is said to be CEL.
"""

_VALUES = """\
## Values

Where a source takes a Value, the value itself may stand, or where to read it from.
What is read from a Secret, a variable or a file is never shown, and read anew when it has changed.
Credentials belong here: a URL that holds some is refused.
"""

_VALUE_MODELS = ("Value", "ValueFrom", "KeyRef")
_SCALARS = {"string": "text", "integer": "integer", "number": "number", "boolean": "true or false"}

_SCHEMA_TEXT = """\
### spec.schema.openAPIV3Schema

A structural schema, as in a CustomResourceDefinition, for `spec` and `status`.
Keywords: {keywords}.
Patterns are those of RE2, and `additionalProperties` is a schema, not true or false.
There are no references, alternatives (`allOf`, `anyOf`, `oneOf`, `not`), defaults and rules in CEL.
A field of type `number` needs `multipleOf`: `kubectl get --sort-by` fails where one object has 3 and another 3.5.
Integers with the unit in the name sort, and so do quantities as text.
What the schema does not have is left out of objects; an item that breaks it is dropped, counted and named.
"""


def page() -> str:
    """The whole page."""
    reference = _Reference(schema(sources()))
    return "\n".join([_HEAD, *reference.resource(), _SOURCES, *reference.sources(), _VALUES, *reference.values()])


def page_of_metrics() -> str:
    """The whole page of LiveMetric."""
    return "\n".join([_METRIC_HEAD, *_Reference(schema(sources(), "LiveMetric")).metric()])


class _Reference:
    """A section for each model, where it first stands."""

    def __init__(self, made: Mapping[str, Any]) -> None:
        self._definitions: Mapping[str, Any] = made["$defs"]

    def resource(self) -> Iterator[str]:
        yield from self._section("LiveResource", "", level=2)
        yield _SCHEMA_TEXT.format(keywords=", ".join(f"`{word}`" for word in KEYWORDS))

    def metric(self) -> Iterator[str]:
        yield from self._section("LiveMetric", "", level=2)

    def sources(self) -> Iterator[str]:
        for name, model in self._definitions["LiveResourceSpec"]["properties"]["source"]["properties"].items():
            yield from self._section(_name(model), name, level=3)

    def values(self) -> Iterator[str]:
        for name in _VALUE_MODELS:
            yield self._table(name, name, level=3)

    def _section(self, model: str, path: str, *, level: int) -> Iterator[str]:
        yield self._table(model, path or model, level=level)
        for field, said in self._definitions[model]["properties"].items():
            for inner in _models_in(said):
                if inner not in _VALUE_MODELS:
                    many = "[]" if said.get("type") == "array" else ""
                    yield from self._section(inner, f"{path}.{field}{many}".lstrip("."), level=3 if level == 2 else 4)

    def _table(self, model: str, title: str, *, level: int) -> str:
        said = self._definitions[model]
        rows = ["| field | takes | default | what it is |", "|---|---|---|---|"]
        required = said.get("required", ())
        for field, of in said.get("properties", {}).items():
            default = "**required**" if field in required else _default(of)
            rows.append(f"| `{field}` | {self._takes(of)} | {default} | {_cell(self._description(of))} |")
        return "\n".join([f"{'#' * level} {title}", "", said.get("description", ""), "", *rows, ""])

    def _description(self, of: Mapping[str, Any]) -> str:
        own = self._definitions[_name(of)] if "$ref" in of else {}
        return str(of.get("description") or own.get("description", ""))

    def _takes(self, of: Mapping[str, Any]) -> str:
        """What a field holds, in a word or two."""
        if "$ref" in of:
            name = _name(of)
            return "[Value](#value)" if name == "Value" else "object" if name not in _VALUE_MODELS else f"[{name}](#{name.lower()})"
        if "anyOf" in of:
            return " or ".join(dict.fromkeys(self._takes(each) for each in of["anyOf"]))
        if "const" in of:
            return f"`{of['const']}`"
        if "enum" in of:
            return ", ".join(f"`{each}`" for each in of["enum"])
        if of.get("type") == "array":
            return f"list of {self._takes(of.get('items', {}))}"
        if of.get("type") == "object":
            inner = of.get("additionalProperties")
            return f"mapping to {self._takes(inner)}" if isinstance(inner, dict) and inner else "mapping"
        if of.get("format") == "cel":
            return "CEL"
        if "examples" in of:
            return f"such as `{of['examples'][0]}`"
        return _SCALARS.get(str(of.get("type")), "anything")


def _models_in(of: Mapping[str, Any]) -> Iterator[str]:
    for each in [of, *of.get("anyOf", ()), of.get("items", {}), of.get("additionalProperties", {})]:
        if isinstance(each, dict) and "$ref" in each:
            yield _name(each)


def _name(of: Mapping[str, Any]) -> str:
    return str(of["$ref"]).rpartition("/")[2]


def _default(of: Mapping[str, Any]) -> str:
    said = of.get("default", "")
    return "" if said in ("", [], {}) else f"`{said if isinstance(said, str) else json.dumps(said)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
