"""`kubeglance probe`: one real collection of a declaration, told step by step: what is asked, what comes back, what becomes of it.

It runs what `serve` runs, in the same words and within the same limits, once. Secrets are masked in all that it prints.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from app.cli.arguments import Parser
from app.cli.declared_files import NothingToRead, chosen
from app.cli.kubectl_output import table
from app.cli.names import LABEL, is_label
from app.cli.rendered import rendered
from app.clock import Clock, SystemClock
from app.declared.declaration import AnyDeclaration, is_metric
from app.declared.faults import in_one_line
from app.declared.mask import HIDDEN, Mask
from app.declared.means import Provider
from app.declared.objects import Dropped
from app.declared.prometheus_servers import ServersError, read_servers
from app.declared.secrets import Secrets
from app.errors import KubeError
from app.kube import config
from app.kube.client import KubeClient
from app.kube.objects import ClusterWatches
from app.settings import Settings
from collectors import sources
from collectors._base import CollectError
from collectors._http_client import Answer, HttpClient, Request, Trust
from collectors._source import Means, Response, Unusable

_EPILOG = """\
Exit code: 0 every item became an object, 1 the declaration is wrong, the collection failed or an item became none, 2 wrong use.
Secrets and ConfigMaps are read with the rights of the kubeconfig, from --namespace."""

_SHOWN_HEADERS = {"accept", "content-type"}
_LONGEST_ITEM = 400
"""Characters of an item."""
_MOST_DROPPED = 100


def run(argv: Sequence[str], clock: Clock | None = None) -> int:
    """Probe and print; the answer is the exit code."""
    parser = _parser()
    try:
        arguments = parser.parse_args(argv)
        if not is_label(arguments.namespace):
            parser.error(f"--namespace={arguments.namespace}: is not {LABEL}")
        try:
            networks = Settings(source_allowed_networks=arguments.source_allowed_networks).source_allowed_networks
        except ValidationError as err:
            parser.error(f"--source-allowed-networks: {err.errors()[0]['msg']}")
    except SystemExit as end:
        return int(end.code or 0)
    try:
        declaration = chosen(arguments.file, arguments.kind)
        return _alone(_probe(declaration, arguments, networks, clock or SystemClock())) if declaration is not None else 1
    except (NothingToRead, KubeError, ServersError) as err:
        print(f"kubeglance probe: {err}", file=sys.stderr)
        return 2


def _alone(probe: Coroutine[Any, Any, int]) -> int:
    """The exit code of a probe. What goes wrong in it comes by itself, not in the group of its tasks: a closed pipe, say."""
    try:
        return asyncio.run(probe)
    except* Exception as group:  # noqa: BLE001  whatever it is, it is raised again
        raise group.exceptions[0] from None


def _parser() -> Parser:
    defaults = Settings.model_fields
    parser = Parser("probe", "Make one real collection of a declaration and show each step.")
    parser.epilog = _EPILOG
    parser.add_argument("file", type=Path, metavar="FILE", help="the declaration")
    parser.add_argument("--kind", default="", help="which of several in the file: its kind, plural or metadata.name")
    parser.add_argument("--items", type=int, default=3, help="items of the response to show")
    parser.add_argument("--kubeconfig", type=Path, help="cluster of Secrets, ConfigMaps and objects; without it as kubectl finds one")
    parser.add_argument("--namespace", default="kube-system", help="namespace of Secrets and ConfigMaps")
    parser.add_argument("--secret-dir", type=Path, help="folder of valueFrom.file")
    parser.add_argument(
        "--secret-env-prefix", default=defaults["secret_env_prefix"].default, help="what variables of valueFrom.env begin with"
    )
    parser.add_argument("--source-dir", type=Path, help="folder of the files that sources read")
    parser.add_argument("--prometheus-servers", type=Path, help="file of Prometheus servers by name")
    parser.add_argument("--source-allowed-networks", default="", metavar="CIDR,...", help="as for serve")
    return parser


async def _probe(declaration: AnyDeclaration, arguments: argparse.Namespace, networks: Sequence[str], clock: Clock) -> int:
    """One collection, printed as it goes."""
    mask = Mask()
    servers = read_servers(arguments.prometheus_servers) if arguments.prometheus_servers is not None else {}
    async with AsyncExitStack() as stack:
        client = _client(arguments.kubeconfig, clock)
        if client is not None:
            stack.push_async_callback(client.aclose)
        secrets = Secrets(
            client,
            own_namespace=arguments.namespace,
            mask=mask,
            clock=clock,
            directory=arguments.secret_dir,
            env_prefix=arguments.secret_env_prefix,
        )
        provider = Provider(secrets, mask, clock, allowed_networks=networks, folder=arguments.source_dir, servers=servers)
        stack.push_async_callback(provider.aclose)
        tasks = _Tasks(await stack.enter_async_context(asyncio.TaskGroup()))
        stack.callback(tasks.stop_all)
        cluster = ClusterWatches(client, clock, tasks, declaration=declaration.name) if client is not None else None
        return await _Probe(mask, clock, arguments.items).collect(declaration, provider.means(declaration, cluster=cluster))


def _client(kubeconfig: Path | None, clock: Clock) -> KubeClient | None:
    """A client of the cluster; None where there is none, which matters only to a declaration that needs one."""
    try:
        return KubeClient(config.load(kubeconfig, clock=clock))
    except KubeError:
        if kubeconfig is not None:
            raise
        return None


class _Tasks:
    """The tasks of watches (app.kube.objects.Tasks). They end with the command."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._running: dict[Hashable, asyncio.Task[None]] = {}

    def start(self, key: Hashable, run: Callable[[], Awaitable[None]]) -> None:
        async def running() -> None:
            await run()

        self.stop(key)
        self._running[key] = self._group.create_task(running())

    def stop(self, key: Hashable) -> None:
        if (task := self._running.pop(key, None)) is not None:
            task.cancel()

    def stop_all(self) -> None:
        for key in [*self._running]:
            self.stop(key)


class _Recorded:
    """An HttpClient that tells what goes through it."""

    def __init__(self, client: HttpClient, probe: "_Probe") -> None:
        self._client = client
        self._probe = probe

    async def send(self, request: Request, *, limit: int) -> Answer:
        self._probe.asked(request)
        began = self._probe.now()
        answer = await self._client.send(request, limit=limit)
        self._probe.answered(answer, self._probe.now() - began)
        return answer

    async def aclose(self) -> None:
        await self._client.aclose()


class _Probe:
    """One collection and what is printed of it."""

    def __init__(self, mask: Mask, clock: Clock, items: int) -> None:
        self._mask = mask
        self._clock = clock
        self._items = items
        self._exchanges = 0

    def now(self) -> float:
        return self._clock.monotonic()

    async def collect(self, declaration: AnyDeclaration, means: Means) -> int:
        """The exit code."""
        ((name, said),) = declaration.resource.spec.source.items()
        kind = sources()[name]
        spec = kind.spec.model_validate(said)
        self._say(f"{declaration.name} ({declaration.place.file}:{declaration.place.line}): {name} {kind.endpoint(spec)}".rstrip())
        began = self.now()
        try:
            source = kind.open(spec, replace(means, http=lambda trust: self._recorded(means, trust)))
            try:
                async with asyncio.timeout(means.timeout):
                    response = await source.collect()
            finally:
                await source.aclose()
        except TimeoutError:
            self._say(f"\nFAILED (deadline): no whole answer within {means.timeout:g} s")
            return 1
        except CollectError as error:
            return self._failed(error)
        return self._tell(declaration, response, self.now() - began)

    def asked(self, request: Request) -> None:
        """A request goes out."""
        self._exchanges += 1
        self._say(f"\n> {request.method} {request.url}")
        for name, value in request.headers:
            self._say(f">   {name}: {value if name.lower() in _SHOWN_HEADERS else HIDDEN}")
        if request.body:
            self._say(f">   (a body of {len(request.body):,} bytes)")

    def answered(self, answer: Answer, took: float) -> None:
        """Its answer is here."""
        kind = in_one_line(answer.headers.get("content-type", "no Content-Type"))
        self._say(f"< {answer.status}, {kind}, {answer.size:,} bytes, {took * 1000:.0f} ms")

    def _recorded(self, means: Means, trust: Trust) -> HttpClient:
        if not trust.verify:
            self._say("\nWARNING: tls.insecureSkipVerify: whoever sits between reads and changes all of this")
        return _Recorded(means.http(trust), self)

    def _failed(self, error: CollectError) -> int:
        self._say(f"\nFAILED ({error.cause}): {error.message}")
        if error.remedy:
            self._say(f"  {error.remedy}")
        return 1

    def _tell(self, declaration: AnyDeclaration, response: Response, took: float) -> int:
        """What became of a response; the exit code."""
        for warning in response.warnings:
            self._say(f"\nWARNING of the source: {warning}")
        self._show_items(declaration, response.value)
        try:
            found = rendered(declaration, response.value, self._clock)
        except CollectError as error:
            self._say(f"\nresponse: {self._json(response.value)}")
            return self._failed(error)
        mapped, what = found.mapped, "series" if is_metric(declaration) else "objects"
        self._say(f"\n{table(found.table, wide=True, namespaces=found.namespaced).rstrip() or f'no {what}'}")
        dropped: list[Dropped | Unusable] = [*response.unusable, *mapped.dropped]
        self._list(f"items became no {what}", dropped)
        self._list("cells stay empty", mapped.blank)
        asked = f"{self._exchanges} requests, " if self._exchanges else ""
        self._say(f"\n{len(mapped.objects)} {what}, {len(dropped)} items without; {asked}{response.size:,} bytes, {took * 1000:.0f} ms")
        return 1 if dropped else 0

    def _list(self, what: str, found: Sequence[Dropped | Unusable]) -> None:
        if not found:
            return
        self._say(f"\n{len(found)} {what}:")
        for each in found[:_MOST_DROPPED]:
            named = f" {each.name!r}" if each.name else ""
            self._say(in_one_line(f"  item {each.index}{named}: {each.reason}"))
        if len(found) > _MOST_DROPPED:
            self._say(f"  and {len(found) - _MOST_DROPPED} more")

    def _show_items(self, declaration: AnyDeclaration, response: Any) -> None:
        from app.declared.cel import CelError, compile_cel  # noqa: PLC0415 -- loaded by compile_kind, and not for --help

        text = declaration.resource.spec.items
        try:
            items = compile_cel(text, {"response": None})({"response": response})
        except CelError:
            return  # the mapping tells it in its own words
        if isinstance(items, list):
            self._say(f"\nitems ({text}): {len(items)}, the first {min(len(items), self._items)}:")
            for item in items[: self._items]:
                self._say(f"  {self._json(item)}")

    def _json(self, value: Any) -> str:
        """The beginning of a value. Masked as a whole: of a secret that is cut, a part would be left."""
        text = self._mask(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str))
        return text if len(text) <= _LONGEST_ITEM else f"{text[:_LONGEST_ITEM]}..."

    def _say(self, text: str) -> None:
        print(self._mask(text), flush=True)
