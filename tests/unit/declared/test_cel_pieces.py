"""Long lists that are mapped and filtered piece by piece: what comes of them is what would come of the whole."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from app.declared.cel import CelError, Missing, compile_cel
from app.declared.cel_growth import MOST_LISTED, MOST_STEPS
from app.declared.cel_pieces import PIECE, ListPath, list_path

NAMES = ("item", "response")


def path_of(text: str) -> ListPath | None:
    return list_path(compile_cel(text, dict.fromkeys(NAMES)).tree)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        pytest.param("response.items.map(x, x.name)", ("response", ("items",)), id="map"),
        pytest.param("response.filter(x, x.on)", ("response", ()), id="filter"),
        pytest.param("response.a.b.map(x, x.on, x.name)", ("response", ("a", "b")), id="both in one"),
        pytest.param("response.items.filter(x, x.on).map(y, y.name)", ("response", ("items",)), id="one after the other"),
        pytest.param("response.items.filter(x, x.tags.exists(t, t == 'a'))", ("response", ("items",)), id="with a loop in it"),
        pytest.param("item.list.map(x, x + response.add)", ("item", ("list",)), id="another variable is looked at"),
        pytest.param("response.items", None, id="no loop"),
        pytest.param("response.items.map(x, x + response.add)", None, id="the same variable is looked at: a piece does not have it"),
        pytest.param("response.items.filter(x, response.others.exists(y, y == x))", None, id="in a loop within"),
        pytest.param("response.items.exists(x, x.on)", None, id="one answer for all"),
        pytest.param("response.items.all(x, x.on)", None, id="for all, again"),
        pytest.param("response.items.exists_one(x, x.on)", None, id="a count over all"),
        pytest.param("response.items.map(x, x.name).size()", None, id="something else is made of the list"),
        pytest.param("response.items.sort().map(x, x)", None, id="the list is made of all first"),
        pytest.param("[1, 2].map(x, x)", None, id="a list that is no variable's"),
        pytest.param("response.items[0].map(x, x)", None, id="an element"),
    ],
)
def test_which_expressions_go_through_one_list_and_do_nothing_else(text: str, path: tuple[str, tuple[str, ...]] | None) -> None:
    """Only of these a piece of the list gives the same piece of the value."""
    assert path_of(text) == (ListPath(*path) if path is not None else None)


@pytest.mark.parametrize("length", [0, 1, PIECE, PIECE + 1, 3 * PIECE, MOST_STEPS + 1])
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("response.items.map(x, x.n * 2)", lambda items: [each["n"] * 2 for each in items]),
        ("response.items.filter(x, x.n % 3 == 0)", lambda items: [each for each in items if each["n"] % 3 == 0]),
        ("response.items.filter(x, x.n > 9).map(x, [x.n])", lambda items: [[each["n"]] for each in items if each["n"] > 9]),
    ],
)
def test_lists_of_any_length(text: str, wanted: Callable[[Sequence[Any]], Any], length: int) -> None:
    """In their order, also where the runtime would end."""
    items = [{"n": number} for number in range(length)]
    assert compile_cel(text, {"response": None})({"response": {"items": items, "total": length}}) == wanted(items)


def test_no_piece_is_longer_than_it_may_be() -> None:
    """That is what keeps the time linear: within one evaluation it grows with the square of the length."""
    path = ListPath("response", ("items",))
    pieces = list(path.pieces({"response": {"items": list(range(2 * PIECE + 1)), "other": 1}, "item": 7}))

    assert [len(each["response"]["items"]) for each in pieces] == [PIECE, PIECE, 1]
    assert {each["item"] for each in pieces} == {7}
    assert list(path.pieces({"response": {"items": list(range(PIECE))}})) == [], "a short one is evaluated as it is"


@pytest.mark.parametrize("response", [None, {}, {"items": None}, {"items": {"a": 1}}, {"items": "text"}, 3])
def test_what_is_no_list_is_for_the_runtime(response: Any) -> None:
    """It says what is wrong, or goes over the keys of a map."""
    assert list(ListPath("response", ("items",)).pieces({"response": response})) == []


def test_an_error_in_any_piece_is_the_error() -> None:
    """As where it is one evaluation."""
    items: list[dict[str, int]] = [{"n": number} for number in range(2 * PIECE)]
    items[-1] = {}
    with pytest.raises(Missing, match='there is no "n"'):
        compile_cel("response.map(x, x.n)", {"response": None})({"response": items})


def test_what_may_be_made_is_the_same_in_pieces() -> None:
    """A tenant cannot have much made by a long list either."""
    with pytest.raises(CelError, match="could make more than 16 MiB of it"):
        compile_cel("response.map(x, x.replace('', item))", dict.fromkeys(NAMES))({"response": ["x"] * 2000, "item": "y" * 10_000})


@pytest.mark.parametrize(
    "text", ["response.map(x, x).size()", "response.filter(x, x > response.size())", "response.map(x, [x]).map(y, y)[0]"]
)
def test_a_long_list_on_the_way_to_something_else_is_refused(text: str) -> None:
    """Before it holds up everything: the runtime copies all of it with each element. The limit is told, and what to do."""
    program = compile_cel(text, {"response": None})
    program({"response": list(range(MOST_LISTED // 5))})
    with pytest.raises(CelError, match=r"maps or filters more than 5,000 elements .*: give the list itself, or have the source filter"):
        program({"response": list(range(MOST_LISTED + 1))})
