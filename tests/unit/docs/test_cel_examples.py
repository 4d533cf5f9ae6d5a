"""What docs/items-to-objects.md says that CEL gives is what it gives."""

import json
import re

import pytest

from app.declared.cel import compile_cel
from tests.unit.docs import derived

PAGE = (derived.ROOT / "docs" / "items-to-objects.md").read_text(encoding="utf-8")
ITEM = json.loads(re.search(r"With the item `(\{.*\})`", PAGE)[1])  # type: ignore[index]  # the page has one
ROWS = re.findall(r"^\| `(.+)` \| `(.+)` \|$", PAGE, re.MULTILINE)


def test_there_are_examples() -> None:
    assert len(ROWS) > 20


@pytest.mark.parametrize(("expression", "value"), ROWS)
def test_an_example_is_right(expression: str, value: str) -> None:
    assert json.loads(value) == compile_cel(expression, {"item": None})({"item": ITEM})
