"""The bound on what an expression can become: never below what it becomes."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from app.declared.cel import CelError, compile_cel
from app.declared.cel_growth import Estimate

SMALL = 100  # constants of the estimate, such as the brackets of an empty list

TEXTS: st.SearchStrategy[str] = st.deferred(
    lambda: (
        st.sampled_from(["item.text", "'ab'", "item.list[0]", "item.map.a", "string(item.number)"])
        | st.tuples(TEXTS, TEXTS).map(lambda two: f"({two[0]} + {two[1]})")
        | st.tuples(TEXTS, TEXTS, TEXTS).map(lambda three: f"{three[0]}.replace({three[1]}, {three[2]})")
        | st.tuples(TEXTS, TEXTS).map(lambda two: f"{two[0]}.replace('', {two[1]})")
        | st.tuples(LISTS, TEXTS).map(lambda two: f"{two[0]}.join({two[1]})")
        | st.tuples(TEXTS, TEXTS).map(lambda two: f"'%s-%s'.format([{two[0]}, {two[1]}])")
        | TEXTS.map(lambda text: f"strings.quote({text})")
        | TEXTS.map(lambda text: f"(item.number > 1 ? {text} : 'x')")
    )
)
LISTS: st.SearchStrategy[str] = st.deferred(
    lambda: (
        st.sampled_from(["item.list", "['a', 'b']"])
        | TEXTS.map(lambda text: f"{text}.split('')")
        | st.tuples(LISTS, TEXTS).map(lambda two: f"{two[0]}.map(e, e + {two[1]})")
        | LISTS.map(lambda each: f"{each}.filter(e, e != 'a')")
        | st.tuples(TEXTS, TEXTS).map(lambda two: f"[{two[0]}, {two[1]}].map(e, e.replace('', e))")
    )
)
ITEMS = st.fixed_dictionaries(
    {
        "text": st.text("ab", max_size=6),
        "list": st.lists(st.text("ab", max_size=4), min_size=1, max_size=4),
        "map": st.fixed_dictionaries({"a": st.text("ab", max_size=9)}),
        "number": st.integers(0, 3),
    }
)


@settings(max_examples=100, deadline=None)
@given(TEXTS | LISTS, ITEMS)
def test_no_value_is_larger_than_its_bound(text: str, item: Any) -> None:
    try:
        program = compile_cel(text, {"item": None})
        value = program({"item": item})
    except CelError:
        return
    size = len(json.dumps(value)) if not isinstance(value, str) else len(value)
    parts = len(value) if isinstance(value, list) else 0
    assert size <= Estimate(program.tree, {"item": item}).size + SMALL + 4 * parts
