"""Whether an answer of metrics.k8s.io is right: all objects that there are and no other, each with the values that the plan says.

A server that answers fast and wrong has won nothing: workloads look at the answers of both before they are timed.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import httpx

from app.wire.quantity import parse_bytes, parse_cpu
from benchmarks.plan import Load, Plan, PlannedPod
from tests.goldens import protobuf

TOLERANCE = 0.02
"""Part of a value. Loads are steady; what is left are the rounding of times and the little by which memory swings."""


class WrongAnswer(RuntimeError):
    """A server did not say what is so. The message names the first object that differs."""


Key = tuple[str, str]
"""Namespace, "" for a node, and name."""

Usages = Mapping[Key, Mapping[str, Load]]
"""What objects use, by container: nanocores and bytes. A node has one container, ""."""


def pods(plan: Plan, wanted: Callable[[PlannedPod], bool] = lambda _pod: True) -> Usages:
    """What the planned pods use that the predicate picks."""
    return {(pod.namespace, pod.name): {name: pod.load(name) for name in pod.containers} for pod in plan.all_pods() if wanted(pod)}


def nodes(plan: Plan) -> Usages:
    """What each node uses: its pods, and what runs there beside them."""
    return {("", plan.node_name(node)): {"": plan.node_load(node)} for node in range(plan.nodes)}


def read(answer: httpx.Response) -> Usages:
    """The objects of a list in JSON, protobuf or as a Table, or one object in JSON. Raises WrongAnswer if it is no such answer."""
    kind = answer.headers.get("content-type", "")
    if answer.status_code != 200:
        raise WrongAnswer(f"{answer.url} was answered {answer.status_code}: {answer.text[:200]}")
    if kind.startswith("application/vnd.kubernetes.protobuf"):
        return _of_protobuf(answer.content)
    body = json.loads(answer.content)
    if body["kind"] == "Table":
        return _of_table(body)
    return {_key(item["metadata"]): _of_item(item) for item in body.get("items", [body])}


def summed(usages: Usages) -> Usages:
    """Whole objects: a Table tells no containers apart."""
    return {key: {"": _sum(each.values())} for key, each in usages.items()}


def check(who: str, expected: Usages, seen: Usages) -> None:
    """Raise WrongAnswer if objects are missing, are too many or differ by more than TOLERANCE."""
    missing, more = expected.keys() - seen.keys(), seen.keys() - expected.keys()
    if missing or more:
        example = "/".join(min(missing or more))
        raise WrongAnswer(f"{who}: {len(missing)} objects are missing, {len(more)} should not be there, such as {example}")
    for key, usage in expected.items():
        if not _agree(usage, seen[key]):
            raise WrongAnswer(f"{who}: {'/'.join(key)} uses {dict(usage)}, the answer says {dict(seen[key])}")


def _agree(expected: Mapping[str, Load], seen: Mapping[str, Load]) -> bool:
    return expected.keys() == seen.keys() and all(
        abs(there.cpu - seen[name].cpu) <= TOLERANCE * there.cpu and abs(there.memory - seen[name].memory) <= TOLERANCE * there.memory
        for name, there in expected.items()
    )


def _sum(usages: Iterable[Load]) -> Load:
    every = list(usages)
    return Load(cpu=sum(each.cpu for each in every), memory=sum(each.memory for each in every))


def _key(metadata: Mapping[str, Any]) -> Key:
    return metadata.get("namespace", ""), metadata["name"]


def _usage(said: Mapping[str, str]) -> Load:
    return Load(parse_cpu(said["cpu"]), parse_bytes(said["memory"]))


def _of_item(item: Mapping[str, Any]) -> Mapping[str, Load]:
    own = item["containers"] if "containers" in item else [{"name": "", "usage": item["usage"]}]
    return {each["name"]: _usage(each["usage"]) for each in own}


def _of_table(body: Mapping[str, Any]) -> Usages:
    """Columns are told by what they hold: the two servers write their names with other capitals."""
    names = [column["name"].lower() for column in body["columnDefinitions"]]
    cpu, memory = names.index("cpu"), names.index("memory")
    return {
        _key(row["object"]["metadata"]): {"": _usage({"cpu": row["cells"][cpu], "memory": row["cells"][memory]})} for row in body["rows"]
    }


def _of_protobuf(body: bytes) -> Usages:
    def plain(entries: Iterable[Mapping[str, Any]]) -> dict[str, str]:
        return {entry["key"]: entry["value"]["string"] for entry in entries}

    def item(tree: Mapping[str, Any]) -> Mapping[str, Load]:
        own = tree["containers"] if "containers" in tree else [{"name": "", "usage": tree["usage"]}]
        return {each["name"]: _usage(plain(each["usage"])) for each in own}

    return {_key(tree["metadata"]): item(tree) for tree in protobuf.decode(body)["raw"].get("items", [])}
