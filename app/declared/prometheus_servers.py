"""The Prometheus servers that have a name: a YAML file of the operator's, in the words of declarations.

    main:
      url: https://prometheus.monitoring.svc:9090
      auth: {bearer: {token: {valueFrom: {file: prometheus/token}}}}
      tls: {ca: {valueFrom: {configMapKeyRef: {name: prometheus-ca, key: ca.crt}}}}
      method: POST

Values are read with kubeglance's own rights, and anew for each query. A declaration names a server by
`source: {prometheus: {server: main, query: ...}}`.
"""

from collections.abc import Mapping
from pathlib import Path

from app.declared.check_source import shaped_source
from app.declared.documents import MAX_BYTES, Document, read
from app.declared.faults import Fault, path_text
from app.declared.finding import Finding
from app.errors import KubeglanceError
from app.wire.object_names import is_label
from collectors._prometheus_servers import ServerSpec

FLAG = "--prometheus-servers"


class ServersError(KubeglanceError):
    """The file cannot be used. The message has one line for each fault."""


def parse_servers(text: str | bytes, file: str) -> dict[str, ServerSpec]:
    """The servers by name. Raises ServersError, with all faults and their places."""
    documents, faults = read(text, file)
    servers: dict[str, ServerSpec] = {}
    if len(documents) > 1:
        faults = [*faults, Fault(documents[1].positions.start, "", "is a second document: there is one mapping of servers")]
    for document in documents[:1]:
        found = _servers(document, servers)
        faults = [*faults, *(_fault(each, document) for each in found if not each.warning)]
    if faults:
        raise ServersError("\n".join(str(fault) for fault in sorted(faults, key=lambda fault: fault.place)))
    return servers


def read_servers(path: Path) -> dict[str, ServerSpec]:
    """The servers of a file. Raises ServersError."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as exc:
        raise ServersError(f"{FLAG}={path}: cannot be read: {exc.strerror}") from exc
    return parse_servers(content, str(path))


def _servers(document: Document, servers: dict[str, ServerSpec]) -> list[Finding]:
    """Put what is good into `servers`; all that is wrong."""
    if not isinstance(document.value, Mapping):
        return [Finding((), "is no mapping", "servers by name")]
    findings: list[Finding] = []
    for name, said in document.value.items():
        if not is_label(name):
            findings.append(Finding((name,), f'"{name}" is not a name', "lower-case letters, digits and -", key=True))
        result = shaped_source(ServerSpec, said, (name,))
        findings += result.findings
        if result.model is not None:
            servers[name] = result.model
    return findings


def _fault(finding: Finding, document: Document) -> Fault:
    place = document.positions.of(finding.path, key=finding.key)
    return Fault(place, path_text(finding.path), finding.message, finding.expected, finding.nearest)
