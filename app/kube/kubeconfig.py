"""Kubeconfigs: files that say where kube-apiserver is and who we are, for kubectl and for everybody else.

What stands in them is read here. Where it takes a program or another server to get a credential (exec, auth-provider), the official
`kubernetes` package does that. It is imported for such users only, for it costs 9 MiB and a tenth of a second; nothing else of it is used.
"""

import atexit
import base64
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from app.clock import Clock
from app.errors import KubeError
from app.kube.config import Connection, checked_url, client_context
from app.kube.credentials import Credentials, FixedCredentials, RenewingCredentials, checked, token_file


class _Entry(NamedTuple):
    """A cluster or user, and the file that defines it."""

    path: Path
    content: Mapping[str, Any]

    def text(self, key: str) -> str:
        """The text at `key`, "" without one. Raises TypeError for a value that is no text."""
        value = self.content.get(key)
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{key} is no text")
        return value or ""

    def file(self, key: str) -> Path:
        """The path at `key`; a relative one is meant from where the kubeconfig is."""
        return self.path.parent / self.text(key)


class _Current(NamedTuple):
    """The current context by name, its cluster and its user, who is empty in a context for nobody."""

    context: str
    cluster: _Entry
    user: _Entry


class _Identity(NamedTuple):
    """Who we are: by a header, by a client certificate, by both or by neither."""

    credentials: Credentials
    certificate: Path | None
    key: Path | None


def read(paths: str, clock: Clock) -> Connection:
    """The connection that the current context of `paths` describes, files as $KUBECONFIG lists them. Raises KubeError."""
    with _readable(paths):
        current = _current(paths)
        cluster = current.cluster
        server = checked_url("server", cluster.text("server").rstrip("/"), paths)
        proxy = checked_url("proxy-url", cluster.text("proxy-url"), paths) if cluster.text("proxy-url") else None
        pem = _PemFiles()
        identity = _identity(current, paths, pem, clock)
        if not server.startswith("https://"):
            return Connection(server=server, credentials=identity.credentials, proxy=proxy)
        ca_file = pem.file(cluster, "certificate-authority")
        with pem.named():
            context = client_context(
                ca_file,
                certificate=identity.certificate,
                key=identity.key,
                verify=cluster.content.get("insecure-skip-tls-verify") is not True,
            )
        return Connection(
            server=server,
            ssl_context=context,
            credentials=identity.credentials,
            ca_file=ca_file,
            certificate=identity.certificate,
            key=identity.key,
            server_name=cluster.text("tls-server-name") or None,
            proxy=proxy,
        )


@contextmanager
def _readable(paths: str) -> Iterator[None]:
    """Faults of files as KubeError."""
    try:
        yield
    except (yaml.YAMLError, OSError) as exc:
        raise _unusable(paths, str(exc)) from exc
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as exc:
        # What is no kubeconfig, we trip over; the words would be Python's.
        raise KubeError(f"{paths} does not have the form of a kubeconfig; check it with `kubectl config view`") from exc


def _unusable(paths: str, why: str) -> KubeError:
    return KubeError(f"cannot use kubeconfig {paths}: {why}; check it with `kubectl config view`")


def _current(paths: str) -> _Current:
    """Of several files, the first that sets the current context or has a name wins, as in kubectl."""
    name = ""
    contexts: dict[str, Mapping[str, Any]] = {}
    clusters: dict[str, _Entry] = {}
    users: dict[str, _Entry] = {}
    for part in paths.split(os.pathsep):
        path = Path(part).expanduser()
        if not part or not path.is_file():
            continue
        content = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        name = name or content.get("current-context") or ""
        for context in content.get("contexts") or []:
            contexts.setdefault(context["name"], context.get("context") or {})
        for cluster in content.get("clusters") or []:
            clusters.setdefault(cluster["name"], _Entry(path, cluster.get("cluster") or {}))
        for user in content.get("users") or []:
            users.setdefault(user["name"], _Entry(path, user.get("user") or {}))
    if not name:
        raise _unusable(paths, "it sets no current-context")
    if name not in contexts:
        raise _unusable(paths, f"it has no context named {name}")
    current = contexts[name]
    if current.get("cluster") not in clusters:
        raise _unusable(paths, f"it has no cluster named {current.get('cluster')}, which the context {name} is for")
    return _Current(name, clusters[current["cluster"]], users.get(current.get("user", ""), _Entry(Path(), {})))


class _PemFiles:
    """Certificates and keys as files, for OpenSSL reads those. What a kubeconfig holds itself goes into files that end with the process."""

    def __init__(self) -> None:
        self._names: dict[Path, str] = {}
        """What a person calls a file that we made."""

    def file(self, entry: _Entry, key: str) -> Path | None:
        """The file at `key`, or the data at `key`-data, which wins; None without either."""
        if data := entry.text(f"{key}-data"):
            made = _temporary(base64.standard_b64decode(data))
            self._names[made] = f"{key}-data of {entry.path}"
            return made
        if not entry.text(key):
            return None
        found = entry.file(key)
        if not found.is_file():
            raise _unusable(str(entry.path), f"its {key} {found} is no file")
        return found

    @contextmanager
    def named(self) -> Iterator[None]:
        """Errors name the place in the kubeconfig."""
        try:
            yield
        except KubeError as exc:
            text = str(exc)
            for made, name in self._names.items():
                text = text.replace(str(made), name)
            raise KubeError(text) from exc


def _temporary(content: bytes) -> Path:
    """A file that nobody else can read, until the process ends."""
    descriptor, name = tempfile.mkstemp(prefix="kubeconfig-")
    atexit.register(Path(name).unlink, missing_ok=True)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    return Path(name)


def _identity(current: _Current, paths: str, pem: _PemFiles, clock: Clock) -> _Identity:
    """Who the current user is. A token file wins over a token, a token over all else."""
    user = current.user
    certificate, key = pem.file(user, "client-certificate"), pem.file(user, "client-key")
    if user.text("tokenFile"):
        read_token = token_file(user.file("tokenFile"))
        read_token()
        return _Identity(RenewingCredentials(read_token, clock), certificate, key)
    if token := user.text("token"):
        return _Identity(FixedCredentials(checked(f"Bearer {token}", f"kubeconfig {user.path}")), certificate, key)
    if user.content.get("exec") or user.content.get("auth-provider"):
        return _asked_for(current, paths, certificate, key, clock)
    if "username" in user.content and "password" in user.content:
        words = f"{user.text('username')}:{user.text('password')}"
        return _Identity(FixedCredentials(f"Basic {base64.b64encode(words.encode()).decode()}"), certificate, key)
    return _Identity(FixedCredentials(), certificate, key)


def _asked_for(current: _Current, paths: str, certificate: Path | None, key: Path | None, clock: Clock) -> _Identity:
    """Who the official loader finds that we are: it runs the user's program, or asks the identity provider; so again every time."""
    from kubernetes.client import Configuration  # noqa: PLC0415 - heavy, see above
    from kubernetes.config import ConfigException, load_kube_config  # noqa: PLC0415

    def ask() -> Any:
        configuration = Configuration()
        try:
            with _readable(paths):
                load_kube_config(  # type: ignore[no-untyped-call]  # kubernetes has no types here
                    config_file=paths, context=current.context, client_configuration=configuration, persist_config=False
                )
        except ConfigException as exc:
            raise _unusable(paths, str(exc)) from exc
        return configuration

    found, path = ask(), current.user.path
    header = found.api_key.get("BearerToken")
    if header:
        first = [header]

        def renewed() -> str | None:
            header = first.pop() if first else ask().api_key.get("BearerToken")
            return checked(header, f"kubeconfig {path}") if header else None

        return _Identity(RenewingCredentials(renewed, clock, in_thread=True), certificate, key)
    if found.cert_file:
        return _Identity(FixedCredentials(), Path(found.cert_file), Path(found.key_file) if found.key_file else None)
    if "exec" in current.user.content:
        raise KubeError(f"the exec plugin of kubeconfig {path} gave no credentials; run `kubectl get --raw /version` to see why")
    return _Identity(FixedCredentials(), certificate, key)
