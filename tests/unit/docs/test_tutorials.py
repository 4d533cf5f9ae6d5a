"""What pages tell to declare can be declared, and what tutorials say that commands print is what they print, where no cluster is needed."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.cli.main import main
from tests.unit.docs import derived

DOCS = derived.ROOT / "docs"
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^\$ kubeglance (.+)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a page that are in that language."""
    return [text for tag, text in _FENCE.findall(page.read_text(encoding="utf-8")) if tag == language]


def declarations() -> Iterator[tuple[str, str]]:
    """Each block that is a whole declaration, with the page that has it."""
    for page in sorted([derived.ROOT / "README.md", *DOCS.rglob("*.md")]):
        for text in blocks(page, "yaml"):
            if re.search(r"^apiVersion: kubeglance\.io/", text, re.MULTILINE):
                yield str(page.relative_to(derived.ROOT)), text


@pytest.mark.parametrize(("page", "text"), [*declarations()], ids=[page for page, _ in declarations()])
def test_a_declaration_of_a_page_is_good(page: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever copies it has no fault, and no test that fails."""
    path = tmp_path / "copied.yaml"
    path.write_text(text, encoding="utf-8")
    codes = main(["check", str(path)], {}), main(["test", str(path)], {})

    assert (0, 0) == codes, f"{page}: {capsys.readouterr().out}"


def test_the_first_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """As the page goes: the file is changed, spoiled, checked, mended, rendered and tested."""
    page = DOCS / "first-kind.md"
    (first,) = [text for text in blocks(page, "yaml") if "kind: LiveResource" in text]
    changed = first.replace("person: Ada, phone", "person: Alan, phone")
    spoiled = changed.replace("person: {type: string", "person: {type: strng")
    printed = {command: answer for text in blocks(page, "console") for command, answer in _COMMAND.findall(text)}
    monkeypatch.chdir(tmp_path)

    for command, text in (("check", spoiled), ("render", changed), ("test", changed)):
        Path("oncalls.yaml").write_text(text, encoding="utf-8")
        main([command, "oncalls.yaml"], {})
        assert printed[f"{command} oncalls.yaml"] == capsys.readouterr().out


def test_cool_resource_is_the_same_kind_twice() -> None:
    """Names, schema and columns of the CustomResourceDefinition are those of the declaration."""
    by_kind: dict[str, Any] = {each["kind"]: each["spec"] for each in map(yaml.safe_load, blocks(DOCS / "coolresource.md", "yaml"))}
    declared, defined = by_kind["LiveResource"], by_kind["CustomResourceDefinition"]
    (version,) = defined["versions"]

    assert (defined["group"], defined["scope"], defined["names"]) == (declared["group"], declared["scope"], declared["names"])
    assert version["name"] == declared["version"]
    assert (version["schema"], version["additionalPrinterColumns"]) == (declared["schema"], declared["additionalPrinterColumns"])
