"""Reports of sources, and the objects that readers see of them."""

from app.cache.reports import Report, ReportObjects, Reports
from app.cache.versions import Versions
from tests.fakes.clock import ManualClock


def report(name: str = "queues", *, items: int = 3) -> Report:
    return Report(name, "http", 1, 1, items, 0, 15.0, 60.0, last=1)


def names(objects: ReportObjects) -> list[str]:
    return [item.key[1] for item in objects.snapshot()]


def test_listeners_hear_of_what_changed() -> None:
    """The same report again is no news; one that is gone is."""
    reports, told = Reports(), list[str]()
    reports.listeners.append(told.extend)
    for each in (report(), report(), report(items=4)):
        reports.put(each)
    reports.forget("queues")
    reports.forget("queues")
    assert (told, reports.names(), reports.get("queues")) == (["queues"] * 3, [], None)


def test_objects_follow_the_reports() -> None:
    """What was put before and after, and what is gone; in order, cluster-scoped."""
    reports = Reports()
    reports.put(report("b"))
    objects = ReportObjects(reports, Versions(ManualClock(), instance=1))
    assert names(objects) == ["b"]
    reports.put(report("a"))
    assert (names(objects), len(objects)) == (["a", "b"], 2)
    reports.forget("b")
    assert (names(objects), objects.get(("", "b"))) == (["a"], None)


def test_a_version_is_new_only_where_something_changed() -> None:
    """However often somebody looks."""
    reports = Reports()
    objects = ReportObjects(reports, Versions(ManualClock(), instance=1))
    reports.put(report())
    first = objects.version
    assert objects.version == first
    reports.put(report())
    assert objects.version == first
    reports.put(report(items=5))
    item = objects.get(("", "queues"))
    assert item is not None
    assert item.version == objects.version > first


def test_those_who_report_too_often_are_asked_by_readers() -> None:
    """Nothing is worked out while nobody looks."""
    asked: list[int] = []

    def ask() -> list[Report]:
        asked.append(1)
        return [report("kubelet-resource", items=len(asked))]

    reports = Reports()
    reports.askers.append(ask)
    objects = ReportObjects(reports, Versions(ManualClock(), instance=1))
    reports.put(report())
    assert asked == []
    item = objects.get(("", "kubelet-resource"))
    assert item is not None
    assert item.value.items == 1
    found = objects.labelled(lambda _labels: True, most=10)
    assert found is not None
    assert [each.value.items for each in found] == [2, 3]
