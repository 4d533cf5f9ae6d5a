"""The query string of a request, read as Go's net/url and the parameter codec of k8s.io/apimachinery read it."""

import re
from collections.abc import Mapping
from urllib.parse import unquote_plus

from app.wire.status import bad_request, quote

_INTEGER = re.compile(r"[+-]?[0-9]+")
_INT64 = range(-(2**63), 2**63)


def parse_query(raw: bytes) -> dict[str, str]:
    """The first value of each parameter. Like net/url, a part with a semicolon in it is dropped. Never raises."""
    values: dict[str, str] = {}
    if not raw:
        return values
    for part in raw.decode("latin-1").split("&"):
        if part and ";" not in part:
            key, _, value = part.partition("=")
            values.setdefault(unquote_plus(key), unquote_plus(value))
    return values


def parse_query_all(raw: bytes, name: str) -> list[str]:
    """All values of one parameter, in order."""
    parts = (part.partition("=") for part in raw.decode("latin-1").split("&") if ";" not in part)
    return [unquote_plus(value) for key, _, value in parts if unquote_plus(key) == name]


def boolean(query: Mapping[str, str], name: str) -> bool | None:
    """A flag: absent is None, "0" and "false" are false, all else is true, the empty value too."""
    value = query.get(name)
    return None if value is None else value != "0" and value.lower() != "false"


def integer(query: Mapping[str, str], name: str) -> int | None:
    """An int64; None if absent. Raises Problem 400."""
    text = query.get(name)
    if text is None:
        return None
    if _INTEGER.fullmatch(text) is None:
        raise bad_request(f"strconv.ParseInt: parsing {quote(text)}: invalid syntax")
    if len(text) > 40 or int(text) not in _INT64:
        raise bad_request(f"strconv.ParseInt: parsing {quote(text)}: value out of range")
    return int(text)
