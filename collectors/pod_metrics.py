"""Pods' own metrics endpoints as a source: the metrics of each selected pod are items, and no Prometheus is needed.

Each item is {namespace, pod, metric, labels, value, timestamp}; that of a counter is its rate per second, with `window` (seconds).
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from collectors._base import Cause, CollectError
from collectors._http_auth import Auth, HeaderName, HeaderValue, Tls
from collectors._http_client import Answer, shown
from collectors._http_session import Session, check
from collectors._pod_samples import Counters, Metrics, Step, Told, Type
from collectors._prometheus_text import stamp
from collectors._source import Means, PodEndpoint, PodEndpoints, Response, Source, SourceType, Spec, Unusable

ACCEPT = "text/plain;version=0.0.4;q=1,*/*;q=0.1"
_SHARE = 0.8
"""Of the deadline for all pods together, so that those that hang are told and do not cost the others."""
_POD_SHARE = 0.3
"""Of the deadline for one pod."""
_AT_ONCE = 64 * 1024
"""A longer body is read beside the event loop."""

_Namespace = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63)]
_MetricName = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z_:][a-zA-Z0-9_:]*$", max_length=200)]


def _path(text: str) -> str:
    if not text.startswith("/") or not text.isascii() or not text.isprintable() or " " in text or "#" in text:
        raise ValueError("must begin with / and be printable ASCII without spaces")
    return text


class PodMetric(Spec):
    """A metric that is taken."""

    name: _MetricName = Field(description="Name of its samples, or of a histogram or summary, of which _sum and _count are taken.")
    type: Type | None = Field(None, description="counter or gauge, where the pod does not say it (# TYPE) or says it wrong.")


class PodMetricsSpec(Spec):
    """What stands under `spec.source.podMetrics`. kubeglance's ServiceAccount needs list and watch on pods, which it has."""

    namespaces: list[_Namespace] = Field(default_factory=list, description="Namespaces of the pods; all if there is none.")
    label_selector: str = Field("", max_length=1024, description="Labels of the pods, as in kubectl -l.")
    port: int | str = Field(description="Number of the port, or the name of one of a container's ports.")
    path: Annotated[str, AfterValidator(_path)] = Field("/metrics", description="Where the metrics are.")
    scheme: Literal["http", "https"] = Field("http", description="http or https.")
    headers: dict[HeaderName, HeaderValue] = Field(default_factory=dict, description="More headers. Not for credentials: see auth.")
    auth: Auth | None = Field(None, description="How we authenticate; every selected pod is shown it.")
    tls: Tls | None = Field(None, description="How pods are verified: give serverName, for they are asked by their addresses.")
    metrics: list[PodMetric] = Field(min_length=1, max_length=50, description="What is taken of what pods tell.")
    series_per_pod: int | None = Field(
        None, ge=1, le=100_000, description="Most series of one pod; one that tells more costs its own. Left out: limits.items."
    )
    concurrency: int = Field(16, ge=1, le=100, description="Pods that are asked at one time.")

    @model_validator(mode="after")
    def _known_port(self) -> Self:
        if isinstance(self.port, int) and not 0 < self.port < 65536:
            raise ValueError("port must be from 1 to 65535, or a name")
        return self


class _Answered(NamedTuple):
    """What one pod gave."""

    items: Sequence[Mapping[str, Any]]
    unusable: Sequence[Unusable]
    size: int


class PodMetrics:
    """An opened source. See collectors._source.Source. It keeps the counters of the pods that there are."""

    def __init__(self, spec: PodMetricsSpec, means: Means, watches: Sequence[PodEndpoints]) -> None:
        self.changed: asyncio.Event | None = None
        self._spec = spec
        self._means = means
        self._watches = watches
        self._session = Session(spec, means)
        self._metrics = Metrics({each.name: each.type for each in spec.metrics})
        self._counters: dict[tuple[str, str], Counters] = {}
        self._failing: set[tuple[str, str]] = set()

    async def collect(self) -> Response:
        """The metrics of all pods. One that fails costs itself; raises CollectError where all do, or it is not known which there are."""
        for watch in self._watches:
            await watch.tried()
        pods = [pod for watch in self._watches for pod in watch.pods()]
        most = self._means.limits.items
        if len(pods) > most:
            raise CollectError(
                Cause.TOO_LARGE, f"there are {len(pods)} pods, and limits.items is {most}", "select fewer, or raise the limit"
            )
        # Those that failed the last time are asked last: where many hang, the others have had their turn.
        asked = sorted(pods, key=lambda pod: (pod.namespace, pod.name) in self._failing)
        until = asyncio.get_running_loop().time() + _SHARE * self._means.timeout
        turns = asyncio.Semaphore(self._spec.concurrency)
        answers = await asyncio.gather(*(self._within(pod, turns, until) for pod in asked))
        return self._together(dict(zip(asked, answers, strict=True)), pods)

    async def aclose(self) -> None:
        """Close all connections, and watch no more."""
        await self._session.aclose()
        for watch in self._watches:
            await watch.aclose()

    def _together(self, answers: Mapping[PodEndpoint, _Answered | CollectError], pods: Sequence[PodEndpoint]) -> Response:
        """All items by pod. What is kept of pods that are gone is dropped."""
        failed = {pod: answer for pod, answer in answers.items() if isinstance(answer, CollectError)}
        self._failing = {(pod.namespace, pod.name) for pod in failed}
        there = {(pod.namespace, pod.name) for pod in pods}
        self._counters = {key: counters for key, counters in self._counters.items() if key in there}
        if pods and len(failed) == len(pods):
            first = failed[pods[0]]
            raise CollectError(first.cause, f"none of {len(pods)} pods can be asked; {pods[0].name}: {first.message}", first.remedy)
        kept = _fitting({pod: answers[pod] for pod in pods}, self._means.limits.items)
        items: list[Mapping[str, Any]] = []
        unusable: list[Unusable] = []
        size = 0
        for pod in pods:
            answer = kept[pod]
            if isinstance(answer, CollectError):
                reason = f"{answer.message}: {answer.remedy}" if answer.remedy else answer.message
                unusable.append(Unusable(len(items), f"{pod.namespace}/{pod.name}", reason))
            else:
                items += answer.items
                unusable += answer.unusable
                size += answer.size
        return Response(items, size, unusable)

    async def _within(self, pod: PodEndpoint, turns: asyncio.Semaphore, until: float) -> _Answered | CollectError:
        """What a pod gives in its time, or why it gives nothing."""
        try:
            async with asyncio.timeout_at(until), turns, asyncio.timeout(_POD_SHARE * self._means.timeout):
                return await self._ask(pod)
        except TimeoutError:
            return CollectError(Cause.DEADLINE, "not answered in time", "the pod hangs, or many do: raise timeout or concurrency")
        except CollectError as error:
            return error

    async def _ask(self, pod: PodEndpoint) -> _Answered:
        url = self._url(pod)
        asked = self._means.wall()
        answer = await self._session.ask(url, accept=ACCEPT, limit=self._means.limits.body_bytes)
        check(answer, f"GET {shown(url)}")
        key = (pod.namespace, pod.name)
        counters = self._counters.get(key)
        if counters is None or counters.instance != pod.instance:
            counters = self._counters[key] = Counters(pod.instance)
        take = partial(self._take, pod, answer, counters, asked)
        return take() if len(answer.body) <= _AT_ONCE else await asyncio.to_thread(take)

    def _take(self, pod: PodEndpoint, answer: Answer, counters: Counters, asked: float) -> _Answered:
        """What an answer gives. One that tells too much is not taken: its counters go on from what was told before."""
        try:
            text = answer.body.decode()
        except UnicodeDecodeError as exc:
            what = f"GET {shown(self._url(pod))}: the body is no text"
            raise CollectError(Cause.PAYLOAD, what, "is that the path of the metrics?") from exc
        told, unusable = self._metrics.read(text)
        found, most, name = len(told) + len(unusable), self._means.limits.items, "limits.items"
        if self._spec.series_per_pod is not None and self._spec.series_per_pod < most:
            most, name = self._spec.series_per_pod, "seriesPerPod"
        if found > most:
            raise CollectError(Cause.TOO_LARGE, f"it tells {found} series, and {name} is {most}", f"have it tell fewer, or raise {name}")
        items = [_item(pod, each, figure) for each, figure in counters.take(told, asked)]
        named = [Unusable(each.index, f"{pod.namespace}/{pod.name} {each.name}", each.reason) for each in unusable]
        return _Answered(items, named, answer.size)

    def _url(self, pod: PodEndpoint) -> str:
        port = self._spec.port
        if isinstance(port, str):
            number = next((number for name, number in pod.ports if name == port), None)
            if number is None:
                known = ", ".join(name for name, _ in pod.ports if name) or "none with a name"
                raise CollectError(Cause.ADDRESS, f'it has no port named "{port}"; it has {known}', "name a port of its containers")
            port = number
        host = f"[{pod.address}]" if ":" in pod.address else pod.address
        return f"{self._spec.scheme}://{host}:{port}{self._spec.path}"


def _fitting(answers: Mapping[PodEndpoint, _Answered | CollectError], most: int) -> Mapping[PodEndpoint, _Answered | CollectError]:
    """The answers, together at most `most` items if that can be had without the pods that tell most.

    A pod whose series explode so costs itself, and not all. None is left out that tells no more than the one in the middle: where all are
    large it is the limit that is wrong, and the collection fails as a whole.
    """
    sizes = [(len(answer.items), pod) for pod, answer in answers.items() if isinstance(answer, _Answered)]
    sizes.sort(key=itemgetter(0), reverse=True)
    total = left = sum(size for size, _ in sizes)
    fitting = dict(answers)
    for size, pod in sizes:
        if left <= most or size <= sizes[len(sizes) // 2][0]:
            break
        left -= size
        what = f"it tells {size} of the {total} series of {len(sizes)} pods, and limits.items is {most}"
        fitting[pod] = CollectError(Cause.TOO_LARGE, what, "have it tell fewer, or raise limits.items")
    return fitting


def _item(pod: PodEndpoint, told: Told, figure: Step) -> Mapping[str, Any]:
    when = stamp(figure.time)
    return {
        "namespace": pod.namespace,
        "pod": pod.name,
        "metric": told.metric,
        "labels": told.labels,
        "value": figure.rate,
        **({"timestamp": when} if when is not None else {}),
        **({"window": round(figure.window, 3)} if told.counter else {}),
    }


def _open(spec: PodMetricsSpec, means: Means) -> Source:
    if means.cluster is None:
        raise CollectError(Cause.ADDRESS, "there is no cluster whose pods could be asked", "run it where kube-apiserver can be reached")
    namespaces = dict.fromkeys(spec.namespaces or [""])
    watches = [means.cluster.pods(namespace=namespace, labels=spec.label_selector) for namespace in namespaces]
    return PodMetrics(spec, means, watches)


def _endpoint(spec: PodMetricsSpec) -> str:
    selected = f" {spec.label_selector}" if spec.label_selector else ""
    where = f" in {', '.join(spec.namespaces)}" if spec.namespaces else ""
    return f"pods{selected}{where}: {spec.scheme} port {spec.port} {spec.path.partition('?')[0]}"


def _hosts(_spec: Any) -> Sequence[tuple[str, int]]:
    return ()


SOURCE = SourceType("podMetrics", PodMetricsSpec, _open, _endpoint, _hosts, namespaces=lambda spec: spec.namespaces)
