"""collectors/prometheus.py: what is asked, and what the answers of the query API become."""

import json
import math
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors._base import Cause, CollectError
from collectors._http_client import Answer
from collectors._prometheus_api import parse, query_url
from collectors._source import Response
from collectors.prometheus import SOURCE, PrometheusSpec
from tests.fakes.sources import FakeHttp, answer, means

WHEN = 1764500000.123
STAMP = "2025-11-30T10:53:20.123Z"


def success(kind: str, result: Any, **more: Any) -> Answer:
    return answer(json.dumps({"status": "success", "data": {"resultType": kind, "result": result}, **more}))


async def collect(http: FakeHttp, **said: Any) -> Response:
    spec = PrometheusSpec.model_validate({"url": "http://prometheus:9090/", "query": "up{job='a b'}", **said})
    source = SOURCE.open(spec, means(http))
    try:
        return await source.collect()
    finally:
        await source.aclose()


async def test_a_query_by_get() -> None:
    """At the server's own present, with our deadline for its time-out."""
    http = FakeHttp(lambda _: success("vector", []))

    response = await collect(http)

    (request,) = http.requests
    parts = urlsplit(request.url)
    assert ("GET", "/api/v1/query", b"") == (request.method, parts.path, request.body)
    assert {"query": ["up{job='a b'}"], "timeout": ["5000ms"]} == parse_qs(parts.query)
    assert [] == response.value


async def test_a_query_by_post() -> None:
    """As a form, for queries that are too long for a URL."""
    http = FakeHttp(lambda _: success("vector", []))

    await collect(http, method="POST", url="http://thanos/prefix?tenant=a")

    (request,) = http.requests
    assert ("POST", "http://thanos/prefix/api/v1/query?tenant=a") == (request.method, request.url)
    assert {"query": ["up{job='a b'}"], "timeout": ["5000ms"]} == parse_qs(request.body.decode())


@pytest.mark.parametrize(
    ("kind", "result", "items"),
    [
        pytest.param(
            "vector",
            [{"metric": {"__name__": "up", "pod": "a"}, "value": [WHEN, "1"]}],
            [{"labels": {"__name__": "up", "pod": "a"}, "value": 1, "timestamp": STAMP}],
            id="vector",
        ),
        pytest.param("scalar", [WHEN, "0.5"], [{"labels": {}, "value": 0.5, "timestamp": STAMP}], id="scalar"),
        pytest.param(
            "matrix",
            [{"metric": {"pod": "a"}, "values": [[1, "7"], [WHEN, "8"]]}],
            [{"labels": {"pod": "a"}, "value": 8, "timestamp": STAMP}],
            id="the-last-value-of-a-range",
        ),
        pytest.param("vector", [], [], id="nothing"),
    ],
)
def test_results(kind: str, result: Any, items: list[Any]) -> None:
    """Each sample is an item."""
    assert items == parse(success(kind, result), "GET x").value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("3", 3, id="whole"),
        pytest.param("1e+18", 10**18, id="whole-with-an-exponent"),
        pytest.param("9007199254740993", 9007199254740992, id="as-exact-as-a-float64"),
        pytest.param("-0", 0, id="minus-zero"),
        pytest.param("0.1", 0.1, id="fraction"),
        pytest.param("1e+19", 1e19, id="beyond-int64-it-stays-a-float"),
        pytest.param("4.9e-324", 5e-324, id="the-smallest"),
    ],
)
def test_values_are_exact(text: str, value: float) -> None:
    """Whole numbers are integers, all else the float that Prometheus has."""
    (item,) = parse(success("scalar", [WHEN, text]), "GET x").value

    assert (value, type(value)) == (item["value"], type(item["value"]))


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param({"metric": {"pod": "b"}, "value": [WHEN, "NaN"]}, id="NaN"),
        pytest.param({"metric": {"pod": "b"}, "value": [WHEN, "+Inf"]}, id="infinite"),
        pytest.param({"metric": {"pod": "b"}, "value": [WHEN, "-Inf"]}, id="minus-infinite"),
        pytest.param({"metric": {"pod": "b"}, "value": [WHEN, "x"]}, id="no-number"),
        pytest.param({"metric": {"pod": "b"}, "histogram": [WHEN, {"count": "3"}]}, id="native-histogram"),
        pytest.param({"metric": {"pod": "b"}, "value": [WHEN]}, id="half-a-sample"),
        pytest.param({"metric": {"pod": "b"}}, id="no-sample"),
        pytest.param({"metric": {"pod": 3}, "value": [WHEN, "1"]}, id="a-label-that-is-no-text"),
        pytest.param({"value": [WHEN, "1"]}, id="no-labels"),
        pytest.param("nonsense", id="no-entry-at-all"),
        pytest.param(None, id="null"),
    ],
)
def test_a_bad_sample_costs_itself_only(entry: Any) -> None:
    """It is told by its index, and nothing becomes zero."""
    response = parse(success("vector", [{"metric": {"pod": "a"}, "value": [WHEN, "1"]}, entry]), "GET x")

    assert [1] == [item["value"] for item in response.value]
    assert [1] == [each.index for each in response.unusable]
    assert response.unusable[0].reason


def test_a_range_without_values_costs_its_series() -> None:
    """There is no last value."""
    response = parse(success("matrix", [{"metric": {}, "values": []}]), "GET x")

    assert ([], 1) == (response.value, len(response.unusable))


def test_a_time_that_is_none_is_left_out() -> None:
    """The sample stays: the time of the collection stands in."""
    assert [{"labels": {}, "value": 1}] == parse(success("scalar", [1e300, "1"]), "GET x").value


def test_warnings_are_kept() -> None:
    """Prometheus tells of partial answers so."""
    assert ["w", "i"] == parse(success("vector", [], warnings=["w"], infos=["i"]), "GET x").warnings


@pytest.mark.parametrize(
    ("given_answer", "cause", "words"),
    [
        pytest.param(
            answer('{"status":"error","errorType":"bad_data","error":"1:3: parse error: x"}', status=400),
            Cause.QUERY,
            "GET x: 400 Bad Request: bad_data: 1:3: parse error: x",
            id="400",
        ),
        pytest.param(
            answer('{"status":"error","errorType":"execution","error":"many-to-many"}', status=422),
            Cause.QUERY,
            "execution: many-to-many",
            id="422",
        ),
        pytest.param(
            answer('{"status":"error","errorType":"timeout","error":"query timed out"}', status=503),
            Cause.DEADLINE,
            "timeout: query timed out",
            id="503",
        ),
        pytest.param(answer('{"status":"error","errorType":"a","error":"b\\nc"}', status=500), Cause.STATUS, "a: b c", id="no-line-breaks"),
        pytest.param(answer('{"status":"error","errorType":"a","error":"b"}'), Cause.STATUS, "200 OK: a: b", id="an-error-with-200"),
        pytest.param(answer("", status=401), Cause.UNAUTHORIZED, "401", id="401"),
        pytest.param(answer("", status=414), Cause.STATUS, "414", id="414"),
        pytest.param(answer("<html>", status=503), Cause.STATUS, "503", id="a-proxy-in-trouble"),
        pytest.param(answer("<html>"), Cause.PAYLOAD, "not of Prometheus' API", id="a-page"),
        pytest.param(answer("[]"), Cause.PAYLOAD, "not of Prometheus' API", id="a-list"),
        pytest.param(answer('{"status": "success"}'), Cause.PAYLOAD, "not of Prometheus' API", id="no-data"),
        pytest.param(success("string", [WHEN, "x"]), Cause.PAYLOAD, "gives a string", id="string"),
        pytest.param(success("streams", []), Cause.PAYLOAD, "no known type", id="loki"),
        pytest.param(success("vector", {}), Cause.PAYLOAD, "no known type", id="no-list"),
    ],
)
def test_answers_that_are_none(given_answer: Answer, cause: Cause, words: str) -> None:
    """The server's own errorType and message are told; what is no answer of this API is told as such."""
    with pytest.raises(CollectError) as caught:
        parse(given_answer, "GET x")

    assert cause is caught.value.cause
    assert words in caught.value.message
    assert caught.value.remedy


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_ENTRIES = st.lists(
    _JSON
    | st.fixed_dictionaries(
        {
            "metric": st.dictionaries(st.text(max_size=4), st.text(max_size=4) | _JSON, max_size=2),
            "value": _JSON | st.tuples(st.floats(), st.text(max_size=6) | st.floats().map(str)),
        }
    ),
    max_size=4,
)


@given(
    kind=st.sampled_from(["vector", "matrix", "scalar", "string", ""]),
    result=_JSON | _ENTRIES,
    status=st.sampled_from([200, 400, 503]),
    outer=_JSON,
)
def test_no_answer_crashes_it(kind: str, result: Any, status: int, outer: Any) -> None:
    """For whatever comes, items with finite numbers or a CollectError."""
    for said in ({"status": "success", "data": {"resultType": kind, "result": result}}, outer):
        try:
            response = parse(answer(json.dumps(said), status=status), "GET x")
        except CollectError:
            continue
        assert all(math.isfinite(item["value"]) for item in response.value)


@pytest.mark.parametrize(
    ("base", "url"),
    [
        pytest.param("http://p:9090", "http://p:9090/api/v1/query", id="plain"),
        pytest.param("http://p/prom/", "http://p/prom/api/v1/query", id="behind-a-path"),
        pytest.param("http://p/?x=1", "http://p/api/v1/query?x=1", id="with-a-query"),
    ],
)
def test_where_queries_are_asked(base: str, url: str) -> None:
    """The base URL is what people know."""
    assert url == query_url(base)
