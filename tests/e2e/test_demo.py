"""`kubeglance demo` as a newcomer runs it: a real kubeglance, no Kubernetes. Needs no control plane; kubectl, if there, is compared."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.clock import SystemClock
from tests.e2e.controlplane import programs
from tests.e2e.controlplane.waiting import wait_until

WITHIN = 60
TABLES = (
    "kubectl top nodes",
    "kubectl top pods -A",
    "kubectl get podmetrics -A",
    "kubectl get podstats -A",
    "kubectl get volumestats -A",
    "kubectl get coolresources -A",
    "kubectl get queues -A",
)


class Demo:
    """A running demo; what it prints goes to a file."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._out = folder / "demo.out"
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        with self._out.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "app", "demo", *arguments],
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, "TMPDIR": str(self.temporary)},
            )

    @property
    def output(self) -> str:
        return self._out.read_text()

    def wait_for(self, text: str) -> None:
        end = SystemClock().monotonic() + WITHIN
        while text not in self.output:
            assert self.process.poll() is None, self.output
            assert SystemClock().monotonic() < end, self.output
            time.sleep(0.1)

    def children(self) -> list[int]:
        """Processes whose parent is the demo, by /proc."""
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == self.process.pid:
                found.append(int(stat.parent.name))
        return found

    def left_behind(self) -> list[str]:
        return [path.name for path in self.temporary.iterdir()]

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


@pytest.fixture
def demos(tmp_path: Path) -> Iterator[list[Demo]]:
    started: list[Demo] = []
    yield started
    for demo in started:
        demo.close()


def shape(table: str) -> list[tuple[int, ...]]:
    """Where each row's namespaces and names stand: what two tables of different moments have in common."""
    return [tuple(match.start() for match in re.finditer(r"\S+", line))[:3] for line in table.splitlines()]


def test_once_shows_the_tables_and_ends(tmp_path: Path, demos: list[Demo]) -> None:
    """With --once the demo prints what some kubectl commands print, with every node and pod, and ends with 0, leaving nothing."""
    demos.append(demo := Demo(tmp_path, "--once", "--nodes", "2", "--pods", "5"))

    assert demo.process.wait(WITHIN) == 0, demo.output
    assert re.findall(r"^\$ (.*)$", demo.output, re.M) == list(TABLES)
    assert len(re.findall(r"^worker-[01] +\d+m +\d+% +\d+Mi +\d+% *$", demo.output, re.M)) == 2
    assert len(re.findall(r"^\S+ +\S+ +\d+m +\d+Mi *$", demo.output, re.M)) == 10
    assert len(re.findall(r"^\S+ +\S+ +\d+[num]? +\d+[KM]?i? +[0-9.]+s$", demo.output, re.M)) == 10
    assert len(re.findall(r"^\S+ +\S+ +\d+m +\d+% .* +\d+s$", demo.output, re.M)) == 10, "podstats"
    assert re.search(r"^ci +build-cache +<unknown> .* Unbound +<none> +<unknown>$", demo.output, re.M)
    assert re.search(r"^default +hello +Hello from CoolResource$", demo.output, re.M)
    assert re.search(r"^mq +orders +\d+ +\d+ +4 +\d+ each$", demo.output, re.M)
    assert demo.left_behind() == []


def test_it_serves_until_ctrl_c(tmp_path: Path, demos: list[Demo]) -> None:
    """Without --once it gives a kubeconfig and serves; Ctrl-C ends it with 0, kubeglance with it, quickly."""
    kubeconfig = tmp_path / "kubeconfig"
    demos.append(demo := Demo(tmp_path, "--kubeconfig", str(kubeconfig)))
    demo.wait_for("export KUBECONFIG=")
    children = demo.children()
    mode = kubeconfig.stat().st_mode & 0o777
    compared = _compare_with_kubectl(demo.output, kubeconfig)
    demo.process.send_signal(signal.SIGINT)

    assert demo.process.wait(10) == 0, demo.output
    assert (len(children), [pid for pid in children if Path(f"/proc/{pid}").exists()]) == (1, [])
    assert f"export KUBECONFIG={kubeconfig}" in demo.output
    assert mode == 0o600
    assert demo.left_behind() == []
    assert all(ours == theirs for ours, theirs in compared)


def _compare_with_kubectl(output: str, kubeconfig: Path) -> list[tuple[list[tuple[int, ...]], list[tuple[int, ...]]]]:
    kubectl = programs.find("kubectl")
    if kubectl is None:
        return []
    tables = re.split(r"^\$ .*\n", output.partition("\n\nThe cluster stays up")[0], flags=re.M)[1:]
    compared = []
    for command, table in zip(TABLES, tables, strict=True):
        arguments = [str(kubectl), f"--kubeconfig={kubeconfig}", f"--cache-dir={kubeconfig.parent / 'cache'}", *command.split()[1:]]
        real = subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=30).stdout
        compared.append((shape(table.rstrip("\n")), shape(real)))
    return compared


def test_a_file_in_the_folder_is_a_kind_within_seconds(tmp_path: Path, demos: list[Demo]) -> None:
    """The command that the demo prints declares one more kind: kubectl lists and explains it as any other. Without the file it is gone."""
    real = programs.find("kubectl")
    if real is None:
        pytest.skip("there is no kubectl")
    kubeconfig = tmp_path / "kubeconfig"
    demos.append(demo := Demo(tmp_path, "--kubeconfig", str(kubeconfig)))
    demo.wait_for("kubectl get hotresources -A")
    folder = Path(re.findall(r"^  cd (\S+)$", demo.output, re.M)[0])

    def kubectl(*arguments: str) -> subprocess.CompletedProcess[str]:
        # A cache of its own each time: kubectl would otherwise go on with the discovery of before.
        cache = tmp_path / f"cache-{SystemClock().monotonic()}"
        command = [str(real), f"--kubeconfig={kubeconfig}", f"--cache-dir={cache}", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)

    (command,) = re.findall(r"^  (sed .*)$", demo.output, re.M)
    subprocess.run(command, shell=True, cwd=folder, check=True)
    wait_until("the new kind is listed", lambda: kubectl("get", "hr", "-A").stdout.count("Hello from HotResource") == 1, seconds=20)
    assert "HotResource" in kubectl("api-resources").stdout
    assert "What it says." in kubectl("explain", "hotresource.spec.message").stdout
    live = kubectl("get", "live", "-A", "-o", "name").stdout
    assert {line.partition("/")[0].partition(".")[0] for line in live.splitlines()} == {
        "collector",
        "containerstats",
        "nodestats",
        "podstats",
        "queue",
        "servedmetric",
        "volumestats",
    }
    assert "hotresources.example.com" in kubectl("get", "collectors").stdout
    (folder / "hotresources.yaml").unlink()
    wait_until("the kind is gone", lambda: "HotResource" not in kubectl("api-resources").stdout, seconds=20)
    assert kubectl("get", "cr", "-A").stdout.count("hello") == 1


def test_a_kubeglance_that_ends_is_told(tmp_path: Path, demos: list[Demo]) -> None:
    """When kubeglance dies the demo says so with the end of its log, and ends with 1."""
    demos.append(demo := Demo(tmp_path))
    demo.wait_for("export KUBECONFIG=")
    (child,) = demo.children()
    os.kill(child, signal.SIGKILL)

    assert demo.process.wait(10) == 1
    assert "kubeglance ended by itself with code -9" in demo.output
    assert "lines of kubeglance's log:" in demo.output
    assert "Traceback" not in demo.output


def test_a_taken_port_is_told(tmp_path: Path, demos: list[Demo]) -> None:
    """A port that is in use ends the demo at once, in one sentence that says what to do."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        demos.append(demo := Demo(tmp_path, "--port", str(port)))

        assert demo.process.wait(10) == 1
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use; choose another port, or 0 for any" in demo.output
    assert "Traceback" not in demo.output


def test_a_signal_before_it_serves_ends_all(tmp_path: Path, demos: list[Demo]) -> None:
    """SIGTERM while kubeglance starts ends both, with the shell's code for it."""
    demos.append(demo := Demo(tmp_path))
    demo.wait_for("Starting kubeglance.")
    demo.process.send_signal(signal.SIGTERM)

    assert demo.process.wait(10) == 128 + signal.SIGTERM
    assert demo.left_behind() == []
