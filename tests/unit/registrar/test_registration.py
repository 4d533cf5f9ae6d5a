"""app/registrar/registration.py: what has to be written for what is served, in which order, and what is left alone."""

import base64
from typing import Any

from app.registrar.registration import (
    INSTANCE,
    MANAGED_BY,
    Action,
    Group,
    Install,
    Manifest,
    Ref,
    Resource,
    groups_of,
    objects,
    of_existing,
    plan,
    ref,
)

INSTALL = Install("kube-system", "kubeglance", built_in=frozenset({"metrics.k8s.io"}))
QUEUES = Group("msg.example.com", ("v1alpha1",), (Resource("queues", namespaced=True, subresources=("history", "raw")),))
BUNDLE = b"PEM"


def there(*groups: Group) -> dict[Ref, Manifest]:
    """A cluster in which these groups are registered."""
    found: dict[Ref, Manifest] = {}
    for group in groups:
        for manifest in objects(group, INSTALL, BUNDLE):
            metadata = {**manifest["metadata"], "uid": f"uid of {ref(manifest)}", "resourceVersion": "7"}
            found[ref(manifest)] = {**manifest, "metadata": metadata, "status": {"anything": True}}
    return found


def foreign(name: str, group: str, service: dict[str, str] | None) -> dict[Ref, Manifest]:
    return {("APIService", name): {"kind": "APIService", "metadata": {"name": name}, "spec": {"group": group, "service": service}}}


def names(actions: list[Action]) -> list[tuple[str, str]]:
    return [(action.verb, action.manifest["metadata"]["name"]) for action in actions]


def test_a_new_group_gets_its_role_first_and_then_its_api_service() -> None:
    """What makes it reachable comes last."""
    todo = plan([QUEUES], {}, INSTALL, BUNDLE)

    assert [("create", "kubeglance:reader:msg.example.com"), ("create", "v1alpha1.msg.example.com")] == names(todo.actions)
    assert not todo.refused


def test_an_api_service_is_verified_by_the_bundle_and_points_to_the_service() -> None:
    """insecureSkipTLSVerify is never set."""
    service = plan([QUEUES], {}, INSTALL, BUNDLE).actions[-1].manifest

    assert {
        "group": "msg.example.com",
        "version": "v1alpha1",
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
        "service": {"name": "kubeglance", "namespace": "kube-system", "port": 443},
        "caBundle": base64.b64encode(BUNDLE).decode(),
    } == service["spec"]


def test_namespaced_kinds_join_view_and_cluster_scoped_kinds_do_not() -> None:
    """Who may view a namespace may view what is in it. What tells of the whole cluster is granted by name."""
    both = Group("a.example.com", ("v1",), (Resource("queues", namespaced=True), Resource("brokers", namespaced=False)))
    roles = {ref(each)[1]: each for each in objects(both, INSTALL, BUNDLE) if each["kind"] == "ClusterRole"}

    assert {"kubeglance:reader:a.example.com", "kubeglance:cluster-reader:a.example.com"} == set(roles)
    view = roles["kubeglance:reader:a.example.com"]
    assert "true" == view["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"]
    assert [{"apiGroups": ["a.example.com"], "resources": ["queues"], "verbs": ["get", "list"]}] == view["rules"]
    assert not any("aggregate" in label for label in roles["kubeglance:cluster-reader:a.example.com"]["metadata"]["labels"])


def test_readers_get_the_history_but_not_what_is_behind_an_object() -> None:
    """/raw and /log have rights of their own."""
    role = next(iter(objects(QUEUES, INSTALL, BUNDLE)))

    assert ["queues", "queues/history"] == role["rules"][0]["resources"]


def test_built_in_groups_bring_their_roles_with_the_manifests() -> None:
    """Only the APIServices of metrics.k8s.io are the registrar's; v1 goes before v1beta1."""
    metrics = Group("metrics.k8s.io", ("v1", "v1beta1"), (Resource("pods", namespaced=True),))
    made = list(objects(metrics, INSTALL, BUNDLE))

    assert [("v1.metrics.k8s.io", 200), ("v1beta1.metrics.k8s.io", 100)] == [
        (each["metadata"]["name"], each["spec"]["versionPriority"]) for each in made
    ]


def test_what_is_as_it_should_be_is_not_written() -> None:
    """The server's own fields are no difference."""
    assert [] == plan([QUEUES], there(QUEUES), INSTALL, BUNDLE).actions


def test_a_new_bundle_is_put_into_every_api_service() -> None:
    """With the version of what it replaces, so that nobody's change is lost."""
    todo = plan([QUEUES], there(QUEUES), INSTALL, b"NEW")

    assert [("replace", "v1alpha1.msg.example.com")] == names(todo.actions)
    assert "7" == todo.actions[0].manifest["metadata"]["resourceVersion"]


def test_what_is_served_no_more_loses_its_api_service_first() -> None:
    """An APIService that points to nothing holds up the deletion of every namespace."""
    todo = plan([], there(QUEUES), INSTALL, BUNDLE)

    assert [("delete", "v1alpha1.msg.example.com"), ("delete", "kubeglance:reader:msg.example.com")] == names(todo.actions)


def test_nothing_is_deleted_while_kubeglance_does_not_answer() -> None:
    """What it serves is then not known."""
    assert [] == plan([], there(QUEUES), INSTALL, BUNDLE, keep=True).actions


def test_a_group_that_somebody_else_serves_is_refused_as_a_whole() -> None:
    """Also in another version: with two servers the kinds of a group come and go with who answers."""
    existing = foreign("v2.msg.example.com", "msg.example.com", {"namespace": "mq", "name": "broker"})
    todo = plan([QUEUES], existing, INSTALL, BUNDLE)

    assert [] == todo.actions
    assert "APIService v2.msg.example.com is served by Service mq/broker: choose another group, or remove what serves it first" == (
        todo.refused[0].reason
    )


def test_a_group_of_a_custom_resource_is_refused() -> None:
    """kube-apiserver makes an APIService without a Service for it; ours would hide the custom resources."""
    todo = plan([QUEUES], foreign("v1.msg.example.com", "msg.example.com", None), INSTALL, BUNDLE)

    assert "kube-apiserver (a CustomResourceDefinition?)" in todo.refused[0].reason
    assert [] == todo.actions


def test_an_api_service_of_ours_by_other_hands_stays_theirs() -> None:
    """GitOps keeps it: two writers would fight over it."""
    existing = foreign("v1alpha1.msg.example.com", "msg.example.com", {"namespace": "kube-system", "name": "kubeglance"})

    assert "made by somebody else, who keeps it" in plan([QUEUES], existing, INSTALL, BUNDLE).refused[0].reason


def test_a_role_of_that_name_by_other_hands_is_left_alone() -> None:
    """It costs the role, not the group."""
    name = "kubeglance:reader:msg.example.com"
    todo = plan([QUEUES], {("ClusterRole", name): {"kind": "ClusterRole", "metadata": {"name": name}, "rules": []}}, INSTALL, BUNDLE)

    assert [("create", "v1alpha1.msg.example.com")] == names(todo.actions)
    assert [name] == [refusal.group for refusal in todo.refused]


def test_another_install_in_the_cluster_is_not_touched() -> None:
    """Two kubeglances, two registrars: each knows its own."""
    existing = there(QUEUES)
    for manifest in existing.values():
        manifest["metadata"]["labels"] = {MANAGED_BY: "kubeglance-registrar", INSTANCE: "elsewhere.kubeglance"}

    assert [] == plan([], existing, INSTALL, BUNDLE).actions


def test_groups_are_read_from_aggregated_discovery() -> None:
    """The form that kube-apiserver asks for too."""
    queues = {"resource": "queues", "scope": "Namespaced", "subresources": [{"subresource": "raw"}, {"subresource": "history"}]}
    discovery: dict[str, Any] = {
        "items": [
            {"metadata": {"name": "msg.example.com"}, "versions": [{"version": "v1alpha1", "resources": [queues]}]},
            {"metadata": {"name": "empty.example.com"}, "versions": [{"version": "v1", "resources": []}]},
        ]
    }

    (group,) = groups_of(discovery)
    assert QUEUES == group._replace(mark="")


def test_a_group_is_marked_by_all_that_discovery_says_of_it() -> None:
    """A new kind, or a short name more, in a group that is registered: kube-apiserver is made to look again at once."""

    def served(**more: Any) -> Group:
        queues = {"resource": "queues", "scope": "Namespaced", **more}
        (group,) = groups_of({"items": [{"metadata": {"name": "a.example.com"}, "versions": [{"version": "v1", "resources": [queues]}]}]})
        return group

    before, after = served(), served(shortNames=["q"])

    assert [] == plan([before], there(before), INSTALL, BUNDLE).actions
    assert [("replace", "v1.a.example.com")] == names(plan([after], there(before), INSTALL, BUNDLE).actions)
    assert [before.mark] == [group.mark for group in of_existing(there(before), INSTALL)]


def test_what_is_registered_tells_its_groups() -> None:
    """With the resources that its roles name."""
    group = QUEUES._replace(resources=(Resource("queues", namespaced=True, subresources=("history",)),))

    assert [group] == of_existing(there(QUEUES), INSTALL)


def test_metrics_give_nobody_a_right() -> None:
    """Their group is registered, v1beta2 before v1beta1, and no viewer of a namespace may read them by that."""
    group = Group("custom.metrics.k8s.io", ("v1beta2", "v1beta1"), (Resource("pods", namespaced=True, subresources=("hits",)),))
    actions = plan([group], {}, INSTALL, BUNDLE).actions

    assert [("create", "v1beta2.custom.metrics.k8s.io"), ("create", "v1beta1.custom.metrics.k8s.io")] == names(actions)
    assert [200, 100] == [action.manifest["spec"]["versionPriority"] for action in actions]
    assert [(group.name, group.versions)] == [(each.name, each.versions) for each in of_existing(there(group), INSTALL)]


def test_metrics_of_another_adapter_are_left_alone() -> None:
    """One server in the cluster has the group: whoever has it keeps it, whichever of its versions it serves."""
    group = Group("custom.metrics.k8s.io", ("v1beta2", "v1beta1"), (Resource("pods", namespaced=True),))
    existing = foreign("v1beta1.custom.metrics.k8s.io", group.name, {"namespace": "monitoring", "name": "prometheus-adapter"})
    todo = plan([group], existing, INSTALL, BUNDLE)

    assert ([], [group.name]) == (todo.actions, [refusal.group for refusal in todo.refused])
    assert "monitoring/prometheus-adapter" in todo.refused[0].reason


def test_metrics_that_come_and_go_change_no_mark() -> None:
    """Else kube-apiserver would put its APIs together anew with each; of kinds it is told at once."""

    def mark(group: str, *resources: str) -> str:
        versions = [{"version": "v1beta1", "resources": [{"resource": name, "scope": "Namespaced"} for name in resources]}]
        (found,) = groups_of({"items": [{"metadata": {"name": group}, "versions": versions}]})
        return found.mark

    assert mark("external.metrics.k8s.io", "a") == mark("external.metrics.k8s.io", "a", "b") != ""
    assert mark("msg.example.com", "a") != mark("msg.example.com", "a", "b")
