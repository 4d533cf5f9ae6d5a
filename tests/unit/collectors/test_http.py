"""collectors/http.py: what is asked, how pages are joined, how we authenticate, and what answers mean."""

import asyncio
import base64
import contextlib
import json
import math
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from collectors._base import Cause, CollectError, NoData
from collectors._http_client import Answer, Request
from collectors._http_session import with_query
from collectors._source import Limits, Response, expressions_of, values_of
from collectors.http import SOURCE, HttpSpec
from tests.fakes.sources import FakeHttp, FakeSecrets, answer, means

URL = "https://api.example.com/v1/things"
SECRET = {"valueFrom": {"secretKeyRef": {"name": "secret", "key": "k"}}}


def spec_of(**said: Any) -> HttpSpec:
    return HttpSpec.model_validate({"url": URL, **said})


async def collect(http: FakeHttp, secrets: FakeSecrets | None = None, *, limits: Limits | None = None, **said: Any) -> Response:
    source = SOURCE.open(spec_of(**said), means(http, secrets, limits=limits))
    try:
        return await source.collect()
    finally:
        await source.aclose()


def sent(request: Request) -> dict[str, str]:
    """The headers of a request, by names in lower case."""
    return {name.lower(): value for name, value in request.headers}


def query(request: Request) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(request.url).query, keep_blank_values=True).items()}


# What is asked


async def test_a_get_with_query_and_headers() -> None:
    """Parameters join those of the URL, in place of those of the same names; a Value among them is read."""
    http = FakeHttp(lambda _: answer('{"a": 1}'))

    response = await collect(
        http, FakeSecrets(secret="k&y"), url=f"{URL}?x=1&y=2", query={"y": "3", "key": SECRET}, headers={"X-Team": "blue"}
    )

    (request,) = http.requests
    assert {"a": 1} == response.value
    assert ("GET", {"x": "1", "y": "3", "key": "k&y"}, "blue") == (request.method, query(request), sent(request)["x-team"])
    assert response.size == 8


@pytest.mark.parametrize(
    ("body", "headers", "content", "kind"),
    [
        pytest.param({"query": "{ queues }"}, {}, b'{"query":"{ queues }"}', "application/json", id="anything-else-is-json"),
        pytest.param("a=b", {}, b"a=b", "text/plain; charset=utf-8", id="text-is-sent-as-it-is"),
        pytest.param(
            "a=b", {"content-type": "application/x-www-form-urlencoded"}, b"a=b", "application/x-www-form-urlencoded", id="own-content-type"
        ),
        pytest.param([], {}, b"[]", "application/json", id="an-empty-list-is-a-body"),
    ],
)
async def test_the_body_of_a_post(body: Any, headers: dict[str, str], content: bytes, kind: str) -> None:
    """Text goes as it is and all else as JSON, with the header that says so unless the declaration has its own."""
    http = FakeHttp(lambda _: answer("{}"))

    await collect(http, method="POST", body=body, headers=headers)

    (request,) = http.requests
    assert (content, kind) == (request.body, sent(request)["content-type"])
    assert [name.lower() for name, _ in request.headers].count("content-type") == 1


# How answers are read


@pytest.mark.parametrize(
    ("kind", "form", "body", "value"),
    [
        pytest.param("application/json; charset=utf-8", "auto", "[1]", [1], id="json"),
        pytest.param("application/problem+json", "auto", "[1]", [1], id="any-json"),
        pytest.param("", "auto", "[1]", [1], id="what-tells-nothing-is-json"),
        pytest.param("application/yaml", "auto", "a: [b]", {"a": ["b"]}, id="yaml"),
        pytest.param("text/plain", "yaml", "a: [b]", {"a": ["b"]}, id="yaml-by-format"),
        pytest.param("text/plain; version=0.0.4", "auto", "up 1\n", [{"name": "up", "labels": {}, "value": 1}], id="prometheus"),
        pytest.param("text/plain", "prometheus", "up 1\n", [{"name": "up", "labels": {}, "value": 1}], id="prometheus-by-format"),
        pytest.param(
            "application/openmetrics-text; version=1.0.0",
            "auto",
            "up 1\n# EOF\n",
            [{"name": "up", "labels": {}, "value": 1}],
            id="openmetrics",
        ),
        pytest.param("text/html", "json", "[1]", [1], id="format-wins-over-content-type"),
    ],
)
async def test_forms_of_answers(kind: str, form: str, body: str, value: Any) -> None:
    """The Content-Type says how to read an answer, unless the declaration does."""
    response = await collect(FakeHttp(lambda _: answer(body, kind=kind)), format=form)

    assert value == response.value


async def test_large_answers_are_read_beside_the_loop() -> None:
    """They give the same."""
    items = [{"n": n, "text": "x" * 100} for n in range(2000)]

    response = await collect(FakeHttp(lambda _: answer(json.dumps(items))))

    assert items == response.value


@pytest.mark.parametrize(
    ("body", "value"),
    [
        pytest.param('[{"n": 1e400}, {"n": -1e400}]', [{"n": math.inf}, {"n": -math.inf}], id="numbers-beyond-doubles"),
        pytest.param(f'[{{"n": {"9" * 5000}}}, {{"n": 1}}]', [{"n": math.inf}, {"n": 1}], id="five-thousand-digits"),
        pytest.param('[{"n": Infinity}, {"n": 1}]', [{"n": math.inf}, {"n": 1}], id="python-writes-infinity-so"),
        pytest.param('[{"n": "\\ud800"}, {"n": "ok"}]', [{"n": "\ud800"}, {"n": "ok"}], id="half-a-surrogate-pair"),
    ],
)
async def test_an_odd_value_costs_no_other(body: str, value: Any) -> None:
    """What makes objects of it leaves out what is no number, and puts right what is no text."""
    response = await collect(FakeHttp(lambda _: answer(body)))

    assert value == response.value


async def test_what_of_prometheus_text_is_without_use_is_told() -> None:
    """A line costs itself only, and is told by its index."""
    response = await collect(FakeHttp(lambda _: answer("a 1\nb{ 2\nc NaN\n", kind="text/plain; version=0.0.4")))

    assert [{"name": "a", "labels": {}, "value": 1}] == response.value
    assert [(1, "b"), (2, "c")] == [(each.index, each.name) for each in response.unusable]


@pytest.mark.parametrize(
    ("said", "cause", "words"),
    [
        pytest.param(answer("{", status=200), Cause.PAYLOAD, "is not JSON", id="broken-json"),
        pytest.param(answer("<html>", kind="text/html"), Cause.PAYLOAD, "a web page", id="a-login-page"),
        pytest.param(answer("[" * 5000), Cause.PAYLOAD, "too deep", id="deep-json"),
        pytest.param(answer("a: &x [*x]", kind="text/yaml"), Cause.PAYLOAD, "anchors", id="yaml-anchors"),
        pytest.param(answer("", status=401), Cause.UNAUTHORIZED, "401 Unauthorized", id="401"),
        pytest.param(answer("", status=403), Cause.FORBIDDEN, "403", id="403"),
        pytest.param(answer("", status=404), Cause.NOT_FOUND, "404", id="404"),
        pytest.param(answer("", status=429), Cause.STATUS, "429", id="429"),
        pytest.param(answer("hunter2", status=500), Cause.STATUS, "500 Internal Server Error", id="500"),
        pytest.param(answer("", status=599), Cause.STATUS, "599", id="a-status-without-a-name"),
        pytest.param(answer("", status=204), Cause.NO_DATA, "no content", id="204"),
        pytest.param(answer("", status=302, location="https://evil.example/?t=s3"), Cause.STATUS, "leads to 'evil.example'", id="redirect"),
        pytest.param(answer("", status=301, location="/v2"), Cause.STATUS, "leads elsewhere", id="redirect-without-a-host"),
        pytest.param(answer("", status=307, location=f"{URL}/"), Cause.STATUS, "another path of the same host", id="redirect-on-the-host"),
        pytest.param(answer("", status=302, location="http://[x"), Cause.STATUS, "leads elsewhere", id="redirect-to-nonsense"),
    ],
)
async def test_answers_that_are_none(said: Answer, cause: Cause, words: str) -> None:
    """Each has a cause, a message and a remedy; none shows the answer's own words, a query, or follows a redirect."""
    http = FakeHttp(lambda _: said)

    with pytest.raises(CollectError) as caught:
        await collect(http, query={"q": "private"})

    assert cause is caught.value.cause
    assert words in caught.value.message
    assert isinstance(caught.value, NoData) or caught.value.remedy
    assert not any(secret in caught.value.message for secret in ("hunter2", "s3", "private"))
    assert len(http.requests) == 1


# Pages


def numbered(sizes: list[int], **more: Any) -> FakeHttp:
    """Pages that begin with 1 and have so many elements; page 2 begins with the element after the last of page 1."""

    def handle(request: Request) -> Answer:
        number = int(query(request)["page"])
        start = sum(sizes[: number - 1])
        return answer(json.dumps({"items": list(range(start, start + sizes[number - 1])), "page": number, "pages": len(sizes), **more}))

    return FakeHttp(handle)


@pytest.mark.parametrize(
    ("sizes", "page", "asked"),
    [
        pytest.param([2, 2, 1], {"last": "response['pages']"}, 3, id="a-number-says-the-last"),
        pytest.param([2, 2, 1], {"last": "response['page'] == 2"}, 2, id="a-boolean-says-that-this-is-the-last"),
        pytest.param([2, 2, 1], {"size": 2}, 3, id="a-short-page-is-the-last"),
        pytest.param([2, 2, 0], {"size": 2}, 3, id="an-empty-page-after-full-ones-is-the-last"),
        pytest.param([2, 1, 0], {}, 3, id="without-a-size-an-empty-page-is-the-last"),
        pytest.param([0], {"last": "response['pages']"}, 1, id="nothing-at-all"),
        pytest.param([2, 0, 2], {"last": "response['pages']"}, 3, id="an-empty-page-in-the-middle"),
    ],
)
async def test_pages_by_number(sizes: list[int], page: dict[str, Any], asked: int) -> None:
    """`last` is asked about each page; without it the first page that is not full ends it. The response has the elements of all."""
    http = numbered(sizes)

    response = await collect(http, paginate={"page": {"param": "page", "sizeParam": "n", **page}})

    assert [str(number) for number in range(1, asked + 1)] == [query(request)["page"] for request in http.requests]
    assert {str(page["size"]) if "size" in page else None} == {query(request).get("n") for request in http.requests}
    assert list(range(sum(sizes[:asked]))) == response.value["items"]
    assert response.value["page"] == 1


async def test_pages_by_offset() -> None:
    """The next page begins after all elements that came, whatever size was asked for."""

    def handle(request: Request) -> Answer:
        start = int(query(request)["offset"])
        return answer(json.dumps({"data": {"rows": list(range(start, min(start + 3, 8)))}, "total": 8}))

    http = FakeHttp(handle)
    response = await collect(
        http, paginate={"items": "data.rows", "offset": {"param": "offset", "sizeParam": "limit", "size": 10, "total": "response['total']"}}
    )

    assert ["0", "3", "6"] == [query(request)["offset"] for request in http.requests]
    assert {"data": {"rows": list(range(8))}, "total": 8} == response.value


async def test_offsets_without_a_total_end_with_a_short_page() -> None:
    """A page that is a list by itself is joined as such."""
    http = FakeHttp(lambda request: answer(json.dumps([1, 2] if query(request)["skip"] == "0" else [3])))

    response = await collect(http, paginate={"offset": {"param": "skip", "size": 2}})

    assert [1, 2, 3] == response.value


async def test_an_empty_page_before_the_total_is_no_endless_loop() -> None:
    """Asking on would bring the same page."""
    with pytest.raises(CollectError, match="an empty page after 0 of 5") as caught:
        await collect(
            FakeHttp(lambda _: answer('{"items": [], "total": 5}')),
            paginate={"offset": {"param": "o", "total": "response['total']"}},
        )

    assert caught.value.cause is Cause.PAYLOAD


@pytest.mark.parametrize("end", ["null", '""'])
async def test_pages_by_cursor(end: str) -> None:
    """Each page names the next; null or an empty text ends it. The first request has no cursor. A null list is an empty one."""
    pages = {None: '{"items": [1], "next": "b"}', "b": '{"items": null, "next": 7}', "7": f'{{"items": [3], "next": {end}}}'}
    http = FakeHttp(lambda request: answer(pages[query(request).get("after")]))

    response = await collect(http, paginate={"cursor": {"param": "after", "next": "response['next']"}})

    assert [1, 3] == response.value["items"]


@pytest.mark.parametrize(
    ("next_", "cause", "words"),
    [
        pytest.param("'same'", Cause.PAYLOAD, "leads back", id="a-circle"),
        pytest.param("True", Cause.MAPPING, "gave a bool", id="a-boolean"),
        pytest.param("[1]", Cause.MAPPING, "gave a list", id="a-list"),
        pytest.param("response['nope']", Cause.MAPPING, "nope", id="not-there"),
    ],
)
async def test_cursors_that_cannot_be(next_: str, cause: Cause, words: str) -> None:
    """They end the collection, never in a loop."""
    with pytest.raises(CollectError, match=words) as caught:
        await collect(FakeHttp(lambda _: answer('{"items": [1]}')), paginate={"cursor": {"param": "c", "next": next_}})

    assert cause is caught.value.cause


async def test_pages_by_link_header() -> None:
    """Relative links too. The declaration's own query stays, and credentials go along on the same host."""
    links = {
        "": '<?p=2&page=2>; rel="next"',
        "2": f"<https://api.example.com:443/v1/more?p=3>; rel=next, <{URL}>; rel=first",
        "3": f'<{URL}>; rel="prev"',
    }
    http = FakeHttp(lambda request: answer(f"[{query(request).get('p', '1')}]", link=links[query(request).get("p", "")]))

    response = await collect(
        http, FakeSecrets(secret="pw"), query={"team": "a", "page": "1"}, auth={"bearer": {"token": SECRET}}, paginate={"linkHeader": {}}
    )

    assert [1, 2, 3] == response.value
    assert ["a", "a", "a"] == [query(request)["team"] for request in http.requests]
    assert query(http.requests[1])["page"] == "2"  # what the link says counts
    assert {"Bearer pw"} == {sent(request)["authorization"] for request in http.requests}


@pytest.mark.parametrize(
    "link",
    [
        pytest.param("https://evil.example/v1/things", id="another-host"),
        pytest.param("http://api.example.com/v1/things", id="without-tls"),
        pytest.param("https://api.example.com:8443/v1/things", id="another-port"),
        pytest.param("//evil.example/x", id="another-host-by-a-relative-link"),
        pytest.param("https://user:pw@api.example.com/x", id="credentials"),
        pytest.param("https://api.example.com\\@evil.example/x", id="backslash"),
        pytest.param("https://[evil/x", id="no-url"),
        pytest.param("file:///etc/passwd", id="a-file"),
    ],
)
async def test_links_to_elsewhere_are_not_followed(link: str) -> None:
    """Our credentials would go there."""
    http = FakeHttp(lambda _: answer("[1]", link=f'<{link}>; rel="next"'))

    with pytest.raises(CollectError) as caught:
        await collect(http, paginate={"linkHeader": {}})

    assert caught.value.cause is Cause.NOT_ALLOWED
    assert len(http.requests) == 1


async def test_a_link_to_itself_is_no_endless_loop() -> None:
    """A page leads back to one that came before."""
    with pytest.raises(CollectError, match="leads back"):
        await collect(FakeHttp(lambda _: answer("[1]", link=f'<{URL}>; rel="next"')), paginate={"linkHeader": {}})


async def test_more_pages_than_the_limit() -> None:
    """The collection fails as a whole: half of a list would look like a whole one."""
    with pytest.raises(CollectError, match="more than 3 pages") as caught:
        await collect(numbered([1] * 9), limits=Limits(pages=3), paginate={"page": {"param": "page"}})

    assert caught.value.cause is Cause.TOO_LARGE


async def test_body_limits_count_over_all_pages() -> None:
    """What the pages before took is not there for the next."""
    body = json.dumps([1] * 30)
    http = FakeHttp(lambda _: answer(body))

    with pytest.raises(CollectError) as caught:
        await collect(http, limits=Limits(body_bytes=250), paginate={"page": {"param": "page"}})

    assert caught.value.cause is Cause.TOO_LARGE
    assert [250, 250 - len(body), 250 - 2 * len(body)] == http.limits


@pytest.mark.parametrize(
    ("body", "paginate"),
    [
        pytest.param('{"things": [1]}', {"page": {"param": "page"}}, id="no-such-field"),
        pytest.param('{"items": {"a": 1}}', {"page": {"param": "page"}}, id="no-list"),
        pytest.param("7", {"page": {"param": "page"}}, id="a-number"),
        pytest.param('{"a": [1]}', {"items": "a.b", "page": {"param": "page"}}, id="a-path-through-a-list"),
    ],
)
async def test_pages_without_a_list(body: str, paginate: dict[str, Any]) -> None:
    """The message names where the list was looked for, the remedy the field that says so."""
    with pytest.raises(CollectError, match="has no list at") as caught:
        await collect(FakeHttp(lambda _: answer(body)), paginate=paginate)

    assert "paginate.items" in caught.value.remedy


@pytest.mark.parametrize("last", ["'two'", "None", "response"])
async def test_a_last_page_that_is_no_number(last: str) -> None:
    """It is told, not guessed."""
    with pytest.raises(CollectError, match=r"paginate\.page\.last gave a") as caught:
        await collect(FakeHttp(lambda _: answer('{"items": [1]}')), paginate={"page": {"param": "page", "last": last}})

    assert caught.value.cause is Cause.MAPPING


# Who we are


@pytest.mark.parametrize(
    ("auth", "header", "value"),
    [
        pytest.param(
            {"basic": {"username": {"value": "ro"}, "password": SECRET}},
            "authorization",
            f"Basic {base64.b64encode(b'ro:s:ecret').decode()}",
            id="basic",
        ),
        pytest.param({"bearer": {"token": SECRET}}, "authorization", "Bearer s:ecret", id="bearer"),
        pytest.param({"header": {"name": "X-API-Key", "value": SECRET}}, "x-api-key", "s:ecret", id="header"),
    ],
)
async def test_credentials(auth: dict[str, Any], header: str, value: str) -> None:
    """Each in the header that its specification names."""
    http = FakeHttp(lambda _: answer("{}"))

    await collect(http, FakeSecrets(secret="s:ecret"), auth=auth)

    assert value == sent(http.requests[0])[header]


@pytest.mark.parametrize("token", ["", "two\nlines", "tab\rreturn", "ünïcode"])
async def test_a_token_that_is_no_header(token: str) -> None:
    """It would break out of its line. It is not shown either."""
    http = FakeHttp(lambda _: answer("{}"))

    with pytest.raises(CollectError) as caught:
        await collect(http, FakeSecrets(secret=token), auth={"bearer": {"token": SECRET}})

    assert caught.value.cause is Cause.VALUE
    assert not http.requests
    assert not token or token not in caught.value.message


async def test_after_a_401_a_changed_secret_is_used_at_once() -> None:
    """It is read anew, and asked once more if it is another now."""
    secrets = FakeSecrets(secret="old")

    def handle(request: Request) -> Answer:
        if sent(request)["authorization"] == "Bearer new":
            return answer("{}")
        secrets.values["secret"] = "new"
        return answer("", status=401)

    http = FakeHttp(handle)
    await collect(http, secrets, auth={"bearer": {"token": SECRET}})

    assert ["Bearer old", "Bearer new"] == [sent(request)["authorization"] for request in http.requests]
    assert len(secrets.refused) == 1


async def test_after_a_401_the_same_secret_is_not_tried_again() -> None:
    """Servers lock users out who do."""
    http = FakeHttp(lambda _: answer("", status=401))

    with pytest.raises(CollectError):
        await collect(http, FakeSecrets(secret="pw"), auth={"bearer": {"token": SECRET}})

    assert len(http.requests) == 1


TOKEN_URL = "https://login.example.com/token"
OAUTH2 = {
    "oauth2": {
        "tokenUrl": TOKEN_URL,
        "clientId": {"value": "a b"},
        "clientSecret": SECRET,
        "scopes": ["r", "w"],
        "params": {"audience": "x"},
    }
}


class Login:
    """A token URL and an API behind it. Tokens are t1, t2, ..."""

    def __init__(self, **granted: Any) -> None:
        self.granted = granted
        self.given = 0
        self.accepted = {"Bearer t1"}
        self.http = FakeHttp(self.handle)
        self.now = 1000.0

    def handle(self, request: Request) -> Answer:
        if request.url == TOKEN_URL:
            self.given += 1
            return answer(json.dumps({"access_token": f"t{self.given}", "token_type": "Bearer", **self.granted}))
        return answer("{}") if sent(request)["authorization"] in self.accepted else answer("", status=401)


async def test_oauth2_asks_as_the_grant_says() -> None:
    """RFC 6749 section 4.4: a form, the client in Basic with both parts encoded."""
    login = Login(expires_in=300)
    secrets = FakeSecrets(secret="s/1")

    await collect(login.http, secrets, auth=OAUTH2)

    token, api = login.http.requests
    assert parse_qs(token.body.decode()) == {"grant_type": ["client_credentials"], "scope": ["r w"], "audience": ["x"]}
    assert ("POST", f"Basic {base64.b64encode(b'a%20b:s%2F1').decode()}") == (token.method, sent(token)["authorization"])
    assert sent(api)["authorization"] == "Bearer t1"
    assert ["t1"] == secrets.concealed


@pytest.mark.parametrize(
    ("granted", "waits", "given"),
    [
        pytest.param({"expires_in": 300}, [100, 100, 69], 1, id="kept-while-it-holds"),
        pytest.param({"expires_in": 300}, [271], 2, id="renewed-half-a-minute-early"),
        pytest.param({"expires_in": 10}, [8], 1, id="a-short-life"),
        pytest.param({"expires_in": 10}, [9.5], 2, id="a-short-life-is-renewed-in-its-last-tenth"),
        pytest.param({"expires_in": "300"}, [271], 2, id="a-number-as-text"),
        pytest.param({}, [86400.0], 1, id="without-an-end-until-a-401"),
        pytest.param({"expires_in": "soon"}, [1], 2, id="an-end-that-cannot-be-read-is-now"),
    ],
)
async def test_oauth2_keeps_a_token(granted: dict[str, Any], waits: list[float], given: int) -> None:
    """Until shortly before it expires."""
    login = Login(**granted)
    login.accepted |= {"Bearer t2"}
    source = SOURCE.open(spec_of(auth=OAUTH2), means(login.http, FakeSecrets(secret="pw"), wall=lambda: login.now))

    await source.collect()
    for wait in waits:
        login.now += wait
        await source.collect()
    await source.aclose()

    assert given == login.given
    assert login.http.open == 0


async def test_oauth2_renews_a_token_that_is_refused_once() -> None:
    """A 401 before its end: it was withdrawn. A second one is an error."""
    login = Login(expires_in=300)
    source = SOURCE.open(spec_of(auth=OAUTH2), means(login.http, FakeSecrets(secret="pw")))
    await source.collect()

    login.accepted = {"Bearer t2"}
    await source.collect()
    login.accepted = set()
    with pytest.raises(CollectError) as caught:
        await source.collect()

    assert caught.value.cause is Cause.UNAUTHORIZED
    assert login.given == 3


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        pytest.param(answer('{"error": "invalid_client"}', status=401), Cause.UNAUTHORIZED, id="refused"),
        pytest.param(answer('{"error": "<b>"}', status=400), Cause.UNAUTHORIZED, id="refused-in-other-words"),
        pytest.param(answer("", status=500), Cause.STATUS, id="in-trouble"),
        pytest.param(answer("", status=302, location="https://x/"), Cause.STATUS, id="redirect"),
        pytest.param(answer("{}"), Cause.PAYLOAD, id="no-token"),
        pytest.param(answer('{"access_token": "t", "token_type": "mac"}'), Cause.PAYLOAD, id="a-token-of-another-type"),
        pytest.param(answer('{"access_token": "a\\nb"}'), Cause.VALUE, id="a-token-with-a-line-break"),
        pytest.param(answer('{"access_token": ""}'), Cause.VALUE, id="an-empty-token"),
    ],
)
async def test_oauth2_without_a_token(said: Answer, cause: Cause) -> None:
    """The API is not asked."""
    http = FakeHttp(lambda _: said)

    with pytest.raises(CollectError) as caught:
        await collect(http, FakeSecrets(secret="pw"), auth=OAUTH2)

    assert cause is caught.value.cause
    assert [TOKEN_URL] == [request.url for request in http.requests]
    assert (b"invalid_client" in said.body) == ("invalid_client" in caught.value.message)
    assert "<b>" not in caught.value.message


# TLS


async def test_tls_is_read_for_each_collection() -> None:
    """A CA that was replaced is trusted from the next collection on, over new connections; one that stayed costs none."""
    http = FakeHttp(lambda _: answer("{}"))
    secrets = FakeSecrets(ca="CA1", pair="PEM")
    tls = {
        "ca": {"valueFrom": {"configMapKeyRef": {"name": "ca", "key": "k"}}},
        "cert": {"valueFrom": {"secretKeyRef": {"name": "pair", "key": "k"}}},
        "key": {"valueFrom": {"secretKeyRef": {"name": "pair", "key": "k"}}},
        "serverName": "other.example.com",
    }
    source = SOURCE.open(spec_of(tls=tls), means(http, secrets))

    await source.collect()
    await source.collect()
    secrets.values["ca"] = "CA2"
    await source.collect()

    assert ["CA1", "CA2"] == [trust.ca for trust in http.trusts]
    assert ("PEM", "PEM", "other.example.com", True) == (
        http.trusts[0].certificate,
        http.trusts[0].key,
        http.trusts[0].server_name,
        http.trusts[0].verify,
    )
    assert http.open == 1
    await source.aclose()
    assert http.open == 0


# Deadlines


@pytest.mark.looptime
async def test_a_server_that_hangs_ends_at_the_deadline() -> None:
    """The message says how far it came."""

    class Hanging(FakeHttp):
        async def send(self, request: Request, *, limit: int) -> Answer:
            if query(request)["page"] == "3":
                await asyncio.sleep(3600)
            return await super().send(request, limit=limit)

    source = SOURCE.open(spec_of(paginate={"page": {"param": "page"}}), means(Hanging(lambda _: answer("[1]")), timeout=5))

    with pytest.raises(CollectError, match=r"not answered within 5 s \(2 pages came\)") as caught:
        await source.collect()

    assert caught.value.cause is Cause.DEADLINE


# All ways of paging


class Paged:
    """Elements 0 to `count`, by any way of paging, `size` on a page."""

    def __init__(self, count: int, size: int) -> None:
        self.count, self.size = count, size
        self.http = FakeHttp(self.handle)

    def handle(self, request: Request) -> Answer:
        asked = query(request)
        start = int(asked.get("after") or asked.get("skip") or (int(asked.get("page", "1")) - 1) * self.size)
        end = min(start + self.size, self.count)
        pages = max(1, -(-self.count // self.size))
        page = {"items": list(range(start, end)), "pages": pages, "total": self.count, "next": str(end) if end < self.count else None}
        return answer(json.dumps(page), link=f'<?after={end}>; rel="next"' if end < self.count else "")


@given(
    count=st.integers(0, 40),
    size=st.integers(1, 9),
    way=st.sampled_from(
        [
            {"page": {"param": "page", "last": "response['pages']"}},
            {"page": {"param": "page", "size": None}},
            {"offset": {"param": "skip", "total": "response['total']"}},
            {"offset": {"param": "skip", "size": None}},
            {"cursor": {"param": "after", "next": "response['next']"}},
            {"linkHeader": {}},
        ]
    ),
)
async def test_whatever_the_way_all_elements_come_once(count: int, size: int, way: dict[str, dict[str, Any]]) -> None:
    """In their order, with no more than one request beyond the last page."""
    paged = Paged(count, size)
    asking = {name: {key: size if value is None else value for key, value in fields.items()} for name, fields in way.items()}

    response = await collect(paged.http, limits=Limits(pages=50), paginate=asking)

    assert list(range(count)) == response.value["items"]
    assert len(paged.http.requests) <= -(-count // size) + 1


_PAGES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["items", "next", "x"]), inner, max_size=3),
)


@given(page=_PAGES)
async def test_no_page_crashes_it_or_keeps_it_asking(page: Any) -> None:
    """For whatever a server answers again and again: an end or CollectError."""
    ways: list[dict[str, Any]] = [
        {"page": {"param": "p", "last": "response['next']"}},
        {"offset": {"param": "o", "total": "response['next']"}},
        {"cursor": {"param": "c", "next": "response['next']"}},
        {"linkHeader": {}},
    ]
    for way in ways:
        http = FakeHttp(lambda _: answer(json.dumps(page), link=json.dumps(page)))
        with contextlib.suppress(CollectError):
            await collect(http, limits=Limits(pages=5), paginate=way)
        assert len(http.requests) <= 5


def test_a_query_stays_as_it_is_written() -> None:
    """Only what is replaced is written anew."""
    assert with_query("http://h/a?wsdl&x=a%20b", {}) == "http://h/a?wsdl&x=a%20b"
    assert with_query("http://h/a?wsdl&x=1&x=2&y=3", {"x": "a b"}) == "http://h/a?wsdl&y=3&x=a+b"


# The declaration


@pytest.mark.parametrize(
    ("said", "words"),
    [
        pytest.param({"url": "http://user:pw@host/"}, "use auth.basic", id="credentials-in-the-url"),
        pytest.param({"url": "http://host/?api_key=x"}, "use auth.header", id="a-key-in-the-url"),
        pytest.param({"url": "ftp://host/"}, 'scheme "ftp"', id="scheme"),
        pytest.param({"url": "host/path"}, "must begin with", id="no-scheme"),
        pytest.param({"url": "http:///path"}, "needs a host", id="no-host"),
        pytest.param({"url": "http://host:0/"}, "port must be", id="port-0"),
        pytest.param({"url": "http://host:70000/"}, "out of range", id="port-beyond"),
        pytest.param({"url": "http://host/#x"}, "fragment", id="fragment"),
        pytest.param({"url": "http://host/a b"}, "percent-encode", id="space"),
        pytest.param({"url": "http://host/a\r\nX: y"}, "percent-encode", id="line-break"),
        pytest.param({"url": "http://bücher.example/"}, "Punycode", id="umlaut"),
        pytest.param({"headers": {"Authorization": "x"}}, "use auth", id="authorization-by-hand"),
        pytest.param({"headers": {"Host": "x"}}, "cannot be set here", id="host-by-hand"),
        pytest.param({"headers": {"X Y": "x"}}, "not a name of a header", id="header-name"),
        pytest.param({"headers": {"X": "a\r\nY: b"}}, "one line", id="header-with-a-line-break"),
        pytest.param({"body": "x"}, "body needs method: POST", id="body-of-a-get"),
        pytest.param({"auth": {}}, "exactly one of basic", id="auth-without-a-way"),
        pytest.param(
            {"auth": {"basic": {"username": {"value": "a"}, "password": SECRET}, "bearer": {"token": SECRET}}}, "exactly one", id="two-ways"
        ),
        pytest.param({"tls": {"cert": SECRET}}, "cert and key belong together", id="cert-without-key"),
        pytest.param({"paginate": {"page": {"param": "p"}, "linkHeader": {}}}, "exactly one of page", id="two-ways-of-paging"),
        pytest.param({"methode": "GET"}, "Extra inputs", id="unknown-field"),
    ],
)
def test_declarations_that_cannot_be(said: dict[str, Any], words: str) -> None:
    """Each is told with what to write instead."""
    with pytest.raises(ValidationError) as caught:
        spec_of(**said)

    assert words in str(caught.value)


def test_what_is_told_of_a_declaration() -> None:
    """Where it asks, without its query; the hosts that it reaches, the token URL's too; its Values and its CEL."""
    spec = spec_of(url=f"{URL}?x=1", query={"k": SECRET}, auth=OAUTH2, paginate={"cursor": {"param": "c", "next": "response.next"}})

    assert SOURCE.endpoint(spec) == URL
    assert [("api.example.com", 443), ("login.example.com", 443)] == list(SOURCE.hosts(spec))
    assert len(values_of(spec)) == 3
    assert [(("paginate", "cursor", "next"), "response.next", ("response",))] == expressions_of(spec)
