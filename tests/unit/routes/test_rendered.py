"""Rendered lists are found while nothing has changed, and are let go once nobody can be answered with them."""

import asyncio

import pytest

from app.routes.rendered import BESIDE, PASSED_SECONDS, Look, Rendered, RenderedLists, Where
from app.routes.rendering import PLAIN

PODS = ("metrics.k8s.io", "v1", "pods")
NODES = ("metrics.k8s.io", "v1", "nodes")
ALL_PODS = Look(PODS, None, ("", ""), PLAIN)
ALL_NODES = Look(NODES, None, ("", ""), PLAIN)


class Kinds:
    """The versions of what is served now."""

    def __init__(self) -> None:
        self.versions: dict[Where, int | None] = {PODS: 7, NODES: 7}
        self.lists = RenderedLists(8 * BESIDE, self.versions.get)

    def keep(self, look: Look, version: int = 7) -> None:
        self.lists.keep(look, Rendered(version, b"{}", 0))


async def test_a_list_is_found_at_its_version_only() -> None:
    """What was rendered answers for the version that it is of, and for the look that it has."""
    kinds = Kinds()
    kinds.keep(ALL_PODS)

    assert Rendered(7, b"{}", 0) == kinds.lists.find(ALL_PODS, 7)
    assert [None, None] == [kinds.lists.find(ALL_PODS, 8), kinds.lists.find(ALL_NODES, 7)]


@pytest.mark.looptime
async def test_lists_that_have_passed_are_let_go() -> None:
    """Once the objects have another version, or their kind is gone, a list only takes room; one that still holds stays."""
    kinds = Kinds()
    kinds.keep(ALL_PODS)
    kinds.keep(ALL_NODES)
    held = [len(kinds.lists)]
    for where, version in ((PODS, 7), (PODS, 8), (NODES, None), (PODS, 9)):
        kinds.versions[where] = version
        await asyncio.sleep(PASSED_SECONDS)
        held.append(len(kinds.lists))

    assert [2, 2, 1, 0, 0] == held


@pytest.mark.looptime
async def test_they_are_let_go_each_time() -> None:
    """What is kept after all were let go is let go too."""
    kinds = Kinds()
    held = []
    for _ in range(2):
        kinds.keep(ALL_PODS, version=1)
        await asyncio.sleep(PASSED_SECONDS + 1)
        held.append(len(kinds.lists))

    assert [0, 0] == held


async def test_a_kind_is_forgotten() -> None:
    """A kind that went or changed takes its lists along, whatever their version."""
    kinds = Kinds()
    kinds.keep(ALL_PODS)
    kinds.keep(ALL_NODES)
    kinds.lists.forget({PODS})

    assert [False, True] == [kinds.lists.find(look, 7) is not None for look in (ALL_PODS, ALL_NODES)]


async def test_there_is_room_for_the_last() -> None:
    """Those that were read last stay, and none is found by a text that anyone could make as long as they like."""
    kinds = Kinds()
    looks = [ALL_PODS._replace(namespace=f"ns-{number}") for number in range(20)]
    for look in looks:
        kinds.keep(look)
    kinds.keep(ALL_PODS._replace(selectors=("a" * 300, "")))

    assert looks[-7:] == [look for look in looks if kinds.lists.find(look, 7)]
    assert 7 == len(kinds.lists)
