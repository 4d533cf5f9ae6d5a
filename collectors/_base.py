"""What a collector is: a function of its target. It starts no task, keeps no cache, never sleeps, logs nothing, reads no environment.

CollectError            the source did not give what was asked: a cause, a message for people, a remedy
└── NoData              it answered properly, and there is nothing to report
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from collectors._summary_records import SummaryStats


class Cause(StrEnum):
    """Why a scrape failed; the value is the label in metrics and in messages. Each has a remedy in docs/known-issues.md."""

    DNS = "dns"
    DIAL = "dial"
    CERTIFICATE = "certificate"
    DEADLINE = "deadline"
    CLOSED = "closed"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    STATUS = "status"
    TOO_LARGE = "too_large"
    ENCODING = "encoding"
    PAYLOAD = "payload"
    NO_DATA = "no_data"
    ADDRESS = "address"
    NOT_ALLOWED = "not_allowed"
    VALUE = "value"
    MAPPING = "mapping"
    QUERY = "query"


class CollectError(Exception):
    """A scrape that failed. `message` says what and where, `remedy` what to do ("" if nothing can be said)."""

    def __init__(self, cause: Cause, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.cause = cause
        self.message = message
        self.remedy = remedy


class NoData(CollectError):
    """The source answered properly and has nothing to report."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(Cause.NO_DATA, message, remedy)


class Target(Struct, frozen=True):
    """One thing to scrape: `name` (the node's), and its base URL, such as https://10.0.0.7:10250.

    `path` overrides the collector's own path ("" if not), for kubelets that serve elsewhere.
    """

    name: str
    url: str
    path: str = ""


class Sample(Struct, frozen=True, gc=False):
    """Usage of one container or of a node, as its kubelet stamped it.

    Counters and rates are integers: core-nanoseconds, nanocores, bytes; times are Unix nanoseconds. None is "not reported",
    which is never the same as 0. `stamped` is False where the source does not say when it measured the CPU: then `cpu_time` is when
    it was asked, and a counter that stands still may be the old one told again.
    """

    name: str
    cpu: int | None
    cpu_time: int
    memory: int | None
    memory_time: int
    started: int | None = None
    cpu_rate: int | None = None
    swap: int | None = None
    stamped: bool = True


class PodSamples(Struct, frozen=True, gc=False):
    """The containers of one pod. `uid` is "" where the source does not tell it."""

    uid: str
    containers: tuple[Sample, ...]


class Batch(Struct, frozen=True):
    """One scrape. `node` is None where the body had no usable node line; `pods` is keyed by (namespace, name).

    `dropped` counts lines or entries that could not be used; each costs itself only. `agent_started` is when the kubelet itself
    started (Unix ns), None if the source does not tell it. `layout` is what the collector may use to read the next body of the same
    source faster, None if nothing; only the collector knows what is in it. `stats` is what a full summary tells besides, None of others;
    `lacking` is why there are none though they were asked for.
    """

    node: Sample | None
    pods: Mapping[tuple[str, str], PodSamples]
    dropped: int = 0
    agent_started: int | None = None
    layout: object = None
    stats: SummaryStats | None = None
    lacking: CollectError | None = None


class Client(Protocol):
    """What collectors of kubelets ask through. It does what a scrape needs: a bounded GET, and causes of failures."""

    async def get(self, url: str, *, limit: int) -> bytes:
        """The body of a GET that was answered 200, at most `limit` bytes. Raises CollectError."""
        ...


class Collector(Protocol):
    """A source. Instances are stateless and shared by all targets.

    `name` names it in flags, metrics and messages; `interval` is its default in seconds; `path` is what it asks by default.
    """

    @property
    def name(self) -> str: ...

    @property
    def interval(self) -> float: ...

    @property
    def path(self) -> str: ...

    async def collect(self, target: Target, client: Client, *, received: float, layout: object = None) -> Batch:
        """Scrape `target` once. `received` is the wall time just before the request, for samples without a stamp.

        `layout` is that of the last batch from the same target, if there is one. It changes what a scrape costs, never what it gives.
        Raises CollectError or NoData, chained to what caused it. The caller owns the deadline, and tries the target's next address.
        """
        ...
