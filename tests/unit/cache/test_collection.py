"""Collections: what readers find after any changes, in order, and by labels."""

import weakref
from array import array
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from app.cache.collection import FREED_AT_ONCE, Collection, Item, Part, Snapshot
from app.kube.records import Key, Labels
from app.wire.label_selectors import parse_label_selector

WEB, DB, NONE = (("app", "web"), ("tier", "1")), (("app", "db"),), ()


def collection(*items: tuple[Key, Labels]) -> Collection:
    made = Collection(lambda _key: None)
    made.replace([Item(key, labels, 1, None) for key, labels in items], (), 1)
    return made


def names(items: Sequence[Item] | None) -> list[str] | None:
    return None if items is None else [f"{namespace}/{name}" for namespace, name in (item.key for item in items)]


EXAMPLE = ((("b", "1"), WEB), (("a", "2"), WEB), (("a", "10"), DB), (("a", "1"), WEB), (("", "n"), NONE))


def test_order_is_by_namespace_and_name() -> None:
    """Whatever the order of arrival."""
    assert ["/n", "a/1", "a/10", "a/2", "b/1"] == names(collection(*EXAMPLE).snapshot())
    assert ["a/1", "a/10", "a/2"] == names(collection(*EXAMPLE).snapshot("a"))
    assert [] == names(collection(*EXAMPLE).snapshot("c"))


def test_a_snapshot_does_not_change() -> None:
    """It is of the moment when it was taken; the next one is of the next."""
    live = collection(*EXAMPLE)
    before = [live.snapshot(), live.snapshot("a")]
    live.replace([Item(("a", "0"), WEB, 2, None), Item(("a", "2"), WEB, 2, None)], [("a", "10")], 2)

    assert [1] * 8 == [item.version for snapshot in before for item in snapshot]
    assert [["/n", "a/1", "a/10", "a/2", "b/1"], ["a/1", "a/10", "a/2"]] == [names(snapshot) for snapshot in before]
    assert [("a/0", 2), ("a/1", 1), ("a/2", 2)] == [("/".join(item.key), item.version) for item in live.snapshot("a")]


def test_nothing_is_told_to_a_snapshot_that_nobody_has() -> None:
    """It ends with the last who holds it."""
    live = collection(*EXAMPLE)
    live.snapshot()
    held = live.snapshot()
    known = weakref.WeakSet([held])
    del held

    live.replace([Item(("a", "2"), WEB, 2, None)], (), 2)
    assert 0 == len(known)


@pytest.mark.parametrize(
    ("selector", "namespace", "expected"),
    [
        ("app=web", None, ["a/1", "a/2", "b/1"]),
        ("app=web", "a", ["a/1", "a/2"]),
        ("app in (web,db)", "a", ["a/1", "a/10", "a/2"]),
        ("!app", None, ["/n"]),
        ("app=web", "c", []),
    ],
)
def test_labels(selector: str, namespace: str | None, expected: list[str]) -> None:
    """What a selector takes comes in the order of all: objects of several label sets too."""
    assert expected == names(collection(*EXAMPLE).labelled(parse_label_selector(selector).matches, namespace, most=5))


def test_each_set_of_labels_is_asked_about_once() -> None:
    """That is what makes it quick: a Deployment's pods are one question."""
    asked: list[Labels] = []

    def matches(labels: Labels) -> bool:
        asked.append(labels)
        return True

    many = collection(*((("a", str(number)), WEB) for number in range(100)), (("b", "1"), WEB))
    assert 101 == len(many.labelled(matches, most=101) or ())
    assert [WEB, WEB] == asked


@pytest.mark.parametrize(("selector", "most"), [("nothing", 3), ("app", 4)], ids=["label sets", "objects"])
def test_what_is_too_much_for_one_step_is_left_to_the_caller(selector: str, most: int) -> None:
    """A bound on what is asked, and on what is found: a few more do it."""
    live = collection(*EXAMPLE, (("c", "1"), DB))

    assert live.labelled(parse_label_selector(selector).matches, most=most) is None
    assert live.labelled(parse_label_selector(selector).matches, most=6) is not None


KEYS = st.tuples(st.sampled_from(["", "a", "a-b", "b"]), st.text("ab1-", min_size=1, max_size=2))
LABELS = st.dictionaries(st.sampled_from("xyz"), st.sampled_from(["1", "2"]), max_size=3).map(lambda pairs: tuple(sorted(pairs.items())))
REQUIREMENTS = st.sampled_from(["x", "!x", "x=1", "x!=1", "y in (1,2)", "y notin (2)", "z>1", "z<2"])
SELECTORS = st.lists(REQUIREMENTS, min_size=1, max_size=3).map(",".join)


class Looks:
    """A Late whose objects are always late; it counts who is brought up to date."""

    def __init__(self, live: Collection, keys: Sequence[Key]) -> None:
        self.turn = 1
        self.seen = array("q", bytes(8 * len(keys)))
        self.looked: list[Key] = []
        self._live, self._keys = live, keys

    def look(self, number: int, /) -> None:
        self.looked.append(self._keys[number])
        self._live.renew(self._keys[number], f"of turn {self.turn}", self.turn)
        self.seen[number] = self.turn


def test_a_snapshot_keeps_what_is_about_to_be_late_and_its_own() -> None:
    """Once, as it is then; what other namespaces have costs it nothing."""
    keys: list[Key] = [("a", "1"), ("a", "2"), ("b", "1")]
    live = collection(*((key, ()) for key in keys))
    late = Looks(live, keys)
    for number, key in enumerate(keys):
        live.follow(key, late, number)
    held = live.snapshot("a")
    for _ in range(3):
        live.before_late(keys)
        late.turn += 1

    assert keys[:2] == late.looked
    assert ["of turn 1", "of turn 1"] == [item.value for item in held]
    assert ["of turn 4"] * 3 == [item.value for item in live.snapshot()]


def test_a_snapshot_by_labels_keeps_its_own_only() -> None:
    """Of one namespace most may have other labels: the HPA's list leaves them late."""
    keys: list[Key] = [("a", str(number)) for number in range(4)]
    live = collection(*((key, WEB if key[1] < "2" else DB) for key in keys))
    late = Looks(live, keys)
    for number, key in enumerate(keys):
        live.follow(key, late, number)
    held = live.labelled(parse_label_selector("app=web").matches, "a", most=9)
    assert held is not None
    held.read_until(1)
    live.before_late(keys)

    assert [keys[1]] == late.looked


def test_a_part_is_looked_at_when_it_is_read() -> None:
    """A page may have any number of objects; its snapshot is of one moment whenever it is read."""
    keys: list[Key] = [("a", str(number)) for number in range(6)]
    live = collection(*((key, ()) for key in keys))
    late = Looks(live, keys)
    for number, key in enumerate(keys):
        live.follow(key, late, number)
    part = Part(live.snapshot(), 2, 5)
    assert ([], 3, 3) == (late.looked, len(part), len(Part(live.snapshot(), 3, 99)))
    read = part[0:2]

    assert keys[2:4] == late.looked == [item.key for item in read]
    assert (keys[4], keys[4], keys[2:5]) == (part[-1].key, part[2].key, [item.key for item in part])
    with pytest.raises(IndexError):
        part[3]


def test_a_snapshot_keeps_nothing_of_what_was_passed() -> None:
    """Who streams a list reads each object once: those before need not be worked out for it, nor kept."""
    keys: list[Key] = [("a", str(number)) for number in range(4)]
    live = collection(*((key, ()) for key in keys))
    late = Looks(live, keys)
    for number, key in enumerate(keys):
        live.follow(key, late, number)
    held = live.snapshot()
    held.read_until(2)
    live.before_late(keys)
    held.read_until(3)
    held.read_until(9)

    assert keys[2:] == late.looked
    assert 0 == len(held._replaced)


def test_what_was_kept_is_freed_in_parts() -> None:
    """To free 150,000 objects takes long: each publish frees some, more than it makes needless itself, of each list that ended."""
    count = 2 * FREED_AT_ONCE + 1
    live = collection(*((("a", f"{number:05}"), ()) for number in range(count)))
    kept = []
    for version in (1, 2):
        held = live.snapshot()
        live.replace([Item(item.key, (), version, None) for item in held], [], version)
        kept.append(weakref.ref(held))
        del held
    left = []
    for version in range(3, 7):
        live.has_late(version)
        left.append(sum(map(len, live._ended)))

    assert [None, None] == [each() for each in kept]
    assert [FREED_AT_ONCE + 2, 1, 0, 0] == left
    assert [] == live._ended


def test_what_is_said_again_keeps_its_version() -> None:
    """As with everything that is published: a version is that of a change."""
    live = collection((("a", "1"), WEB))
    live.renew(("a", "1"), "new", 8)
    live.renew(("a", "1"), "new", 9)
    live.renew(("a", "gone"), "new", 9)

    assert [Item(("a", "1"), WEB, 8, "new")] == list(live.snapshot())


class Changing(RuleBasedStateMachine):
    """A collection that objects come into, change their labels or values in, and go from."""

    def __init__(self) -> None:
        super().__init__()
        self.live = Collection(lambda _key: None)
        self.expected: dict[Key, Item] = {}
        self.version = 0
        self.taken: list[tuple[Snapshot, list[Item]]] = []
        self.streamed: list[tuple[Snapshot, list[Item], int]] = []

    @rule(objects=st.dictionaries(KEYS, LABELS, max_size=5), gone=st.lists(KEYS, max_size=3))
    def publish(self, objects: dict[Key, Labels], gone: list[Key]) -> None:
        """Labels come as new tuples, equal to old ones or not."""
        self.version += 1
        items = [Item(key, labels, self.version, None) for key, labels in objects.items()]
        self.live.replace(items, gone, self.version)
        self.expected.update({item.key: item for item in items})
        for key in gone:
            self.expected.pop(key, None)

    @rule(selector=SELECTORS, namespace=st.sampled_from([None, "", "a", "b", "c"]))
    def select(self, selector: str, namespace: str | None) -> None:
        """By labels it is what holding each object against the selector gives."""
        matches = parse_label_selector(selector).matches
        scanned = [item for item in self.live.snapshot(namespace) if matches(item.labels)]

        assert scanned == list(self.live.labelled(matches, namespace, most=10_000) or ())

    @rule(namespace=st.sampled_from([None, "a"]))
    def take(self, namespace: str | None) -> None:
        """Some read a snapshot late."""
        in_order = [item for key, item in sorted(self.expected.items()) if namespace is None or key[0] == namespace]
        self.taken.append((self.live.snapshot(namespace), in_order))

    @rule()
    def leave(self) -> None:
        """Some never read it."""
        self.taken = self.taken[1:]

    @rule(namespace=st.sampled_from([None, "a"]))
    def stream(self, namespace: str | None) -> None:
        """Some read a snapshot once, in parts."""
        snapshot = self.live.snapshot(namespace)
        self.streamed.append((snapshot, list(snapshot), 0))

    @rule(count=st.integers(1, 3))
    def read_on(self, count: int) -> None:
        """What was read is passed, and the next part is of the same moment."""
        streamed, self.streamed = self.streamed, []
        for snapshot, items, start in streamed:
            assert items[start : start + count] == snapshot[start : start + count]
            snapshot.read_until(start + count)
            if start + count < len(items):
                self.streamed.append((snapshot, items, start + count))

    @invariant()
    def snapshots_do_not_change(self) -> None:
        """Whatever was published after one was taken; whole, in part, and one by one."""
        for snapshot, items in self.taken:
            assert items == list(snapshot)
            assert items[1:3] == snapshot[1:3]
            assert items == [snapshot[index] for index in range(len(snapshot))]

    @invariant()
    def all_are_there_in_order(self) -> None:
        """A snapshot is what was published, sorted, and so is that of each namespace."""
        in_order = [item for _, item in sorted(self.expected.items())]
        found = list(self.live.snapshot())

        assert in_order == found
        assert in_order == [item for namespace in ("", "a", "a-b", "b") for item in self.live.snapshot(namespace)]
        assert len(in_order) == len(self.live)
        assert all(self.live.get(key) is item for key, item in self.expected.items())


TestChanging = Changing.TestCase
TestChanging.settings = settings(max_examples=60, stateful_step_count=20)


@given(KEYS)
def test_what_is_not_there_is_nothing(key: Key) -> None:
    """No object, and nothing goes when it is taken out."""
    empty = Collection(lambda _key: None)
    empty.replace((), [key], 1)

    assert (None, [], 0) == (empty.get(key), list(empty.snapshot(key[0])), len(empty))
