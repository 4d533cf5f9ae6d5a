"""What Prometheus' answers become."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapter.prometheus import Shape, parse, shapes
from collectors._base import Cause, CollectError
from collectors._http_client import Answer


def answer(body: Any, status: int = 200) -> Answer:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Answer(status, {}, text, len(text))


def data(kind: str, result: Any) -> Answer:
    return answer({"status": "success", "data": {"resultType": kind, "result": result}})


@pytest.mark.parametrize("text", ["0.1", "1e+18", "-3", "9007199254740993", "1.7976931348623157e+308"])
def test_values_are_exact(text: str) -> None:
    """As Prometheus writes them: no float in between."""
    (sample,) = parse(data("vector", [{"metric": {"a": "b"}, "value": [1700000000.123, text]}]), "GET").samples

    assert (Decimal(text), 1_700_000_000_123_000_000, (("a", "b"),)) == (sample.value, sample.time, sample.labels)


def test_a_scalar_has_no_labels() -> None:
    """It is one series."""
    assert [()] == [sample.labels for sample in parse(data("scalar", [1, "2"]), "GET").samples]


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-Inf", "x"])
def test_what_is_no_finite_number_costs_itself(value: str) -> None:
    """prometheus-adapter issues 280 and 394: they became 0, or the largest numbers."""
    found = parse(data("vector", [{"metric": {"p": "a"}, "value": [1, "30"]}, {"metric": {"p": "b"}, "value": [1, value]}]), "GET")

    assert [(("p", "a"),)] == [sample.labels for sample in found.samples]
    assert 1 == len(found.dropped)


@pytest.mark.parametrize("seconds", [1e300, -1, 1e12, True])
def test_a_time_that_is_none_costs_its_sample(seconds: float) -> None:
    """No timestamp of the wire holds it."""
    found = parse(data("vector", [{"metric": {"p": "a"}, "value": [1, "30"]}, {"metric": {"p": "b"}, "value": [seconds, "1"]}]), "GET")

    assert [(("p", "a"),)] == [sample.labels for sample in found.samples]
    assert "which is none of the years 1970 to 9999" in found.dropped[0]


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        pytest.param(answer(b"<html>", 200), Cause.PAYLOAD, id="no-json"),
        pytest.param(answer({"status": "error", "errorType": "bad_data", "error": "parse error"}, 400), Cause.QUERY, id="bad-query"),
        pytest.param(answer({"status": "error", "errorType": "timeout", "error": "late"}, 503), Cause.DEADLINE, id="too-slow"),
        pytest.param(answer(b"", 401), Cause.UNAUTHORIZED, id="expired-token"),
        pytest.param(answer(b"", 414), Cause.STATUS, id="too-long"),
        pytest.param(answer(b"", 422), Cause.STATUS, id="unprocessable"),
        pytest.param(answer(b"", 503), Cause.STATUS, id="unavailable"),
        pytest.param(data("string", [1, "x"]), Cause.QUERY, id="a-string"),
        pytest.param(data("matrix", []), Cause.QUERY, id="a-range"),
        pytest.param(data("vector", {}), Cause.PAYLOAD, id="no-list"),
        pytest.param(answer([]), Cause.PAYLOAD, id="no-object"),
    ],
)
def test_other_answers_have_a_cause(said: Answer, cause: Cause) -> None:
    """And none is a value."""
    with pytest.raises(CollectError) as raised:
        parse(said, "GET http://p/api/v1/query")

    assert cause == raised.value.cause


def test_series_are_kept_by_name_and_names_of_labels() -> None:
    """A hundred thousand series are a few shapes."""
    series = [{"__name__": "up", "job": "a", "pod": str(number)} for number in range(50)] + [{"__name__": "a", "x": "y"}, {"x": "nameless"}]

    assert [Shape("a", frozenset({"x"})), Shape("up", frozenset({"job", "pod"}))] == shapes(
        answer({"status": "success", "data": series}), "GET"
    )


_ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.sampled_from(["success", "vector", "scalar", "NaN"]),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(st.sampled_from(["status", "data", "resultType", "result", "metric", "value", "error"]), below, max_size=5)
    ),
    max_leaves=12,
)


@given(st.binary(max_size=40) | _ODD.map(lambda value: json.dumps(value).encode()), st.sampled_from([200, 422, 500]))
def test_no_answer_breaks_the_parser(body: bytes, status: int) -> None:
    """It gives samples that are numbers, or says what is wrong."""
    try:
        result = parse(Answer(status, {}, body, len(body)), "query")
    except CollectError as error:
        assert error.message  # noqa: PT017 -- what matters is that there is one
        return
    assert all(sample.value.is_finite() for sample in result.samples)


@given(result=_ODD)
def test_no_result_breaks_the_parser(result: Any) -> None:
    """A vector of anything: what is no sample is dropped, with its reason."""
    body = json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}}).encode()
    try:
        found = parse(Answer(200, {}, body, len(body)), "query")
    except CollectError:
        return
    assert len(found.samples) + len(found.dropped) <= len(result)
