"""What a source of a declaration is: it reads an outside system and gives a response, a JSON-like value.

A public module of this package with a `SOURCE` is a source that declarations can name. Its model says what stands under
`spec.source.<name>`; docs, editor schema and checks derive from it. Libraries that only it needs are imported when it is opened, so
that nobody pays for sources that are not declared.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Protocol, Self

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from collectors._base import Cause, CollectError
from collectors._http_client import HttpClient, Trust


class Spec(BaseModel):
    """Base of everything that stands in a declaration: strict keys in camel case, values that do not change."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=False, strict=True)


_ONE_FIELD = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})
"""What _exactly_one checks, for editors."""


class KeyRef(Spec):
    """A key of a Secret or ConfigMap in the declaration's own namespace."""

    name: str = Field(min_length=1, description="Name of the Secret or ConfigMap.")
    key: str = Field(min_length=1, description="Key in its data.")


class ValueFrom(Spec):
    """Where a value is read from, in the words of core/v1 EnvVarSource. Exactly one."""

    model_config = _ONE_FIELD

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

    model_config = _ONE_FIELD

    value: str | None = Field(None, description="The value itself. Not for secrets.")
    value_from: ValueFrom | None = Field(None, description="Where to read the value from.")

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if len(self.model_fields_set) != 1:
            raise ValueError("needs exactly one of value, valueFrom")
        return self


class CelOver(NamedTuple):
    """Marks a field of a spec as a CEL expression over variables of these names. All else in a spec is literal."""

    variables: tuple[str, ...]


CelText = Annotated[str, Field(min_length=1, max_length=4096)]
OVER_RESPONSE = CelOver(("response",))
"""`last: Annotated[CelText | None, OVER_RESPONSE] = None` is CEL over `response`."""


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
    """The objects of one resource of the cluster as a watch last saw them. They are not to be changed."""

    async def tried(self) -> None:
        """Wait until the first list came, or failed."""
        ...

    def objects(self) -> Sequence[Mapping[str, Any]]:
        """All of them, by namespace and name, without metadata.managedFields. Raises CollectError while they cannot be had."""
        ...

    @property
    def size(self) -> int:
        """How many bytes of JSON they are."""
        ...

    async def aclose(self) -> None: ...


class PodEndpoint(Struct, frozen=True):
    """A running pod and where it can be asked. `instance` is another one when the pod is, or one of its containers was started again.

    `address` is the pod's, `ports` are (name, number) of its containers' ports, "" for one without a name.
    """

    namespace: str
    name: str
    instance: str
    address: str
    ports: tuple[tuple[str, int], ...] = ()


class PodEndpoints(Protocol):
    """The pods that a selector takes, as a watch last saw them."""

    async def tried(self) -> None:
        """Wait until the first list came, or failed."""
        ...

    def pods(self) -> Sequence[PodEndpoint]:
        """All of them that run, by namespace and name. Raises CollectError while they cannot be had."""
        ...

    async def aclose(self) -> None: ...


class Cluster(Protocol):
    """The cluster as a source may see it."""

    def pods(self, *, namespace: str, labels: str) -> PodEndpoints:
        """Begin to watch where pods are; `namespace` "" is all that may be seen. Raises CollectError for what may not be seen."""
        ...

    def watch(
        self, api_version: str, resource: str, *, namespace: str, labels: str, fields: str, limits: Limits, changed: asyncio.Event
    ) -> ClusterObjects:
        """Begin to watch; `namespace` "" is all that may be seen. The selectors are in kube-apiserver's own form.

        `changed` is set by every change. Raises CollectError for what may not be seen.
        """
        ...


def _no_http(_trust: Trust) -> HttpClient:
    raise CollectError(Cause.NOT_ALLOWED, "no HTTP client was given")


def _nothing(_about: Any) -> None:
    """Nothing is remembered, and nothing shown."""


class Unusable(Struct, frozen=True):
    """Something in an answer that the source itself could not use: its index there, its name if it has one, and why, in one sentence."""

    index: int
    name: str
    reason: str


class Response(Struct, frozen=True):
    """What one collection gave: the value that `response` is in CEL, and how many bytes it was on the wire (0 if there was none).

    `unusable` is what of the answer is not in the value; it counts as dropped items do. `warnings` are the source's own. `age` is how long
    ago it was asked for (seconds), where that was not now but for somebody else.
    """

    value: Any
    size: int = 0
    unusable: Sequence[Unusable] = ()
    warnings: Sequence[str] = ()
    age: float = 0.0


class Query(Protocol):
    """A query of a named server, as one of those who ask it has it."""

    async def ask(self) -> Response:
        """The answer, which others may have had too: it is not to be changed. Raises CollectError."""
        ...

    async def aclose(self) -> None:
        """It is asked no more."""
        ...


def _no_server(name: str, _query: str, _means: "Means") -> Query:
    raise CollectError(Cause.VALUE, f'there is no server "{name}": none has a name', "give --prometheus-servers, or a url")


@dataclass(frozen=True)
class Means:
    """What a source is given to work with.

    `secret(value)` reads a Value, where it was changed within seconds as it is now; `refused(value)` says that what was read of it was not
    accepted, so that the next read does not remember it. `conceal(text)` has a text that the source got by itself, such as a token, never
    be shown. `may_reach(host, port)` resolves a host and gives the addresses that it may be reached at; it raises CollectError for one
    that must not be (metadata services, a tenant's list). `http(trust)` opens a client that keeps to the same. `compile_cel(text,
    variables)` compiles an expression over variables of those names. `timeout` is the deadline (seconds) of one collection, which the
    caller keeps too, and `interval` the time between two. `wall()` gives Unix seconds. `folder` is where files stand that sources may read,
    None if they may read none. `prometheus(name, query, means)` is a query of a server that has a name, for who has these means; it raises
    CollectError where there is none, or it must not be asked.
    """

    secret: Callable[[Value], Awaitable[str]]
    may_reach: Callable[[str, int], Awaitable[Sequence[str]]]
    compile_cel: Callable[[str, Sequence[str]], Evaluate]
    limits: Limits
    timeout: float
    wall: Callable[[], float]
    cluster: Cluster | None = None
    http: Callable[[Trust], HttpClient] = _no_http
    refused: Callable[[Value], None] = _nothing
    conceal: Callable[[str], None] = _nothing
    folder: Path | None = None
    interval: float = 0.0
    prometheus: "Callable[[str, str, Means], Query]" = _no_server


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

    `open(spec, means)` opens one; it neither connects nor waits. `endpoint(spec)` is what people see of where it asks: no credentials,
    no query of a URL. `hosts(spec)` are the hosts and ports that it reaches, for tenants' allow-lists. `uses_files` tells whether the
    spec names files of kubeglance's own (beside Values). `namespaces(spec)` are those of the cluster that it names.
    """

    name: str
    spec: type[Spec]
    open: Callable[[Any, Means], Source]
    endpoint: Callable[[Any], str]
    hosts: Callable[[Any], Sequence[tuple[str, int]]]
    uses_files: Callable[[Any], bool] = lambda _spec: False
    namespaces: Callable[[Any], Sequence[str]] = lambda _spec: ()


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


def expressions_of(spec: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], str, tuple[str, ...]]]:
    """All CEL in a spec: where it stands (names as in the declaration), its text, and the names of its variables."""
    if not isinstance(spec, BaseModel):
        return []
    found: list[tuple[tuple[str, ...], str, tuple[str, ...]]] = []
    for name, field in type(spec).model_fields.items():
        value, place = getattr(spec, name), (*path, field.alias or name)
        over = next((mark for mark in field.metadata if isinstance(mark, CelOver)), None)
        if over is not None and isinstance(value, str):
            found.append((place, value, over.variables))
        else:
            found += expressions_of(value, place)
    return found
