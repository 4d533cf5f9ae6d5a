"""The source `kubernetes`: the objects of any resource of the cluster but Secrets, as a watch last saw them.

`response.items` has them whole, by namespace and name, as kube-apiserver gave them but for metadata.managedFields.
"""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, Self

from pydantic import Field, StringConstraints, model_validator

from collectors._base import Cause, CollectError
from collectors._source import ClusterObjects, Means, Response, Source, SourceType, Spec

_LONGEST_SELECTOR = 1024
_ApiVersion = Annotated[str, StringConstraints(pattern=r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[0-9]+((alpha|beta)[0-9]+)?$", max_length=300)]
_Resource = Annotated[str, StringConstraints(pattern=r"^[a-z]([-a-z0-9]*[a-z0-9])?$", max_length=63)]
_Namespace = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63)]


class KubernetesSpec(Spec):
    """Objects of the cluster, watched. kubeglance's ServiceAccount needs list and watch on the resource."""

    api_version: _ApiVersion = Field(description="Group and version, such as apps/v1; v1 for the core group.")
    resource: _Resource = Field(description="The plural, as kubectl api-resources shows it. Secrets are refused.")
    namespaces: list[_Namespace] = Field(
        default_factory=list, description="Namespaces to look into; all if there is none. A tenant sees its own only."
    )
    label_selector: str = Field("", max_length=_LONGEST_SELECTOR, description="As in kubectl -l.")
    field_selector: str = Field("", max_length=_LONGEST_SELECTOR, description="As in kubectl --field-selector.")

    @model_validator(mode="after")
    def _no_secrets(self) -> Self:
        if self.resource == "secrets":
            raise ValueError("Secrets are no source: whoever may read the objects made of them could read them")
        return self


class KubernetesSource:
    """Watches on all namespaces that were asked for, as one source."""

    def __init__(self, watches: Sequence[ClusterObjects], changed: asyncio.Event, means: Means) -> None:
        self._watches = watches
        self._limits = means.limits
        self.changed: asyncio.Event | None = changed

    async def collect(self) -> Response:
        """All objects of now. Asks nobody, but for the first time, when it waits for the lists."""
        for watch in self._watches:
            await watch.tried()
        items = [each for watch in self._watches for each in watch.objects()]
        size = sum(watch.size for watch in self._watches)
        if len(items) > self._limits.items:
            raise CollectError(Cause.TOO_LARGE, f"there are {len(items)} objects, and limits.items is {self._limits.items}", _REMEDY)
        if size > self._limits.body_bytes:
            raise CollectError(Cause.TOO_LARGE, f"the objects are {size} bytes, and limits.bodyBytes is {self._limits.body_bytes}", _REMEDY)
        return Response({"items": items}, size)

    async def aclose(self) -> None:
        """End the watches."""
        for watch in self._watches:
            await watch.aclose()


_REMEDY = "select fewer objects (labelSelector, fieldSelector, namespaces), or raise the limit"


def _open(spec: KubernetesSpec, means: Means) -> Source:
    if means.cluster is None:
        raise CollectError(Cause.ADDRESS, "there is no cluster to watch", "run it where kube-apiserver can be reached")
    changed = asyncio.Event()
    watches = [
        means.cluster.watch(
            spec.api_version,
            spec.resource,
            namespace=namespace,
            labels=spec.label_selector,
            fields=spec.field_selector,
            limits=means.limits,
            changed=changed,
        )
        for namespace in dict.fromkeys(spec.namespaces or [""])
    ]
    return KubernetesSource(watches, changed, means)


def _endpoint(spec: KubernetesSpec) -> str:
    where = f" in {', '.join(spec.namespaces)}" if spec.namespaces else ""
    return f"{spec.resource}.{spec.api_version}{where}"


def _hosts(_spec: Any) -> Sequence[tuple[str, int]]:
    return ()


SOURCE = SourceType("kubernetes", KubernetesSpec, _open, _endpoint, _hosts, namespaces=lambda spec: spec.namespaces)
