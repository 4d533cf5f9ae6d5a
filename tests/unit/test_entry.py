"""app/__main__.py: signals end the process in order from its first moment on."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

STUB = """
import os, signal, sys, types

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "app.cli.main":
            {act}

sys.meta_path.insert(0, Finder())
from app.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("act", "code"),
    [
        pytest.param("os.kill(os.getpid(), signal.SIGTERM)", 143, id="SIGTERM"),
        pytest.param("signal.raise_signal(signal.SIGINT)", 130, id="SIGINT"),
    ],
)
def test_a_signal_while_modules_are_loaded_is_no_traceback(act: str, code: int) -> None:
    """The exit code is 128 + the signal's number, as shells expect."""
    done = subprocess.run(
        [sys.executable, "-c", f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n{STUB.format(act=act)}"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (code, "", "") == (done.returncode, done.stdout, done.stderr)


def _namespace() -> list[str]:
    """The command that makes its child process 1 of a PID namespace. Skips where that is not allowed."""
    words = ["unshare", "--pid", "--fork", "--kill-child"]
    if shutil.which("unshare") is None or subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        pytest.skip("unshare --pid needs Linux and the right to make PID namespaces")
    return words


def test_process_1_ends_at_sigterm_before_it_serves(tmp_path: Path) -> None:
    """A container that is stopped in its first second does not wait for SIGKILL: the kernel has no default action for process 1."""
    outer = subprocess.Popen(
        [*_namespace(), sys.executable, "-m", "app", "serve", f"--cert-dir={tmp_path}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={"PATH": os.environ.get("PATH", ""), "HOME": str(tmp_path)},
    )
    try:
        inner = _only_child(outer)
        while outer.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(inner, signal.SIGTERM)  # lost as long as Python itself starts
            time.sleep(0.02)
        assert (143, b"") == (outer.returncode, outer.stderr.read() if outer.stderr else None)
    finally:
        outer.kill()
        outer.communicate()


def _only_child(process: "subprocess.Popen[bytes]") -> int:
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while not (found := listed.read_text().split()):
        time.sleep(0.01)
    return int(found[0])
