"""Lists as joins: whole or streamed they are the same bytes, others get their turn, and what cannot be encoded costs itself."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

import pytest
from structlog.testing import capture_logs

from app.cache.collection import Item
from app.lumps import Lumps
from app.routes import lists
from app.routes.lists import AT_ONCE, MOST_KEPT, SHORT, ListForm, Page, measure, stream, whole
from app.routes.protobuf_rendering import ProtobufRenderer
from app.routes.rendering import KUBECTL_TABLE, PLAIN, Form, Renderer
from tests.fakes.clock import ManualClock
from tests.fakes.kinds import PODS, make_item
from tests.fakes.lumps import one_by_one

PAGE = Page(7, "token", 3)
MANY = 1 << 30


def items(count: int) -> list[Item]:
    return [make_item("ns", f"pod-{number:05}") for number in range(count)]


def json_list(form: Form = PLAIN) -> ListForm:
    return Renderer(PODS, "v1", ManualClock()).many(form)


async def streamed(form: ListForm, of: Sequence[Item]) -> tuple[int | None, bytes]:
    """The length that is announced, None without one, and the body."""
    length, total = await measure(form, of, PAGE, one_by_one()) if form.measured else (None, None)
    return total, b"".join([chunk async for chunk in stream(form, of, PAGE, length, one_by_one())])


async def turns(work: Coroutine[Any, Any, object]) -> int:
    """How often another task gets its turn while `work` is done, not counting the one in which it begins."""
    count = 0

    async def other() -> None:
        nonlocal count
        while True:
            await asyncio.sleep(0)
            count += 1

    async with asyncio.TaskGroup() as group:
        task = group.create_task(other())
        await work
        task.cancel()
    return count


@pytest.mark.parametrize("count", [0, 1, AT_ONCE, 2 * AT_ONCE + 1])
async def test_whole_and_streamed_are_the_same(count: int) -> None:
    """Wherever the parts end. What is measured has the announced length."""
    for form in (json_list(), json_list(KUBECTL_TABLE), json_list(Form(pretty=True)), ProtobufRenderer(PODS, "v1").many(PLAIN)):
        body = await whole(form, items(count), PAGE, one_by_one(), most=MANY)
        assert body is not None
        if count:
            assert (len(body) if form.measured else None, body) == await streamed(form, items(count))


async def test_others_get_their_turn_while_objects_are_encoded() -> None:
    """The first reader of many holds nobody up; the second finds them encoded and needs no breaks."""
    many = items(3 * AT_ONCE)
    first, second = [await turns(whole(json_list(), many, PAGE, one_by_one(), most=MANY)) for _ in range(2)]
    one = await turns(whole(json_list(), items(AT_ONCE - 1), PAGE, one_by_one(), most=MANY))

    assert (2, 0, 0) == (first, second, one)
    assert 2 == await turns(streamed(json_list(), many))


@pytest.mark.parametrize(
    ("count", "remaining", "short"),
    [(SHORT, None, True), (SHORT + 1, None, False), (SHORT - 12, 12, True), (500, 149_500, False)],
    ids=["the HPA's", "longer", "a page of a short list", "a page of a long list"],
)
async def test_short_lists_do_not_wait_for_long_ones(count: int, remaining: int | None, short: bool) -> None:
    """Whoever pages through everything waits as who streams it does."""
    asked: list[bool] = []

    class Queue(Lumps):
        async def piece(self, *, short: bool) -> None:
            asked.append(short)

    await whole(json_list(), items(count), Page(7, "token", remaining), Queue(ManualClock().monotonic), most=MANY)

    assert [short] * -(-count // AT_ONCE) == asked


async def test_what_is_encoded_stays_with_its_object() -> None:
    """In the forms that are asked for often. The next list takes it from there."""
    (item,) = items(1)
    for form in (json_list(), json_list(KUBECTL_TABLE), ProtobufRenderer(PODS, "v1").many(PLAIN)):
        await whole(form, [item], PAGE, one_by_one(), most=MANY)
    kept = (item.body, item.row, item.entry)
    for form in (json_list(Form("Table", "v1", "None")), json_list(Form("Table", "v1beta1", "Metadata")), json_list(Form(pretty=True))):
        await whole(form, [item], PAGE, one_by_one(), most=MANY)

    assert None not in kept
    assert kept == (item.body, item.row, item.entry)
    item.body = b'{"metadata":{}}'
    assert b'"items":[{"metadata":{}}]' in (await whole(json_list(), [item], PAGE, one_by_one(), most=MANY) or b"")


async def test_nothing_stays_of_very_long_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was kept for one reader of 150,000 objects would be held until they change."""
    monkeypatch.setattr(lists, "MOST_KEPT", 3 + (PAGE.remaining or 0))
    short, long = items(3), items(4)
    bodies = [(await streamed(json_list(), of))[1] for of in (short, long)]

    assert [3, 4] == [body.count(b'"usage"') for body in bodies]
    assert [False] * 3 == [item.body is None for item in short]
    assert [True] * 4 == [item.body is None for item in long]


@pytest.mark.parametrize(("remaining", "stays"), [(None, True), (MOST_KEPT - 2, True), (MOST_KEPT - 1, False)])
async def test_nothing_stays_of_the_pages_of_very_long_lists(remaining: int | None, stays: bool) -> None:
    """kubectl asks for 500 objects at a time: all its pages together are the long list."""
    page = items(2)
    await whole(json_list(), page, Page(7, "token", remaining), one_by_one(), most=MANY)

    assert [stays] * 2 == [item.body is not None for item in page]


async def test_a_list_that_is_too_long_is_not_made_whole() -> None:
    """It is for the caller to stream it."""
    (item,) = items(1)
    most = len(json_list().encode(item))

    assert await whole(json_list(), [item], PAGE, one_by_one(), most=most) is not None
    assert await whole(json_list(), items(2), PAGE, one_by_one(), most=most) is None


@pytest.mark.parametrize("count", [1, 2, AT_ONCE + 1])
async def test_an_object_that_cannot_be_encoded_costs_itself(count: int) -> None:
    """It is left out, and told of; the rest of the list is what it is without it."""

    def encode(item: Item) -> bytes:
        if item.value < 0:
            raise OverflowError
        return b"%d" % item.value

    form = ListForm(encode, lambda _page, _length: (b"[", b"]"), separator=b",", kept="body")
    odd = [make_item("ns", f"odd-{number}", value=-1) for number in range(count)]
    with capture_logs() as logs:
        bodies = [
            await whole(form, [*odd, *items(2), *odd], PAGE, one_by_one(), most=MANY),
            (await streamed(form, [*odd, *items(2), *odd]))[1],
        ]
        nothing = [await whole(form, odd, PAGE, one_by_one(), most=MANY), (await streamed(form, odd))[1]]

    assert ([b"[1,1]"] * 2, [b"[]"] * 2) == (bodies, nothing)
    assert ("ns", "odd-0") == logs[0]["key"]
