"""Names: by the rules of CustomResourceDefinitions, beside other declarations, and beside what the cluster serves."""

import pytest

from app.declared.check import Around
from tests.unit.declared.canonical import COOL, QUEUES, changed
from tests.unit.declared.checking import CLUSTER, checked, queues, said


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            queues("name: queues.msg.example.com", "name: queue.msg.example.com"),
            ['3:18: metadata.name: Invalid value: "queue.msg.example.com"; expected "queues.msg.example.com", which is <plural>.<group>'],
            id="the name of the declaration",
        ),
        pytest.param(
            queues("  group: msg.example.com", "  group: msg"),
            ['5:10: spec.group: Invalid value: "msg"; expected a DNS name of lower case with a dot in it, such as queues.example.com'],
            id="a group has a dot",
        ),
        pytest.param(
            QUEUES.replace("msg.example.com", "Msg.example.com"),
            [
                (
                    '5:10: spec.group: Invalid value: "Msg.example.com"'
                    "; expected a DNS name of lower case with a dot in it, such as queues.example.com"
                )
            ],
            id="a group is of lower case",
        ),
        pytest.param(
            QUEUES.replace("msg.example.com", "batch.k8s.io"),
            [
                (
                    "5:10: spec.group: Forbidden: groups of k8s.io belong to Kubernetes"
                    "; expected a group of your own, such as queues.example.com"
                )
            ],
            id="groups of Kubernetes",
        ),
        pytest.param(
            QUEUES.replace("msg.example.com", "x.kubernetes.io"),
            [
                (
                    "5:10: spec.group: Forbidden: groups of kubernetes.io belong to Kubernetes"
                    "; expected a group of your own, such as queues.example.com"
                )
            ],
            id="more groups of Kubernetes",
        ),
        pytest.param(
            QUEUES.replace("msg.example.com", "live.kubeglance.io"),
            [
                (
                    "5:10: spec.group: Forbidden: groups of kubeglance.io belong to kubeglance"
                    "; expected a group of your own, such as queues.example.com"
                )
            ],
            id="our own groups",
        ),
        pytest.param(QUEUES.replace("msg.example.com", "notk8s.io"), [], id="a group that only ends alike"),
        pytest.param(
            queues("  version: v1alpha1", "  version: 1.0"),
            ["6:12: spec.version: Invalid value: 1.0; expected text"],
            id="a version is text",
        ),
        pytest.param(
            queues("  version: v1alpha1", "  version: V1"),
            ['6:12: spec.version: Invalid value: "V1"; expected a version such as v1alpha1'],
            id="a version is a DNS label",
        ),
        pytest.param(
            QUEUES.replace("queues", "Queues"),
            [
                (
                    '8:32: spec.names.plural: Invalid value: "Queues"'
                    '; expected lower-case letters, digits and dashes, a letter first, at most 63 characters; did you mean "queues"?'
                )
            ],
            id="plural",
        ),
        pytest.param(
            queues("singular: queue,", "singular: 1q,"),
            [
                (
                    '8:50: spec.names.singular: Invalid value: "1q"'
                    "; expected lower-case letters, digits and dashes, a letter first, at most 63 characters"
                )
            ],
            id="singular",
        ),
        pytest.param(
            queues("kind: Queue,", "kind: My_Queue,"),
            [
                (
                    '8:17: spec.names.kind: Invalid value: "My_Queue"'
                    "; expected letters, digits and dashes, a letter first, at most 63 characters"
                )
            ],
            id="kind",
        ),
        pytest.param(
            queues("[q]", "[q, Q, q]"),
            [
                (
                    '8:73: spec.names.shortNames[1]: Invalid value: "Q"'
                    '; expected lower-case letters, digits and dashes, a letter first, at most 63 characters; did you mean "q"?'
                ),
                '8:76: spec.names.shortNames[2]: Duplicate value: "q"',
            ],
            id="short names",
        ),
        pytest.param(queues("[live]", "[live, live]"), ['8:93: spec.names.categories[1]: Duplicate value: "live"'], id="categories"),
    ],
)
def test_names(text: str, expected: list[str]) -> None:
    """By the rules of CustomResourceDefinitions, and in no group of others."""
    assert expected == said(text)


def cool_in(group: str, names: str, version: str = "v1") -> str:
    """CoolResource under other names."""
    plural = names.split("plural: ")[1].split(",", maxsplit=1)[0]
    text = changed(COOL, "{kind: CoolResource, plural: coolresources, singular: coolresource, shortNames: [cr]}", f"{{{names}}}")
    return (
        text.replace("coolresources.example.com", f"{plural}.{group}")
        .replace("  group: example.com", f"  group: {group}")
        .replace("v1alpha1\n  scope", f"{version}\n  scope")
    )


@pytest.mark.parametrize(
    ("second", "expected", "accepted"),
    [
        pytest.param(
            COOL,
            ['3:18: metadata.name: Duplicate value: "coolresources.example.com" is declared in q.yaml:1:1 already'],
            1,
            id="the same twice",
        ),
        pytest.param(
            cool_in("example.com", "kind: Crate, plural: crates, shortNames: [cr]"),
            ['8:54: spec.names.shortNames[0]: Duplicate value: "cr" is a name of coolresources.example.com in q.yaml:1:1 already'],
            1,
            id="a short name twice in a group",
        ),
        pytest.param(
            cool_in("example.com", "kind: CoolResource, plural: crates, singular: coolresource"),
            [
                '8:17: spec.names.kind: Duplicate value: "CoolResource" is a kind of coolresources.example.com in q.yaml:1:1 already',
                '8:57: spec.names.singular: Duplicate value: "coolresource" is a name of coolresources.example.com in q.yaml:1:1 already',
            ],
            1,
            id="kind and singular twice in a group",
        ),
        pytest.param(
            cool_in("example.com", "kind: CoolResourceList, plural: lists, singular: list"),
            ['8:17: spec.names.kind: Duplicate value: "CoolResourceList" is a kind of coolresources.example.com in q.yaml:1:1 already'],
            1,
            id="the kind of a list",
        ),
        pytest.param(
            cool_in("other.com", "kind: CoolResource, plural: crates, singular: crate, shortNames: [cr]"),
            [
                (
                    '8:78: warning: spec.names.shortNames[0]: "cr" is also a name of coolresources.example.com '
                    "in q.yaml:1:1; expected cr.other.com in kubectl, or another name"
                )
            ],
            2,
            id="a short name in two groups is a warning",
        ),
        pytest.param(cool_in("example.com", "kind: Crate, plural: crates", "v1beta1"), [], 2, id="another kind and version of a group"),
    ],
)
def test_declarations_beside_each_other(second: str, expected: list[str], accepted: int) -> None:
    """Within a group names are of one kind, the first one; between groups kubectl has to choose."""
    result = checked(f"{COOL}---\n{second}")
    before = COOL.count("\n") + 1

    def shifted(text: str) -> str:
        line, rest = text.split(":", 1)
        return f"{int(line) + before}:{rest}"

    found = [str(fault).removeprefix("q.yaml:") for fault in result.faults]
    assert [shifted(each).split(": ", 1)[1] for each in expected] == [each.split(": ", 1)[1] for each in found]
    assert [shifted(each).split(":")[0] for each in expected] == [each.split(":")[0] for each in found]
    assert accepted == len(result.declarations)


def test_declarations_of_elsewhere_are_looked_at_too() -> None:
    """With their file in the message."""
    others = checked(COOL, file="first.yaml").declarations

    assert ['3:18: metadata.name: Duplicate value: "coolresources.example.com" is declared in first.yaml:1:1 already'] == said(
        COOL, Around(others=others)
    )


def test_a_group_that_others_serve_is_refused() -> None:
    """An APIService of ours would fight with theirs."""
    assert [
        (
            "5:10: spec.group: Forbidden: example.com is served by the Service monitoring/other "
            "already; expected a group that nothing else serves"
        )
    ] == said(COOL, Around(cluster=CLUSTER))


def test_names_that_others_serve_are_warnings() -> None:
    """kubectl takes such a name for theirs; the full name works all the same."""
    result = checked(QUEUES, Around(cluster=CLUSTER))

    assert [
        (
            'q.yaml:8:50: warning: spec.names.singular: "queue" is a name of queues.example.org in '
            "this cluster, and kubectl takes it for that; expected queue.msg.example.com in kubectl, or another name"
        ),
        (
            'q.yaml:8:70: warning: spec.names.shortNames[0]: "q" is a name of quotas.example.org in '
            "this cluster, and kubectl takes it for that; expected q.msg.example.com in kubectl, or another name"
        ),
    ] == [str(fault) for fault in result.faults]
    assert 1 == len(result.declarations)


def test_names_of_built_in_kinds_are_warnings() -> None:
    """Known without a cluster."""
    result = checked(queues("[q]", "[pst, q]"))

    assert [
        (
            'q.yaml:8:70: warning: spec.names.shortNames[0]: "pst" is a name of podstats.live.kubeglance.io, which kubeglance serves too; '
            "expected pst.msg.example.com in kubectl, or another name"
        )
    ] == [str(fault) for fault in result.faults]
    assert 1 == len(result.declarations)
