"""From a response to objects: one test a rule, then responses of all kinds."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.declared.items import MORE, MOST_TOLD
from app.declared.mapping import Mapper
from app.declared.model import LiveResource
from app.declared.objects import LiveObject, Mapped
from app.kinds._base import Age
from collectors._base import Cause, CollectError

NOW = 1764500000 * 10**9
ITEM = {"name": "orders", "ns": "mq", "ready": 7}
DECLARATION: dict[str, Any] = {
    "apiVersion": "kubeglance.io/v1alpha1",
    "kind": "LiveResource",
    "metadata": {"name": "queues.example.com"},
    "spec": {
        "group": "example.com",
        "version": "v1",
        "scope": "Namespaced",
        "names": {"kind": "Queue", "plural": "queues"},
        "source": {"static": {}},
        "items": "response",
        "object": {"name": "item.name", "namespace": "item.ns", "spec": {"host": "item.host"}, "status": {"ready": "item.ready"}},
        "allowNamespaces": ["mq", "other"],
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {
                    "spec": {"type": "object", "properties": {"host": {"type": "string", "maxLength": 10}}},
                    "status": {
                        "type": "object",
                        "required": ["ready"],
                        "properties": {
                            "ready": {"type": "integer"},
                            "load": {"type": "number", "multipleOf": 0.5},
                            "cpu": {"type": "object", "properties": {"used": {"type": "integer"}}},
                            "tags": {"type": "array", "items": {"type": "string"}},
                        },
                    },
                },
            }
        },
    },
}


def mapper(**changes: Any) -> Mapper:
    """The mapping of the declaration with other fields of spec; `object__status={...}` changes one inside."""
    declaration = copy.deepcopy(DECLARATION)
    for path, value in changes.items():
        *outer, last = path.split("__")
        place = declaration["spec"]
        for name in outer:
            place = place[name]
        place[last] = value
    return Mapper(LiveResource.model_validate(declaration))


def mapped(response: Any, **changes: Any) -> Mapped:
    return mapper(**changes).map(response, NOW, lambda: False)


def one(item: Any, **changes: Any) -> LiveObject:
    """The object of the only item."""
    result = mapped([item], **changes)
    assert not result.dropped
    return result.objects[0]


def reason(item: Any, **changes: Any) -> str:
    """Why the only item becomes no object."""
    result = mapped([item], **changes)
    assert not result.objects
    assert len(result.dropped) == 1
    return result.dropped[0].reason


class TestItems:
    def test_a_path_leads_to_them(self) -> None:
        assert len(mapped({"a": {"b": [ITEM]}}, items="response.a.b").objects) == 1

    def test_null_is_an_empty_list_as_servers_in_go_write_one(self) -> None:
        assert mapped({"items": None}, items="response.items") == ([], [], [])

    def test_cel_can_choose(self) -> None:
        result = mapped({"items": [ITEM, {**ITEM, "name": "b"}]}, items="response.items.filter(i, i.name != 'b')")
        assert [obj.key for obj in result.objects] == [("mq", "orders")]

    @pytest.mark.parametrize(
        ("response", "items", "says"),
        [
            ({}, "response.items", 'spec.items: there is no "items"'),
            ({"items": 3}, "response.items", "spec.items: gives a whole number, and not a list"),
            ({"items": {}}, "response.items", "spec.items: gives a mapping, and not a list"),
            ([], "response.items", 'spec.items: "items" is asked of a list'),
            ({"n": 1}, "response.n / 0", "spec.items: divide by zero"),
        ],
    )
    def test_a_response_without_items_fails_as_a_whole(self, response: Any, items: str, says: str) -> None:
        with pytest.raises(CollectError) as failed:
            mapped(response, items=items)
        assert (failed.value.cause, failed.value.message) == (Cause.MAPPING, says)

    def test_too_many_items_fail_as_a_whole(self) -> None:
        with pytest.raises(CollectError, match=r"3 items, and spec\.limits\.items is 2") as failed:
            mapped([ITEM] * 3, limits={"items": 2})
        assert failed.value.cause is Cause.TOO_LARGE

    def test_a_deadline_ends_it_between_items(self) -> None:
        ticks = iter([False, False, True])
        with pytest.raises(CollectError, match="2 of 3 items were mapped in the time that there is") as failed:
            mapper().map([ITEM] * 3, NOW, lambda: next(ticks))
        assert failed.value.cause is Cause.DEADLINE

    def test_a_value_that_cel_does_not_take_costs_its_item_only(self) -> None:
        result = mapped({"items": [{**ITEM, "ready": object()}, {**ITEM, "name": "b"}]}, items="response.items")
        assert [obj.key[1] for obj in result.objects] == ["b"]
        assert result.dropped[0].index == 0

    @pytest.mark.parametrize("levels", [100, 450, 900])
    def test_a_value_that_is_too_deep_costs_its_item_only(self, levels: int) -> None:
        """Whatever goes through an object later does so by recursion: the next list of the kind must not be the one that fails."""
        deep: Any = 1
        for _ in range(levels):
            deep = {"a": deep}
        took = mapper(object__status={"ready": "item.ready", "load": "item.load"}).map(
            [{**ITEM, "load": deep}, {**ITEM, "name": "other"}], NOW, lambda: False
        )

        assert [("mq", "other")] == [each.key for each in took.objects]
        assert ["object.status.load: gives more than 64 levels of lists and mappings in each other"] == [
            each.reason for each in took.dropped
        ]


class TestNames:
    def test_a_valid_name_stays_and_has_no_note(self) -> None:
        obj = one(ITEM)
        assert (obj.key, obj.value.annotations) == (("mq", "orders"), ())

    def test_another_name_becomes_a_slug_and_is_noted(self) -> None:
        obj = one({**ITEM, "name": "eu/Orders"})
        assert obj.key == ("mq", "eu-orders-89ea4b9a")
        assert obj.value.annotations == (("kubeglance.io/source-name", "eu/Orders"),)

    def test_a_whole_number_is_its_digits(self) -> None:
        assert one({**ITEM, "name": 42}).key == ("mq", "42")

    def test_of_two_items_of_one_name_the_first_is_kept_and_both_are_named(self) -> None:
        result = mapped([{**ITEM, "ready": 1}, {**ITEM, "ready": 2}, {**ITEM, "ns": "other"}])
        assert [(obj.key, obj.value.status) for obj in result.objects] == [
            (("mq", "orders"), {"ready": 1}),
            (("other", "orders"), {"ready": 7}),
        ]
        dropped = result.dropped[0]
        assert (dropped.index, dropped.name) == (1, "orders")
        assert dropped.reason == 'is named mq/orders, as is item 0 ("orders"): the first is kept'

    @pytest.mark.parametrize(
        ("name", "says"),
        [
            (None, "object.name: gives null, and not text"),
            (True, "object.name: gives a boolean, and not text"),
            (1.5, "object.name: gives a number, and not text"),
            ([], "object.name: gives a list, and not text"),
            ("a" * 1025, "object.name: has 1025 characters, may have at most 1024"),
        ],
    )
    def test_what_is_no_name_drops_the_item(self, name: Any, says: str) -> None:
        assert reason({**ITEM, "name": name}) == says

    def test_no_name_drops_the_item(self) -> None:
        assert reason({"ns": "mq", "ready": 1}) == 'object.name: there is no "name"'


class TestNamespaces:
    def test_only_those_allowed(self) -> None:
        assert reason({**ITEM, "ns": "kube-system"}) == 'object.namespace: "kube-system" is not one of allowNamespaces'

    def test_only_text(self) -> None:
        assert reason({**ITEM, "ns": 1}) == "object.namespace: gives a whole number, and not text"

    def test_it_must_be_there(self) -> None:
        assert reason({"name": "a", "ready": 1}) == 'object.namespace: there is no "ns"'

    def test_the_dropped_item_is_named(self) -> None:
        assert mapped([{**ITEM, "ns": "x"}]).dropped[0].name == "orders"

    def test_cluster_scoped_objects_have_none(self) -> None:
        changes: dict[str, Any] = {"scope": "Cluster", "allowNamespaces": [], "object__namespace": None}
        assert one(ITEM, **changes).key == ("", "orders")


class TestMetadata:
    def test_labels_are_those_that_are_valid(self) -> None:
        labels = {"b": "item.b", "a": "item.a", "bad": "item.bad", "none": "item.missing", "yes": "true", "null": "item.nil"}
        item = {**ITEM, "a": "x", "b": 7, "bad": "a b", "nil": None}
        assert one(item, object__labels=labels).labels == (("a", "x"), ("b", "7"), ("yes", "true"))

    def test_items_with_the_same_labels_share_them(self) -> None:
        objects = mapped([ITEM, {**ITEM, "name": "b"}], object__labels={"a": "item.ns"}).objects
        assert objects[0].labels is objects[1].labels

    def test_annotations_may_be_any_text(self) -> None:
        obj = one({**ITEM, "name": "A", "note": "a b/c"}, object__annotations={"note": "item.note", "no": "item.missing"})
        assert obj.value.annotations == (("kubeglance.io/source-name", "A"), ("note", "a b/c"))

    def test_a_label_that_is_no_text_drops_the_item(self) -> None:
        assert reason({**ITEM, "a": []}, object__labels={"a": "item.a"}) == "object.labels.a: gives a list, and not text"

    @pytest.mark.parametrize("told", ["2025-11-30T10:53:20Z", 1764500000, 1764500000.0])
    def test_times_are_rfc_3339_or_unix_seconds(self, told: Any) -> None:
        value = one({**ITEM, "at": told}, object__creationTimestamp="item.at", object__observedAt="item.at").value
        assert (value.created, value.observed) == (NOW, NOW)

    def test_a_timestamp_of_cel_is_a_time(self) -> None:
        assert one({**ITEM, "at": 1764500000}, object__creationTimestamp="timestamp(item.at)").value.created == NOW

    def test_times_that_are_not_told_are_left_out(self) -> None:
        value = one(ITEM, object__creationTimestamp="item.at", object__observedAt="item.at").value
        assert (value.created, value.observed) == (0, NOW)

    def test_a_time_that_is_none_drops_the_item(self) -> None:
        says = reason({**ITEM, "at": "today"}, object__creationTimestamp="item.at")
        assert says == 'object.creationTimestamp: "today" is no time in RFC 3339, such as 2026-01-31T09:15:00Z'


class TestFields:
    def test_a_missing_member_leaves_its_field_out(self) -> None:
        value = one(ITEM).value
        assert (value.spec, value.status) == ({}, {"ready": 7})

    def test_where_it_is_required_the_item_is_dropped(self) -> None:
        assert reason({"name": "a", "ns": "mq"}) == 'status.ready: is required, and the item gives none (there is no "ready")'

    def test_null_is_no_value(self) -> None:
        assert reason({**ITEM, "ready": None}) == "status.ready: is required, and the item gives none"

    def test_an_error_drops_the_item_and_never_shows_the_expression(self) -> None:
        assert reason({**ITEM, "ready": "x"}, object__status={"ready": "item.ready + 1"}) == (
            'object.status.ready: "+" cannot take string and int; convert with int(), double() or string()'
        )

    def test_a_value_that_breaks_the_schema_drops_the_item(self) -> None:
        assert reason({**ITEM, "host": "a" * 11}) == "spec.host: has 11 characters, may have at most 10"
        assert reason({**ITEM, "ready": "7"}) == "status.ready: is text, must be a whole number"

    def test_a_number_that_is_none_is_left_out(self) -> None:
        status = {"ready": "item.ready", "load": "1.0 / double(item.none)"}
        assert one({**ITEM, "none": 0}, object__status=status).value.status == {"ready": 7}

    def test_a_mapping_of_which_nothing_is_left_is_left_out(self) -> None:
        status = {"ready": "item.ready", "cpu": {"used": "item.cpu"}}
        assert one(ITEM, object__status=status).value.status == {"ready": 7}
        assert one({**ITEM, "cpu": 3}, object__status=status).value.status == {"ready": 7, "cpu": {"used": 3}}

    def test_a_list_has_the_elements_that_are_there(self) -> None:
        status = {"ready": "item.ready", "tags": ["item.a", "item.b", "'c'"]}
        assert one({**ITEM, "b": "x"}, object__status=status).value.status == {"ready": 7, "tags": ["x", "c"]}

    def test_a_whole_part_may_be_one_expression(self) -> None:
        assert one({**ITEM, "more": 1}, object__status="item").value.status == {"ready": 7}

    def test_the_item_is_kept_where_raw_is_served(self) -> None:
        assert one(ITEM).value.item is None
        assert one(ITEM, subresources={"raw": True}).value.item is ITEM


def test_reasons_are_bounded_and_all_are_counted() -> None:
    result = mapped([{}] * (MOST_TOLD + 50))
    assert len(result.dropped) == MOST_TOLD + 50
    assert [dropped.index for dropped in result.dropped] == list(range(MOST_TOLD + 50))
    assert [dropped.reason == MORE for dropped in result.dropped] == [False] * MOST_TOLD + [True] * 50


class TestAge:
    COLUMNS = (
        {"name": "Seen", "type": "date", "jsonPath": ".status.observedAt"},
        {"name": "Fresh", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Fresh")].status'},
    )

    def test_every_object_tells_when_it_was_seen_and_that_it_is_fresh(self) -> None:
        obj = one(ITEM, additionalPrinterColumns=list(self.COLUMNS))
        assert obj.value.cells == (Age(NOW), "True")

    def test_aged_objects_say_so(self) -> None:
        kind = mapper(additionalPrinterColumns=list(self.COLUMNS))
        objects = kind.map([ITEM], NOW, lambda: False).objects
        aged = kind.aged(objects)[0]
        assert aged.value.cells == (Age(NOW), "False")
        assert not aged.value.fresh
        assert (aged.key, aged.labels, aged.value.status) == (objects[0].key, objects[0].labels, objects[0].value.status)

    def test_an_error_of_a_column_costs_its_cell_and_is_told(self) -> None:
        result = mapped([ITEM], additionalPrinterColumns=[{"name": "X", "type": "string", "cel": "status.ready / 0"}])
        assert result.objects[0].value.cells == (None,)
        assert [(each.index, each.name, each.reason) for each in result.blank] == [(0, "orders", "column X: divide by zero")]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "ns", "ready", "host"]), inner, max_size=4),
    max_leaves=12,
)
ITEMS = st.fixed_dictionaries(
    {"name": st.text(max_size=4), "ns": st.sampled_from(["mq", "other", "x"]), "ready": st.integers(0, 9)},
    optional={"host": JSON, "at": JSON, "label": JSON},
)
ALL = mapper(
    object__labels={"a": "item.label"},
    object__creationTimestamp="item.at",
    subresources={"raw": True},
    additionalPrinterColumns=[{"name": "X", "type": "string", "cel": "spec.host + string(status.ready)"}],
)


@given(JSON | st.lists(ITEMS | JSON, max_size=8))
def test_no_response_crashes_it(response: Any) -> None:
    try:
        result = ALL.map(response, NOW, lambda: False)
    except CollectError as failed:
        assert failed.cause is Cause.MAPPING  # noqa: PT017 -- most responses are no failure
        return
    items = response or []
    assert len(result.objects) + len(result.dropped) == len(items), "every item is an object, or is told of"
    keys = [obj.key for obj in result.objects]
    assert len(set(keys)) == len(keys), "one object a name"
    for obj in result.objects:
        assert obj.key[0] in {"mq", "other"}
        assert isinstance(obj.value.status["ready"], int)
    assert ALL.map(response, NOW, lambda: False) == result, "the same response gives the same objects"
