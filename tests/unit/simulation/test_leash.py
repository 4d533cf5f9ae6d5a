"""app/simulation/leash.py: kubeglance does not outlive the demo."""

import signal
import subprocess
import sys
from pathlib import Path


def test_the_end_of_standard_input_is_the_end_of_kubeglance_and_of_the_folder(tmp_path: Path) -> None:
    """However the demo ended, SIGKILL too, its end of the pipe is closed: then neither process nor keys are left."""
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / "kubeglance.key").write_text("secret")

    done = subprocess.run(
        [sys.executable, "-m", "app.simulation.leash", str(folder), "serve", "--secure-port=1"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )

    assert done.returncode in {143, -signal.SIGTERM}  # the latter where it is ended before kubeglance listens to signals
    assert not folder.exists()


def test_while_the_pipe_is_open_kubeglance_runs_as_ever(tmp_path: Path) -> None:
    """The words after the folder are kubeglance's own."""
    with subprocess.Popen(
        [sys.executable, "-m", "app.simulation.leash", str(tmp_path), "version"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert 0 == process.wait()
        assert process.stdout is not None
        assert process.stdout.read().startswith("kubeglance ")
    assert tmp_path.exists()
