"""app/declared/means.py: what a source is given, within what its declaration may do."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from app.declared.check import check
from app.declared.declaration import Declaration, is_kind
from app.declared.documents import read
from app.declared.mask import Mask
from app.declared.means import Provider, compiled
from app.declared.secrets import Secrets
from app.declared.tenants import Tenant
from app.errors import KubeError
from collectors._base import Cause, CollectError
from collectors._http_client import Request, Trust
from collectors._prometheus_servers import ServerSpec
from collectors._source import Limits, Means, Value
from tests.fakes.clock import ManualClock
from tests.unit.declared.canonical import QUEUES


class Kube:
    """Says which objects were asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def get_json(self, path: str) -> Any:
        self.asked.append(path)
        raise KubeError("no", status=404)


def declaration(namespace: str = "") -> Declaration:
    (found,) = check(read(QUEUES, "queues.yaml")[0]).declarations
    assert is_kind(found)
    return Declaration(found.resource, found.positions, namespace, found.digest)


def means(kube: Kube, namespace: str = "", tenant: Tenant | None = None, folder: Path | None = None) -> Means:
    mask, clock = Mask(), ManualClock()
    secrets = Secrets(kube, own_namespace="kube-system", mask=mask, clock=clock)
    servers = {"main": ServerSpec.model_validate({"url": "http://prometheus:9090", "namespaces": ["listed"]})}
    return Provider(secrets, mask, clock, folder=folder, servers=servers).means(declaration(namespace), tenant)


def test_limits_and_deadline_are_the_declarations() -> None:
    """As it says, or as its defaults are."""
    given = means(Kube())

    assert Limits(items=1000, body_bytes=1 << 20, pages=20, concurrency=2) == given.limits
    assert given.timeout == 5.0


@pytest.mark.parametrize(("namespace", "where"), [("", "kube-system"), ("shop", "shop")])
async def test_values_are_read_where_the_declaration_is(namespace: str, where: str) -> None:
    """That of a tenant in its namespace, all others in kubeglance's."""
    kube = Kube()

    with pytest.raises(CollectError):
        await means(kube, namespace, Tenant() if namespace else None).secret(
            Value.model_validate({"valueFrom": {"secretKeyRef": {"name": "db", "key": "pw"}}})
        )

    assert [f"/api/v1/namespaces/{where}/secrets/db"] == kube.asked


async def test_a_tenant_reaches_its_hosts_only() -> None:
    """Whether a source asks for addresses itself, or for a client."""
    given = means(Kube(), "shop", Tenant(hosts=("10.0.0.1:80",)))

    assert await given.may_reach("10.0.0.1", 80) == ["10.0.0.1"]
    with pytest.raises(CollectError, match="list of hosts"):
        await given.may_reach("10.0.0.2", 80)
    with pytest.raises(CollectError, match="list of hosts"):
        await given.http(Trust()).send(Request("GET", "http://10.0.0.2/"), limit=1)


def test_a_tenant_has_no_files(tmp_path: Path) -> None:
    """--source-dir is kubeglance's own."""
    assert means(Kube(), folder=tmp_path).folder == tmp_path
    assert means(Kube(), "shop", Tenant(), folder=tmp_path).folder is None


@pytest.mark.parametrize(
    ("text", "response", "value"),
    [
        pytest.param("response.pages", {"pages": 3}, 3, id="a-number"),
        pytest.param("response.next", {"next": None}, None, id="null"),
        pytest.param("response.page == response.pages", {"page": 1, "pages": 1}, True, id="a-boolean"),
    ],
)
def test_expressions(text: str, response: Mapping[str, Any], value: Any) -> None:
    """CEL as everywhere in a declaration."""
    assert value == compiled(text, ["response"])({"response": response})


def test_expressions_that_fail() -> None:
    """Whether they cannot be compiled or have no value: the cause is the mapping, and the expression is named."""
    with pytest.raises(CollectError, match=r"response\.") as caught:
        compiled("response.", ["response"])
    assert caught.value.cause is Cause.MAPPING
    with pytest.raises(CollectError, match=r"response\.pages: ") as caught:
        compiled("response.pages", ["response"])({"response": {}})
    assert caught.value.cause is Cause.MAPPING


@pytest.mark.parametrize(
    ("namespace", "name", "cause"),
    [
        pytest.param("", "main", None, id="kubeglance's own"),
        pytest.param("listed", "main", None, id="a tenant that the server lists"),
        pytest.param("shop", "main", Cause.NOT_ALLOWED, id="another tenant"),
        pytest.param("", "mian", Cause.VALUE, id="no such server"),
    ],
)
async def test_named_servers(namespace: str, name: str, cause: Cause | None) -> None:
    """Who may ask one is said where it stands: its answers are of the whole cluster."""
    given = means(Kube(), namespace, Tenant() if namespace else None)

    if cause is None:
        await given.prometheus(name, "up", given).aclose()
        return
    with pytest.raises(CollectError) as caught:
        given.prometheus(name, "up", given)
    assert cause is caught.value.cause
    assert "--prometheus-servers" in caught.value.remedy
