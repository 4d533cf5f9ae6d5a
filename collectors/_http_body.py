"""What the body of an answer says: JSON, YAML or Prometheus text, as a JSON-like value."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from collectors._base import Cause, CollectError
from collectors._prometheus_text import read_samples
from collectors._source import Unusable

Format = Literal["auto", "json", "yaml", "prometheus"]

ACCEPT = {
    "auto": "application/json, application/yaml;q=0.9, text/plain;version=0.0.4;q=0.8, */*;q=0.1",
    "json": "application/json, */*;q=0.1",
    "yaml": "application/yaml, text/yaml;q=0.9, */*;q=0.1",
    "prometheus": "text/plain;version=0.0.4, */*;q=0.1",
}
_YAML = {"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml", "text/vnd.yaml"}
_PROMETHEUS = {"application/openmetrics-text"}
_LONGEST_NUMBER = 40
_IN_A_THREAD = 64 * 1024
"""Larger bodies than this are read beside the event loop."""


class Read(NamedTuple):
    """A body as a value, and what of it could not be read."""

    value: Any
    unusable: Sequence[Unusable] = ()


async def read_body(body: bytes, content_type: str, form: Format, where: str) -> Read:
    """The value of `body`. Raises CollectError; `where` begins its message."""
    chosen = _form(content_type, where) if form == "auto" else form
    if len(body) > _IN_A_THREAD:
        return await asyncio.to_thread(decode_body, body, chosen, where)
    return decode_body(body, chosen, where)


def decode_body(body: bytes, form: Format, where: str) -> Read:
    """As read_body, at once. YAML has the types of JSON only, and no anchors: a few of them make a body without end."""
    try:
        match form:
            case "prometheus":
                samples, unusable = read_samples(body.decode("utf-8", "replace"))
                return Read(samples, unusable)
            case "yaml":
                from collectors._plain_yaml import load  # noqa: PLC0415 -- only who reads YAML pays for its parser

                return Read(load(body))
            case _:
                return Read(_json(body))
    except RecursionError as exc:
        raise CollectError(Cause.PAYLOAD, f"{where}: the answer is nested too deep", "ask for something flatter") from exc
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError) as exc:
        name = "YAML" if form == "yaml" else "JSON"
        remedy = "is that the right URL? format says how to read an answer whose Content-Type does not"
        raise CollectError(Cause.PAYLOAD, f"{where}: the answer is not {name}: {' '.join(str(exc).split())[:200]}", remedy) from exc


def _json(body: bytes) -> Any:
    """The document. Numbers beyond doubles, Python's NaN and Infinity, and halves of surrogate pairs make it no worse than they are: what
    they are the value of is left out of the object later, and all else stays."""
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError as exc:
        try:
            return json.loads(body, parse_int=_whole_number)
        except ValueError:
            raise exc from None  # its message tells where


def _whole_number(digits: str) -> int | float:
    """Python refuses to read very long ones; beyond 64 bits they are doubles in the end, or beyond these too."""
    return int(digits) if len(digits) <= _LONGEST_NUMBER else float(digits)


def _form(content_type: str, where: str) -> Format:
    """How to read what is said to be of this type. What tells nothing is taken for JSON."""
    kind, _, parameters = content_type.lower().partition(";")
    kind = kind.strip()
    if kind in _YAML or kind.endswith("+yaml"):
        return "yaml"
    if kind in _PROMETHEUS or (kind == "text/plain" and "version=" in parameters):
        return "prometheus"
    if kind == "text/html":
        raise CollectError(Cause.PAYLOAD, f"{where}: the answer is a web page", "is that the URL of an API?")
    return "json"
