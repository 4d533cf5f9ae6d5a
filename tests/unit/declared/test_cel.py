"""The CEL wrapper: values, errors in words, bounds, threads. What CEL itself means is its runtime's business."""

import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.declared.cel import CelError, Missing, checked_type, compile_cel

ITEM = {
    "int": 1, "big": 2**63 - 1, "uint": 2**63, "double": 2.5, "whole": 7.0, "text": "x", "yes": True, "nil": None,
    "list": [1, 2, {"z": None}], "map": {"b": 1, "a": 2, "c": 3},
}  # fmt: skip


def evaluate(text: Any, item: Any = ITEM) -> Any:
    return compile_cel(text, {"item": None})({"item": item})


@pytest.mark.parametrize(
    ("text", "value", "why"),
    [
        ("item.int", 1, "an int is an int"),
        ("item.big", 2**63 - 1, "int64 is exact"),
        ("item.uint", 2**63, "so is uint64"),
        ("item.double", 2.5, "a double is a double"),
        ("int(item.whole)", 7, "int() takes doubles"),
        ("int(item.int)", 1, "and ints"),
        ("item.text + '!'", "x!", "text"),
        ("item.yes", True, "a boolean is no number"),
        ("item.nil", None, "null"),
        ("item.list", [1, 2, {"z": None}], "lists and maps as they are"),
        ("{1: 'a'}", {"1": "a"}, "keys of JSON are text"),
        ("{true: 'b'}", {"true": "b"}, "booleans are written as JSON does"),
        ("timestamp('2026-01-31T09:15:00+01:00')", "2026-01-31T08:15:00Z", "timestamps are RFC 3339 in UTC"),
        ("timestamp('2026-01-31T09:15:00.25Z')", "2026-01-31T09:15:00.25Z", "with the fraction that there is"),
        ("timestamp('0001-01-01T00:00:00Z')", "0001-01-01T00:00:00Z", "of any year"),
        ("duration('5400s')", "1h30m0s", "durations are in Go's notation"),
        ("duration('-1.5s')", "-1.5s", "with a sign"),
        ("item.map.map(k, k).sort()", ["a", "b", "c"], "keys come in no order, and sort() gives them one"),
        ("[3, 1, 2].sort()", [1, 2, 3], "numbers too"),
        ("'a,b'.split(',')", ["a", "b"], "text has its extensions"),
        ("'%s-%d'.format(['a', 1])", "a-1", "format too"),
        ("math.greatest(1, 2)", 2, "and math"),
        ("item.?missing.orValue('none')", "none", "optional values"),
        ("has(item.missing) ? 1 : 2", 2, "has()"),
        ("[?item.?missing, ?item.?int]", [1], "optional elements"),
    ],
)
def test_values(text: Any, value: Any, why: Any) -> None:
    got = evaluate(text)
    assert (got, type(got)) == (value, type(value)), why


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("item.missing", 'there is no "missing"'),
        ("item['missing']", 'there is no "missing"'),
        ("item.missing.deeper", 'there is no "missing"'),
        ("int(item.missing)", 'there is no "missing"'),
        ("item.nil.x", "a member is asked of what has none"),
        ("item.list[7]", "there is no element 7"),
        ("1.0 / 0.0", "the number is infinite, or none"),
        ("0.0 / 0.0", "the number is infinite, or none"),
        ("[0.0 / 0.0]", "the number is infinite, or none"),
    ],
)
def test_what_is_not_known_is_missing(text: Any, says: Any) -> None:
    """No member, no element, no number: nobody makes up a value for it."""
    with pytest.raises(Missing) as missing:
        evaluate(text)
    assert missing.value.message == says


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("item.int + item.double", '"+" cannot take int and double; convert with int(), double() or string()'),
        ("-item.text", '"-" cannot take string; convert with int(), double() or string()'),
        ("!item.int", '"!" cannot take values of these types; convert with int(), double() or string()'),
        ("item.int ? 1 : 2", "a condition is neither true nor false"),
        ("1 / 0", "divide by zero"),
        ("item.big + 1", "integer overflow"),
        ("int('x')", "cannot convert string to int"),
        ("item.text.matches('(')", "invalid regular expression: missing ): ("),
        ("[item].sort().size() + item.list.sort().size()", "sort() takes a list of numbers or a list of texts"),
        ("dyn(b'x')", "gives bytes or a type, which JSON does not have"),
        ("[optional.none()]", None),
    ],
)
def test_errors_of_evaluations_are_sentences(text: Any, says: Any) -> None:
    with pytest.raises(CelError) as error:
        evaluate(text)
    assert not isinstance(error.value, Missing)
    assert says is None or error.value.message == says
    assert text not in error.value.message


@pytest.mark.parametrize(
    ("text", "offset", "says", "nearest"),
    [
        ("1 +", 3, "ends too early", ""),
        ("", 0, "ends too early", ""),
        ("'a' 'b'", 4, "\"'b'\" does not belong here", ""),
        ("itm.a", 0, 'nothing is named "itm"', "item"),
        ("1 + ite", 4, 'nothing is named "ite"', "item"),
        ("item.text.lowercase()", 10, 'nothing is named "lowercase"', "lowerAscii"),
        ("1 + 'x'", 2, '"+" cannot take int and string', ""),
        ("1 +\n  'x'", 2, '"+" cannot take int and string', ""),
        ("1 == 1 &&\n  'x' + 1", 16, '"+" cannot take string and int', ""),
        ("'äöü😀' + 1", 7, '"+" cannot take string and int', ""),
        ("has(1)", 4, "has() argument must be a field selection", ""),
        ("item.?x", None, "gives an optional value", ""),
        ("b'x'", None, "gives bytes", ""),
        ("type(1)", None, "gives type(int)", ""),
        ("(" * 40 + "1" + ")" * 40, None, "is nested too deeply, or has too many terms", ""),
        ("1" + " + 1" * 40, None, "is nested too deeply, or has too many terms", ""),
        ("[1].map(a, [1].map(b, [1].map(c, a + b + c)))", None, "has loops (all, exists, map, filter) more than 2 deep in each other", ""),
        ("'" + "a" * 4096 + "'", None, "is longer than 4096 characters", ""),
        ("'\ud800'", None, "is no text in UTF-8", ""),
    ],
)
def test_errors_of_the_compiler_have_a_place(text: Any, offset: Any, says: Any, nearest: Any) -> None:
    with pytest.raises(CelError) as error:
        compile_cel(text, {"item": None})
    assert (error.value.message, error.value.offset, error.value.nearest) == (says, offset, nearest)


def test_loops_one_behind_the_other_are_not_in_each_other() -> None:
    assert evaluate("item.list.filter(a, a == 1).map(b, b).filter(c, c > 0)") == [1]


@pytest.mark.parametrize(
    ("item", "value", "why"),
    [
        ({"a": 2**64}, 2.0**64, "a number beyond 64 bits is a double, as for kube-apiserver"),
        ({"a": -(2**63) - 1}, -(2.0**63), "on both sides"),
        ({"a": "\ud800"}, "?", "text that is no UTF-8"),
        ({"a": (1, 2)}, [1, 2], "tuples are lists"),
        ({None: 1, "a": 2}, 2, "keys that JSON has not"),
    ],
)
def test_odd_values_are_made_to_fit(item: Any, value: Any, why: Any) -> None:
    assert evaluate("item.a", item) == value, why


def test_what_cannot_be_made_to_fit_is_an_error() -> None:
    with pytest.raises(CelError):
        evaluate("item.a", {"a": object()})
    with pytest.raises(Missing):
        evaluate("item.a", {"a": 10**400})


class TestBounds:
    def test_steps(self) -> None:
        with pytest.raises(CelError, match="goes through 10000 elements or more"):
            evaluate("item.all(a, a >= 0)", list(range(10_000)))

    def test_steps_of_inner_loops_count_each_time(self) -> None:
        with pytest.raises(CelError, match="goes through 10000 elements or more"):
            evaluate("item.map(a, item.map(b, b))", list(range(200)))

    @pytest.mark.parametrize(
        "text",
        [
            "item.text" + ".replace('', '0123456789')" * 12,
            "item.text" + ".replace('x', 'xxxxxxxxxx')" * 12,
            "[item.text].map(a, a.replace('', a + a)).map(b, b.replace('', b + b + b)).map(c, c.replace('', c + c)).join('-')"
            + ".replace('', item.text)" * 3,
            "item.list.map(a, item.list.map(b, item.long)).map(c, string(c.size()) + item.long.replace('', item.long))",
        ],
    )
    def test_memory(self, text: Any) -> None:
        """What grows and grows is refused before it is made."""
        with pytest.raises(CelError, match="could make more than 16 MiB of it"):
            evaluate(text, {"text": "x" * 100, "list": list(range(90)), "long": "y" * 100_000})

    def test_memory_on_the_way(self) -> None:
        """What is made counts, and not what is left of it."""
        with pytest.raises(CelError, match="could make more than 16 MiB of it"):
            evaluate("item.text" + ".replace('', '0123456789')" * 12 + ".size()", {"text": "x" * 100})

    def test_sums(self) -> None:
        text = "item.text"
        for _ in range(8):
            text = f"({text} + {text})"
        assert evaluate(text, {"text": "x" * 10}) == "x" * 2560
        with pytest.raises(CelError, match="could make more than 16 MiB of it"):
            evaluate(text, {"text": "x" * 100_000})

    def test_time(self) -> None:
        with pytest.raises(CelError, match="could go through more than 1024 MiB"):
            evaluate("item.list.map(a, item.long.matches('(a|b)*c$'))", {"list": list(range(5000)), "long": "ab" * 500_000})

    @pytest.mark.parametrize(
        "text",
        [
            "item.name.replace('/', '-').replace('_', '-').replace('.', '-').lowerAscii()",
            "item.list.map(a, a.name + '.' + item.name).join(', ')",
            "item.list.filter(a, a.on).map(a, {'name': a.name, 'of': item.name})",
            "'%s has %d'.format([item.name, item.list.size()])",
            "item.map.map(k, {'name': k, 'of': item.name, 'value': item.map[k]})",
        ],
    )
    def test_what_people_write_is_not_refused(self, text: Any) -> None:
        a_map = {f"key{index}": {"text": "x" * 1000} for index in range(1000)}
        evaluate(text, {"name": "a/b" * 100, "list": [{"name": "n" * 100, "on": True}] * 1000, "map": a_map})


def test_types_are_told() -> None:
    for text, type_ in (("1", "int"), ("item", "dyn"), ("['a']", "list(string)"), ("{'a': 1.0}", "map(string, double)"), ("1 < 2", "bool")):
        assert compile_cel(text, {"item": None}).type == type_


def test_types_are_checked() -> None:
    assert checked_type("a.map(x, x + 'q')", {"a": "list(string)", "b": "map(string, dyn)"}) == "list(string)"
    with pytest.raises(CelError, match='"\\+" cannot take string and int'):
        checked_type("a.map(x, x + 1)", {"a": "list(string)"})


def test_one_program_serves_several_threads() -> None:
    program = compile_cel("item.list.map(x, x + item.add).sort()", {"item": None})
    wrong = []

    def work(add: Any) -> None:
        for size in range(40):
            if program({"item": {"list": list(range(size)), "add": add}}) != [x + add for x in range(size)]:
                wrong.append((add, size))
            compile_cel(f"item.add + {add}", {"item": None})

    threads = [threading.Thread(target=work, args=(add,)) for add in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc") | st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)
PIECES = st.sampled_from([
    "item", ".a", "['b']", ".?c", "[0]", "1", "2u", "1.5", "'x'", "b'y'", "null", "+", "-", "*", "/", "%", "<", "==", "&&", "!", "?", ":",
    "(", ")", "[", "]", "{", "}", ",", ".map(x,x)", ".filter(y,y)", "has(", "int(", "string(", "timestamp(", "duration(", ".size()", "in",
    ".replace('a','b')", ".split('')", ".format([", ".sort()", ".orValue(1)", "optional.of(", "math.ceil(", "type(", "dyn(", " ",
])  # fmt: skip
TEXT = st.text(max_size=30) | st.lists(PIECES, max_size=10).map("".join)


@settings(max_examples=400)
@given(TEXT, JSON)
def test_no_text_and_no_value_crashes_it(text: Any, item: Any) -> None:
    """A JSON-like value, or why there is none and where."""
    try:
        value = compile_cel(text, {"item": None})({"item": item})
    except CelError as why:
        error = why
    else:
        assert_json(value)
        return
    assert error.message
    assert error.offset is None or 0 <= error.offset <= len(text)


def assert_json(value: Any) -> None:
    if isinstance(value, dict):
        assert all(isinstance(key, str) for key in value)
        for part in value.values():
            assert_json(part)
    elif isinstance(value, list):
        for part in value:
            assert_json(part)
    else:
        assert value is None or isinstance(value, str | int | bool | float)
        assert value == value  # noqa: PLR0124 -- NaN is not


@given(JSON)
def test_values_come_back_as_they_went_in(item: Any) -> None:
    """But for numbers that are none, numbers beyond 64 bits, and text that JSON cannot hold: NUL ends a text of the runtime's."""
    try:
        value = evaluate("item", item)
    except Missing:
        return
    except CelError:
        assert not plain(item)  # keys that differ behind a NUL are one
        return
    assert value == item or not plain(item)


def plain(item: Any) -> Any:
    if isinstance(item, dict):
        return all(plain(key) and plain(part) for key, part in item.items())
    if isinstance(item, list):
        return all(map(plain, item))
    if isinstance(item, str):
        return "\0" not in item and item.isprintable()
    return not isinstance(item, int) or -(2**63) <= item < 2**64
