"""`kubeglance render`: the texts are those that kubectl v1.37.2 printed of the same answers, and kubectl is asked again."""

import http.server
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.cli.declared_files import chosen
from app.cli.kubectl_output import table, yaml_text
from app.cli.main import main
from app.cli.rendered import Rendered, read_response, rendered
from tests.unit.cli.test_manifests import kubectl
from tests.unit.declared.canonical import COOL, QUEUES
from tests.unit.declared.metrics import ORDERS

RESPONSE: dict[str, Any] = {
    "page_count": 1,
    "items": [
        {"name": "Orders", "vhost": "eu", "durable": True, "messages_ready": 7, "consumers": 2},
        {"name": "billing", "vhost": "eu", "durable": False, "messages_ready": 70000},
        {"name": "x"},
    ],
}
TABLE = """\
NAMESPACE   NAME                  READY
mq          eu-billing-6f1a9e3a   70000
mq          eu-orders-89ea4b9a    7
"""
WIDE = """\
NAMESPACE   NAME                  READY   LOAD
mq          eu-billing-6f1a9e3a   70000   \n\
mq          eu-orders-89ea4b9a    7       3/c
"""
YAML = """\
apiVersion: v1
items:
- apiVersion: msg.example.com/v1alpha1
  kind: Queue
  metadata:
    annotations:
      kubeglance.io/source-name: eu/Orders
    labels:
      vhost: eu
    name: eu-orders-89ea4b9a
    namespace: mq
    resourceVersion: "1"
    uid: d3a95b41-32f9-5799-889b-bc526a5d7fc3
  spec:
    durable: true
    queue: Orders
  status:
    conditions:
    - message: the last collection of the source was good
      reason: Collected
      status: "True"
      type: Fresh
    consumers: 2
    observedAt: "2025-11-30T10:53:20Z"
    ready: 7
kind: List
metadata:
  resourceVersion: ""
"""

ODD = """\
apiVersion: kubeglance.io/v1alpha1
kind: LiveResource
metadata: {name: odds.example.com}
spec:
  group: example.com
  version: v1alpha1
  scope: Cluster
  names: {kind: Odd, plural: odds}
  source: {static: {items: []}}
  items: response.items
  object:
    name: item.name
    creationTimestamp: item.at
    labels: {y: item.name, a10: "'1'", a9: "'1'"}
    spec: {text: item.text, on: item.on}
    status: {load: item.load, count: item.count, list: item.list}
  schema:
    openAPIV3Schema:
      type: object
      properties:
        spec: {type: object, properties: {text: {type: string}, on: {type: boolean}}}
        status:
          type: object
          properties:
            load: {type: number, multipleOf: 0.0001}
            count: {type: integer}
            list: {type: array, items: {type: string}}
  additionalPrinterColumns:
  - {name: Text, type: string, jsonPath: .spec.text}
  - {name: On, type: boolean, jsonPath: .spec.on}
  - {name: Load, type: number, jsonPath: .status.load}
  - {name: Load-S, type: string, jsonPath: .status.load}
  - {name: Count, type: integer, jsonPath: .status.count}
  - {name: Seen, type: date, jsonPath: .status.observedAt}
  - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
  - {name: List, type: string, priority: 1, jsonPath: .status.list}
  - {name: Cut, type: string, priority: 1, cel: "spec.text.substring(0, 2)"}
"""
ODD_TEXTS = [
    "two\nlines",
    "ünïcode €",
    "",
    "a: b and a long text that goes on until it is longer than eighty characters of a line",
    "\x1b[31mred",
]
ODD_TEXTS += [
    "日本語",
    "😀",
    "yes",
    "1e3",
    "- x",
    "2026-01-31",
    " lead",
    "trail\n",
    'it\'s: "x"',
    "#x",
    "0x1f",
    "1:30",
    "null",
    "tab\there",
    "~",
]
ODD_LOADS = [3, 1234567.5, 0.00005, 1e20, 1e15, 0.3000000004, -2.5, 123456, 1000000]
ODD_RESPONSE = {
    "items": [
        {
            "name": f"Item {index}",
            "text": text,
            "on": index % 2 == 0,
            "load": ODD_LOADS[index % len(ODD_LOADS)],
            "count": 9 * 10**15 + index,
        }
        | ({"list": ["a", "b<"]} if index % 3 else {"at": 1764400000 + index})
        for index, text in enumerate(ODD_TEXTS)
    ]
}


class At:
    """A clock that stands still."""

    def __init__(self, wall: float) -> None:
        self._wall = wall

    def wall(self) -> float:
        return self._wall

    def monotonic(self) -> float:
        return 0.0


THEN = At(1764500000.0)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "queues.yaml").write_text(QUEUES)
    (tmp_path / "cool.yaml").write_text(COOL)
    (tmp_path / "both.yaml").write_text(f"{QUEUES}---\n{COOL}")
    (tmp_path / "odd.yaml").write_text(ODD)
    (tmp_path / "in.json").write_text(json.dumps(RESPONSE))
    (tmp_path / "odd.json").write_text(json.dumps(ODD_RESPONSE))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("output", "printed"), [("table", TABLE), ("wide", WIDE)])
def test_tables_are_kubectls(files: Path, output: str, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", "queues.yaml", "--input", "in.json", "-o", output]) == 1
    told = capsys.readouterr()
    assert printed == told.out
    assert 'dropped: item 2: object.name: there is no "vhost"\n' == told.err


def test_yaml_is_kubectls(files: Path) -> None:
    result = result_of("queues.yaml", {"items": RESPONSE["items"][:1]})
    assert YAML == yaml_text(listed(result))


def test_a_static_source_needs_no_input(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", "cool.yaml"]) == 0
    assert "NAMESPACE   NAME    MESSAGE\ndefault     hello   Hello from CoolResource\n" == capsys.readouterr().out


def test_a_trend_begins_with_what_is_seen(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As with the first collection of the server."""
    history = "  subresources: {history: {points: 8, trend: .status.ready, glyphs: ascii}}\n"
    (files / "trend.yaml").write_text(QUEUES.rstrip("\n") + "\n" + history)
    assert main(["render", "trend.yaml", "--input", "in.json", "-o", "wide"]) == 1
    assert ["TREND", ".......8", ".......8"] == [line.split()[-1] for line in capsys.readouterr().out.splitlines()]


def test_cells_that_are_blank_for_an_error_are_told(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "bad.yaml").write_text(COOL.replace("jsonPath: .spec.message", "cel: spec.message.substring(99)"))
    assert main(["render", "bad.yaml"]) == 0
    assert capsys.readouterr().err.startswith('blank: item 0 "hello": column Message: ')


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["queues.yaml"], 2, "kubeglance render: --input is needed"),
        (["queues.yaml", "--input", "none.json"], 1, "kubeglance render: none.json: cannot be read: No such file or directory"),
        (["queues.yaml", "--input", "queues.yaml"], 1, 'kubeglance render: spec.items: there is no "items"'),
        (["none.yaml"], 2, "kubeglance render: none.yaml: cannot be read"),
        (["both.yaml"], 2, "choose one with --kind: coolresources.example.com, queues.msg.example.com"),
        (["both.yaml", "--kind", "Coolresourc"], 2, "there is no kind Coolresourc in it"),
        (["both.yaml", "--kind", "cr", "-o", "json"], 2, "argument -o/--output: invalid choice"),
        ([], 2, "the following arguments are required: FILE"),
    ],
)
def test_wrong_use_is_told(files: Path, arguments: list[str], code: int, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert code == main(["render", *arguments])
    assert says in capsys.readouterr().err


def test_faults_of_the_declaration_are_told(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "bad.yaml").write_text(COOL.replace("spec: {message: item.message}", "spec: {mesage: item.message}"))
    assert main(["render", "bad.yaml"]) == 1
    assert 'did you mean "message"?' in capsys.readouterr().out


def test_no_objects_are_told_as_kubectl_does(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "none.json").write_text('{"items": []}')
    assert main(["render", "queues.yaml", "--input", "none.json"]) == 0
    told = capsys.readouterr()
    assert ("", "No resources found\n") == (told.out, told.err)


# The real kubectl


def result_of(file: str, response: Any) -> Rendered:
    declaration = chosen(Path(file), "")
    assert declaration is not None
    return rendered(declaration, response, THEN)


def listed(result: Rendered) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": result.objects}


class Serve:
    """A server that knows one kind, for kubectl to ask."""

    def __init__(self, result: Rendered) -> None:
        kind = result.kind
        assert kind is not None
        group_version = f"{kind.group}/{kind.versions[0]}"
        version = {"groupVersion": group_version, "version": kind.versions[0]}
        resource = {
            "name": kind.resource,
            "singularName": kind.singular,
            "namespaced": kind.namespaced,
            "kind": kind.kind,
            "verbs": ["get", "list"],
        }
        documents: dict[str, Any] = {
            "/api": {"kind": "APIVersions", "versions": ["v1"]},
            "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": []},
            "/apis": {"kind": "APIGroupList", "groups": [{"name": kind.group, "versions": [version], "preferredVersion": version}]},
            f"/apis/{group_version}": {"kind": "APIResourceList", "groupVersion": group_version, "resources": [resource]},
        }
        items = {"kind": kind.list_kind, "apiVersion": group_version, "metadata": {"resourceVersion": "1"}, "items": list(result.objects)}

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                of_list = result.table if "as=Table" in self.headers.get("Accept", "") else items
                body = json.dumps(documents.get(self.path.split("?", maxsplit=1)[0], of_list)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.resource = kind.resource
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def kubectl(self, cache: Path, *arguments: str) -> str:
        url = f"http://127.0.0.1:{self.server.server_port}"
        command = [kubectl(), "--server", url, "--cache-dir", str(cache), "get", self.resource, "-A", *arguments]
        environ = {**os.environ, "KUBECONFIG": os.devnull}
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environ).stdout


@pytest.fixture(params=[("queues.yaml", "in.json"), ("odd.yaml", "odd.json")], ids=["queues", "odd"])
def served(request: pytest.FixtureRequest, files: Path) -> Iterator[tuple[Serve, Rendered]]:
    file, given = request.param
    result = result_of(file, read_response(Path(given)))
    serve = Serve(result)
    yield serve, result
    serve.server.shutdown()
    serve.server.server_close()


def test_the_real_kubectl_prints_the_same(served: tuple[Serve, Rendered], tmp_path: Path) -> None:
    serve, result = served
    namespaces = result.namespaced
    # kubectl works out no ages: the server sends them as text.
    assert serve.kubectl(tmp_path) == f"{table(result.table, wide=False, namespaces=namespaces)}\n"
    assert serve.kubectl(tmp_path, "-o", "wide") == f"{table(result.table, wide=True, namespaces=namespaces)}\n"
    assert serve.kubectl(tmp_path, "-o", "yaml") == yaml_text(listed(result))


def test_a_metric_is_rendered_as_its_series(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exact numbers, and what could not be used on standard error."""
    file = tmp_path / "metric.yaml"
    file.write_text(ORDERS.replace("items: []", "items: [{region: eu, waiting: 12.50}, {region: us, waiting: null}]"))

    assert main(["render", str(file)]) == 1
    printed = capsys.readouterr()
    assert ["OBJECT   LABELS      VALUE", "         region=eu   12.5"] == [line[:26].rstrip() for line in printed.out.splitlines()]
    assert "dropped: item 1: sample.value: is null\n" == printed.err
    main(["render", str(file), "-o", "yaml"])
    assert 'value: "12.5"' in capsys.readouterr().out
