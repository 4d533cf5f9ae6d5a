"""`kubeglance probe`: what it tells of one collection, and that no secret is among it."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.cli.main import main

DECLARATION = """\
apiVersion: kubeglance.io/v1alpha1
kind: LiveResource
metadata: {{name: queues.msg.example.com}}
spec:
  group: msg.example.com
  version: v1alpha1
  scope: Namespaced
  names: {{kind: Queue, plural: queues, singular: queue, shortNames: [q]}}
  source:
    http:
      url: http://127.0.0.1:{port}/api
      query: {{key: {{valueFrom: {{file: key}}}}}}
      auth: {{basic: {{username: {{value: ro}}, password: {{valueFrom: {{file: password}}}}}}}}
  items: response.items
  object:
    name: item.name
    namespace: '"mq"'
    status: {{ready: int(item.ready)}}
  allowNamespaces: [mq]
  schema:
    openAPIV3Schema:
      type: object
      properties: {{status: {{type: object, required: [ready], properties: {{ready: {{type: integer}}}}}}}}
  additionalPrinterColumns: [{{name: Ready, type: integer, jsonPath: .status.ready}}]
"""
OTHER = """\
---
apiVersion: kubeglance.io/v1alpha1
kind: LiveResource
metadata: {name: coolresources.example.com}
spec:
  group: example.com
  version: v1alpha1
  scope: Cluster
  names: {kind: CoolResource, plural: coolresources, singular: coolresource}
  source: {static: {items: [{name: hello}]}}
  items: response.items
  object: {name: item.name}
  schema: {openAPIV3Schema: {type: object}}
"""


@contextmanager
def serving(body: str, *, status: str = "200 OK") -> Iterator[int]:
    """A server on loopback, in a thread of its own, for probe has a loop of its own; its port."""
    ready, done = threading.Event(), threading.Event()
    port = 0

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        content = body.encode()
        head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + content)
        await writer.drain()
        writer.close()

    async def serve() -> None:
        nonlocal port
        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        ready.set()
        async with server:
            await asyncio.to_thread(done.wait)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    ready.wait()
    try:
        yield port
    finally:
        done.set()
        thread.join()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With secrets, and no cluster to be found."""
    (tmp_path / "password").write_text("hunter2\n")
    (tmp_path / "key").write_text("k&y/1\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    return tmp_path


def probe(folder: Path, text: str, *flags: str) -> int:
    file = folder / "queues.yaml"
    file.write_text(text)
    return main(["probe", str(file), f"--secret-dir={folder}", *flags], {})


def test_a_collection_step_by_step(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Request, answer, items, objects, totals; whatever a server repeats of our secrets is masked."""
    body = '{"items": [{"name": "orders", "ready": 7, "echo": "hunter2 k&y/1 cm86aHVudGVyMg=="}, {"name": "mails", "ready": 0}]}'
    with serving(body) as port:
        assert probe(folder, DECLARATION.format(port=port)) == 0

    told = capsys.readouterr().out
    assert f"> GET http://127.0.0.1:{port}/api?key=***\n" in told
    assert ">   Authorization: ***\n" in told
    assert "< 200, application/json, " in told
    assert "items (response.items): 2, the first 2:\n  {" in told
    assert '"ready":7' in told
    assert "NAMESPACE   NAME     READY\nmq          mails    0\nmq          orders   7\n" in told
    assert "2 objects, 0 items without; 1 requests, " in told
    assert not any(secret in told for secret in ("hunter2", "k&y/1", "k%26y%2F1", "aHVudGVyM"))


def test_items_that_become_no_objects(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each with its index, its name and the reason; the others are shown, and the exit code tells."""
    with serving('{"items": [{"name": "orders", "ready": 7}, {"name": "mails"}, {"name": "jobs", "ready": "x"}]}') as port:
        assert probe(folder, DECLARATION.format(port=port), "--items=1") == 1

    told = capsys.readouterr().out
    assert "2 items became no objects:\n  item 1 'mails': " in told
    assert "  item 2 'jobs': " in told
    assert "mq          orders   7\n" in told
    assert "the first 1:" in told


def test_a_response_that_is_another_than_expected(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is shown beside the expression that failed."""
    with serving('{"queues": []}') as port:
        assert probe(folder, DECLARATION.format(port=port)) == 1

    told = capsys.readouterr().out
    assert 'response: {"queues":[]}' in told
    assert "FAILED (mapping): spec.items" in told


def test_a_server_that_refuses(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Cause, message and remedy, as the collectors kind has them."""
    with serving("hunter2", status="401 No") as port:
        assert probe(folder, DECLARATION.format(port=port)) == 1

    told = capsys.readouterr().out
    assert "< 401, " in told
    assert f"FAILED (unauthorized): GET http://127.0.0.1:{port}/api: 401 Unauthorized\n  check auth" in told
    assert "hunter2" not in told


def test_a_source_that_asks_nobody(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of several declarations one is chosen, by any of its names."""
    assert probe(folder, DECLARATION.format(port=1) + OTHER, "--kind=coolresources") == 0

    assert "1 objects, 0 items without; 0 bytes" in capsys.readouterr().out


def test_a_declaration_that_is_wrong(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All faults, as `check` tells them, and nothing is asked."""
    assert probe(folder, DECLARATION.format(port=1).replace("items: response.items", "itms: response.items")) == 1

    assert "queues.yaml:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        pytest.param([], "choose one with --kind: coolresources.example.com, queues.msg.example.com", id="several"),
        pytest.param(["--kind=Queu"], "did you mean Queue?", id="none-of-that-name"),
        pytest.param(["--kubeconfig=/nowhere"], "does not exist", id="no-kubeconfig"),
        pytest.param(["--namespace=A b"], "--namespace=A b", id="no-namespace"),
        pytest.param(["--source-allowed-networks=x"], "--source-allowed-networks", id="no-network"),
        pytest.param(["--nope"], "unrecognized arguments", id="no-flag"),
    ],
)
def test_wrong_use(folder: Path, flags: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, exit code 2."""
    text = DECLARATION.format(port=1) + OTHER
    kind = [] if not flags or flags[0].startswith("--kind") else ["--kind=Queue"]

    assert probe(folder, text, *flags, *kind) == 2
    told = capsys.readouterr()
    assert words in told.err
    assert told.out == ""


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    """It is told, and no traceback."""
    assert main(["probe", "/nowhere.yaml"], {}) == 2
    assert "/nowhere.yaml: cannot be read" in capsys.readouterr().err
