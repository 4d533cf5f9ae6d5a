"""kubeglance as a child process of the demo: started with `serve`, its log in a file, ended with us.

We end it in order; where we cannot (SIGKILL), it notices our end by its standard input: app/simulation/leash.py.
"""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from app.errors import KubeglanceError

_STOP_WITHIN = 5.0
_LOG_TAIL = 20
_ROOT = Path(__file__).resolve().parents[2]


class ChildError(KubeglanceError):
    """kubeglance ended, or cannot be started. The message has the end of its log."""


class Child:
    """A running `kubeglance serve`."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process = process
        self._log = log

    def check(self) -> None:
        """Raise ChildError if it is no more."""
        if self._process.returncode is not None:
            raise ChildError(self.explain(f"kubeglance ended by itself with code {self._process.returncode}"))

    async def ended(self) -> None:
        """Wait until it ends by itself, which it should not: raises ChildError."""
        await self._process.wait()
        self.check()

    def explain(self, message: str) -> str:
        """The message, and the last lines of the log under it."""
        lines = self._log.read_text(errors="replace").splitlines()[-_LOG_TAIL:]
        if not lines:
            return f"{message}\nkubeglance's log is empty"
        return "\n".join([message, f"the last {len(lines)} lines of kubeglance's log:", *(f"  {line}" for line in lines)])


@contextlib.asynccontextmanager
async def kubeglance(arguments: Sequence[str], log: Path) -> AsyncIterator[Child]:
    """`kubeglance serve` with these arguments, in this very Python; ended by SIGTERM, and by SIGKILL if that does not help.

    The folder of `log` must be temporary: if we die without a chance to end, the child removes it.
    """
    # KUBEGLANCE_* of the user's shell would change the demo's settings.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KUBEGLANCE_")}
    # -P and the path: it must be this very kubeglance, also where the current folder has a package named app.
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH", ""))))
    with log.open("wb") as out:
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-m",
                "app.simulation.leash",
                str(log.parent.resolve()),
                "serve",
                *arguments,
                stdin=asyncio.subprocess.PIPE,
                stdout=out,
                stderr=out,
                env=environment,
                start_new_session=True,  # a Ctrl-C in the terminal is for us alone: we end the child in our order
            )
        except OSError as exc:
            raise ChildError(f"cannot start kubeglance with {sys.executable}: {exc.strerror or exc}") from exc
    try:
        yield Child(process, log)
    finally:
        await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(_STOP_WITHIN):
            await process.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
