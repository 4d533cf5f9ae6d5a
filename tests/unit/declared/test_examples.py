"""deploy/examples: what people copy must be good, tested, and told apart from what they have to change."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.cli.main import main

EXAMPLES = Path(__file__).parents[3] / "deploy" / "examples"
FILES = sorted(EXAMPLES.glob("*.yaml"))
RESOURCES = [file for file in FILES if "\nkind: LiveResource\n" in file.read_text(encoding="utf-8")]


def source_of(file: Path) -> dict[str, Any]:
    """The source of an example, by its name."""
    source: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))["spec"]["source"]
    return source


def test_all_of_them_are_good(capsys: pytest.CaptureFixture[str]) -> None:
    """Together, too: no two declare one kind, or one short name. Without a warning."""
    assert 0 == main(["check", str(EXAMPLES)])

    assert f"{len(FILES)} good declarations in {len(FILES)} files, 0 errors, 0 warnings" == capsys.readouterr().out.splitlines()[0]


def test_all_of_them_pass_their_tests(capsys: pytest.CaptureFixture[str]) -> None:
    """And each has some."""
    assert 0 == main(["test", str(EXAMPLES)])

    lines = capsys.readouterr().out.splitlines()
    assert not [line for line in lines if "has no tests" in line]


@pytest.mark.parametrize("file", RESOURCES, ids=lambda file: file.stem)
def test_every_example_says_what_it_is(file: Path) -> None:
    """Its first lines say it with the command that shows it, and more where something is needed."""
    text = file.read_text(encoding="utf-8")
    spec = yaml.safe_load(text)["spec"]
    shown = re.match(r"# .*: kubectl get (\S+)", text)

    assert shown is not None
    assert shown[1].partition(".")[0] == spec["names"]["plural"]
    assert all(part.get("description") for part in leaves(spec["schema"]["openAPIV3Schema"]))


def leaves(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """The fields of a schema that have values."""
    properties = schema.get("properties")
    return [leaf for part in properties.values() for leaf in leaves(part)] if properties else [schema]


@pytest.mark.parametrize("file", RESOURCES, ids=lambda file: file.stem)
def test_every_column_is_filled(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the first object of its own tests, and without an error."""
    first = yaml.safe_load(file.read_text(encoding="utf-8"))["spec"]["tests"][0]
    sample = tmp_path / "sample.yaml"
    sample.write_text(yaml.safe_dump(first["input"]), encoding="utf-8")

    main(["render", str(file), "--input", str(sample), "-o", "wide"])
    printed = capsys.readouterr()
    assert not [line for line in printed.err.splitlines() if not line.startswith("dropped: ")]
    rows = [re.split(r" {2,}", line.strip()) for line in printed.out.splitlines()]
    assert max(map(len, rows[1:])) == len(rows[0])


def test_every_source_of_kinds_has_an_example() -> None:
    """Of those that make objects; what makes metrics alone is not among them."""
    assert {"http", "kubernetes", "prometheus", "redis", "sql", "static"} == {name for file in RESOURCES for name in source_of(file)}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_example_holds_a_secret(file: Path) -> None:
    """Passwords and tokens come from Secrets."""

    def literal(said: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
        if isinstance(said, dict):
            return [found for name, part in said.items() for found in literal(part, (*path, str(name)))]
        return [path] if path[-1:] == ("value",) and path[-2] in {"password", "token", "clientSecret", "key"} else []

    assert [] == literal(source_of(file))
