"""app/cli/main.py and serve.py: commands, exit codes, and nothing loaded that is not needed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from app.certs import Authority
from app.cli.main import COMMANDS, main
from app.cli.serve import run
from app.errors import KubeglanceError
from app.settings import Settings
from tests.fakes.clock import ManualClock


@pytest.mark.parametrize("argv", [[], ["help"], ["--help"], ["-h"]])
def test_usage_is_friendly(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Without arguments nothing is wrong: the commands are shown."""
    assert 0 == main(argv, {})

    out = capsys.readouterr().out
    assert [] == [name for name in COMMANDS if f"  {name} " not in out]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        pytest.param(["srve"], "kubeglance: unknown command srve; did you mean serve?; see kubeglance --help\n", id="command"),
        pytest.param(
            ["--secure-port=1"], "kubeglance: unknown flag before a command --secure-port=1; see kubeglance --help\n", id="flag-first"
        ),
        pytest.param(["serve", "--nope"], "kubeglance serve: --nope: unknown flag\n", id="serve"),
        pytest.param(
            ["help", "serv"], "kubeglance help: unknown command serv; did you mean serve?; see kubeglance --help\n", id="help-for-nothing"
        ),
        pytest.param(["version", "x"], "kubeglance version: x: takes no arguments; see kubeglance version --help\n", id="version"),
        pytest.param(["--version", "--x"], "kubeglance version: --x: takes no arguments; see kubeglance version --help\n", id="--version"),
        pytest.param(["demo", "--nope"], "kubeglance demo: unrecognized arguments: --nope; see kubeglance demo --help\n", id="demo"),
        pytest.param(["certs", "--nope"], "kubeglance certs: unrecognized arguments: --nope; see kubeglance certs --help\n", id="certs"),
        pytest.param(
            ["manifests", "--names=x"],
            "kubeglance manifests: unrecognized arguments: --names=x; see kubeglance manifests --help\n",
            id="no-shortened-flags",
        ),
    ],
)
def test_wrong_use_ends_with_code_2_and_one_line(argv: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is wrong and where to look, without a traceback."""
    assert 2 == main(argv, {})
    assert ("", said) == tuple(capsys.readouterr())


@pytest.mark.parametrize("name", sorted(COMMANDS))
@pytest.mark.parametrize("words", [["{}", "--help"], ["help", "{}"]])
def test_each_command_has_help(name: str, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """`kubeglance help X` and `kubeglance X --help` are the same and end well."""
    assert 0 == main([word.format(name) for word in words], {})
    assert f"kubeglance {name}" in capsys.readouterr().out


@pytest.mark.parametrize("argv", [["version"], ["--version"], ["serve", "--version"]])
def test_version(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """metrics-server's --version is known to serve too."""
    assert 0 == main(argv, {})
    assert capsys.readouterr().out.startswith("kubeglance 0.")


def test_serve_hands_the_settings_over_and_returns_the_servers_code() -> None:
    """serve itself only reads settings."""
    seen: list[Settings] = []

    def start(settings: Settings) -> int:
        seen.append(settings)
        return 7

    assert 7 == run(["--secure-port=4443"], {"KUBEGLANCE_V": "4"}, start)
    assert [(4443, 4)] == [(settings.secure_port, settings.v) for settings in seen]


def test_serve_warns_and_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    """A strange variable is no reason not to serve."""
    assert 0 == run([], {"KUBEGLANCE_SECURE_PRT": "1"}, lambda _: 0)
    assert "kubeglance serve: warning: KUBEGLANCE_SECURE_PRT: no such setting" in capsys.readouterr().err


def test_a_server_that_cannot_start_says_why_with_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    """Our own errors are for people: one line."""

    def start(_: Settings) -> int:
        raise KubeglanceError("the port is taken")

    assert 1 == run([], {}, start)
    assert "kubeglance serve: the port is taken\n" == capsys.readouterr().err


def _interrupted(_argv: object, _environ: object) -> int:
    raise KeyboardInterrupt


def test_ctrl_c_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code 130, as shells expect."""
    monkeypatch.setitem(COMMANDS, "version", COMMANDS["version"]._replace(run=_interrupted))

    assert 130 == main(["version"], {})


def _loaded_by(argv: list[str]) -> set[str]:
    """The modules that a process has after running a command."""
    code = f"import sys, json; from app.cli.main import main; main({argv!r}, {{}}); print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    ("argv", "unwanted"),
    [
        pytest.param(["serve", "--help"], {"argparse", "yaml", "app.simulation", "cryptography", "app.cli.objects"}, id="serve"),
        pytest.param(["version"], {"pydantic", "yaml", "cryptography"}, id="version"),
    ],
)
def test_commands_load_only_what_they_need(argv: list[str], unwanted: set[str]) -> None:
    """Memory of serve is a promise: the other commands and the simulation stay out of it."""
    assert set() == _loaded_by(argv) & unwanted


def test_the_module_is_runnable() -> None:
    """`python -m app` is the same as `kubeglance`."""
    done = subprocess.run([sys.executable, "-m", "app", "version"], capture_output=True, text=True, check=True)

    assert done.stdout.startswith("kubeglance ")


def test_a_closed_pipe_is_no_traceback(tmp_path: Path) -> None:
    """`kubeglance manifests | head -1` ends quietly."""
    certificate = tmp_path / "ca.crt"
    certificate.write_bytes(Authority.create("CA", ManualClock()).certificate_pem)
    command = f"{sys.executable} -m app manifests --ca-file={certificate} | head -1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)

    assert ("---\n", "") == (done.stdout, done.stderr)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is Linux's")
@pytest.mark.parametrize("argv", ["version", "help", "manifests", "serve --help", "demo --once"])
def test_a_full_disk_is_one_line(argv: str) -> None:
    """Code 1, so that a script notices."""
    command = f"{sys.executable} -m app {argv} > /dev/full"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)

    assert (1, "kubeglance: cannot write the output: No space left on device") == (done.returncode, done.stderr.splitlines()[-1])
    assert "Traceback" not in done.stderr


def _broken(_argv: object, _environ: object) -> int:
    raise OSError(28, "No space left on device")


def test_an_error_of_the_system_elsewhere_is_not_laid_to_the_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody translated is a bug, and its traceback is wanted."""
    monkeypatch.setitem(COMMANDS, "version", COMMANDS["version"]._replace(run=_broken))

    with pytest.raises(OSError, match="No space left"):
        main(["version"], {})
