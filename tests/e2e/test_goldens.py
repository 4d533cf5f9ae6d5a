"""The goldens are what the real metrics-server answers today."""

from pathlib import Path

import pytest

from tests.e2e.conftest import demand
from tests.e2e.controlplane import programs
from tests.goldens.make import record
from tests.goldens.metrics_server import PROGRAMS

pytestmark = pytest.mark.e2e


@pytest.mark.usefixtures("_end_with_us")
def test_the_real_metrics_server_still_answers_what_was_recorded(tmp_path: Path) -> None:
    """A control plane of its own, for it must hold nothing but the goldens' cluster. `make goldens` writes what has changed."""
    demand(programs.skip_reason(*PROGRAMS))

    made = record(tmp_path)

    drifted = [str(path) for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    assert [] == drifted
