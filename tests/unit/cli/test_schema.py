"""`kubeglance schema`: what docs/schema/liveresource.json has."""

from pathlib import Path

import pytest

from app.cli.main import main

ROOT = Path(__file__).parents[3]


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """The same text as in the file."""
    assert 0 == main(["schema"], {})
    assert (ROOT / "docs" / "schema" / "liveresource.json").read_text(encoding="utf-8") == capsys.readouterr().out


def test_it_takes_no_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    """Code 2 and one line."""
    assert 2 == main(["schema", "x"], {})
    assert "kubeglance schema: unrecognized arguments: x; see kubeglance schema --help\n" == capsys.readouterr().err
