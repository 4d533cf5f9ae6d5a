"""app/cli/sources.py: flags over variables over the file over defaults; all faults at once, each with its source."""

import contextlib
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cli.flags import parse
from app.cli.sources import load
from app.errors import SettingsError


def faults_of(argv: list[str], environ: dict[str, str] | None = None) -> list[str]:
    """The lines that load tells."""
    with pytest.raises(SettingsError) as error:
        load(parse(argv), environ or {})
    return list(error.value.faults)


def written(folder: Path, text: str) -> Path:
    """A settings file."""
    path = folder / "settings.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_flags_win_over_variables_and_variables_over_the_file(tmp_path: Path) -> None:
    """The nearer to the command, the stronger."""
    path = written(tmp_path, "kubelet-port: 1\nsecure_port: 1\nmax-requests-inflight: 1\n")
    environ = {"KUBEGLANCE_KUBELET_PORT": "2", "KUBEGLANCE_SECURE_PORT": "2", "KUBEGLANCE_SETTINGS_FILE": str(path)}

    settings, warnings = load(parse(["--kubelet-port=3"]), environ)

    assert (3, 2, 1) == (settings.kubelet_port, settings.secure_port, settings.max_requests_inflight)
    assert () == warnings


def test_the_flag_for_the_file_wins_over_its_variable(tmp_path: Path) -> None:
    """--settings-file is a flag like others."""
    path = written(tmp_path, "v: 2\n")

    settings, _ = load(parse([f"--settings-file={path}"]), {"KUBEGLANCE_SETTINGS_FILE": "/does/not/exist"})

    assert 2 == settings.v


def test_a_file_holds_lists_numbers_and_switches(tmp_path: Path) -> None:
    """YAML's own types are fine where a flag's text would be."""
    path = written(
        tmp_path, "kubelet-preferred-address-types: [Hostname, InternalIP]\nkubelet-summary: false\nsecure-port: 4443\nkubeconfig:\n"
    )

    settings, _ = load(parse([f"--settings-file={path}"]), {})

    assert ("Hostname", "InternalIP") == settings.kubelet_preferred_address_types
    assert (False, 4443, None) == (settings.kubelet_summary, settings.secure_port, settings.kubeconfig)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("metric-resolution: 15\n", 'metric-resolution=15: "15" is not a duration', id="number-without-unit"),
        pytest.param("metric-resolutoin: 15s\n", "metric-resolutoin: no such setting; did you mean metric-resolution?", id="unknown"),
        pytest.param("- a\n", "must be a mapping such as", id="list"),
        pytest.param("a: b: c\n", "is not valid YAML", id="not-yaml"),
        pytest.param("secure-port: {a: 1}\n", "secure-port: must be a text, a number", id="nested"),
        pytest.param("secure-port: 1\nsecure_port: 1\n", "given twice", id="twice"),
        pytest.param("secure-port: 1\nv: 1\nsecure-port: 2\n", "secure-port is given twice, in lines 1 and 3", id="same-key-twice"),
        pytest.param("[" * 20_000, "is nested too deeply", id="deep"),
        pytest.param("secure-port: 010\n", 'secure-port=010: "010" begins with a zero', id="octal-or-not"),
        pytest.param("secure-port: 1:30\n", '"1:30" is not a whole number', id="sexagesimal"),
        pytest.param(f"secure-port: {'9' * 5000}\n", "is not a whole number", id="digits"),
        pytest.param(f"secure-port: !!int {'9' * 5000}\n", "is not valid YAML", id="digits-with-a-tag"),
        pytest.param("bind-address: 2023-99-99\n", '"2023-99-99" is not an IP address', id="no-date"),
        pytest.param("bind-address: !!timestamp 2023-99-99\n", "is not valid YAML", id="no-date-with-a-tag"),
        pytest.param("v: !!float x\n", "is not valid YAML", id="no-float-with-a-tag"),
        pytest.param("bind-address: !!binary aGVsbG8=\n", "must be a text, a number", id="bytes"),
        pytest.param("!!python/object/apply:os.getcwd []\n", "is not valid YAML", id="no-code"),
    ],
)
def test_faults_of_a_file_name_the_file(tmp_path: Path, text: str, said: str) -> None:
    """Where there are several sources, a fault says which one to change."""
    path = written(tmp_path, text)

    (fault,) = faults_of([f"--settings-file={path}"])

    assert f"settings file {path}" in fault
    assert said in fault


@given(st.text(max_size=60))
def test_no_text_of_a_file_is_a_traceback(text: str) -> None:
    """Whatever a file holds: settings, or faults."""
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(SettingsError):
        load(parse([f"--settings-file={written(Path(folder), text)}"]), {})


def test_a_file_that_cannot_be_read_is_told() -> None:
    """No traceback for a wrong path."""
    (fault,) = faults_of(["--settings-file=/does/not/exist.yaml"])

    assert "--settings-file: cannot read /does/not/exist.yaml: No such file or directory" == fault


def test_all_faults_of_all_sources_are_told_at_once(tmp_path: Path) -> None:
    """Unknown flags, wrong values and broken rules, in one go."""
    path = written(tmp_path, "kubelet-port: 70000\n")

    faults = faults_of(
        ["--nope", f"--settings-file={path}", "--metric-resolution=x", "--tls-cert-file=a"],
        {"KUBEGLANCE_V": "much"},
    )

    assert {
        "--nope: unknown flag",
        f"settings file {path}: kubelet-port=70000: must be less than or equal to 65535",
        'KUBEGLANCE_V=much: "much" is not a whole number',
        '--metric-resolution=x: "x" is not a duration: write a number and a unit, for example 15s, 1m30s or 500ms',
        "--tls-cert-file needs --tls-private-key-file too: give both or neither",
    } == set(faults)


def test_a_rule_about_a_wrong_value_is_not_told() -> None:
    """Where the resolution is unreadable, nothing is said about its share."""
    assert 1 == len(faults_of(["--metric-resolution=x", "--kubelet-request-timeout=14s"]))


def test_a_broken_rule_names_variables_and_files_that_took_part() -> None:
    """A flag's name alone would point at the wrong place."""
    (fault,) = faults_of([], {"KUBEGLANCE_METRIC_RESOLUTION": "5s"})

    assert fault.endswith("(from KUBEGLANCE_METRIC_RESOLUTION)")


@pytest.mark.parametrize(
    "variable",
    [
        "KUBEGLANCE_SERVICE_HOST",
        "KUBEGLANCE_SERVICE_PORT",
        "KUBEGLANCE_SERVICE_PORT_HTTPS",
        "KUBEGLANCE_PORT",
        "KUBEGLANCE_PORT_443_TCP",
        "KUBEGLANCE_PORT_443_TCP_ADDR",
        "KUBEGLANCE_TEST_ALL",
        "HOME",
    ],
)
def test_variables_that_kubernetes_sets_are_no_settings(variable: str) -> None:
    """A Service named kubeglance puts such variables into every pod; they mean nothing to us."""
    _, warnings = load(parse([]), {variable: "tcp://10.0.0.1:443"})

    assert () == warnings


def test_a_mistyped_variable_is_warned_about() -> None:
    """A variable that is nearly a setting was meant to be one."""
    _, warnings = load(parse([]), {"KUBEGLANCE_METRIC_RESOLUTON": "5s"})

    assert ("KUBEGLANCE_METRIC_RESOLUTON: no such setting, ignored; did you mean KUBEGLANCE_METRIC_RESOLUTION?",) == warnings
