"""Where kube-apiserver is, how it is verified and who we are: from a kubeconfig, or from the pod that we run in.

The official `kubernetes` package reads all that (contexts, KUBECONFIG lists, exec plugins, OIDC), and nothing else of it is used.
It is imported only here and only when called: it costs 35 MiB and most of a second.
"""

import os
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx
import yaml

from app.clock import Clock, SystemClock
from app.errors import KubeError
from app.kube.credentials import Credentials, FixedCredentials, RenewingCredentials, checked, token_file

_HOME_CONFIG = "~/.kube/config"


@dataclass(frozen=True)
class Connection:
    """How to reach one kube-apiserver.

    `server` is its base URL without a trailing slash. `ssl_context` is None for plain http. `ca_file` holds the CA that verifies it,
    None if the machine's own CAs do. `certificate` and `key` are our client certificate, if that is how we authenticate.
    `server_name` overrides the name that its certificate is checked against; `proxy` is a URL.
    """

    server: str
    ssl_context: ssl.SSLContext | None = None
    credentials: Credentials = field(default_factory=FixedCredentials)
    ca_file: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    server_name: str | None = None
    proxy: str | None = None


def load(
    kubeconfig: Path | None = None,
    *,
    clock: Clock | None = None,
    environ: Mapping[str, str] = os.environ,
    flag: str = "--kubeconfig",
) -> Connection:
    """The connection that `kubeconfig` describes; without one that of $KUBECONFIG, of the pod we run in, or of ~/.kube/config.

    Raises KubeError, which says what is missing and where; `flag` is the one that `kubeconfig` was given by.
    """
    clock = clock or SystemClock()
    if kubeconfig is not None:
        try:
            return _from_file(kubeconfig, clock, flag)
        except KubeError as exc:
            raise KubeError(f"{flag}: {exc}") from exc
    if environ.get("KUBECONFIG"):
        return _from_files(environ["KUBECONFIG"], clock)
    if environ.get("KUBERNETES_SERVICE_HOST"):
        return _in_cluster(clock)
    home = Path(_HOME_CONFIG).expanduser()
    if home.is_file():
        return _from_files(str(home), clock)
    raise KubeError(
        f"no way to kube-apiserver: --kubeconfig and KUBECONFIG are not set, {_HOME_CONFIG} does not exist and this is not a pod; "
        "give --kubeconfig a file that kubectl can use"
    )


def _from_file(path: Path, clock: Clock, flag: str) -> Connection:
    if not path.is_file():
        fault = "is a directory" if path.is_dir() else "is no file" if path.exists() else "does not exist"
        raise KubeError(f"kubeconfig {path} {fault}; give {flag} a file that kubectl can use")
    return _from_files(str(path), clock)


def client_context(
    ca_file: Path | None, *, certificate: Path | None = None, key: Path | None = None, verify: bool = True
) -> ssl.SSLContext:
    """An SSLContext for a client: verified by `ca_file`, or by the machine's CAs without one. Raises KubeError naming the file.

    VERIFY_X509_STRICT, which Python 3.13 turned on, is cleared: clusters made by older tools have CAs without a key usage or an
    authority key identifier, and every other client accepts them.
    """
    try:
        context = ssl.create_default_context(cafile=str(ca_file) if ca_file else None)
    except (OSError, ssl.SSLError) as exc:
        raise KubeError(f"cannot read the CA certificates in {ca_file}: {exc}; it must be a PEM file") from exc
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate is not None:
        try:
            context.load_cert_chain(str(certificate), str(key) if key else None, password=_no_password)
        except (OSError, ssl.SSLError, ValueError) as exc:
            what = f"cannot use the client certificate {certificate} with the key {key}"
            raise KubeError(f"{what}: {exc}; both must be PEM files that match") from exc
    return context


def _no_password() -> str:
    """Instead of OpenSSL's own question on the terminal."""
    raise ValueError("the private key is encrypted, which is not supported")


def _in_cluster(clock: Clock) -> Connection:
    from kubernetes.config import ConfigException, incluster_config  # noqa: PLC0415 - heavy, see above

    configuration = _configuration()
    try:
        incluster_config.load_incluster_config(  # type: ignore[no-untyped-call]  # kubernetes has no types here
            client_configuration=configuration, try_refresh_token=False
        )
    except (ConfigException, OSError) as exc:
        raise KubeError(f"cannot use the pod's service account: {exc}; is automountServiceAccountToken false?") from exc
    credentials = RenewingCredentials(token_file(Path(incluster_config.SERVICE_TOKEN_FILENAME)), clock)
    return _connection(configuration, credentials, "the pod's service account")


def _from_files(paths: str, clock: Clock) -> Connection:
    from kubernetes.config import ConfigException, load_kube_config  # noqa: PLC0415 - heavy, see above

    def configure() -> Any:
        configuration = _configuration()
        with _readable(paths, ConfigException):
            load_kube_config(  # type: ignore[no-untyped-call]  # kubernetes has no types here
                config_file=paths, client_configuration=configuration, persist_config=False
            )
        return configuration

    configuration = configure()
    with _readable(paths, ConfigException):
        cluster, user = _entries(paths)
        inline = _inline(configuration, cluster, user)
        return _connection(configuration, _credentials(user, configuration, configure, clock), paths, inline)


@contextmanager
def _readable(paths: str, refused: type[Exception]) -> Iterator[None]:
    """Faults of files as KubeError. `refused` is what the official loader raises on purpose, with words for people."""
    try:
        yield
    except (refused, yaml.YAMLError, OSError) as exc:
        raise KubeError(f"cannot use kubeconfig {paths}: {exc}; check it with `kubectl config view`") from exc
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as exc:
        # The official loader trips over what is no kubeconfig; its words would be Python's.
        raise KubeError(f"{paths} does not have the form of a kubeconfig; check it with `kubectl config view`") from exc


class _Entry(NamedTuple):
    """A cluster or user, and the file that defines it."""

    path: Path = Path()
    content: Mapping[str, Any] = {}


def _credentials(entry: _Entry, configuration: Any, configure: Callable[[], Any], clock: Clock) -> Credentials:
    """Token files and exec plugins are asked again (the official loader reads a tokenFile once only); the rest never changes."""
    header = configuration.api_key.get("BearerToken")
    path, user = entry
    if not header:
        if "exec" in user and not configuration.cert_file:
            raise KubeError(f"the exec plugin of kubeconfig {path} gave no credentials; run `kubectl get --raw /version` to see why")
        return FixedCredentials()
    if user.get("tokenFile"):
        return RenewingCredentials(token_file(path.parent / user["tokenFile"]), clock)
    if "exec" in user or "auth-provider" in user:
        first = [header]

        def renewed() -> str | None:
            found = first.pop() if first else configure().api_key.get("BearerToken")
            return checked(found, f"kubeconfig {path}") if found else None

        return RenewingCredentials(renewed, clock, in_thread=True)
    return FixedCredentials(checked(header, f"kubeconfig {path}"))


def _entries(paths: str) -> tuple[_Entry, _Entry]:
    """The current context's cluster and user. Of several files the first that has a name wins, as in kubectl; the official loader lets
    the last current-context win, and what it chose is what counts here.
    """
    context_name = ""
    contexts: dict[str, Mapping[str, Any]] = {}
    clusters: dict[str, _Entry] = {}
    users: dict[str, _Entry] = {}
    for part in paths.split(os.pathsep):
        path = Path(part).expanduser()
        if not part or not path.is_file():
            continue
        content = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        context_name = content.get("current-context", context_name)
        for context in content.get("contexts") or []:
            contexts.setdefault(context["name"], context.get("context") or {})
        for cluster in content.get("clusters") or []:
            clusters.setdefault(cluster["name"], _Entry(path, cluster.get("cluster") or {}))
        for user in content.get("users") or []:
            users.setdefault(user["name"], _Entry(path, user.get("user") or {}))
    current = contexts.get(context_name, {})
    return clusters.get(current.get("cluster", ""), _Entry()), users.get(current.get("user", ""), _Entry())


def _inline(configuration: Any, cluster: _Entry, user: _Entry) -> dict[str, str]:
    """What a person calls the temporary files into which the official loader has written data of a kubeconfig."""
    files = (
        (configuration.ssl_ca_cert, "certificate-authority-data", cluster),
        (configuration.cert_file, "client-certificate-data", user),
        (configuration.key_file, "client-key-data", user),
    )
    return {file: f"{name} of {entry.path}" for file, name, entry in files if file and entry.content.get(name)}


def _configuration() -> Any:
    """An empty configuration, without the proxies of the environment: only a kubeconfig's proxy-url counts."""
    from kubernetes.client import Configuration  # noqa: PLC0415 - heavy, see above

    configuration = Configuration()
    configuration.proxy = None
    return configuration


def _connection(configuration: Any, credentials: Credentials, origin: str, inline: Mapping[str, str] | None = None) -> Connection:
    server, proxy = configuration.host.rstrip("/"), configuration.proxy or None
    if fault := _url_fault(server):
        raise KubeError(f'the server "{server}" of {origin} cannot be used: {fault}; it must be a URL such as https://10.0.0.1:6443')
    if proxy and (fault := _url_fault(proxy)):
        raise KubeError(f'the proxy-url "{proxy}" of {origin} cannot be used: {fault}; it must be a URL such as http://10.0.0.1:3128')
    ca_file = Path(configuration.ssl_ca_cert) if configuration.ssl_ca_cert else None
    certificate = Path(configuration.cert_file) if configuration.cert_file else None
    key = Path(configuration.key_file) if configuration.key_file else None
    context = None
    if server.startswith("https://"):
        try:
            context = client_context(ca_file, certificate=certificate, key=key, verify=configuration.verify_ssl)
        except KubeError as exc:
            text = str(exc)
            for file, name in (inline or {}).items():
                text = text.replace(file, name)
            raise KubeError(text) from exc
    return Connection(
        server=server,
        ssl_context=context,
        credentials=credentials,
        ca_file=ca_file,
        certificate=certificate,
        key=key,
        server_name=configuration.tls_server_name or None,
        proxy=proxy,
    )


def _url_fault(url: str) -> str:
    """What keeps us from asking there, "" if nothing does."""
    try:
        parts = urlsplit(url)
        port = parts.port
        httpx.URL(url)
    except (ValueError, httpx.InvalidURL) as exc:
        return str(exc)
    if parts.scheme not in {"http", "https"}:
        return f'the scheme "{parts.scheme}" is not known' if parts.scheme else "it has no scheme"
    if not parts.hostname:
        return "it has no host"
    return "the port must be from 1 to 65535" if port == 0 else ""
