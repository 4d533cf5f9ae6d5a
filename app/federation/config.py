"""The file of routes: which metrics, or which namespaces, other adapters answer for.

    routes:
    - name: keda
      api: external
      service: {namespace: keda, name: keda-operator-metrics-apiserver, port: 443}
      ca: keda/ca.crt
      metrics: ["s*-*"]

The first route that takes a metric has it. A path of a CA is one from the file's own folder.
"""

import errno
import re
import stat
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from msgspec import Struct
from pydantic import Field

from app.declared.check_source import shaped_source
from app.declared.documents import MAX_BYTES, Document, read
from app.declared.faults import Fault, path_text
from app.declared.faults import Path as FieldPath
from app.declared.finding import Finding, duplicate
from app.errors import KubeError, KubeglanceError
from app.kube.config import client_context
from app.nearest import nearest_word
from app.served_metrics.values import NAMESPACES, Api, Question
from collectors._source import Spec

FLAG = "--metric-routes"
_WILDCARD = "*"
_NAME = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"


class RoutesError(KubeglanceError):
    """The file cannot be used. The message has one line for each fault."""


class ServiceReference(Spec):
    """A Service of the cluster. Its certificate has to be for NAME.NAMESPACE.svc."""

    namespace: str = Field(pattern=_NAME, description="Namespace of the Service.")
    name: str = Field(pattern=_NAME, description="Name of the Service.")
    port: int = Field(443, ge=1, le=65535, description="Port of the Service.")


class RouteSpec(Spec):
    """One route as it is written. Exactly one of `service` and `url`."""

    name: str = Field(pattern=_NAME, description="For people: the catalogue and errors name it.")
    api: Literal["custom", "external"] = Field(description="The API that the adapter serves.")
    service: ServiceReference | None = Field(None, description="The adapter's Service.")
    url: str | None = Field(None, description="Its address, if it is no Service: https.")
    ca: str = Field(min_length=1, description="PEM file of the CA that verifies it, by its path from the file's folder.")
    metrics: list[str] = Field(default_factory=list, description="Names, with * for any text; without any, what the adapter lists.")
    namespaces: list[str] = Field(default_factory=list, description="Namespaces that are asked about; without any, all.")


class Route(Struct, frozen=True):
    """A route that can be used. `ca` is what is in `ca_file`: with another CA it is another route."""

    name: str
    api: Api
    url: str
    ca_file: Path
    ca: bytes
    metrics: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()

    @property
    def literal(self) -> tuple[str, ...]:
        """The metrics that are named in full."""
        return tuple(metric for metric in self.metrics if _WILDCARD not in metric)

    def names(self, metric: str) -> bool:
        """Whether the file names the metric, in full or by a pattern."""
        return any(fnmatchcase(metric, pattern) for pattern in self.metrics)

    def takes(self, question: Question) -> bool:
        """Whether it is about what is asked, by API, metric and namespace. That of a Namespace's own metric is the Namespace."""
        if question.api != self.api or (self.metrics and not self.names(question.metric)):
            return False
        namespace = question.name if question.resource == NAMESPACES else question.namespace
        return not self.namespaces or namespace in self.namespaces


def parse_routes(text: str | bytes, file: str, folder: Path) -> tuple[Route, ...]:
    """The routes in order. Raises RoutesError, with all faults and their places. CAs are read from `folder`."""
    documents, faults = read(text, file)
    if len(documents) > 1:
        faults = [*faults, Fault(documents[1].positions.start, "", "is a second document: there is one list of routes")]
    routes: list[Route] = []
    for document in documents[:1]:
        findings = _routes(document.value, folder, routes)
        faults = [*faults, *(_fault(each, document) for each in findings if not each.warning)]
    if faults:
        raise RoutesError("\n".join(str(fault) for fault in sorted(faults, key=lambda fault: fault.place)))
    return tuple(routes)


def read_routes(path: Path) -> tuple[Route, ...]:
    """The routes of a file. Raises RoutesError."""
    try:
        content = _content(path)
    except OSError as exc:
        raise RoutesError(f"{FLAG}={path}: cannot be read: {exc.strerror}") from exc
    return parse_routes(content, str(path), path.parent)


def _content(path: Path) -> bytes:
    """What is in a file, no more than a little over MAX_BYTES of it. Raises OSError, for a pipe too: its reader would wait for ever."""
    if not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():
        raise OSError(errno.EINVAL, "it is no file")
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def _routes(value: Any, folder: Path, routes: list[Route]) -> list[Finding]:
    """Put what is good into `routes`; all that is wrong."""
    if not isinstance(value, Mapping):
        return [Finding((), "is no mapping", "routes")]
    findings = [
        Finding((key,), "unknown field", "routes", nearest_word(str(key), ["routes"]), key=True) for key in value if key != "routes"
    ]
    said = value.get("routes") or []
    if not isinstance(said, list):
        return [*findings, Finding(("routes",), "is no list", "a list of routes")]
    for index, each in enumerate(said):
        here: FieldPath = ("routes", index)
        result = shaped_source(RouteSpec, each, here)
        findings += result.findings
        if result.model is not None:
            route, wrong = _route(result.model, here, folder)
            wrong += _overlaps(route, here, routes)
            findings += wrong
            routes.append(route)
    return findings


def _route(spec: RouteSpec, here: FieldPath, folder: Path) -> tuple[Route, list[Finding]]:
    findings: list[Finding] = []
    if (spec.service is None) == (spec.url is None):
        findings.append(Finding(here, "names no adapter" if spec.service is None else "names two adapters", "one of service, url"))
    if spec.url is not None and (fault := _url_fault(spec.url)):
        findings.append(Finding((*here, "url"), fault, "a URL such as https://adapter.example.com:6443"))
    for index, metric in enumerate(spec.metrics):
        if not metric or "/" in metric or re.search(r"[\s?\[\]]", metric):
            findings.append(Finding((*here, "metrics", index), f'"{metric}" is no name of a metric', "a name, with * for any text"))
    url = (spec.url or "").rstrip("/")
    if spec.service is not None:
        url = f"https://{spec.service.name}.{spec.service.namespace}.svc:{spec.service.port}"
    ca_file = folder / spec.ca
    ca = b""
    try:
        ca = _content(ca_file)
        if len(ca) > MAX_BYTES:
            findings.append(Finding((*here, "ca"), f"{ca_file} is more than {MAX_BYTES} bytes", "a PEM file"))
        else:
            client_context(ca_file)
    except OSError as exc:
        findings.append(Finding((*here, "ca"), f"{ca_file} cannot be read: {exc.strerror}", "a PEM file"))
    except KubeError as exc:
        findings.append(Finding((*here, "ca"), str(exc)))
    return Route(spec.name, spec.api, url, ca_file, ca, tuple(spec.metrics), tuple(spec.namespaces)), findings


def _overlaps(route: Route, here: FieldPath, before: Sequence[Route]) -> list[Finding]:
    """What an earlier route has already, so that this one would never be asked for it."""
    findings = [duplicate((*here, "name"), route.name)] if any(each.name == route.name for each in before) else []
    for index, metric in enumerate(route.metrics):
        for each in before:
            common = not each.namespaces or not route.namespaces or set(each.namespaces) & set(route.namespaces)
            if each.api == route.api and common and metric in each.metrics:
                findings.append(Finding((*here, "metrics", index), f'"{metric}" is what the route {each.name} has already'))
    return findings


def _url_fault(url: str) -> str:
    """What keeps us from asking there, "" if nothing does. Our token goes there: never in the clear."""
    try:
        parts = urlsplit(url)
        valid = bool(parts.hostname) and parts.port != 0
    except ValueError as exc:
        return str(exc)
    if not all(char.isprintable() and not char.isspace() for char in url):
        return "has a space or a control character in it"
    if parts.scheme != "https":
        return "is not https: our token would go there in the clear"
    if parts.query or parts.fragment or "@" in parts.netloc:
        return "has more than a host and a path"
    return "" if valid else "has no host, or no port that can be"


def _fault(finding: Finding, document: Document) -> Fault:
    place = document.positions.of(finding.path, key=finding.key)
    return Fault(place, path_text(finding.path), finding.message, finding.expected, finding.nearest)
