"""Where kube-apiserver is, how it is verified and who we are: from a kubeconfig, or from the pod that we run in."""

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from app.clock import Clock, SystemClock
from app.errors import KubeError
from app.kube.credentials import Credentials, FixedCredentials, RenewingCredentials, token_file

_HOME_CONFIG = "~/.kube/config"
_SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where a kubelet puts the token of a pod's ServiceAccount and the CA of its cluster."""


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
    service_account: Path = _SERVICE_ACCOUNT,
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
        return _in_cluster(environ, service_account, clock)
    home = Path(_HOME_CONFIG).expanduser()
    if home.is_file():
        return _from_files(str(home), clock)
    raise KubeError(
        f"no way to kube-apiserver: --kubeconfig and KUBECONFIG are not set, {_HOME_CONFIG} does not exist and this is not a pod; "
        "give --kubeconfig a file that kubectl can use"
    )


def in_cluster(*, clock: Clock, environ: Mapping[str, str] = os.environ, service_account: Path = _SERVICE_ACCOUNT) -> Connection:
    """The connection of the pod's own ServiceAccount. Raises KubeError where this is no pod."""
    if not environ.get("KUBERNETES_SERVICE_HOST"):
        raise KubeError("this is no pod: it has no ServiceAccount to use")
    return _in_cluster(environ, service_account, clock)


def own_namespace(service_account: Path = _SERVICE_ACCOUNT) -> str:
    """The namespace of the pod that we run in, "" if this is none."""
    try:
        return (service_account / "namespace").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _from_file(path: Path, clock: Clock, flag: str) -> Connection:
    if not path.is_file():
        fault = "is a directory" if path.is_dir() else "is no file" if path.exists() else "does not exist"
        raise KubeError(f"kubeconfig {path} {fault}; give {flag} a file that kubectl can use")
    return _from_files(str(path), clock)


def _from_files(paths: str, clock: Clock) -> Connection:
    from app.kube.kubeconfig import read  # noqa: PLC0415 -- in a pod nobody needs YAML

    return read(paths, clock)


def _in_cluster(environ: Mapping[str, str], folder: Path, clock: Clock) -> Connection:
    """As the pod's own ServiceAccount, whose token and CA the kubelet keeps in `folder`."""
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ.get("KUBERNETES_SERVICE_PORT") or "443"
    server = checked_url("server", f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}", "the pod's environment")
    read_token, ca_file = token_file(folder / "token"), folder / "ca.crt"
    try:
        read_token()
        context = client_context(ca_file)
    except KubeError as exc:
        raise KubeError(f"cannot use the pod's service account: {exc}; is automountServiceAccountToken false?") from exc
    return Connection(server=server, ssl_context=context, credentials=RenewingCredentials(read_token, clock), ca_file=ca_file)


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


def checked_url(what: str, url: str, origin: str) -> str:
    """`url`, if requests can be sent there. Raises KubeError, which names `what` of `origin` it is."""
    example = {"server": "https://10.0.0.1:6443", "proxy-url": "http://10.0.0.1:3128"}[what]
    if fault := _url_fault(url):
        raise KubeError(f'the {what} "{url}" of {origin} cannot be used: {fault}; it must be a URL such as {example}')
    return url


def _url_fault(url: str) -> str:
    """What keeps us from asking there, "" if nothing does."""
    if not all(char.isprintable() and not char.isspace() for char in url):
        return "it has a space or a control character in it"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as exc:
        return str(exc)
    if parts.scheme not in {"http", "https"}:
        return f'the scheme "{parts.scheme}" is not known' if parts.scheme else "it has no scheme"
    if not parts.hostname:
        return "it has no host"
    return "the port must be from 1 to 65535" if port == 0 else ""
