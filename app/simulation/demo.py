"""`kubeglance demo`: a simulated cluster and a real kubeglance behind it, shown with kubectl's own requests and left running.

The cluster lives in this process; kubeglance is a child, started with `serve` as in a real cluster and ended with us, however we end.
"""

import argparse
import asyncio
import contextlib
import shlex
import signal
import socket
import ssl
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TextIO

import httpx

from app.clock import Clock, SystemClock
from app.errors import KubeglanceError
from app.simulation.child import Child, kubeglance
from app.simulation.environment import Environment
from app.simulation.generate import generate
from app.simulation.kubectl import NOTHING, Kubectl, KubectlError

_READY_WITHIN = 60.0
_VALUES_WITHIN = 45.0
_DECLARED_WITHIN = 30.0
_PROGRESS_EVERY = 2.0
_POLL = 0.1
_MOST_NODES, _MOST_PODS = 1000, 250


ANOTHER_KIND = "sed 's/Cool/Hot/g; s/cool/hot/g; s/\\[cr\\]/[hr]/' coolresources.yaml > hotresources.yaml"
"""Declares one more kind, as a first try."""

_TABLES = (
    ("podmetrics", "pods", "metrics.k8s.io"),
    ("podstats", "podstats", "live.kubeglance.io"),
    ("volumestats", "volumestats", "live.kubeglance.io"),
    ("coolresources", "coolresources", "example.com"),
    ("queues", "queues", "msg.example.com"),
)
"""What `kubectl get -A` is shown of: its word, the resource and the group. The last two are the kinds that the demo declares."""


class DemoError(KubeglanceError):
    """The demo cannot go on. The message says what failed, with the end of kubeglance's log where that helps."""


@dataclass(frozen=True)
class Options:
    """`pods` counts the pods of each node; `port` is the simulated kube-apiserver's, 0 for any free one."""

    nodes: int = 3
    pods: int = 10
    port: int = 0
    kubeconfig: Path | None = None
    once: bool = False
    seed: int = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `kubeglance demo`."""
    parser.add_argument("--nodes", type=_number(1, _MOST_NODES), default=3, metavar="N", help="simulated nodes")
    parser.add_argument("--pods", type=_number(1, _MOST_PODS), default=10, metavar="N", help="simulated pods on each node")
    parser.add_argument("--port", type=_number(0, 65535), default=0, help="port of the simulated kube-apiserver; 0 is any free one")
    parser.add_argument("--kubeconfig", type=Path, metavar="PATH", help="where to write the kubeconfig; without it a temporary folder")
    parser.add_argument("--once", action="store_true", help="end after the tables, with exit code 0")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="another seed makes another cluster")


def main(args: argparse.Namespace) -> int:
    """Run the demo with parsed arguments; the answer is the exit code. Raises KubeglanceError with a message for people."""
    return asyncio.run(_until_signalled(Options(args.nodes, args.pods, args.port, args.kubeconfig, args.once, args.seed)))


async def run_demo(options: Options) -> int:
    """The whole demo, printed to standard output, until it is cancelled (or, with `once`, has shown its tables)."""
    return await Demo(options, SystemClock(), sys.stdout).run()


async def _until_signalled(options: Options) -> int:
    """Run the demo until a signal ends it in order: with 0 while it serves, which is how it is meant to end, else with 128 + signal."""
    demo, task = Demo(options, SystemClock(), sys.stdout), asyncio.current_task()
    received: list[int] = []

    def end(number: int) -> None:
        received.append(number)
        if task is not None and len(received) == 1:
            task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        asyncio.get_running_loop().add_signal_handler(number, end, number)
    try:
        return await demo.run()
    except asyncio.CancelledError:
        if not received:
            raise
        return 0 if demo.serving else 128 + received[0]


class Demo:
    """One run. `serving` turns true when the tables are printed and the user may use the cluster."""

    def __init__(self, options: Options, clock: Clock, out: TextIO) -> None:
        self.serving = False
        self._options = options
        self._clock = clock
        self._out = out

    async def run(self) -> int:
        """All of it; 0 when it ended well. Raises KubeglanceError."""
        options = self._options
        with tempfile.TemporaryDirectory(prefix="kubeglance-demo-") as folder:
            cluster = generate(self._clock, options.nodes, options.pods, seed=options.seed)
            environment = Environment(cluster, self._clock, Path(folder))
            self._say(f"Simulating a cluster of {len(cluster.nodes)} nodes and {len(cluster.pods)} pods.")
            try:
                async with asyncio.TaskGroup() as group:
                    await self._run(environment, group)
            except BaseExceptionGroup as failures:
                raise _cause(failures) from failures
        return 0

    async def _run(self, environment: Environment, group: asyncio.TaskGroup) -> None:
        try:
            await environment.start(group, self._options.port)
            path = self._write_kubeconfig(environment)
            port = _free_port()
            await environment.aggregate(port)
            self._say("Starting kubeglance.")
            async with kubeglance(environment.serve_arguments(port), environment.folder / "kubeglance.log") as child:
                try:
                    await self._show(environment, child, port)
                    if not self._options.once:
                        await self._serve(environment, child, path)
                finally:
                    # The cluster goes first: without open connections kubeglance ends at once.
                    await environment.close()
        finally:
            await environment.close()

    async def _show(self, environment: Environment, child: Child, port: int) -> None:
        await self._wait_ready(environment, child, port)
        url = f"https://127.0.0.1:{environment.port}"
        async with Kubectl(url, environment.user.token, _trusting(environment)) as kubectl:
            try:
                await self._wait_values(len(environment.cluster.pods), kubectl, child)
                await self._table("kubectl top nodes", kubectl.top_nodes)
                await self._table("kubectl top pods -A", kubectl.top_pods)
                for word, resource, group in _TABLES:
                    rows = partial(self._wait_rows, resource, group, kubectl, child)
                    await self._table(f"kubectl get {word} -A", rows)
            except KubectlError as exc:
                raise DemoError(child.explain(str(exc))) from exc

    async def _serve(self, environment: Environment, child: Child, path: Path) -> None:
        """Until we are cancelled. Raises ChildError if kubeglance ends before."""
        folder = shlex.quote(str(environment.declarations))
        self._say("\nThe cluster stays up until Ctrl-C. For your own kubectl:\n")
        self._say(f"  export KUBECONFIG={shlex.quote(str(path))}\n")
        self._say("CoolResource and Queue are declared in the folder below. A YAML file that you put there is a kind within seconds:\n")
        self._say(f"  cd {folder}")
        self._say(f"  {ANOTHER_KIND}")
        self._say("  kubectl get hotresources -A\n")
        self.serving = True
        try:
            await child.ended()
        except asyncio.CancelledError:
            self._say("\nEnding.")
            raise

    async def _wait_ready(self, environment: Environment, child: Child, port: int) -> None:
        """Until /readyz of kubeglance is 200: it has listed the cluster and scraped every kubelet once."""
        found = "it does not answer yet"
        async with (
            httpx.AsyncClient(verify=_trusting(environment), timeout=2, trust_env=False) as client,
            _polls(self._clock, _READY_WITHIN) as polls,
        ):
            async for due in polls:
                child.check()
                try:
                    response = await client.get(f"https://127.0.0.1:{port}/readyz?verbose")
                except httpx.TransportError:
                    found = "it does not answer yet"
                else:
                    if response.status_code == 200:
                        return
                    failed = [line[3:].partition(" ")[0] for line in response.text.splitlines() if line.startswith("[-]")]
                    found = f"it is up and not ready yet ({', '.join(failed)})"
                if due:
                    self._say(f"Waiting for kubeglance, {due:.0f} s: {found}.")
        raise DemoError(child.explain(f"kubeglance was not ready within {_READY_WITHIN:.0f} s: {found}"))

    async def _wait_values(self, expected: int, kubectl: Kubectl, child: Child) -> None:
        """Until every pod has values; after a while what there is must do, with a word about the rest."""
        found = 0
        async with _polls(self._clock, _VALUES_WITHIN) as polls:
            async for due in polls:
                child.check()
                found = len(await kubectl.pod_metrics())
                if found >= expected:
                    return
                if due:
                    self._say(f"Waiting for values, {due:.0f} s: {found} of {expected} pods have them.")
        if not found:
            raise DemoError(child.explain(f"no pod had values within {_VALUES_WITHIN:.0f} s"))
        self._say(f"After {_VALUES_WITHIN:.0f} s only {found} of {expected} pods have values; those are shown.")

    async def _wait_rows(self, resource: str, group: str, kubectl: Kubectl, child: Child) -> str:
        """The table of a kind, when it has a row: a kind that is declared is served once it was collected."""
        found = ""
        async with _polls(self._clock, _DECLARED_WITHIN) as polls:
            async for _ in polls:
                child.check()
                try:
                    found = await kubectl.get(resource, group)
                except KubectlError as exc:
                    found = str(exc)
                else:
                    if found != NOTHING:
                        return found
        raise DemoError(child.explain(f"{resource}.{group} had no objects within {_DECLARED_WITHIN:.0f} s: {found}"))

    async def _table(self, command: str, rows: Callable[[], Awaitable[str]]) -> None:
        text = await rows()
        self._say(f"\n$ {command}\n{text}")

    def _write_kubeconfig(self, environment: Environment) -> Path:
        path = (self._options.kubeconfig or environment.folder / "kubeconfig").absolute()
        try:
            environment.write_kubeconfig(environment.user, path)
        except OSError as exc:
            raise DemoError(f"cannot write the kubeconfig to {path}: {exc.strerror}; choose another --kubeconfig") from exc
        return path

    def _say(self, text: str) -> None:
        self._out.write(f"{text}\n")
        self._out.flush()


@contextlib.asynccontextmanager
async def _polls(clock: Clock, limit: float) -> AsyncIterator[AsyncIterator[float]]:
    """A stream of moments to look again, for `limit` seconds: the seconds waited where a word about progress is due, else 0."""

    async def moments() -> AsyncIterator[float]:
        began = clock.monotonic()
        told = 0.0
        while (waited := clock.monotonic() - began) < limit:
            looked = clock.monotonic()
            if waited - told >= _PROGRESS_EVERY:
                told = waited
                yield waited
            else:
                yield 0.0
            # Whoever waits must not be the load: what took long is asked less often.
            await asyncio.sleep(max(_POLL, 3 * (clock.monotonic() - looked)))

    stream = moments()
    try:
        yield stream
    finally:
        await stream.aclose()  # type: ignore[attr-defined]  # it is an async generator, which the return type does not tell


def _cause(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """Of failures that came together: the first that has a message for people, else the first."""
    found: BaseException = failures.subgroup(KubeglanceError) or failures
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found


def _trusting(environment: Environment) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=environment.cluster_ca.certificate_pem.decode())


def _free_port() -> int:
    """A port that nobody listens on now. It is taken a moment later by the child, which tells if somebody was quicker."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _number(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f'"{text}" must be a whole number from {low} to {high}')
        return value

    return parse
