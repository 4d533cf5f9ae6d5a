import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.duration import format_duration, human_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("15s", 15.0, id="seconds"),
        pytest.param("1m30s", 90.0, id="two units"),
        pytest.param("500ms", 0.5, id="milliseconds"),
        pytest.param("1.5h", 5400.0, id="a fraction"),
        pytest.param(".5s", 0.5, id="no whole part"),
        pytest.param("-2s", -2.0, id="negative"),
        pytest.param("0", 0.0, id="zero needs no unit"),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    """Go's notation."""
    assert seconds == parse_duration(text)


@pytest.mark.parametrize("text", ["", "15", "s", "1 s", "1s ", "1d", "1e3s", "--1s", "\u0661s", "1s1", "+"])
def test_what_is_no_duration(text: str) -> None:
    """Go takes ASCII digits with a unit and nothing else; the error says what is expected."""
    with pytest.raises(ValueError, match="is not a duration: write a number and a unit"):
        parse_duration(text)


_PIECES = [*"0123456789.-+", "s", "ms", "µs", "h", "9" * 400]


@given(st.one_of(st.text(max_size=20), st.lists(st.sampled_from(_PIECES), max_size=8).map("".join)))
def test_parser_never_crashes(text: str) -> None:
    """Any text is a duration, or a ValueError with our words."""
    try:
        parse_duration(text)
    except ValueError as exc:
        assert "is not a duration" in str(exc)  # noqa: PT017  most texts are none, and not every one


@given(st.integers(-(10**18), 10**18))
def test_what_is_printed_reads_back(ns: int) -> None:
    """Printed to the nanosecond, read as a float of seconds."""
    assert ns / 1e9 == pytest.approx(parse_duration(format_duration(ns)), rel=1e-12)


_S, _M, _H, _D, _Y = 1, 60, 3600, 86_400, 365 * 86_400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2, "<invalid>"),
        (-1.9, "0s"),
        (0, "0s"),
        (1.9, "1s"),
        (119, "119s"),
        (120, "2m"),
        (5 * _M + 12, "5m12s"),
        (10 * _M - 1, "9m59s"),
        (10 * _M + 12, "10m"),
        (3 * _H - 1, "179m"),
        (3 * _H, "3h"),
        (3 * _H + 4 * _M, "3h4m"),
        (8 * _H + 59 * _M, "8h"),
        (48 * _H - 1, "47h"),
        (2 * _D, "2d"),
        (2 * _D + 3 * _H, "2d3h"),
        (8 * _D + 3 * _H, "8d"),
        (2 * _Y - 1, "729d"),
        (2 * _Y, "2y"),
        (2 * _Y + 5 * _D, "2y5d"),
        (8 * _Y + 5 * _D, "8y"),
    ],
)
def test_ages(seconds: float, text: str) -> None:
    """As kubectl prints them: two units while the larger is small, one second ahead is none, more is a fault."""
    assert text == human_duration(int(seconds * 10**9))


@given(st.integers(-(10**12), 10**12))
def test_any_age_has_a_text(seconds: int) -> None:
    assert human_duration(seconds * 10**9)
