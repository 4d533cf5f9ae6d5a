"""Values that declarations read from elsewhere: Secrets, ConfigMaps, variables, files. Read anew when they change, and shown nowhere.

Whoever has a text that may hold one of them (an error, what a source answered) passes it through a Mask before people see it.
"""

import base64
import binascii
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote

from cachetools import LRUCache

from app.auth.single_flight import SingleFlight
from app.clock import Clock
from app.declared.mask import Mask
from app.errors import KubeError, KubeUnavailable
from collectors._base import Cause, CollectError
from collectors._source import KeyRef, Value

FRESH_S = 10.0
"""How long a Secret or ConfigMap that was read is taken to be unchanged."""

_MOST_OBJECTS = 4096
_LARGEST_FILE = 1 << 20


class Kube(Protocol):
    """What is needed of a KubeClient."""

    async def get_json(self, path: str) -> Any:
        """The decoded JSON of a GET. Raises KubeError."""
        ...


class _Kept(NamedTuple):
    """The data of a Secret or ConfigMap, and when it was read."""

    data: Mapping[str, Any]
    at: float


class Secrets:
    """Reads Values for declarations. One of another namespace than kubeglance's own reads there only, and from the cluster only."""

    def __init__(
        self,
        kube: Kube | None,
        *,
        own_namespace: str,
        mask: Mask,
        clock: Clock,
        directory: Path | None = None,
        env_prefix: str = "SOURCE_",
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """Without `kube` there are no Secrets and ConfigMaps, without `directory` no files."""
        self._kube = kube
        self._own = own_namespace
        self._mask = mask
        self._clock = clock
        self._directory = directory
        self._env_prefix = env_prefix
        self._environ = environ
        self._kept: LRUCache[str, _Kept] = LRUCache(_MOST_OBJECTS)
        self._reading: SingleFlight[_Kept] = SingleFlight()

    async def read(self, value: Value, namespace: str) -> str:
        """The text of `value` for a declaration of `namespace` ("" is kubeglance's own). Raises CollectError that says what is missing."""
        origin = value.value_from
        if origin is None:
            return value.value or ""
        if origin.config_map_key_ref is not None:
            return await self._of_object("configmaps", origin.config_map_key_ref, namespace or self._own)
        if origin.secret_key_ref is not None:
            text = await self._of_object("secrets", origin.secret_key_ref, namespace or self._own)
        elif namespace:
            message = f"valueFrom.{'env' if origin.env is not None else 'file'} may not be read by declarations of namespace {namespace}"
            raise CollectError(Cause.NOT_ALLOWED, message, "use secretKeyRef or configMapKeyRef")
        elif origin.env is not None:
            text = self._of_environment(origin.env)
        else:
            text = self._of_file(origin.file or "")
        self._mask.conceal(text)
        return text

    def refused(self, value: Value, namespace: str) -> None:
        """What was read of `value` was not accepted: it is read anew the next time."""
        origin = value.value_from
        if origin is not None:
            for resource, reference in (("secrets", origin.secret_key_ref), ("configmaps", origin.config_map_key_ref)):
                if reference is not None:
                    path = _path(resource, reference, namespace or self._own)
                    if (kept := self._kept.get(path)) is not None:
                        self._kept[path] = kept._replace(at=float("-inf"))

    async def _of_object(self, resource: str, reference: KeyRef, namespace: str) -> str:
        what = f"{'Secret' if resource == 'secrets' else 'ConfigMap'} {namespace}/{reference.name}"
        data = (await self._object(resource, reference, namespace, what)).data
        found = data.get(reference.key)
        if not isinstance(found, str):
            raise CollectError(Cause.VALUE, f"{what} has no key {reference.key}", "check the key, or put it there")
        if resource == "configmaps":
            return found
        try:
            return base64.b64decode(found, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError) as exc:
            raise CollectError(Cause.VALUE, f"{what}: key {reference.key} is not text", "only UTF-8 text can be used") from exc

    async def _object(self, resource: str, reference: KeyRef, namespace: str, what: str) -> _Kept:
        """The object as it is now, or was a moment ago; as it last was while kube-apiserver is away."""
        path = _path(resource, reference, namespace)
        kept = self._kept.get(path)
        if kept is not None and self._clock.monotonic() - kept.at < FRESH_S:
            return kept
        try:
            fresh = await self._reading.run(path, lambda: self._get(path))
        except KubeUnavailable as exc:
            if kept is not None:
                return kept
            raise CollectError(Cause.VALUE, f"{what} cannot be read: {exc}", "kube-apiserver is away; it is tried again") from exc
        except KubeError as exc:
            self._kept.pop(path, None)
            raise self._refusal(resource, what, exc) from exc
        self._kept[path] = fresh
        return fresh

    async def _get(self, path: str) -> _Kept:
        if self._kube is None:
            raise KubeError("there is no cluster to read it from")
        answer = await self._kube.get_json(path)
        data = answer.get("data") if isinstance(answer, dict) else None
        return _Kept(data if isinstance(data, dict) else {}, self._clock.monotonic())

    def _refusal(self, resource: str, what: str, error: KubeError) -> CollectError:
        match error.status:
            case 404:
                return CollectError(Cause.VALUE, f"{what} does not exist", "create it, or check name and namespace")
            case 403:
                remedy = f"give kubeglance's ServiceAccount a Role with get on {resource} by that name: docs/secrets.md has one"
                return CollectError(Cause.VALUE, f"{what} may not be read by kubeglance", remedy)
            case _:
                return CollectError(Cause.VALUE, f"{what} cannot be read: {error}", "see the message of kube-apiserver")

    def _of_environment(self, name: str) -> str:
        if not name.startswith(self._env_prefix):
            message = f"the variable {name} may not be read: its name does not begin with {self._env_prefix}"
            raise CollectError(Cause.NOT_ALLOWED, message, "rename it, or set --secret-env-prefix")
        if name not in self._environ:
            raise CollectError(Cause.VALUE, f"the variable {name} is not set", "set it in kubeglance's Deployment")
        return self._environ[name]

    def _of_file(self, name: str) -> str:
        """A file by its path from the folder. Links are followed as far as they stay inside, as those of a mounted Secret do."""
        if self._directory is None:
            raise CollectError(Cause.NOT_ALLOWED, f"the file {name} may not be read: there is no folder for such files", "set --secret-dir")
        try:
            folder = self._directory.resolve(strict=True)
            path = (folder / name).resolve(strict=True)
            if not path.is_relative_to(folder):
                raise CollectError(Cause.NOT_ALLOWED, f"the file {name} may not be read: it is not under --secret-dir", "put it there")
            if not path.is_file():
                raise CollectError(Cause.VALUE, f"{name} under --secret-dir is no file", "name a file")
            with path.open("rb") as file:
                content = file.read(_LARGEST_FILE + 1)
        except (OSError, ValueError, RuntimeError) as exc:  # RuntimeError: links in a circle
            why = exc.strerror if isinstance(exc, OSError) else "it is no path"
            raise CollectError(Cause.VALUE, f"the file {name} under --secret-dir cannot be read: {why}", "put it there") from exc
        if len(content) > _LARGEST_FILE:
            raise CollectError(Cause.VALUE, f"the file {name} under --secret-dir has more than {_LARGEST_FILE} bytes", "name another file")
        try:
            return content.decode().removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError as exc:
            raise CollectError(Cause.VALUE, f"the file {name} under --secret-dir is not text", "only UTF-8 text can be used") from exc


def _path(resource: str, reference: KeyRef, namespace: str) -> str:
    """Where the object is read. The names are escaped, so that none of them leads elsewhere."""
    return f"/api/v1/namespaces/{quote(namespace, safe='')}/{resource}/{quote(reference.name, safe='')}"
