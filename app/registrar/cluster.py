"""What the registrar reads and writes: Secrets with certificates, APIServices and ClusterRoles, a ConfigMap with its status, Events."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from app.errors import KubeError
from app.kube.client import KubeClient
from app.registrar.registration import API_SERVICE, CLUSTER_ROLE, Action, Install, Manifest, Ref, is_ours, ref
from app.registrar.rotation import Holdings, Pair

_PATHS = {
    API_SERVICE: ("apiregistration.k8s.io/v1", "/apis/apiregistration.k8s.io/v1/apiservices"),
    CLUSTER_ROLE: ("rbac.authorization.k8s.io/v1", "/apis/rbac.authorization.k8s.io/v1/clusterroles"),
}
_PUBLISHED, _ISSUED = "kubeglance.io/published", "kubeglance.io/issued"
_OPAQUE, _TLS = "Opaque", "kubernetes.io/tls"
_NOT_FOUND, _CONFLICT = 404, 409


class Cluster:
    """One install's objects in the cluster. Every method raises KubeError."""

    def __init__(self, client: KubeClient, install: Install, *, authority_secret: str, serving_secret: str, status: str) -> None:
        """The names are those of two Secrets and of a ConfigMap in the install's namespace."""
        self._client = client
        self._install = install
        self._authority_secret = authority_secret
        self._serving_secret = serving_secret
        self._status = status
        self._core = f"/api/v1/namespaces/{install.namespace}"

    async def existing(self) -> dict[Ref, Manifest]:
        """All APIServices, and the ClusterRoles that are ours or bear a name that one of ours could."""
        found: dict[Ref, Manifest] = {}
        for kind, (api_version, path) in _PATHS.items():
            answer = await self._client.get_json(path)
            for item in answer.get("items") or ():
                manifest = {"apiVersion": api_version, "kind": kind, **item}
                if kind == API_SERVICE or is_ours(manifest, self._install) or ref(manifest)[1].startswith(f"{self._install.service}:"):
                    found[ref(manifest)] = manifest
        return found

    async def act(self, action: Action) -> None:
        """Do it. What is gone already when it is to be deleted is well."""
        kind, name = ref(action.manifest)
        path = _PATHS[kind][1]
        if action.verb == "create":
            await self._client.create(path, action.manifest)
        elif action.verb == "replace":
            await self._client.replace(f"{path}/{name}", action.manifest)
        else:
            try:
                await self._client.delete(f"{path}/{name}", uid=action.manifest["metadata"]["uid"])
            except KubeError as error:
                if error.status != _NOT_FOUND:
                    raise

    async def holdings(self) -> Holdings:
        """The certificates that are kept. A Secret of that name that somebody else made is not ours to read or write."""
        authorities, serving = await self._secret(self._authority_secret), await self._secret(self._serving_secret)
        data, leaf = _data(authorities), _data(serving)
        annotations = (authorities or {}).get("metadata", {}).get("annotations") or {}
        return Holdings(
            current=_pair(data, "current.crt", "current.key"),
            next=_pair(data, "next.crt", "next.key"),
            previous=data.get("previous.crt", b""),
            leaf=_pair(leaf, "tls.crt", "tls.key"),
            published=_number(annotations.get(_PUBLISHED)),
            issued=_number(annotations.get(_ISSUED)),
        )

    async def keep(self, holdings: Holdings) -> None:
        """Write them: the authorities first, for a leaf whose authority is lost would be of no use."""
        data = {"previous.crt": holdings.previous, "ca.crt": holdings.bundle}
        for name, pair in (("current", holdings.current), ("next", holdings.next)):
            if pair is not None:
                data |= {f"{name}.crt": pair.certificate, f"{name}.key": pair.key}
        times = {_PUBLISHED: repr(holdings.published), _ISSUED: repr(holdings.issued)}
        await self._put_secret(self._authority_secret, _OPAQUE, {key: value for key, value in data.items() if value}, times)
        if holdings.leaf is not None:
            leaf = {"tls.crt": holdings.leaf.certificate, "tls.key": holdings.leaf.key, "ca.crt": holdings.bundle}
            await self._put_secret(self._serving_secret, _TLS, leaf, {})

    async def namespace_ends(self) -> bool:
        """Whether our own namespace is being deleted, and kubeglance with it."""
        try:
            namespace = await self._client.get_json(f"/api/v1/namespaces/{self._install.namespace}")
        except KubeError as error:
            if error.status == _NOT_FOUND:
                return True
            raise
        return "deletionTimestamp" in namespace.get("metadata", {})

    async def tell(self, text: Mapping[str, str]) -> None:
        """Write what was done, and what could not be, into a ConfigMap."""
        path = f"{self._core}/configmaps"
        manifest = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": self._status, "namespace": self._install.namespace, "labels": self._install.labels},
            "data": dict(text),
        }
        there = await self._get(f"{path}/{self._status}")
        if there is None:
            await self._client.create(path, manifest)
        elif not is_ours(there, self._install):
            raise KubeError(f"configmap {self._install.namespace}/{self._status} was not made by this registrar: rename or delete it")
        elif there.get("data") != manifest["data"]:
            await self._client.replace(f"{path}/{self._status}", manifest)

    async def event(self, event: Manifest) -> None:
        """Make an Event, in the namespace of what it is about."""
        await self._client.create(f"/api/v1/namespaces/{event['metadata']['namespace']}/events", event)

    async def _secret(self, name: str) -> Manifest | None:
        secret = await self._get(f"{self._core}/secrets/{name}")
        if secret is not None and not is_ours(secret, self._install):
            raise KubeError(
                f"secret {self._install.namespace}/{name} was not made by this registrar: delete it, or name another with "
                "--authority-secret and --serving-secret"
            )
        return secret

    async def _put_secret(self, name: str, kind: str, data: Mapping[str, bytes], annotations: Mapping[str, str]) -> None:
        there = await self._secret(name)
        encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
        metadata: Manifest = {"name": name, "namespace": self._install.namespace, "labels": self._install.labels}
        if annotations:
            metadata["annotations"] = dict(annotations)
        manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": kind, "data": encoded}
        if there is None:
            await self._client.create(f"{self._core}/secrets", manifest)
            return
        old = there["metadata"].get("annotations") or {}
        if there.get("data") != encoded or any(old.get(key) != value for key, value in annotations.items()):
            metadata["resourceVersion"] = there["metadata"]["resourceVersion"]
            await self._client.replace(f"{self._core}/secrets/{name}", manifest)

    async def _get(self, path: str) -> Manifest | None:
        try:
            found: Manifest = await self._client.get_json(path)
        except KubeError as error:
            if error.status == _NOT_FOUND:
                return None
            raise
        return found


def is_conflict(error: KubeError) -> bool:
    """Whether somebody else wrote in between: the next look sees what is there then."""
    return error.status == _CONFLICT


def _data(secret: Mapping[str, Any] | None) -> dict[str, bytes]:
    found = {}
    for key, value in ((secret or {}).get("data") or {}).items():
        try:
            found[key] = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            continue  # what cannot be read is made anew
    return found


def _pair(data: Mapping[str, bytes], certificate: str, key: str) -> Pair | None:
    return Pair(data[certificate], data[key]) if data.get(certificate) and data.get(key) else None


def _number(text: str | None) -> float:
    try:
        return float(text or 0)
    except ValueError:
        return 0.0
