"""What the servers have in common: a folder, a user without rights, and being stopped, frozen and killed."""

import contextlib
import os
import pwd
import shutil
import signal
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.e2e.controlplane.processes import Process, free_port, plain_environment
from tests.e2e.controlplane.waiting import wait_until

START_SECONDS = 60.0


class Server:
    """One server on 127.0.0.1. It runs as `user` where the tests run as root, for PostgreSQL refuses to be root."""

    name = ""
    user = "nobody"

    def __init__(self) -> None:
        self.port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix=f"kubeglance-{self.name}-"))
        self.own(self.folder)
        self._log = self.folder.with_suffix(".log")
        self.process: Process | None = None

    def command(self) -> Sequence[str | Path]:
        """What runs it in the foreground."""
        raise NotImplementedError

    def answers(self) -> bool:
        """Whether it takes clients."""
        raise NotImplementedError

    def start(self) -> Self:
        """Start it, again if it was stopped, and wait until it answers."""
        process = Process(self.name, self.as_user(self.command()), self._log, env=plain_environment(LC_ALL="C"), cwd=self.folder)
        self.process = process

        def look() -> bool:
            process.check()
            return self.answers()

        wait_until(f"{self.name} on port {self.port}", look, seconds=START_SECONDS)
        return self

    def kill(self) -> None:
        """SIGKILL to all of it, so that connections break in the middle."""
        self._signal(signal.SIGKILL)
        self._running.wait(10)

    def freeze(self) -> None:
        """SIGSTOP to all of it: the kernel still takes connections, and nobody answers."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def close(self) -> None:
        """End it and remove its folder."""
        if self.process is not None and self.process.exit_code is None:
            self.thaw()
            self.process.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        self._log.unlink(missing_ok=True)

    def own(self, path: Path, mode: int = 0o700) -> None:
        """Give a file or folder to the server's user."""
        path.chmod(mode)
        if os.geteuid() == 0:
            os.chown(path, self._account.pw_uid, self._account.pw_gid)

    def as_user(self, command: Sequence[str | Path]) -> list[str | Path]:
        """The command, run by the server's user."""
        if os.geteuid() != 0:
            return list(command)
        ids = [f"--reuid={self._account.pw_uid}", f"--regid={self._account.pw_gid}", "--clear-groups"]
        return ["setpriv", *ids, "--pdeathsig=KILL", *command]  # the kernel forgets the signal when the user changes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None and self._log.exists():
            print(f"the end of the log of {self.name}:", *self._log.read_text(errors="replace").splitlines()[-20:], sep="\n", flush=True)
        self.close()

    @property
    def _account(self) -> pwd.struct_passwd:
        return pwd.getpwnam(self.user)

    @property
    def _running(self) -> Process:
        assert self.process is not None
        return self.process

    def _signal(self, number: int) -> None:
        """To the program and its children, the parent first: it starts no others then."""
        pid = self._running.pid
        self._running.signal(number)
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split():
            with contextlib.suppress(ProcessLookupError):  # it ended meanwhile
                os.kill(int(child), number)
