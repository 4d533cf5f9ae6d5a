"""The source of a declaration: as its own model wants it, without credentials where they would be shown, within a tenant's rights."""

import ipaddress
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import parse_qsl, urlsplit

from app.declared.cel import CelError, compile_cel
from app.declared.check_shape import shaped
from app.declared.faults import Path
from app.declared.finding import Finding, listed
from app.declared.hosts import is_listed
from app.declared.tenants import Tenant
from app.nearest import nearest_word
from collectors._source import SourceType, Spec, Value, expressions_of, values_of

SOURCE: Path = ("spec", "source")
S = TypeVar("S", bound=Spec)

_SECRET_FIELDS = re.compile(r"(?i)pass(word|wd)?|pwd|.*secret|.*token|api[-_]?key|.*private[-_]?key|sig(nature)?|pw")
_CREDENTIAL_PARAMETERS = {
    "access_token",
    "api_key",
    "api-key",
    "apikey",
    "auth",
    "password",
    "passwd",
    "pwd",
    "secret",
    "sig",
    "signature",
    "token",
}
_WITH_USER = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s]*@")
_DSN_PASSWORD = re.compile(r"(?i)(^|[\s;])(password|pwd)\s*=\s*\S")
_DSN_FIELDS = frozenset({"url", "uri", "dsn", "host", "server", "address", "endpoint"})


class Sourced(NamedTuple):
    """What `spec.source` says: the type and its model, None where it is wrong."""

    type: SourceType | None
    spec: Spec | None
    findings: Sequence[Finding]


def sourced(source: Mapping[str, Any], types: Mapping[str, SourceType]) -> Sourced:
    """Look at `source`, the mapping under spec.source."""
    findings: list[Finding] = []
    if len(source) != 1:
        which = f"has {len(source)} sources: {', '.join(sorted(source))}" if source else "Required value"
        findings.append(Finding(SOURCE, which, "exactly one"))
    found: list[tuple[SourceType, Spec]] = []
    for name, said in source.items():
        kind = types.get(name)
        if kind is None:
            known = listed(types)
            findings.append(Finding((*SOURCE, name), f'no such source: "{name}"', f"one of {known}", nearest_word(name, types), key=True))
            continue
        result = shaped_source(kind.spec, said, (*SOURCE, name))
        findings += result.findings
        if result.model is not None:
            found.append((kind, result.model))
    return Sourced(*found[0], findings) if len(source) == 1 and found else Sourced(None, None, findings)


class ShapedSource(NamedTuple, Generic[S]):
    """A source's spec, None where it is wrong, and all that is to be said of it."""

    model: S | None
    findings: Sequence[Finding]


def shaped_source(model: type[S], said: Any, here: Path) -> ShapedSource[S]:
    """What stands at `here` as `model`. Credentials must not stand where they would be shown."""
    result = shaped(model, said, secret=True)
    findings = [each._replace(path=(*here, *each.path)) for each in result.findings]
    findings += _unverified(said, here)
    findings += _in_the_clear(said, here, model)
    findings += [each for each in _credentials(said, here, model) if not result.wrong.covers(each.path[len(here) :])]
    return ShapedSource(result.model if not result.wrong else None, findings)


def _credentials(said: Any, path: Path, model: type[Spec]) -> Iterator[Finding]:
    """Credentials inside of a URL or a DSN, which are shown wherever it is shown. What stands under `items` is data."""
    if isinstance(said, dict):
        for name, part in said.items():
            if name != "items":
                yield from _credentials(part, (*path, name), model)
            if isinstance(part, dict) and isinstance(part.get("value"), str) and part["value"] and _SECRET_FIELDS.fullmatch(name):
                yield Finding((*path, name, "value"), "is written in plain text", f"{name}.valueFrom.secretKeyRef", warning=True)
    elif isinstance(said, list):
        for index, part in enumerate(said):
            yield from _credentials(part, (*path, index), model)
    elif isinstance(said, str) and _has_credentials(said, str(path[-1])):
        yield Finding(path, "Forbidden: there are credentials in it", _remedy(model))


def _unverified(said: Any, path: Path) -> Iterator[Finding]:
    """Servers that are not verified, which has to be meant."""
    if isinstance(said, dict):
        for name, part in said.items():
            if name == "insecureSkipVerify" and part is True:
                yield Finding(
                    (*path, name), "the server is not verified: whoever sits between reads and changes all", "tls.ca", warning=True
                )
            elif name != "items":
                yield from _unverified(part, (*path, name))


def _in_the_clear(said: Any, path: Path, model: type[Spec]) -> Iterator[Finding]:
    """Credentials that go over HTTP without TLS, other than within one machine, which has to be meant."""
    if not isinstance(said, dict):
        return
    auth, query = _mapping(said.get("auth")), _mapping(said.get("query"))
    token_url = _mapping(auth.get("oauth2")).get("tokenUrl")
    if _is_clear(token_url):
        yield Finding((*path, "auth", "oauth2", "tokenUrl"), f"the client's secret is {_SENT}", "https://", warning=True)
    sent = [*(["auth"] if auth else []), *(f"query.{name}" for name, part in query.items() if _is_secret(part))]
    if sent and _is_clear(said.get("url")):
        what = f"{' and '.join(sent)} {'is' if len(sent) == 1 else 'are'} {_SENT}"
        yield Finding((*path, "url"), what, "https://", warning=True)
    scheme = model.model_fields.get("scheme")
    if auth and scheme is not None and said.get("scheme", scheme.default) == "http":
        yield Finding((*path, "auth"), f"is {_SENT}", "scheme: https", warning=True)


_SENT = "sent in the clear: whoever sits between reads it"


def _mapping(said: Any) -> Mapping[str, Any]:
    return said if isinstance(said, dict) else {}


def _is_secret(said: Any) -> bool:
    origin = _mapping(_mapping(said).get("valueFrom"))
    return bool(origin) and "configMapKeyRef" not in origin


def _is_clear(url: Any) -> bool:
    """Whether a URL leads to another machine without TLS."""
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        host = parts.hostname if parts is not None and parts.scheme == "http" else None
    except ValueError:
        return False
    if host is None or host == "localhost" or host.endswith(".localhost"):
        return False
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return True


def _has_credentials(text: str, field: str) -> bool:
    if _WITH_USER.match(text):
        return True
    if field.lower() not in _DSN_FIELDS:
        return False
    try:
        parameters = parse_qsl(urlsplit(text).query)
    except ValueError:
        parameters = []
    return bool(_DSN_PASSWORD.search(text)) or any(name.lower() in _CREDENTIAL_PARAMETERS for name, _ in parameters)


def _remedy(model: type[Spec]) -> str:
    """The fields that credentials belong into."""
    fields = {field.alias or name for name, field in model.model_fields.items()}
    user = [name for name in ("username", "user") if name in fields]
    if user and "password" in fields:
        return f"them under {user[0]} and password, with valueFrom"
    return "them under auth, with valueFrom" if "auth" in fields else "them in a field with valueFrom"


def named_server(source: Mapping[str, Any], servers: Collection[str]) -> Iterator[Finding]:
    """A Prometheus server by a name that none of `servers` has."""
    name = _mapping(source.get("prometheus")).get("server")
    if isinstance(name, str) and name not in servers:
        known = f"one of {listed(sorted(servers))}" if servers else "url in place of it: there are no servers with a name"
        what = f'there is no server "{name}" in --prometheus-servers'
        yield Finding((*SOURCE, "prometheus", "server"), what, known, nearest_word(name, servers), warning=True)


def of_tenant(found: Sourced, tenant: Tenant, namespace: str) -> Iterator[Finding]:
    """What a source does that declarations of another namespace may not."""
    if found.type is None or found.spec is None:
        return
    path = (*SOURCE, found.type.name)
    for value in values_of(found.spec):
        yield from _value_of_tenant(value, path)
    if found.type.uses_files(found.spec):
        yield Finding(path, f"Forbidden: declarations of namespace {namespace} use no files of kubeglance's own", "another source")
    for host, port in found.type.hosts(found.spec):
        if not is_listed(host, port, tenant.hosts):
            allowed = f"one of {listed(tenant.hosts)}" if tenant.hosts else "no host: none is listed"
            yield Finding(path, f"Forbidden: declarations of namespace {namespace} may not reach {host}:{port}", allowed)
    others = sorted({each for each in found.type.namespaces(found.spec) if each != namespace})
    if others:
        yield Finding(path, f"Forbidden: declarations of namespace {namespace} see no objects of {', '.join(others)}", f'"{namespace}"')


def _value_of_tenant(value: Value, path: Path) -> Iterator[Finding]:
    origin = value.value_from
    if origin is not None and (origin.env is not None or origin.file is not None):
        word = "env" if origin.env is not None else "file"
        yield Finding(path, f"Forbidden: only kubeglance's own declarations read valueFrom.{word}", "secretKeyRef or configMapKeyRef")


def expressions(found: Sourced) -> Iterator[Finding]:
    """What is wrong with the CEL in a source's own fields."""
    if found.type is None or found.spec is None:
        return
    for path, text, variables in expressions_of(found.spec):
        try:
            compile_cel(text, dict.fromkeys(variables))
        except CelError as err:
            yield Finding((*SOURCE, found.type.name, *path), err.message, err.expected, err.nearest, offset=err.offset)
