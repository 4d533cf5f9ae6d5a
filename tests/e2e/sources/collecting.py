"""Collections of declarations as `serve` makes them, without a control plane: what the cluster would hold is handed in."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from app.clock import SystemClock
from app.declared.check import check
from app.declared.declaration import Declaration, is_kind
from app.declared.documents import read
from app.declared.live_kind import LiveKind, compile_kind
from app.declared.mask import Mask
from app.declared.means import Provider
from app.declared.objects import Mapped
from app.declared.secrets import Secrets
from app.errors import KubeError
from collectors import sources
from collectors._prometheus_servers import ServerSpec
from collectors._source import Response, Source
from tests.e2e.controlplane.programs import ROOT

OWN = "kube-system"


class Objects:
    """Secrets and ConfigMaps of kubeglance's namespace."""

    def __init__(self, *, secrets: Mapping[str, Mapping[str, str]], config_maps: Mapping[str, Mapping[str, str]]) -> None:
        encoded = {name: {key: base64.b64encode(text.encode()).decode() for key, text in data.items()} for name, data in secrets.items()}
        self.objects = {
            **{f"/api/v1/namespaces/{OWN}/secrets/{name}": {"data": data} for name, data in encoded.items()},
            **{f"/api/v1/namespaces/{OWN}/configmaps/{name}": {"data": dict(data)} for name, data in config_maps.items()},
        }

    async def get_json(self, path: str) -> Any:
        if path not in self.objects:
            raise KubeError("not found", status=404)
        return self.objects[path]


def example(name: str, **source: Any) -> dict[str, Any]:
    """A declaration of deploy/examples; `source` replaces fields of its source."""
    found: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "examples" / name).read_text(encoding="utf-8"))
    ((kind, said),) = found["spec"]["source"].items()
    found["spec"]["source"] = {kind: {**said, **source}}
    return found


def written(said: Mapping[str, Any], path: Path) -> Path:
    """A declaration as a file."""
    path.write_text(yaml.safe_dump(dict(said), sort_keys=False), encoding="utf-8")
    return path


def declared(said: Mapping[str, Any]) -> Declaration:
    """The declaration, checked: there must be nothing wrong with it."""
    documents, faults = read(yaml.safe_dump(dict(said)), "example.yaml")
    checked = check(documents)
    told = [*faults, *checked.faults]
    assert [] == [str(fault) for fault in told if not fault.warning]
    (found,) = checked.declarations
    assert is_kind(found)
    return found


class Collecting:
    """One declaration, opened. An async context manager."""

    def __init__(
        self,
        said: Mapping[str, Any],
        objects: Objects,
        *,
        source_dir: Path | None = None,
        servers: Mapping[str, ServerSpec] | None = None,
    ) -> None:
        self.declaration = declared(said)
        self.mask = Mask()
        clock = SystemClock()
        secrets = Secrets(objects, own_namespace=OWN, mask=self.mask, clock=clock)
        self._provider = Provider(secrets, self.mask, clock, folder=source_dir, servers=servers)
        self._clock = clock
        self.live: LiveKind = compile_kind(self.declaration)
        self._source: Source | None = None

    async def __aenter__(self) -> "Collecting":
        ((name, said),) = self.declaration.resource.spec.source.items()
        kind = sources()[name]
        self._source = kind.open(kind.spec.model_validate(said), self._provider.means(self.declaration))
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._source is not None
        await self._source.aclose()
        await self._provider.aclose()

    async def collect(self) -> tuple[Response, Mapped]:
        """One collection and what becomes of it. Raises CollectError."""
        assert self._source is not None
        response = await self._source.collect()
        return response, self.live.map(response.value, int(self._clock.wall() * 1e9), lambda: False)
