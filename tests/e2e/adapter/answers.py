"""What an adapter of either make answers, as far as two answers can be compared: times and texts of errors are left out."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

import httpx

from app.wire.quantity import parse_cpu


class Item(NamedTuple):
    """One value. `about` is the described object, or the labels of an external one; `metric` its name and its selector."""

    about: str
    metric: str
    value: Decimal


class Told(NamedTuple):
    """An answer: `items` are in order of what they are about."""

    status: int
    items: tuple[Item, ...] = ()


def read(answer: httpx.Response) -> Told:
    """Of a list, its items; of an error, its code."""
    if answer.status_code != 200:
        return Told(answer.status_code)
    return Told(200, tuple(sorted(_item(each) for each in answer.json()["items"])))


def are_near(one: Told, other: Told, part: float) -> bool:
    """Whether they are alike, values that are counted over a time up to a part of them."""
    same = (one.status, [each[:2] for each in one.items]) == (other.status, [each[:2] for each in other.items])
    return same and all(
        abs(mine.value - theirs.value) <= abs(mine.value) * Decimal(part) for mine, theirs in zip(one.items, other.items, strict=True)
    )


def _item(said: Mapping[str, Any]) -> Item:
    value = Decimal(parse_cpu(said["value"])) / 10**9
    if "metricLabels" in said:
        return Item(json.dumps(said["metricLabels"], sort_keys=True), said["metricName"], value)
    described = said["describedObject"]
    name = "/".join(filter(None, (described.get("namespace"), described["name"])))
    metric = said.get("metric", {"name": said.get("metricName"), "selector": said.get("selector")})
    return Item(f"{described['apiVersion']} {described['kind']} {name}", json.dumps(metric, sort_keys=True), value)
