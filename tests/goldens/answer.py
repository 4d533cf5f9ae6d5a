"""An answer in a form that can be compared and kept in a file: what must vary from run to run is taken out, and nothing else.

Each rule below is a normalisation; README.md lists them.
"""

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import yaml

from tests.goldens import openapi, protobuf
from tests.goldens.requests import Request

FOLDER = Path(__file__).parent / "metrics-server-v0.9.0"

NOW = "<the time of the request>"
"""Stands for metadata.creationTimestamp."""
ADDRESS = "<its address and port>"
"""Stands for the address that an APIGroup names."""

_FRAMING = frozenset({"connection", "content-length", "date", "server", "transfer-encoding"})
"""Headers of HTTP itself: they follow from the body, the server's library or the clock."""
_VARYING = {"audit-id": "<uuid>", "last-modified": "<date>", "expires": "<date>", "etag": "<hash>"}
_HASH = re.compile(r"hash=[0-9A-F]{128}")


@dataclass(frozen=True)
class Answer:
    """`body` is text, or a tree: of JSON, YAML, or protobuf (see protobuf.py). `layout` tells how the tree was written.

    "line" is JSON without spaces and with a line feed at the end, "compact" the same without a line feed, "indented" JSON indented by
    two spaces; else it is "protobuf", "yaml" or "text".
    """

    status: int
    headers: dict[str, str]
    layout: str
    body: Any

    @classmethod
    def of(cls, response: httpx.Response) -> "Answer":
        """A response, normalised in all that no server can give twice alike."""
        headers = {name: _VARYING.get(name, value) for name, value in sorted(response.headers.items()) if name not in _FRAMING}
        layout, body = _read(response)
        if isinstance(body, dict) and body.keys() & {"swagger", "openapi"}:
            body = openapi.view(body)
        return cls(response.status_code, headers, layout, _without_hashes(body))

    def of_metrics_server(self) -> "Answer":
        """Normalised also in what metrics-server gives another way each time: the order of containers, creationTimestamp, its address."""
        return replace(self, body=_without_varying(_in_order(self.body)))

    @property
    def text(self) -> str:
        """As it is kept in a file. Equal texts, equal answers: the order of fields counts."""
        kept = {"status": self.status, "headers": self.headers, "layout": self.layout, "body": self.body}
        return json.dumps(kept, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_text(cls, text: str) -> "Answer":
        """The answer that `text` was made of."""
        return cls(**json.loads(text))

    @property
    def key(self) -> str:
        """The same in short, for comparing."""
        return json.dumps([self.status, self.headers, self.layout, self.body])

    @classmethod
    def from_key(cls, key: str) -> "Answer":
        """A copy of the answer that `key` was made of."""
        return cls(*json.loads(key))

    def with_body(self, body: Any) -> "Answer":
        """The same with another body."""
        return replace(self, body=body)


def file_of(request: Request) -> Path:
    """Where the golden of a request is."""
    return FOLDER / f"{request.name}.json"


def load(request: Request) -> Answer:
    """The golden of a request."""
    return Answer.from_text(file_of(request).read_text(encoding="utf-8"))


def _read(response: httpx.Response) -> tuple[str, Any]:
    content_type = response.headers.get("content-type", "").partition(";")[0]
    if content_type == "application/vnd.kubernetes.protobuf" and response.content:
        return "protobuf", protobuf.decode(response.content)
    text = response.text
    if content_type == "application/yaml":
        return "yaml", yaml.load(text, yaml.BaseLoader)  # all scalars as they are written
    try:
        tree = json.loads(text)
    except ValueError:
        return "text", text
    return _layout(text, tree), tree


def _layout(text: str, tree: Any) -> str:
    """How JSON was written: nothing but Go's escapes may stand between the text and its tree. Raises ValueError."""
    for escape, character in (("\\u003c", "<"), ("\\u003e", ">"), ("\\u0026", "&")):
        text = text.replace(escape, character)
    compact = json.dumps(tree, separators=(",", ":"), ensure_ascii=False)
    layouts = {f"{compact}\n": "line", compact: "compact"}
    if text not in layouts and text.rstrip("\n") != json.dumps(tree, indent=2, ensure_ascii=False):
        raise ValueError(f"JSON written in no known way: {text}")
    return layouts.get(text, "indented")


def _without_hashes(body: Any) -> Any:
    """The links of /openapi/v3 name the documents by hashes of their content, of which only a part is compared."""
    for node in protobuf.nodes_of(body):
        link = node.get("serverRelativeURL")
        if isinstance(link, str):
            node["serverRelativeURL"] = _HASH.sub("hash=<hash>", link)
    return body


def _in_order(body: Any) -> Any:
    """Containers by name: metrics-server gives them in the order of a Go map, another one at each request."""
    for node in protobuf.nodes_of(body):
        containers = node.get("containers")
        if isinstance(containers, list):
            containers.sort(key=lambda container: container["name"])
    return body


def _without_varying(body: Any) -> Any:
    """metrics-server's creationTimestamp is the time of the request; its address is where it was started."""
    for node in protobuf.nodes_of(body):
        stamp = node.get("creationTimestamp")
        if "serverAddress" in node:
            node["serverAddress"] = ADDRESS
        if isinstance(stamp, str):
            node["creationTimestamp"] = NOW
        elif isinstance(stamp, dict) and stamp:
            node["creationTimestamp"] = {"seconds": NOW, **({"nanos": NOW} if "nanos" in stamp else {})}
    return body
