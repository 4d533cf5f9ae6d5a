"""`kubeglance schema`: what docs/schema has."""

from pathlib import Path

import pytest

from app.cli.main import main

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("argv", "file"),
    [([], "liveresource.json"), (["LiveResource"], "liveresource.json"), (["LiveMetric"], "livemetric.json")],
)
def test_the_schema_is_printed(argv: list[str], file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The same text as in the file."""
    assert 0 == main(["schema", *argv], {})
    assert (ROOT / "docs" / "schema" / file).read_text(encoding="utf-8") == capsys.readouterr().out


def test_it_knows_kinds_of_declarations_only(capsys: pytest.CaptureFixture[str]) -> None:
    """Code 2 and one line."""
    assert 2 == main(["schema", "x"], {})
    assert capsys.readouterr().err.count("\n") == 1
