"""Declarations for tests, and a live kind and a source that do what a script says."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import yaml

from app.declared.declaration import Declaration
from app.declared.documents import read
from app.declared.model import LiveResource
from app.declared.objects import Dropped, LiveObject, LiveValue, Mapped
from app.kinds._base import Column, Kind
from collectors._source import Response


def live_resource(plural: str = "queues", group: str = "example.com", **spec: Any) -> dict[str, Any]:
    """A declaration of a small kind, such as Queue; `spec` replaces fields of its spec."""
    kind = plural.removesuffix("s").capitalize()
    return {
        "apiVersion": "kubeglance.io/v1alpha1",
        "kind": "LiveResource",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "version": "v1",
            "scope": "Cluster",
            "names": {"kind": kind, "plural": plural},
            "source": {"static": {"items": [{"name": "a"}]}},
            "items": "response.items",
            "object": {"name": "item.name"},
            "schema": {"openAPIV3Schema": {"type": "object"}},
            **spec,
        },
    }


def text_of(*documents: Any) -> str:
    """The documents of a file, one after the other; what is text already stays as it is."""
    return "---\n".join(each if isinstance(each, str) else yaml.safe_dump(each, sort_keys=False) for each in documents)


def declaration(
    plural: str = "queues", group: str = "example.com", *, namespace: str = "", file: str = "a.yaml", lines_before: int = 0, **spec: Any
) -> Declaration:
    """An accepted declaration, behind so many lines of its file."""
    ((document,), _) = read("#\n" * lines_before + text_of(live_resource(plural, group, **spec)), file)
    return Declaration(LiveResource.model_validate(document.value), document.positions, namespace, document.digest)


class FakeLive:
    """A live kind whose objects are the names in the response; "!x" is an item that becomes none."""

    def __init__(self, declared: Declaration) -> None:
        spec = declared.resource.spec
        self.kind = Kind(
            group=spec.group,
            versions=(spec.version,),
            kind=spec.names.kind,
            resource=spec.names.plural,
            singular=spec.names.kind.lower(),
            namespaced=False,
            columns=(Column("Name"),),
            schema={},
            created=lambda value: value.created,
            annotations=lambda value: value.annotations,
            json=lambda _value: b"{}",
            cells=lambda name, _value: (name,),
        )

    metrics: tuple[Any, ...] = ()

    def map(self, response: Any, observed: int, deadline: Callable[[], bool]) -> Mapped:
        """One object a name, that says the same as long as the response does."""
        if isinstance(response, Exception):
            raise response
        objects = [LiveObject(("", name), (), _value(name)) for name in response if not name.startswith("!")]
        return Mapped(objects, [Dropped(index, name[1:], "no") for index, name in enumerate(response) if name.startswith("!")])

    def take(self, mapped: Mapped, observed: int) -> Mapped:
        """It keeps no history."""
        return mapped

    def follow(self, other: "FakeLive") -> None:
        """See above."""

    def aged(self, objects: Sequence[LiveObject]) -> list[LiveObject]:
        """No longer fresh."""
        return [LiveObject(each.key, each.labels, _value(each.key[1], fresh=False)) for each in objects]


def _value(name: str, *, fresh: bool = True) -> LiveValue:
    return LiveValue(spec={"name": name}, status=None, annotations=(), created=0, observed=0, cells=(), fresh=fresh)


class FakeSource:
    """Gives `answers` in turn, the last one for ever: names, an error, or that many seconds of silence."""

    def __init__(self, *answers: Sequence[str] | Exception | float, news: bool = False) -> None:
        self._answers = list(answers)
        self.changed: asyncio.Event | None = asyncio.Event() if news else None
        self.asked: list[float] = []
        self.closed = 0

    async def collect(self) -> Response:
        self.asked.append(round(asyncio.get_running_loop().time(), 3))
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, float):
            await asyncio.sleep(answer)
            return Response([])
        return Response(answer, 7)

    async def aclose(self) -> None:
        self.closed += 1


async def at_once(work: Callable[[], Any], /) -> Any:
    """Does in the loop what is done apart from it elsewhere: with virtual time there is nothing to wait for."""
    return work()


def seen(collection: Any) -> Mapping[str, bool]:
    """The objects of a collection by name, and whether each is fresh."""
    return {item.key[1]: item.value.fresh for item in collection.snapshot()}
