"""Columns as kubectl sets them."""

import pytest

from app.wire.tabwriter import in_columns


@pytest.mark.parametrize(
    ("rows", "trailing", "text", "why"),
    [
        ([["NAME", "AGE"], ["a", "1d"]], False, "NAME   AGE\na      1d", "as wide as the widest cell and three more"),
        ([["A", "B"]], False, "A     B", "but six at least"),
        ([["A", "B"]], True, "A     B     ", "kubectl top pads the last one too"),
        ([["NAME", "X"], ["a", ""]], False, "NAME   X\na      ", "an empty cell at the end leaves its column's blanks"),
        ([["ä", "B"], ["日本語テキスト", "b"]], False, "ä         B\n日本語テキスト   b", "widths are in characters"),
        (
            [["A", "B"], ["a", "longer", "c"], ["x", "y"]],
            False,
            "A     B\na     longer   c\nx     y",
            "a column ends where a row has no such cell",
        ),
        ([], False, "", "nothing"),
    ],
)
def test_columns(rows: list[list[str]], trailing: bool, text: str, why: str) -> None:
    assert text == in_columns(rows, trailing=trailing), why
