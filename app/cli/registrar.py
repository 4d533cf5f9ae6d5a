"""`kubeglance registrar`: keeps certificates, APIServices and reader roles in the cluster as kubeglance needs them."""

import argparse
import asyncio
import signal
import ssl
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from app import kinds
from app.cli import names
from app.cli.arguments import Parser
from app.cli.certs import service_names
from app.clock import Clock, SystemClock
from app.duration import parse_duration
from app.errors import KubeError, KubeglanceError
from app.kube import config
from app.kube.client import KubeClient
from app.kube.config import Connection
from app.registrar.cluster import Cluster
from app.registrar.events import Invalid
from app.registrar.registration import Install, groups_of
from app.registrar.rotation import Lifetimes
from app.registrar.run import Registrar, Served
from app.telemetry import configure_logging

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_COLLECTORS = "/apis/live.kubeglance.io/v1alpha1/collectors"


def run(argv: Sequence[str]) -> int:
    """Run until SIGTERM or SIGINT, or with --remove until all is taken away; the answer is the exit code."""
    parser = _parser()
    try:
        arguments = parser.parse_args(argv)
        _check(parser, arguments)
    except SystemExit as end:
        return int(end.code or 0)
    configure_logging(arguments.logging_format)
    try:
        return asyncio.run(_run(arguments, SystemClock()))
    except KubeglanceError as err:
        print(f"kubeglance registrar: {err}", file=sys.stderr)
        return 1


def _parser() -> Parser:
    parser = Parser(
        "registrar",
        "Write what kubeglance serve needs in the cluster: CA and serving certificate with their renewal, APIServices, reader roles. "
        "It touches only what it made.",
    )
    parser.add_argument("--namespace", default="kube-system", help="namespace of kubeglance's Service")
    parser.add_argument("--service", default="kubeglance", help="name of kubeglance's Service")
    parser.add_argument("--port", type=int, default=443, help="port of the Service")
    parser.add_argument("--url", default="", help="where to ask kubeglance what it serves (default: its Service)")
    parser.add_argument("--kubeconfig", type=Path, help="kubeconfig for kube-apiserver; without it the pod's ServiceAccount")
    parser.add_argument("--serving-secret", default="", help="Secret for the serving certificate (default: SERVICE-tls)")
    parser.add_argument("--authority-secret", default="", help="Secret for the CA (default: SERVICE-ca)")
    parser.add_argument("--ca-lifetime", default="87600h", help="how long a CA lives; it is renewed after two thirds of that")
    parser.add_argument("--certificate-lifetime", default="2160h", help="the same of a serving certificate")
    parser.add_argument("--overlap", default="10m", help="how long a step of a rotation waits until everybody has seen the one before")
    parser.add_argument("--remove", action="store_true", help="take away all APIServices and roles that the registrar made, and end")
    parser.add_argument("--logging-format", choices=("text", "json"), default="text", help="form of the log on standard error")
    return parser


def _check(parser: Parser, arguments: argparse.Namespace) -> None:
    arguments.serving_secret = arguments.serving_secret or f"{arguments.service}-tls"
    arguments.authority_secret = arguments.authority_secret or f"{arguments.service}-ca"
    if not names.is_label(arguments.namespace):
        parser.error(f"--namespace={arguments.namespace}: is not {names.LABEL}")
    if not names.is_service(arguments.service):
        parser.error(f"--service={arguments.service}: is not {names.SERVICE}")
    for flag in ("serving_secret", "authority_secret"):
        if not names.is_object(getattr(arguments, flag)):
            parser.error(f"--{flag.replace('_', '-')}={getattr(arguments, flag)}: is not {names.OBJECT}")
    if arguments.serving_secret == arguments.authority_secret:
        parser.error("--serving-secret and --authority-secret must be two Secrets: every kubeglance may read the first, nobody the second")
    if not 1 <= arguments.port <= 65535:
        parser.error(f"--port={arguments.port}: must be between 1 and 65535")
    for flag in ("ca_lifetime", "certificate_lifetime", "overlap"):
        text = getattr(arguments, flag)
        try:
            seconds = parse_duration(text)
        except ValueError as err:
            parser.error(f"--{flag.replace('_', '-')}: {err}")
        if seconds <= 0:
            parser.error(f"--{flag.replace('_', '-')}={text}: must be longer than 0s")
        setattr(arguments, flag, seconds)
    if arguments.overlap > arguments.ca_lifetime / 9:
        parser.error("--overlap must be at most a ninth of --ca-lifetime: a rotation has three steps and begins after two thirds of it")
    if arguments.certificate_lifetime > arguments.ca_lifetime:
        parser.error("--certificate-lifetime must not be longer than --ca-lifetime")
    arguments.url = arguments.url or f"https://{arguments.service}.{arguments.namespace}.svc:{arguments.port}"
    parts = urlsplit(arguments.url)
    if parts.scheme != "https" or not parts.hostname or parts.path not in {"", "/"}:
        parser.error(f"--url={arguments.url}: must be like https://{arguments.service}.{arguments.namespace}.svc")


async def _run(arguments: argparse.Namespace, clock: Clock) -> int:
    connection = config.load(arguments.kubeconfig, clock=clock)
    install = Install(arguments.namespace, arguments.service, port=arguments.port, built_in=frozenset(kind.group for kind in kinds.load()))
    async with KubeClient(connection) as client:
        cluster = Cluster(
            client,
            install,
            authority_secret=arguments.authority_secret,
            serving_secret=arguments.serving_secret,
            status=f"{arguments.service}-registrar",
        )
        dns = service_names(arguments.service, arguments.namespace)
        leaf_names = (dns[2], *(name for name in dns if name != dns[2]))
        lifetimes = Lifetimes(arguments.ca_lifetime, arguments.certificate_lifetime, arguments.overlap)
        asker = _Asker(arguments.url.rstrip("/"), leaf_names[0], connection)
        registrar = Registrar(cluster, asker.ask, install, lifetimes=lifetimes, names=leaf_names, clock=clock)
        if arguments.remove:
            await registrar.remove()
            return 0
        task = asyncio.ensure_future(registrar.run())
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        try:
            await task
        except asyncio.CancelledError:
            return 0
        finally:
            await asker.aclose()
    return 0


class _Asker:
    """Asks kubeglance itself what it serves: with our own credentials, as any client does, verified by the bundle of the moment."""

    def __init__(self, url: str, server_name: str, connection: Connection) -> None:
        self._url = url
        self._server_name = server_name
        self._connection = connection
        self._bundle = b""
        self._client: KubeClient | None = None

    async def ask(self, bundle: bytes) -> Served:
        """What is served now. Raises KubeError."""
        if self._client is None or bundle != self._bundle:
            await self.aclose()
            self._client, self._bundle = KubeClient(self._trusting(bundle)), bundle
        discovery = await self._client.get_json("/apis", accept=_AGGREGATED)
        if not isinstance(discovery, dict) or discovery.get("kind") != "APIGroupDiscoveryList":
            raise KubeError(f"{self._url} did not answer with an APIGroupDiscoveryList: is it kubeglance?")
        return Served(groups_of(discovery), await self._invalid(self._client))

    async def aclose(self) -> None:
        """Close the connection."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def _trusting(self, bundle: bytes) -> Connection:
        context = ssl.create_default_context(cadata=bundle.decode("ascii"))
        return Connection(server=self._url, ssl_context=context, credentials=self._connection.credentials, server_name=self._server_name)

    async def _invalid(self, client: KubeClient) -> list[Invalid]:
        """The declarations that kubeglance could not take; none where we may not read collectors."""
        try:
            answer = await client.get_json(_COLLECTORS)
        except KubeError as error:
            if error.status in {403, 404}:
                return []
            raise
        return [invalid for item in answer.get("items") or () if (invalid := _invalid_of(item)) is not None]


def _invalid_of(collector: Any) -> Invalid | None:
    status = collector.get("status") or {}
    message = status.get("invalid")
    file = (collector.get("spec") or {}).get("file", "")
    return Invalid(collector["metadata"]["name"], file, message) if message else None
