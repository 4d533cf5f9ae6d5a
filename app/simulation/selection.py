"""Which objects a list or watch of core resources asks for: namespace, label selector, and the field selectors of nodes and pods."""

from collections.abc import Callable, Mapping

from app.errors import Problem
from app.simulation.objects import Object
from app.wire.label_selectors import LabelSelector, parse_label_selector

_FIELDS: dict[str, Callable[[Object], str]] = {
    "metadata.name": lambda found: str(found["metadata"]["name"]),
    "metadata.namespace": lambda found: str(found["metadata"].get("namespace", "")),
    "spec.nodeName": lambda found: str(found.get("spec", {}).get("nodeName", "")),
    "status.phase": lambda found: str(found.get("status", {}).get("phase", "")),
}


class Selection:
    """A parsed selection. `terms` are (field, value, equal)."""

    def __init__(self, namespace: str, labels: LabelSelector, terms: tuple[tuple[str, str, bool], ...]) -> None:
        self._namespace = namespace
        self._labels = labels
        self._terms = terms

    def matches(self, found: Object) -> bool:
        """Whether the object is asked for."""
        metadata = found["metadata"]
        if self._namespace and metadata.get("namespace") != self._namespace:
            return False
        if not self._labels.empty and not self._labels.matches(tuple(sorted(metadata.get("labels", {}).items()))):
            return False
        return all((_FIELDS[field](found) == value) is equal for field, value, equal in self._terms)


def parse_selection(query: Mapping[str, str], namespace: str) -> Selection:
    """The selection of a query. Raises Problem 400 for what cannot be parsed and for fields that are not known here."""
    terms = []
    for part in filter(None, query.get("fieldSelector", "").split(",")):
        field, operator, value = part.partition("!=") if "!=" in part else part.replace("==", "=").partition("=")
        if not operator or field not in _FIELDS:
            known = ", ".join(f'"{name}"' for name in _FIELDS)
            raise Problem(400, "BadRequest", f'"{field}" is not a known field selector: only {known}')
        terms.append((field, value, operator == "="))
    return Selection(namespace, parse_label_selector(query.get("labelSelector", "")), tuple(terms))
