"""Projections: what becomes of an object when its subject is published anew."""

from structlog.testing import capture_logs

from app.cache.collection import Collection
from app.cache.projection import Known, Projection, Subject
from app.cache.values import NodeUsage
from app.kube.records import Labels, NodeRecord, Resources

T = 1_764_500_000 * 10**9


def subject(name: str, cpu: int | None = 1, labels: Labels = ()) -> Known:
    """A node and its usage; None for no usage."""
    usage = None if cpu is None else NodeUsage(cpu, 1024, T, 15 * 10**9, "kubelet_resource")
    return ("", name), NodeRecord(name, "u", labels, T, True, (), 0, "", Resources(), Resources()), usage


def usage_but_of_odd(record: NodeRecord, usage: NodeUsage | None) -> NodeUsage | None:
    if record.name == "odd":
        raise OverflowError
    return usage


class Published:
    """A projection of nodes that publishes at versions 1, 2, and so on."""

    def __init__(self) -> None:
        self.collection = Collection(lambda _key: None)
        self.projection = Projection(Subject.NODE, usage_but_of_odd, self.collection)
        self.version = 0

    def after(self, *subjects: Known) -> dict[str, tuple[int, int, Labels]]:
        """Version, CPU and labels of each object after `subjects` were published."""
        self.version += 1
        self.projection.publish(subjects, self.version)
        return {item.key[1]: (item.version, item.value.cpu, item.labels) for item in self.collection.snapshot()}


def test_an_object_changes_with_its_value_or_labels_alone() -> None:
    """Equal ones keep their version, whatever else of the subject is new, and so does the collection where nothing changed."""
    published = Published()

    assert {"a": (1, 1, ()), "b": (1, 2, ())} == published.after(subject("a", 1), subject("b", 2))
    assert {"a": (2, 3, ()), "b": (1, 2, ())} == published.after(subject("a", 3), subject("b", 2))
    assert {"a": (2, 3, ()), "b": (3, 2, (("zone", "x"),))} == published.after(subject("a", 3), subject("b", 2, (("zone", "x"),)))
    assert {"a": (2, 3, ()), "b": (3, 2, (("zone", "x"),))} == published.after(subject("a", 3))
    assert 3 == published.collection.version


def test_an_object_ends_with_its_usage_and_with_its_subject() -> None:
    """What is not known is absent. Of what was never there, nothing is told."""
    published = Published()
    published.after(subject("a"), subject("b"), subject("c"))

    assert {"c": (1, 1, ())} == published.after(subject("a", None), (("", "b"), None, None), (("", "never"), None, None))
    assert 2 == published.collection.version


def test_a_subject_that_no_object_can_be_made_of_costs_itself() -> None:
    """It takes neither the others nor the process along, and the log asks to report it."""
    published = Published()
    with capture_logs() as logs:
        assert {"a": (1, 1, ())} == published.after(subject("odd"), subject("a"))

    assert [("", "odd")] == [log["key"] for log in logs]
