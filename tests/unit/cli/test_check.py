"""`kubeglance check`: files and folders in, faults and an exit code out, without a network unless a cluster is named."""

import contextlib
import io
import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cli.check import commands
from app.cli.main import main
from tests.unit.cli.test_manifests import kubectl
from tests.unit.declared.canonical import COOL, QUEUES, changed


def written(folder: Path, **files: str) -> Path:
    """The folder with files: `a_yaml` is a.yaml."""
    for name, text in files.items():
        path = folder / name.replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_good_files_are_counted_and_their_command_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0, and the line that brings the file into the cluster."""
    path = written(tmp_path, cool_yaml=f"{QUEUES}---\n{COOL}") / "cool.yaml"

    assert 0 == main(["check", str(path)], {})
    assert (
        "2 good declarations in 1 file, 0 errors, 0 warnings\n\nIn the cluster:\n"
        f"  kubectl create configmap cool -n kube-system --from-file={path} --dry-run=client -o yaml"
        " | kubectl label --local -f - kubeglance.io/declarations=true -o yaml | kubectl apply -f -\n"
    ) == capsys.readouterr().out


def test_faults_are_printed_one_a_line_by_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1; a file with a fault gets no command, the others do."""
    bad = changed(changed(COOL, "[cr]", "[CR]"), "scope: Namespaced", "scope: Namespacd")
    written(tmp_path, b_yaml=bad, a_yaml=QUEUES)

    assert 1 == main(["check", str(tmp_path)], {})
    lines = capsys.readouterr().out.splitlines()
    assert [f"{tmp_path}/b.yaml:7:10", f"{tmp_path}/b.yaml:8:91"] == [line.split(": ")[0] for line in lines[:2]]
    assert "1 good declaration in 2 files, 2 errors, 0 warnings" == lines[2]
    assert ["", "In the cluster:"] == lines[3:5]
    assert lines[5].startswith("  kubectl create configmap a ")
    assert 6 == len(lines)


_NAMED = changed(COOL, "{static: {items: [{name: hello, namespace: default, message: Hello from CoolResource}]}}", "%s")


def test_what_is_set_up_elsewhere_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A server that the file of servers lacks; a password that others on the way can read. Exit code 0, and in JSON too."""
    password = "{valueFrom: {secretKeyRef: {name: a, key: b}}}"
    clear = f"{{http: {{url: 'http://api.shop.svc/', auth: {{basic: {{username: {{value: ro}}, password: {password}}}}}}}}}"
    servers = tmp_path / "servers.txt"
    servers.write_text("main: {url: 'https://prometheus:9090'}")
    written(tmp_path, a_yaml=_NAMED % "{prometheus: {server: man, query: up}}", b_yaml=changed(_NAMED % clear, "[cr]", "[]"))

    assert 0 == main(["check", str(tmp_path / "a.yaml"), f"--prometheus-servers={servers}", "-o", "json"], {})
    (fault,) = json.loads(capsys.readouterr().out)["faults"]
    assert ("warning", 'there is no server "man" in --prometheus-servers') == (fault["severity"], fault["message"])
    assert ('one of "main"', "main") == (fault["expected"], fault["nearest"])

    assert 0 == main(["check", str(tmp_path / "b.yaml")], {})
    assert "warning: spec.source.http.url: auth is sent in the clear" in capsys.readouterr().out


def test_a_file_of_servers_that_cannot_be_used_is_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, with all that is wrong with it."""
    servers = tmp_path / "servers.yaml"
    servers.write_text("main: {url: 'ftp://x'}\nother: {}")
    written(tmp_path / "of", a_yaml=COOL)

    assert 2 == main(["check", str(tmp_path / "of"), f"--prometheus-servers={servers}"], {})
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(f"kubeglance check: {servers}:1:")
    assert second.startswith(f"kubeglance check: {servers}:2:")


def test_warnings_do_not_change_the_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are told all the same."""
    other = COOL.replace("example.com", "example.org")
    written(tmp_path, a_yaml=COOL, b_yaml=other)

    assert 0 == main(["check", str(tmp_path)], {})
    out = capsys.readouterr().out
    assert f'{tmp_path}/b.yaml:8:39: warning: spec.names.plural: "coolresources" is also a name of' in out
    assert "2 good declarations in 2 files, 0 errors, 3 warnings" in out


def test_declarations_of_several_files_are_held_against_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The second of two is refused."""
    written(tmp_path, a_yaml=COOL, b_yaml=COOL)

    assert 1 == main(["check", str(tmp_path)], {})
    assert (
        f'{tmp_path}/b.yaml:3:18: metadata.name: Duplicate value: "coolresources.example.com" is declared in {tmp_path}/a.yaml:1:1 already'
    ) == capsys.readouterr().out.splitlines()[0]


def test_json_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The shape that to_json documents."""
    path = written(tmp_path, a_yaml=changed(QUEUES, "priority: 1", "priorty: 1") + "---\n" + COOL) / "a.yaml"

    assert 1 == main(["check", "-o", "json", str(path)], {})
    assert {
        "files": 1,
        "errors": 1,
        "warnings": 0,
        "declarations": [{"name": "coolresources.example.com", "file": str(path), "line": 39, "column": 1}],
        "faults": [
            {
                "severity": "error",
                "file": str(path),
                "line": 33,
                "column": 32,
                "path": "spec.additionalPrinterColumns[1].priorty",
                "message": "unknown field",
                "expected": "",
                "nearest": "priority",
            }
        ],
    } == json.loads(capsys.readouterr().out)


def test_a_folder_is_read_with_all_below_and_without_what_is_hidden(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where it is a mounted ConfigMap: links that lead through ..data into a folder with the time in its name."""
    mount = written(tmp_path / "mount" / "..2026_12_01", cool_yaml=COOL)
    (mount.parent / "..data").symlink_to(mount.name)
    (mount.parent / "cool.yaml").symlink_to("..data/cool.yaml")
    written(tmp_path / "more" / "deep", queues_yml=QUEUES)
    (tmp_path / "more" / ".hidden.yaml").write_text("[")
    (tmp_path / "more" / "readme.md").write_text("[")

    assert 0 == main(["check", str(tmp_path)], {})
    assert "2 good declarations in 2 files, 0 errors, 0 warnings" == capsys.readouterr().out.splitlines()[0]


def test_inputs_of_tests_are_no_declarations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder may have the samples that its declarations name; named by the user, such a file is looked at."""
    text = COOL + "  tests: [{inputFile: samples/cool.json, expect: {count: 0}}]\n"
    written(tmp_path, cool_yaml=text)
    written(tmp_path / "samples", cool_json='{"items": []}')

    assert 0 == main(["check", str(tmp_path)], {})
    assert 1 == main(["check", str(tmp_path / "samples" / "cool.json")], {})
    assert "cool.json:1:1: apiVersion: Required value" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        pytest.param(b"", 0, "warning: there is no declaration in this file", id="empty"),
        pytest.param(b"a: \xff", 1, "is not UTF-8", id="not UTF-8"),
        pytest.param(b"a: [", 1, "is not valid YAML", id="not YAML"),
        pytest.param(b"x" * (1 << 20) + b"x", 1, "is larger than 1 MiB", id="too large"),
    ],
)
def test_odd_files_are_told(content: bytes, code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No traceback, whatever is in them."""
    path = tmp_path / "a.yaml"
    path.write_bytes(content)

    assert code == main(["check", str(path)], {})
    assert said in capsys.readouterr().out.splitlines()[0]


def test_a_file_cannot_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Who checks a file of somebody else's sees what is in it."""
    path = written(tmp_path, a_yaml=COOL.replace("kind: LiveResource", 'kind: "\\e[2Jx\\nb.yaml:1:1: y\\u009b"')) / "a.yaml"

    assert 1 == main(["check", str(path)], {})
    assert r"kind: \x1b[2Jx\x0ab.yaml:1:1: y\x9b is not served" in capsys.readouterr().out.splitlines()[0]


@given(st.one_of(st.binary(max_size=60), st.text(max_size=60).map(str.encode)), st.sampled_from(["a.yaml", "a.json"]))
def test_no_content_of_a_file_is_a_traceback(content: bytes, name: str) -> None:
    """An exit code, and a line for each fault."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as out:
        (Path(folder) / name).write_bytes(content)

        assert main(["check", folder], {}) in {0, 1}
    assert out.getvalue()


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        pytest.param(["{}/gone.yaml"], "kubeglance check: {}/gone.yaml: there is no such file or folder\n", id="no such file"),
        pytest.param(["{}"], "kubeglance check: {}: there is no *.yaml, *.yml or *.json in this folder\n", id="an empty folder"),
        pytest.param(
            [],
            "kubeglance check: the following arguments are required: FILE|DIR; see kubeglance check --help\n",
            id="nothing to check",
        ),
        pytest.param(
            ["{}", "-o", "yaml"],
            "kubeglance check: argument -o/--output: invalid choice: 'yaml' (choose from 'text', 'json'); see kubeglance check --help\n",
            id="another form",
        ),
        pytest.param(
            ["{}", "--namespace=X"],
            "kubeglance check: --namespace=X: is not a Kubernetes name (lower-case letters, digits and dashes, at most 63); "
            "see kubeglance check --help\n",
            id="a name of a namespace",
        ),
    ],
)
def test_wrong_use_ends_with_code_2(argv: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line on standard error."""
    assert 2 == main(["check", *(word.format(tmp_path) for word in argv)], {})
    assert ("", said.format(tmp_path)) == tuple(capsys.readouterr())


def test_a_cluster_that_cannot_be_asked_is_no_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Code 2: nothing was found wrong, and nothing was found good."""
    path = written(tmp_path, a_yaml=COOL) / "a.yaml"

    assert 2 == main(["check", str(path), f"--kubeconfig={tmp_path}/gone"], {})
    assert "gone does not exist" in capsys.readouterr().err


def test_files_of_one_name_get_different_config_maps() -> None:
    """The name is the file's, with its folder where that is not enough."""
    names = [line.split()[3] for line in commands([Path("a/q.yaml"), Path("b/q.yaml"), Path("b/My Queue.json")], "mq")]

    assert ["a-q", "b-q", "my-queue"] == names


def test_the_command_makes_a_labelled_config_map(tmp_path: Path) -> None:
    """All of it but the last step runs without a cluster."""
    (tmp_path / "my cool.yaml").write_text(COOL)
    (line,) = commands([tmp_path / "my cool.yaml"], "mq")
    environ = {**os.environ, "PATH": f"{Path(kubectl()).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-c", line.rpartition(" | ")[0]], capture_output=True, text=True, check=True, env=environ)

    assert 'kubeglance.io/declarations: "true"' in done.stdout
    assert "my-cool.yaml: |" in done.stdout
