"""ListOptions and GetOptions (meta/v1): read from a query and checked as the real API server checks them.

Source of the rules: k8s.io/apimachinery/pkg/apis/meta/internalversion/{defaults,validation}, KEP-3157 (watch list).
"""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from app.wire.continuation import Continuation, decode_continue
from app.wire.field_selectors import ANY, FIELDS, FieldSelector, parse_field_selector
from app.wire.label_selectors import EVERYTHING, LabelSelector, parse_label_selector
from app.wire.query import boolean, integer
from app.wire.status import bad_request, invalid, quote

EXACT = "Exact"
NOT_OLDER_THAN = "NotOlderThan"

_DIGITS = re.compile(r"[0-9]+")
_FORBIDDEN = "FieldValueForbidden"
_NOT_SUPPORTED = "FieldValueNotSupported"
_MATCH = "resourceVersionMatch"
_Cause = tuple[str, str, str]


class ListOptions(Struct, frozen=True):
    """What a list or a watch asks for. `version` is None for the most recent state, 0 for any; `match` is "" if not given."""

    labels: LabelSelector = EVERYTHING
    fields: FieldSelector = ANY
    limit: int = 0
    continuation: Continuation | None = None
    version: int | None = None
    match: str = ""
    watch: bool = False


PLAIN = ListOptions()
"""A list without any parameter."""


def parse_version(text: str) -> int | None:
    """A resourceVersion: "" is None. Raises Problem 400."""
    if not text:
        return None
    if _DIGITS.fullmatch(text) is None:
        fault = "invalid syntax"
    elif len(text) > 20 or int(text) >= 2**64:
        fault = "value out of range"
    else:
        return int(text)
    field = f"resourceVersion: Invalid value: {quote(text)}: strconv.ParseUint: parsing {quote(text)}: {fault}"
    raise bad_request(f"invalid resource version: {field}")


def parse_list_options(query: Mapping[str, str], *, watch: bool = False, selectable: Sequence[str] = FIELDS) -> ListOptions:
    """The options in `query`; `watch` is true for the old /watch/ paths, `selectable` are the fields that a selector may name.

    Raises Problem 400 for what cannot be parsed, 422 for what contradicts itself.
    """
    if not query:
        return ListOptions(watch=True) if watch else PLAIN
    labels = parse_label_selector(query.get("labelSelector", ""))
    fields = parse_field_selector(query.get("fieldSelector", ""), selectable)
    limit = integer(query, "limit") or 0
    integer(query, "timeoutSeconds")
    watch = watch or bool(boolean(query, "watch"))
    token, version, match = query.get("continue", ""), query.get("resourceVersion", ""), query.get(_MATCH, "")
    initial = boolean(query, "sendInitialEvents")
    if watch and initial is None and not match and version in {"", "0"}:
        initial, match = True, NOT_OLDER_THAN  # KEP-3157: such a watch begins with the whole state
    causes = _watch_faults(match, token, initial) if watch else _list_faults(match, token, version, initial)
    if causes:
        raise invalid("ListOptions", "meta.k8s.io", causes)
    continuation = decode_continue(token) if token and not watch else None
    if continuation is not None and version not in {"", "0"}:
        raise bad_request("specifying resource version is not allowed when using continue")
    return ListOptions(labels, fields, max(limit, 0), continuation, parse_version(version), match, watch)


def _list_faults(match: str, token: str, version: str, initial: bool | None) -> list[_Cause]:
    causes: list[_Cause] = []
    if match:
        if not version:
            causes.append(_forbidden(_MATCH, f"{_MATCH} is forbidden unless resourceVersion is provided"))
        if token:
            causes.append(_forbidden(_MATCH, f"{_MATCH} is forbidden when continue is provided"))
        if match not in {EXACT, NOT_OLDER_THAN}:
            causes.append(_unsupported(match, (EXACT, NOT_OLDER_THAN, "")))
        if match == EXACT and version == "0":
            causes.append(_forbidden(_MATCH, f'{_MATCH} "exact" is forbidden for resourceVersion "0"'))
    if initial is not None:
        causes.append(_forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return causes


def _watch_faults(match: str, token: str, initial: bool | None) -> list[_Cause]:
    causes: list[_Cause] = []
    if initial is not None and match != NOT_OLDER_THAN:
        causes.append(_forbidden(_MATCH, f"sendInitialEvents requires setting {_MATCH} to {NOT_OLDER_THAN}"))
    if match:
        if initial is None:
            causes.append(_forbidden(_MATCH, f"{_MATCH} is forbidden for watch unless sendInitialEvents is provided"))
        if match != NOT_OLDER_THAN:
            causes.append(_unsupported(match, (NOT_OLDER_THAN,)))
        if token:
            causes.append(_forbidden(_MATCH, f"{_MATCH} is forbidden when continue is provided"))
    return causes


def _forbidden(field: str, text: str) -> _Cause:
    return (_FORBIDDEN, field, f"Forbidden: {text}")


def _unsupported(value: str, supported: tuple[str, ...]) -> _Cause:
    known = ", ".join(quote(item) for item in supported)
    return (_NOT_SUPPORTED, _MATCH, f"Unsupported value: {quote(value)}: supported values: {known}")
