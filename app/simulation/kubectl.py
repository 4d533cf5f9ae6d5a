"""What `kubectl top` and `kubectl get` print, from the requests that kubectl sends (checked against kubectl v1.37).

With one difference: where kubectl would take Protobuf, this one takes JSON, which is all that it can read.
"""

import ssl
from typing import Any

import httpx

from app.errors import KubeglanceError
from app.wire.quantity import parse_bytes, parse_cpu
from app.wire.tabwriter import in_columns

_JSON = "application/json"
_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
_GROUP = "metrics.k8s.io"
_VERSIONS = ("v1", "v1beta1")
_MEBI = 2**20

NOTHING = "No resources found"
"""What kubectl says of an empty list."""

Rows = list[list[str]]


class KubectlError(KubeglanceError):
    """A request was not answered as it should be. The message has what was asked and what came."""


class Kubectl:
    """A user's kubectl: asks `url` with `token` and prints as kubectl does. To be used as an async context manager."""

    def __init__(self, url: str, token: str, context: ssl.SSLContext, transport: httpx.AsyncBaseTransport | None = None) -> None:
        """`context` trusts the cluster's authority; `transport` is for tests."""
        headers = {"Authorization": f"Bearer {token}", "User-Agent": "kubectl/v1.37.2 (simulated)"}
        self._client = httpx.AsyncClient(base_url=url, headers=headers, verify=context, transport=transport, timeout=10, trust_env=False)

    async def __aenter__(self) -> "Kubectl":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._client.aclose()

    async def pod_metrics(self) -> list[dict[str, Any]]:
        """The items of PodMetrics in all namespaces, as `kubectl top pods -A` asks for them."""
        version = await self._metrics_version()
        items: list[dict[str, Any]] = (await self._get(f"/apis/{_GROUP}/{version}/pods", _JSON))["items"]
        return items

    async def top_nodes(self) -> str:
        """`kubectl top nodes`: usage, and its share of what is allocatable."""
        version = await self._metrics_version()
        metrics = (await self._get(f"/apis/{_GROUP}/{version}/nodes", _JSON))["items"]
        nodes = {node["metadata"]["name"]: node for node in (await self._get("/api/v1/nodes", _JSON))["items"]}
        rows: Rows = [["NAME", "CPU(cores)", "CPU(%)", "MEMORY(bytes)", "MEMORY(%)"]]
        for item in sorted(metrics, key=_key):
            name = item["metadata"]["name"]
            cpu, memory = parse_cpu(item["usage"]["cpu"]), parse_bytes(item["usage"]["memory"])
            available = nodes.get(name, {}).get("status", {}).get("allocatable", {})
            cpu_share = _percent(_millicores(cpu), _millicores(parse_cpu(available.get("cpu", "0"))))
            rows.append(
                [name, f"{_millicores(cpu)}m", cpu_share, _mebibytes(memory), _percent(memory, parse_bytes(available.get("memory", "0")))]
            )
        return in_columns(rows, trailing=True)

    async def top_pods(self) -> str:
        """`kubectl top pods -A`: the sum of each pod's containers."""
        rows: Rows = [["NAMESPACE", "NAME", "CPU(cores)", "MEMORY(bytes)"]]
        for item in sorted(await self.pod_metrics(), key=_key):
            cpu = sum(_millicores(parse_cpu(container["usage"]["cpu"])) for container in item["containers"])
            memory = sum(parse_bytes(container["usage"]["memory"]) for container in item["containers"])
            rows.append([item["metadata"]["namespace"], item["metadata"]["name"], f"{cpu}m", _mebibytes(memory)])
        return in_columns(rows, trailing=True)

    async def get(self, resource: str, group: str) -> str:
        """`kubectl get RESOURCE.GROUP -A` of a namespaced kind: the server's own Table, in pages of 500."""
        version = await self._version(group)
        rows: Rows = []
        shown: list[int] = []
        token = ""
        while True:
            path = f"/apis/{group}/{version}/{resource}?limit=500" + (f"&continue={token}" if token else "")
            page = await self._get(path, _TABLE)
            if not rows:
                columns = page["columnDefinitions"]
                shown = [index for index, column in enumerate(columns) if not column["priority"]]
                rows.append(["NAMESPACE", *(columns[index]["name"].upper() for index in shown)])
            for row in page["rows"]:
                rows.append([row["object"]["metadata"]["namespace"], *(str(row["cells"][index]) for index in shown)])
            token = page["metadata"].get("continue", "")
            if not token:
                return in_columns(rows, trailing=False) if len(rows) > 1 else NOTHING

    async def _version(self, group: str) -> str:
        """The version of a group that comes first in discovery, as kubectl get takes it."""
        document = await self._get("/apis", _DISCOVERY)
        for item in document.get("items", []):
            if item["metadata"]["name"] == group and item["versions"]:
                return str(item["versions"][0]["version"])
        raise KubectlError(f"GET /apis lists no {group}")

    async def _metrics_version(self) -> str:
        """The newest version of metrics.k8s.io that is served, as kubectl top finds it by discovery."""
        document = await self._get("/apis", _DISCOVERY)
        served = {
            version["version"] for item in document.get("items", []) if item["metadata"]["name"] == _GROUP for version in item["versions"]
        }
        for version in _VERSIONS:
            if version in served:
                return version
        raise KubectlError("Metrics API not available: GET /apis lists no metrics.k8s.io")

    async def _get(self, path: str, accept: str) -> dict[str, Any]:
        try:
            response = await self._client.get(path, headers={"Accept": accept})
        except httpx.TransportError as exc:
            raise KubectlError(f"GET {path}: no answer: {type(exc).__name__} {exc}") from exc
        if response.status_code != 200:
            raise KubectlError(f"GET {path}: {response.status_code} {response.text[:300].strip()}")
        try:
            document: dict[str, Any] = response.json()
        except ValueError as exc:
            raise KubectlError(f"GET {path}: the answer is not JSON but {response.headers.get('content-type', 'of no type')}") from exc
        return document


def _key(item: dict[str, Any]) -> tuple[str, str]:
    return (item["metadata"].get("namespace", ""), item["metadata"]["name"])


def _millicores(nanocores: int) -> int:
    """Rounded up, as Quantity.MilliValue does."""
    return -(-nanocores // 10**6)


def _mebibytes(count: int) -> str:
    return f"{count // _MEBI}Mi"


def _percent(used: int, available: int) -> str:
    return f"{used * 100 // available}%" if available else "<unknown>"
