"""Documents: plain values as YAML 1.2 has them, each with its place, within bounds, and faults instead of exceptions."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.declared.documents import MAX_BYTES, MAX_DOCUMENTS, MAX_FAULTS, read
from app.declared.faults import LINE_BREAK, Fault, Place
from app.declared.tree import MAX_DEPTH, MAX_NODES
from app.declared.yaml_text import core_value
from tests.unit.declared.canonical import COOL, QUEUES


def value_of(text: str, file: str = "a.yaml") -> Any:
    """The value of the one document of a text without faults."""
    (document,), faults = read(text, file)
    assert [] == faults
    return document.value


def faults_of(text: str | bytes, file: str = "a.yaml") -> list[str]:
    """The faults of a text as people read them."""
    return [str(fault) for fault in read(text, file)[1]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", None, id="nothing is null"),
        pytest.param("~", None, id="a tilde is null"),
        pytest.param("Null", None, id="null in any of three cases"),
        pytest.param("nULL", "nULL", id="but not in others"),
        pytest.param("true", True, id="true"),
        pytest.param("False", False, id="false"),
        pytest.param("yes", "yes", id="yes is text in YAML 1.2"),
        pytest.param("on", "on", id="on is text"),
        pytest.param("10", 10, id="a number"),
        pytest.param("-7", -7, id="below zero"),
        pytest.param("010", 10, id="a zero in front makes no octal number"),
        pytest.param("0o10", 8, id="octal is 0o"),
        pytest.param("0xff", 255, id="hexadecimal"),
        pytest.param("1_000", "1_000", id="underscores make it text"),
        pytest.param("1:30", "1:30", id="no sexagesimal numbers"),
        pytest.param("1.5", 1.5, id="a fraction"),
        pytest.param(".5", 0.5, id="a fraction without a zero"),
        pytest.param("1e3", 1000.0, id="an exponent"),
        pytest.param("1e-999", 0.0, id="too small is zero"),
        pytest.param("2026-01-01", "2026-01-01", id="a date is text"),
        pytest.param("15s", "15s", id="a duration is text"),
        pytest.param("=", "=", id="a value key of YAML 1.1 is text"),
        pytest.param("<<", "<<", id="a merge key of YAML 1.1 is text"),
        pytest.param("9223372036854775807", 2**63 - 1, id="the largest int64"),
        pytest.param("18446744073709551615", 2**64 - 1, id="the largest uint64"),
    ],
)
def test_plain_scalars_follow_the_core_schema(text: str, expected: Any) -> None:
    """YAML 1.2.2, section 10.3.2."""
    value = core_value(text)

    assert (type(expected), expected) == (type(value), value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('a: "5"', {"a": "5"}, id="quotes make text"),
        pytest.param("a: !!str 5", {"a": "5"}, id="so does a tag"),
        pytest.param("a: ! 5", {"a": "5"}, id="and the short one"),
        pytest.param("a: !!int 5", {"a": 5}, id="a tag that fits"),
        pytest.param("a: |\n  x\n  y\n", {"a": "x\ny\n"}, id="a block"),
        pytest.param("a: >-\n  x\n  y\n", {"a": "x y"}, id="a folded block"),
        pytest.param("a: &x {b: 1}\nc: *x\n", {"a": {"b": 1}, "c": {"b": 1}}, id="an alias repeats a value"),
        pytest.param("- 1\n- [2, {}]\n", [1, [2, {}]], id="lists"),
        pytest.param("\ufeffa: 1", {"a": 1}, id="a byte order mark is no content"),
        pytest.param("a: 1\r\nb: 2\r\n", {"a": 1, "b": 2}, id="lines of Windows"),
        pytest.param("a: ä😀", {"a": "ä😀"}, id="all of Unicode"),
    ],
)
def test_yaml_is_read_as_plain_values(text: str, expected: Any) -> None:
    """Nothing but dict, list, str, int, float, bool and None."""
    assert expected == value_of(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('{"a": [1, -2.5e3, true, false, null, "x"]}', {"a": [1, -2500.0, True, False, None, "x"]}, id="every type"),
        pytest.param('\t{\r\n\t"a"\t:\t1}\n', {"a": 1}, id="tabs are space"),
        pytest.param(r'"\ud83d\ude00\/\u00e4"', "😀/ä", id="escapes, of two halves too"),
        pytest.param("[]", [], id="an empty list"),
        pytest.param("{}", {}, id="an empty object"),
    ],
)
def test_json_is_read_by_its_own_rules(text: str, expected: Any) -> None:
    """A file whose name ends with .json is JSON and not the YAML that resembles it."""
    assert expected == value_of(text, "a.json")


def test_documents_are_told_apart_and_empty_ones_are_none() -> None:
    """As kubectl has it; a line of three dashes or dots ends a document, also one in a block."""
    documents, faults = read("---\n# nothing\n---\na: 1\n---\nb: |\n  text\n---\nc: 1\n...\n--- {d: 1}\n---\n", "a.yaml")

    assert [] == faults
    assert [{"a": 1}, {"b": "text\n"}, {"c": 1}, {"d": 1}] == [document.value for document in documents]
    assert [4, 6, 9, 11] == [document.positions.start.line for document in documents]


def test_a_document_that_cannot_be_read_costs_only_itself() -> None:
    """What is before and behind it is read."""
    documents, faults = read("a: 1\n---\nb: [1\n---\nc: 1\n", "a.yaml")

    assert [{"a": 1}, {"c": 1}] == [document.value for document in documents]
    assert [4] == [fault.place.line for fault in faults] or [3] == [fault.place.line for fault in faults]


def test_what_follows_a_document_without_a_marker_spoils_it() -> None:
    """It is not what was meant."""
    documents, faults = read("{a: 1} {b: 1}\n---\nc: 1\n", "a.yaml")

    assert [{"c": 1}] == [document.value for document in documents]
    assert ["a.yaml:1:8: is not valid YAML: did not find expected <document start>"] == [str(fault) for fault in faults]


def test_every_value_and_key_has_its_place() -> None:
    """Lines and columns count from 1, columns by characters."""
    (document,), _ = read("a: 1\nä: {b: [x, yy]}\n", "a.yaml")
    of = document.positions.of

    assert "a.yaml:1:4" == str(of(("a",)))
    assert "a.yaml:1:1" == str(of(("a",), key=True))
    assert "a.yaml:2:12" == str(of(("ä", "b", 1)))
    assert "a.yaml:2:5" == str(of(("ä", "b"), key=True))
    assert "a.yaml:2:4" == str(of(("ä", "missing")))
    assert "a.yaml:1:1" == str(of(("nowhere", "at", "all")))


@pytest.mark.parametrize(
    ("text", "path", "part", "expected"),
    [
        pytest.param("a: one two", ("a",), "two", "1:8", id="plain"),
        pytest.param('a: "one two"', ("a",), "two", "1:9", id="quoted"),
        pytest.param('a: "o\\"ne\\ttwo"', ("a",), "two", "1:12", id="with escapes"),
        pytest.param("a: 'it''s two'", ("a",), "two", "1:11", id="with doubled quotes"),
        pytest.param("a: |-\n  one\n    two\n", ("a",), "two", "3:5", id="a block"),
        pytest.param("a: > # why\n  one\n\n  two\n", ("a",), "two", "4:3", id="a folded block with a comment"),
        pytest.param("a: one\n  two\n  three\n", ("a",), "three", "3:3", id="plain over lines"),
        pytest.param('a: "\\u0041 two"', ("a",), "two", "1:12", id="an escape is one character"),
        pytest.param('a: "x\\\n  two"', ("a",), "two", "2:3", id="an escaped line break"),
    ],
)
def test_a_part_of_a_text_has_its_place(text: str, path: tuple[str], part: str, expected: str) -> None:
    """So that a fault in CEL is told where it stands, however the text is written."""
    (document,), _ = read(text, "a.yaml")
    value = document.value[path[0]]

    assert f"a.yaml:{expected}" == str(document.positions.within(path, value, value.index(part)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a: 1\nb: 1\na: 2\n", "a.yaml:3:1: a: Duplicate value: is given already in line 1", id="a key twice"),
        pytest.param("a: {b: 1, b: 1}\n", "a.yaml:1:11: a.b: Duplicate value: is given already in line 1", id="inside"),
        pytest.param("a:\n\tb: 1\n", "a.yaml:2:1: a tab indents this line; YAML takes spaces only", id="a tab"),
        pytest.param("1: x\n", "a.yaml:1:1: the key 1 is not text; expected it in quotes", id="a key that is a number"),
        pytest.param("? [a]\n: b\n", "a.yaml:1:3: a key must be text, not a mapping or a list", id="a key with parts"),
        pytest.param("a: *b\n", "a.yaml:1:4: a: *b has no anchor &b before it", id="an alias of nothing"),
        pytest.param("a: &b [*b]\n", "a.yaml:1:8: a[0]: *b repeats what it is part of", id="an alias of itself"),
        pytest.param("a: &b x\n*b : 1\n", "a.yaml:2:1: *b cannot be a key", id="an alias as a key"),
        pytest.param("a: .nan\n", "a.yaml:1:4: a: .nan is not a number that JSON has", id="not a number"),
        pytest.param("a: -.inf\n", "a.yaml:1:4: a: -.inf is not a number that JSON has", id="infinity"),
        pytest.param("a: 1e999\n", "a.yaml:1:4: a: 1e999 is too large for a number", id="too large"),
        pytest.param("a: 18446744073709551616\n", "a.yaml:1:4: a: 18446744073709551616 does not fit into 64 bits", id="65 bits"),
        pytest.param("a: !secret x\n", "a.yaml:1:4: a: the tag !secret is not supported", id="a tag of one's own"),
        pytest.param("a: !!binary x\n", "a.yaml:1:4: a: the tag !!binary is not supported", id="a tag of YAML 1.1"),
        pytest.param("a: !!set {}\n", "a.yaml:1:4: a: the tag !!set is not supported", id="a set"),
        pytest.param("a: !!int x\n", "a.yaml:1:4: a: 'x' is no !!int", id="a tag that does not fit"),
        pytest.param("a: \x07\n", "a.yaml:1:4: the character U+0007 is not allowed in YAML", id="a control character"),
        pytest.param(
            "%YAML 1.1\n---\na: 1\n",
            "a.yaml:1:1: directives such as %YAML are not supported; expected the document without it",
            id="a directive",
        ),
        pytest.param(b"a: 1\nb: \xff\n", "a.yaml:2:4: is not UTF-8", id="not UTF-8"),
        pytest.param("a: " + "[" * 70, f"a.yaml:1:67: nested too deeply: a document may have {MAX_DEPTH} levels", id="too deep"),
        pytest.param("x" * (MAX_BYTES + 1), "a.yaml:1:1: is larger than 1 MiB", id="too large a file"),
        pytest.param("ä" * (MAX_BYTES - 1), "a.yaml:1:1: is larger than 1 MiB", id="too large in bytes"),
    ],
)
def test_faults_of_yaml(text: str | bytes, expected: str) -> None:
    """Each says what is wrong and where."""
    assert [expected] == faults_of(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('{"a": 1,}', "a.json:1:9: is not valid JSON; expected a key in double quotes", id="a comma too many"),
        pytest.param("{a: 1}", "a.json:1:2: is not valid JSON; expected a key in double quotes", id="a key without quotes"),
        pytest.param('{"a" 1}', 'a.json:1:6: is not valid JSON; expected ":" after the key', id="no colon"),
        pytest.param("[1\n 2]", 'a.json:2:2: is not valid JSON; expected "," or "]"', id="no comma"),
        pytest.param('{"a": 1 "b": 2}', 'a.json:1:9: is not valid JSON; expected "," or "}"', id="no comma in an object"),
        pytest.param("[1] x", "a.json:1:5: there is something after the document; expected the end of the file", id="something behind"),
        pytest.param('["\n"]', "a.json:1:2: [0]: is not valid JSON; expected a value".replace("[0]: ", ""), id="a line break in a string"),
        pytest.param("[NaN]", "a.json:1:2: is not valid JSON; expected a value", id="NaN"),
        pytest.param('{"a": 1, "a": 2}', "a.json:1:10: a: Duplicate value: is given already in line 1", id="a key twice"),
        pytest.param(r'["\ud800"]', r"a.json:1:2: [0]: a \u escape stands for half a character", id="half a character"),
        pytest.param("[1e999]", "a.json:1:2: [0]: 1e999 is too large for a number", id="too large"),
    ],
)
def test_faults_of_json(text: str, expected: str) -> None:
    """As those of YAML."""
    assert [expected] == faults_of(text, "a.json")


def test_a_document_with_a_fault_of_one_value_can_be_looked_at() -> None:
    """So that the checker tells the other faults too; but it is not sound."""
    (document,), faults = read("a: 1\na: 2\n", "a.yaml")

    assert (False, 1) == (document.sound, len(faults))


def test_aliases_cannot_grow_without_end() -> None:
    """Ten levels of ten aliases stand for ten billion values: they are counted before they are made."""
    levels = "".join(f"- &l{level} [{', '.join([f'*l{level - 1}'] * 10)}]\n" for level in range(1, 11))

    assert [f"too many values: a file may have {MAX_NODES:,}, repeated ones counted"] == [
        fault.message for fault in read(f"- &l0 x\n{levels}", "a.yaml")[1]
    ]


def test_aliases_cannot_grow_deep_without_end() -> None:
    """A chain of aliases, each in a list of its own, is as deep as it reads."""
    levels = "".join(f"- &l{level} [*l{level - 1}]\n" for level in range(1, 100))

    (fault,) = read(f"- &l0 x\n{levels}", "a.yaml")[1]
    assert f"nested too deeply: a document may have {MAX_DEPTH} levels" == fault.message


def test_many_documents_are_cut() -> None:
    """The rest is named once."""
    documents, (fault,) = read("---\na: 1\n" * (MAX_DOCUMENTS + 2), "a.yaml")

    assert MAX_DOCUMENTS == len(documents)
    assert Fault(Place("a.yaml", 2 * MAX_DOCUMENTS + 2, 1), "", "too many documents: a file may have 1,000") == fault


def test_very_many_faults_are_cut() -> None:
    """The last one says so."""
    documents, faults = read("---\n[\n" * (MAX_FAULTS + 2), "a.yaml")

    assert ([], MAX_FAULTS + 1) == (documents, len(faults))
    assert "there is more: only 1000 faults are told of one file" == faults[-1].message


def test_equal_documents_have_equal_digests_however_they_are_written() -> None:
    """Order of keys, style, comments and language of the file do not count."""
    (first,), _ = read("a: 1\nb: [x]\n", "a.yaml")
    (second,), _ = read('{"b": ["x"], "a": 1}', "b.json")
    (third,), _ = read("a: 1\nb: [y]\n", "a.yaml")

    assert first.digest == second.digest
    assert first.digest != third.digest


def assert_inside(place: Place, text: str) -> None:
    """A place is inside of a text, or just behind the end of a line."""
    lines = LINE_BREAK.split(text)
    assert 1 <= place.line <= len(lines)
    assert 1 <= place.column <= len(lines[place.line - 1]) + 1


_FRAGMENTS = st.sampled_from(
    [
        "a: 1\n",
        "- x\n",
        "---\n",
        "...\n",
        "[",
        "]",
        "{",
        "}",
        "&a ",
        "*a",
        "!!x ",
        "|\n  x\n",
        '"',
        "'",
        "\\",
        "\t",
        "# c\n",
        ": ",
        "? ",
        "%T\n",
        "\x00",
        "\r",
    ]
)


@given(st.one_of(st.text(max_size=200), st.lists(_FRAGMENTS, max_size=20).map("".join)), st.sampled_from(["a.yaml", "a.json"]))
@example("a:\u2028 b\x85\t- ", "a.yaml")
@example('"\\', "a.yaml")
@example("--- |\n---", "a.yaml")
@example('{"a":[1,{"b":"\\u00e4"}]', "a.json")
def test_no_text_crashes_the_reader(text: str, file: str) -> None:
    """Whatever comes: documents, or faults with places that are in the file."""
    documents, faults = read(text, file)

    for fault in faults:
        assert_inside(fault.place, text)
    for document in documents:
        assert 64 == len(document.digest)
        json.dumps(document.value, allow_nan=False).encode()
        for place in [*document.positions.values.values(), *document.positions.keys.values()]:
            assert_inside(place, text)


@given(st.binary(max_size=200), st.sampled_from(["a.yaml", "a.json"]))
def test_no_bytes_crash_the_reader(content: bytes, file: str) -> None:
    """Bytes that are no text are told with their place."""
    documents, faults = read(content, file)

    assert documents or faults or not content.decode("utf-8", "replace").strip("\x00") or faults == []
    assert all(fault.place.line >= 1 and fault.place.column >= 1 for fault in faults)


_JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**63), 2**64 - 1),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(alphabet=st.characters(exclude_categories=["Cs"])),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=8), inner, max_size=4),
    ),
    max_leaves=20,
)


@given(_JSON.filter(lambda value: value is not None), st.booleans(), st.sampled_from([None, 1, "\t"]))
def test_json_reads_as_the_library_reads_it(value: Any, ascii_only: bool, indent: int | str | None) -> None:
    """Our reader has places, the library's is the reference."""
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)

    assert json.loads(text) == value_of(text, "a.json")


@given(
    st.text(
        alphabet=st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff\ufffe\uffff\u2028\u2029"),
        min_size=1,
        max_size=40,
    ),
    st.data(),
)
def test_places_within_texts_follow_what_is_written(text: str, data: st.DataObject) -> None:
    """Written with escapes or plain, the character at the place is the one that was asked for."""
    written = json.dumps(text, ensure_ascii=data.draw(st.booleans()))
    offset = data.draw(st.integers(0, len(text) - 1))
    (document,), _ = read(f'{{"a": {written}}}', "a.json")
    place = document.positions.within(("a",), text, offset)
    later = text[offset:].lstrip()
    rest = f'{{"a": {written}}}'[place.column - 1 : -1]

    assert later == json.loads(f'"{rest}').lstrip() if later else rest == '"'


@pytest.mark.parametrize("text", [QUEUES, COOL], ids=["queues", "cool"])
def test_the_examples_read_the_same_as_json(text: str) -> None:
    """YAML and JSON are two ways to write one thing."""
    value = value_of(text)

    assert value == value_of(json.dumps(value, indent=2), "a.json")
