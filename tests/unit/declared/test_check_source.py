"""Sources: one that is there, without credentials where they would be shown, and within the rights of a tenant."""

import pytest
import yaml

from app.declared.check import ALONE, Around, Tenant, check
from app.declared.check_source import sourced
from app.declared.documents import read
from app.declared.faults import path_text
from collectors import sources
from tests.unit.declared.canonical import QUEUES, changed
from tests.unit.declared.checking import SHOP, checked, cool, no_expressions, of_shop, said


def source_faults(source: str, around: Around = ALONE) -> list[str]:
    """The faults of a source, without their places."""
    text = cool("{static: {items: [{name: hello, namespace: default, message: Hello from CoolResource}]}}", source)
    return [each.split(": ", 1)[1] for each in said(text, around)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param(
            "{databse: {host: x}}",
            [
                (
                    'spec.source.databse: no such source: "databse"'
                    '; expected one of "static", "http", "kubernetes" or "database"; did you mean "database"?'
                )
            ],
            id="an unknown source",
        ),
        pytest.param("{}", ["spec.source: Required value; expected exactly one"], id="no source"),
        pytest.param(
            "{static: {items: []}, database: {host: x}}",
            ["spec.source: has 2 sources: database, static; expected exactly one"],
            id="two sources",
        ),
        pytest.param(
            "{database: {hst: x}}", ['spec.source.database.hst: unknown field; did you mean "host"?'], id="the source's own fields"
        ),
        pytest.param(
            "{database: {host: x, page: {size: 1000}}}",
            ["spec.source.database.page.size: Invalid value; expected at most 500"],
            id="the source's own bounds; no value of a source is shown",
        ),
        pytest.param(
            "{database: {host: x, options: {a: {valu: b}, c: 5, d: e}}}",
            [
                'spec.source.database.options.a.valu: unknown field; did you mean "value"?',
                "spec.source.database.options.c: Invalid value; expected text or a mapping",
            ],
            id="a field that may be of two types",
        ),
        pytest.param("{database: x}", ["spec.source.database: Invalid value; expected a mapping"], id="a source has fields"),
        pytest.param("{database: }", ["spec.source.database: Invalid value: null; expected a mapping"], id="a source without fields"),
        pytest.param(
            "{database: {host: x, user: {}}}",
            ["spec.source.database.user: needs exactly one of value, valueFrom"],
            id="a value from somewhere",
        ),
        pytest.param(
            "{database: {host: x, user: {valueFrom: {secretKeyRef: {name: a}}}}}",
            ["spec.source.database.user.valueFrom.secretKeyRef.key: Required value"],
            id="a key of a Secret",
        ),
        pytest.param(
            "{database: {host: 'postgres://me:pw@db/x'}}",
            ["spec.source.database.host: Forbidden: there are credentials in it; expected them under user and password, with valueFrom"],
            id="credentials in a URL",
        ),
        pytest.param(
            "{database: {host: 'host=db password=pw'}}",
            ["spec.source.database.host: Forbidden: there are credentials in it; expected them under user and password, with valueFrom"],
            id="credentials in a DSN",
        ),
        pytest.param(
            "{database: {host: 'http://db/?token=x'}}",
            ["spec.source.database.host: Forbidden: there are credentials in it; expected them under user and password, with valueFrom"],
            id="credentials in a query",
        ),
        pytest.param(
            "{database: {host: x, password: {value: pw}}}",
            ["warning: spec.source.database.password.value: is written in plain text; expected password.valueFrom.secretKeyRef"],
            id="a password in plain text is a warning",
        ),
        pytest.param("{database: {host: x, user: {value: ro}}}", [], id="a user name is not"),
        pytest.param("{static: {items: ['http://u:p@x']}}", [], id="items are data"),
    ],
)
def test_source(source: str, expected: list[str]) -> None:
    """One that is there, as its own model wants it, and without credentials where they would be shown."""
    assert expected == source_faults(source)


def test_no_value_of_a_source_is_shown() -> None:
    """It could be a password in the wrong place."""
    assert not any(
        "hunter2" in each for each in source_faults("{database: {host: 'x://u:hunter2@x', user: hunter2, dialect: {a: hunter2}}}")
    )


def test_credentials_in_an_http_url_are_refused_once() -> None:
    """The source's own model says so already."""
    (fault,) = source_faults("{http: {url: 'http://u:hunter2@x/'}}")

    assert "spec.source.http.url: must hold no credentials: use auth.basic" == fault


def test_what_a_tenant_may_is_accepted_in_its_namespace() -> None:
    """Namespaced kinds of its groups, objects in its own namespace, hosts that are listed."""
    result = checked(of_shop("{database: {host: pg.shop.svc, user: {valueFrom: {secretKeyRef: {name: a, key: b}}}}}"), Around("shop", SHOP))

    assert [] == result.faults
    assert ["shop"] == [each.namespace for each in result.declarations]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            of_shop().replace("[shop]", "[shop, mq]"),
            ['spec.allowNamespaces[1]: Forbidden: declarations of namespace shop put objects there only; expected "shop"'],
            id="objects elsewhere",
        ),
        pytest.param(
            of_shop()
            .replace("Namespaced", "Cluster")
            .replace("  allowNamespaces: [shop]\n", "")
            .replace("namespace: item.namespace, ", ""),
            ['spec.scope: Forbidden: declarations of namespace shop make Namespaced kinds only; expected "Namespaced"'],
            id="kinds of the cluster",
        ),
        pytest.param(
            of_shop().replace("example.com", "examples.com"),
            [
                (
                    "spec.group: Forbidden: group examples.com is not listed for namespace shop"
                    '; expected "example.com"; did you mean "example.com"?'
                )
            ],
            id="another group",
        ),
        pytest.param(
            of_shop("{database: {host: pg.mq.svc}}"),
            [
                (
                    "spec.source.database: Forbidden: declarations of namespace shop may not reach "
                    'pg.mq.svc:5432; expected one of "*.shop.svc" or "db.example.com:5432"'
                )
            ],
            id="another host",
        ),
        pytest.param(
            of_shop("{database: {host: pg.shop.svc, path: /etc/x}}"),
            ["spec.source.database: Forbidden: declarations of namespace shop use no files of kubeglance's own; expected another source"],
            id="files",
        ),
        pytest.param(
            of_shop("{database: {host: pg.shop.svc, user: {valueFrom: {env: X}}}}"),
            [
                (
                    "spec.source.database: Forbidden: only kubeglance's own declarations read valueFrom.env"
                    "; expected secretKeyRef or configMapKeyRef"
                )
            ],
            id="variables",
        ),
        pytest.param(
            of_shop("{database: {host: pg.shop.svc, user: {valueFrom: {file: x}}}}"),
            [
                (
                    "spec.source.database: Forbidden: only kubeglance's own declarations read valueFrom.file"
                    "; expected secretKeyRef or configMapKeyRef"
                )
            ],
            id="secret files",
        ),
        pytest.param(
            of_shop("{kubernetes: {apiVersion: v1, resource: pods, namespaces: [shop, mq]}}"),
            ['spec.source.kubernetes: Forbidden: declarations of namespace shop see no objects of mq; expected "shop"'],
            id="objects of other namespaces",
        ),
        pytest.param(of_shop("{kubernetes: {apiVersion: v1, resource: pods}}"), [], id="objects of its own"),
    ],
)
def test_what_a_tenant_may_not(text: str, expected: list[str]) -> None:
    """Each right is listed by the operator."""
    assert expected == [each.split(": ", 1)[1] for each in said(text, Around("shop", SHOP))]


def test_a_namespace_that_is_not_listed_may_nothing() -> None:
    """A ConfigMap with the label is not enough."""
    assert ["spec.group: Forbidden: group example.com is not listed for namespace shop; expected no group: none is listed"] == [
        each.split(": ", 1)[1] for each in said(of_shop(), Around("shop", Tenant()))
    ]


def test_cel_of_a_source_is_checked_where_it_stands() -> None:
    """Such as the condition for the last page; it is over `response`."""
    text = changed(QUEUES, "last: response.page_count", "last: respons.page_count")

    assert ['14:77: spec.source.http.paginate.page.last: nothing is named "respons"; did you mean "response"?'] == said(text)


def test_a_server_that_is_not_verified_is_a_warning() -> None:
    """It has to be written, and is told wherever it stands."""
    (finding,) = sourced({"http": {"url": "https://x", "tls": {"insecureSkipVerify": True}}}, sources()).findings

    assert finding.warning
    assert finding.path == ("spec", "source", "http", "tls", "insecureSkipVerify")


_PW = "{valueFrom: {secretKeyRef: {name: a, key: b}}}"
_BASIC = f"auth: {{basic: {{username: {{value: ro}}, password: {_PW}}}}}"
_READS = "sent in the clear: whoever sits between reads it; expected"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param(f"http: {{url: 'http://mq:15672/', {_BASIC}}}", [f"http.url: auth is {_READS} https://"], id="http: basic"),
        pytest.param(
            f"http: {{url: 'http://mq/', auth: {{bearer: {{token: {_PW}}}}}}}", [f"http.url: auth is {_READS} https://"], id="bearer"
        ),
        pytest.param(
            f"http: {{url: 'http://10.0.0.7/', auth: {{header: {{name: X-Key, value: {_PW}}}}}}}",
            [f"http.url: auth is {_READS} https://"],
            id="a header, to an address",
        ),
        pytest.param(
            f"http: {{url: 'https://x/', auth: {{oauth2: {{tokenUrl: 'http://x/', clientId: {{value: a}}, clientSecret: {_PW}}}}}}}",
            [f"http.auth.oauth2.tokenUrl: the client's secret is {_READS} https://"],
            id="where tokens are given",
        ),
        pytest.param(
            f"http: {{url: 'http://x/', query: {{a: b, key: {_PW}}}}}",
            [f"http.url: query.key is {_READS} https://"],
            id="a secret parameter",
        ),
        pytest.param(
            f"http: {{url: 'http://x/', query: {{key: {_PW}}}, {_BASIC}}}",
            [f"http.url: auth and query.key are {_READS} https://"],
            id="several",
        ),
        pytest.param(
            f"prometheus: {{url: 'http://prom:9090', query: up, {_BASIC}}}", [f"prometheus.url: auth is {_READS} https://"], id="prometheus"
        ),
        pytest.param(
            f"podMetrics: {{port: 80, metrics: [{{name: a}}], {_BASIC}}}",
            [f"podMetrics.auth: is {_READS} scheme: https"],
            id="pods, whose scheme is http",
        ),
        pytest.param(f"podMetrics: {{port: 80, scheme: https, metrics: [{{name: a}}], {_BASIC}}}", [], id="pods over TLS"),
        pytest.param(f"http: {{url: 'https://mq/', {_BASIC}}}", [], id="over TLS"),
        pytest.param(f"http: {{url: 'http://localhost:8080/', {_BASIC}}}", [], id="a sidecar by name"),
        pytest.param(f"http: {{url: 'http://127.0.0.3/', {_BASIC}}}", [], id="by address"),
        pytest.param(f"http: {{url: 'http://[::1]:80/', {_BASIC}}}", [], id="by the address of IPv6"),
        pytest.param(
            f"http: {{url: 'http://localhost.example.com/', {_BASIC}}}",
            [f"http.url: auth is {_READS} https://"],
            id="a name that looks alike",
        ),
        pytest.param("http: {url: 'http://mq/', query: {a: {value: b}}}", [], id="nothing is secret"),
        pytest.param(
            "http: {url: 'http://mq/', query: {a: {valueFrom: {configMapKeyRef: {name: a, key: b}}}}}", [], id="what a ConfigMap has is not"
        ),
    ],
)
def test_credentials_that_others_can_read_on_the_way_are_a_warning(source: str, expected: list[str]) -> None:
    """It does not keep the declaration from being served: a mesh may encrypt what we do not."""
    findings = sourced(yaml.safe_load(source), sources()).findings

    assert all(each.warning for each in findings)
    told = [f"{path_text(each.path).removeprefix('spec.source.')}: {each.message}; expected {each.expected}" for each in findings]
    assert expected == told


@pytest.mark.parametrize(
    ("servers", "expected"),
    [
        pytest.param(
            ["main", "other"],
            ['there is no server "man" in --prometheus-servers; expected one of "main" or "other"; did you mean "main"?'],
            id="of others",
        ),
        pytest.param(
            [],
            ['there is no server "man" in --prometheus-servers; expected url in place of it: there are no servers with a name'],
            id="there is none",
        ),
        pytest.param(["man"], [], id="there is that one"),
        pytest.param(None, [], id="nobody knows"),
    ],
)
def test_a_prometheus_server_that_is_not_there_is_a_warning(servers: list[str] | None, expected: list[str]) -> None:
    """With those that there are."""
    text = cool(
        "{static: {items: [{name: hello, namespace: default, message: Hello from CoolResource}]}}", "{prometheus: {server: man, query: up}}"
    )
    documents, _ = read(text, "q.yaml")
    result = check(documents, Around(servers=servers), expressions=no_expressions)

    assert [f"q.yaml:9:33: warning: spec.source.prometheus.server: {each}" for each in expected] == list(map(str, result.faults))
    assert len(result.declarations) == 1
