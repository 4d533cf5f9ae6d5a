"""What a source of a declaration is: it reads an outside system and gives a response, a JSON-like value.

A public module of this package with a `SOURCE` is a source that declarations can name. Its model says what stands under
`spec.source.<name>`; docs, editor schema and checks derive from it. Libraries that only it needs are imported when it is opened, so
that nobody pays for sources that are not declared.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel


class Spec(BaseModel):
    """Base of everything that stands in a declaration: strict keys in camel case, values that do not change."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=False, strict=True)


class KeyRef(Spec):
    """A key of a Secret or ConfigMap in the declaration's own namespace."""

    name: str = Field(min_length=1, description="Name of the Secret or ConfigMap.")
    key: str = Field(min_length=1, description="Key in its data.")


class ValueFrom(Spec):
    """Where a value is read from, in the words of core/v1 EnvVarSource. Exactly one."""

    secret_key_ref: KeyRef | None = Field(None, description="A key of a Secret.")
    config_map_key_ref: KeyRef | None = Field(None, description="A key of a ConfigMap.")
    env: str | None = Field(None, description="A variable of kubeglance's environment; only those with an allowed prefix may be read.")
    file: str | None = Field(None, description="A file under --secret-dir, by its path from there.")

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if len(self.model_fields_set) != 1:
            raise ValueError("needs exactly one of secretKeyRef, configMapKeyRef, env, file")
        return self


class Value(Spec):
    """A value that stands here, or is read from elsewhere and never shown. Exactly one."""

    value: str | None = Field(None, description="The value itself. Not for secrets.")
    value_from: ValueFrom | None = Field(None, description="Where to read the value from.")

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if len(self.model_fields_set) != 1:
            raise ValueError("needs exactly one of value, valueFrom")
        return self


class Limits(Struct, frozen=True):
    """How much one collection may take. Over a limit it fails as a whole, and the last good values stay."""

    items: int = 1000
    body_bytes: int = 1 << 20
    pages: int = 20
    concurrency: int = 2
    """Collections of this declaration's source that may run at one time, pages of one included."""


Evaluate = Callable[[Mapping[str, Any]], Any]
"""A compiled CEL expression: variables in, JSON-like value out. Raises CollectError with cause MAPPING."""


class ClusterObjects(Protocol):
    """The objects of one resource of the cluster as a watch last saw them."""

    changed: asyncio.Event
    """Set by every change; who waits clears it."""

    def objects(self) -> Sequence[Mapping[str, Any]]:
        """All of them, by namespace and name. Raises CollectError while they were not listed yet, or cannot be."""
        ...

    async def aclose(self) -> None: ...


class Cluster(Protocol):
    """The cluster as a source may see it."""

    def watch(self, api_version: str, resource: str, *, namespace: str, labels: str, fields: str) -> ClusterObjects:
        """Begin to watch; `namespace` "" is all. The selectors are in kube-apiserver's own form."""
        ...


@dataclass(frozen=True)
class Means:
    """What a source is given to work with.

    `secret(value)` reads a Value anew, so that one that was changed is used at once. `may_reach(host, port)` resolves a host and gives the
    addresses that it may be reached at; it raises CollectError for one that must not be (metadata services, a tenant's list).
    `compile_cel(text, variables)` compiles an expression over variables of those names. `timeout` is the deadline (seconds) of one
    collection, which the caller keeps too. `wall()` gives Unix seconds.
    """

    secret: Callable[[Value], Awaitable[str]]
    may_reach: Callable[[str, int], Awaitable[Sequence[str]]]
    compile_cel: Callable[[str, Sequence[str]], Evaluate]
    limits: Limits
    timeout: float
    wall: Callable[[], float]
    cluster: Cluster | None = None


class Response(Struct, frozen=True):
    """What one collection gave: the value that `response` is in CEL, and how many bytes it was on the wire (0 if there was none)."""

    value: Any
    size: int = 0


class Source(Protocol):
    """An opened source. It keeps what connections it needs between collections, and starts no task."""

    changed: asyncio.Event | None
    """Set when the source has news by itself; None where it has to be asked."""

    async def collect(self) -> Response:
        """Ask once. Raises CollectError or NoData."""
        ...

    async def aclose(self) -> None:
        """Give back what is held."""
        ...


@dataclass(frozen=True)
class SourceType:
    """A kind of source, as a module declares it.

    `open(spec, means)` opens one; it neither connects nor waits. `endpoint(spec)` is what people are shown of where it asks: no credentials,
    no query of a URL. `hosts(spec)` are the hosts and ports that it reaches, for tenants' allow-lists. `uses_files` tells whether the
    spec names files of kubeglance's own (beside Values).
    """

    name: str
    spec: type[Spec]
    open: Callable[[Any, Means], Source]
    endpoint: Callable[[Any], str]
    hosts: Callable[[Any], Sequence[tuple[str, int]]]
    uses_files: Callable[[Any], bool] = lambda _spec: False


def values_of(spec: Any) -> list[Value]:
    """All Values in a spec, wherever they stand."""
    if isinstance(spec, Value):
        return [spec]
    if isinstance(spec, BaseModel):
        return [found for name in type(spec).model_fields for found in values_of(getattr(spec, name))]
    if isinstance(spec, Mapping):
        return [found for part in spec.values() for found in values_of(part)]
    if isinstance(spec, list | tuple):
        return [found for part in spec for found in values_of(part)]
    return []
