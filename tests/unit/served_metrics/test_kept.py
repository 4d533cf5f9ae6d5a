"""How long series live, by policy: it follows from times alone, and goes one way."""

from collections.abc import Iterator
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kube.records import Key
from app.served_metrics.kept import Kept
from app.served_metrics.missing import OMIT, Missing
from app.served_metrics.values import Series

WALL = 1_700_000_000 * 10**9
TTL = 60.0
HOLD = Missing(hold=120.0)
BRIEF = Missing(hold=30.0)


def series(name: str | None, value: int = 1, *, age: float = 0.0, at: float = 0.0, label: str = "") -> Series:
    """A series of a pod of shop that was measured `age` before `at`."""
    key = ("shop", name) if name is not None else None
    return Series(key, (("code", label),) if label else (), Decimal(value), WALL + round((at - age) * 1e9))


def put(kept: Kept, at: float, *told: Series) -> None:
    """A good collection at a time (s)."""
    kept.take(kept.arranged(told, now=at, wall=WALL + round(at * 1e9)))


def names(kept: Kept, now: float) -> list[str]:
    """What lives in shop."""
    return [key[1] for key in kept.objects(now, "shop")]


@pytest.mark.parametrize(
    ("policy", "until"), [(OMIT, 60.0), (HOLD, 120.0), (BRIEF, 60.0)], ids=["omit", "hold", "hold for less than the time to live"]
)
def test_where_the_source_fails_a_value_lives_on(policy: Missing, until: float) -> None:
    """For its time to live, or for as long as it is held."""
    kept = Kept(ttl=TTL, missing=policy)
    put(kept, 0.0, series("a"))

    assert ["a"] == names(kept, until - 0.1)
    assert [] == names(kept, until)


@pytest.mark.parametrize(("policy", "until"), [(OMIT, 10.0), (HOLD, 120.0), (BRIEF, 30.0)], ids=["omit", "hold", "hold for a little"])
def test_what_the_source_leaves_out_is_gone_or_held(policy: Missing, until: float) -> None:
    """It answered at 10 s, and has another series now."""
    kept = Kept(ttl=TTL, missing=policy)
    put(kept, 0.0, series("a"))
    put(kept, 10.0, series("b", at=10.0))

    assert ("a" in names(kept, until - 0.1)) == (until > 10.0)
    assert "a" not in names(kept, until)


def test_held_series_are_limited() -> None:
    """A label that is another one each time would fill the memory. Those that are held for longest stay, and all that the source tells."""
    kept = Kept(ttl=TTL, missing=HOLD, most_held=3)
    for at in range(6):
        put(kept, float(at), *(series(None, at=float(at), label=f"{at}-{number}") for number in range(4)))

    assert [(("code", "4-0"),), (("code", "4-1"),), (("code", "4-2"),), *[(("code", f"5-{number}"),) for number in range(4)]] == [
        each.labels for each in kept.external(5.0)
    ]


def test_a_held_value_keeps_its_time() -> None:
    """It is not told as if it were of now."""
    kept = Kept(ttl=TTL, missing=HOLD)
    put(kept, 0.0, series("a"))
    put(kept, 100.0)
    assert [WALL] == [each.time for of in kept.objects(110.0, "shop").values() for each in of]
    assert WALL == kept.newest


def test_lives_count_from_when_it_was_measured() -> None:
    """A source that tells old samples does not make them new."""
    kept = Kept(ttl=TTL)
    put(kept, 100.0, series("a", age=50.0, at=100.0), series("b", age=70.0, at=100.0), series("c", age=-5.0, at=100.0))

    assert ["a", "c"] == names(kept, 100.0)
    assert ["c"] == names(kept, 110.0)
    assert [] == names(kept, 160.0)


def test_series_are_in_order_by_object_and_labels() -> None:
    """Each object has all of its own."""
    kept = Kept(ttl=TTL)
    put(kept, 0.0, series("b"), series("a", label="500"), series("a", label="200"), Series(("alpha", "z"), (), Decimal(1), WALL))

    assert ["a", "b"] == names(kept, 1.0)
    assert [(("code", "200"),), (("code", "500"),)] == [each.labels for each in kept.objects(1.0, "shop")[("shop", "a")]]
    assert [("alpha", "z"), ("shop", "a"), ("shop", "b")] == list(kept.all_objects(1.0))
    assert 4 == kept.count(1.0)
    assert 0 == kept.count(TTL)


def test_what_takes_a_while_changes_nothing() -> None:
    """It is done in a thread, while others read, and what is read lets go what ended. Having it served is handing it over."""
    kept = Kept(ttl=TTL)
    put(kept, 0.0, series("a"), series("b", age=30.0))

    def told() -> Iterator[Series]:
        assert ["a", "b"] == names(kept, 10.0)
        yield series("c", at=40.0)
        assert ["a"] == names(kept, 40.0)

    arranged = kept.arranged(told(), now=40.0, wall=WALL + 40 * 10**9)
    assert (["a"], 0.0) == (names(kept, 40.0), kept.collected)
    kept.take(arranged)
    assert kept.objects(40.0, "shop") is arranged.by_namespace["shop"]
    assert (["c"], 40.0) == (names(kept, 40.0), kept.collected)


def test_what_was_read_stays_as_it_is() -> None:
    """Whoever has it in hand may wait for something else before it looks."""
    kept = Kept(ttl=TTL)
    put(kept, 0.0, series("a", label="200"), series("a", label="500", age=30.0), series("b", age=30.0))
    before = kept.objects(1.0, "shop")

    assert ["a"] == names(kept, 30.0)
    assert 1 == kept.count(30.0)
    assert [("shop", "a"), ("shop", "b")] == list(before)
    assert 2 == len(before["shop", "a"])


def test_a_changed_declaration_goes_on_from_what_was_collected() -> None:
    """Until it has series of its own."""
    before, kept = Kept(ttl=TTL), Kept(ttl=5.0)
    put(before, 0.0, series("a"))
    kept.follow(before)

    assert ["a"] == names(kept, 59.0)
    assert [] == names(kept, 60.0)


def test_it_is_out_of_date_when_nothing_was_told_for_long() -> None:
    """Counted from when it is served, as long as nothing ever was."""
    kept = Kept(ttl=TTL)
    assert not kept.is_out_of_date(59.0, since=0.0)
    assert kept.is_out_of_date(60.0, since=0.0)
    put(kept, 100.0)
    assert not kept.is_out_of_date(159.0, since=0.0)
    assert kept.is_out_of_date(160.0, since=0.0)


@given(
    st.lists(st.tuples(st.floats(0.1, 50.0), st.booleans()), max_size=8),
    st.sampled_from([OMIT, HOLD, BRIEF]),
    st.lists(st.floats(0.0, 400.0), min_size=1, max_size=20),
)
def test_what_is_gone_comes_back_only_with_a_new_value(collections: list[tuple[float, bool]], policy: Missing, reads: list[float]) -> None:
    """Without one it goes one way: there, then gone, whenever anybody looks."""
    kept = Kept(ttl=TTL, missing=policy)
    now, key = 0.0, ("shop", "a")
    told: Key | None = None
    for wait, has_it in collections:
        now += wait
        put(kept, now, *([series("a", at=now)] if has_it else []))
        told = key if has_it else told
    seen = [bool(names(kept, now + wait)) for wait in sorted(reads)]

    assert seen == sorted(seen, reverse=True)
    assert told is not None or not any(seen)
