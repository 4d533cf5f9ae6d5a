from collections import Counter

from benchmarks.plan import SELECTED_APP, Plan, load


def test_the_common_size_has_ten_namespaces_of_700_pods_of_which_400_are_selected() -> None:
    pods = list(Plan(nodes=100, pods=70, containers=2, since=1_796_000_000).all_pods())
    assert Counter(pod.namespace for pod in pods) == {f"team-{number}": 700 for number in range(10)}
    assert Counter(pod.namespace for pod in pods if pod.labels["app"] == SELECTED_APP) == {f"team-{number}": 400 for number in range(10)}


def test_names_are_the_pods_own_and_small_clusters_have_a_namespace_too() -> None:
    for nodes, pods in ((10, 30), (100, 70), (1000, 30)):
        planned = list(Plan(nodes, pods, 2, 1_796_000_000).all_pods())
        assert len({(pod.namespace, pod.name) for pod in planned}) == len(planned) == nodes * pods
        assert len({pod.uid for pod in planned}) == len(planned)


def test_each_node_has_its_pods_and_they_are_the_same_when_asked_again() -> None:
    plan = Plan(nodes=7, pods=30, containers=3, since=1_796_000_000)
    again = Plan(nodes=7, pods=30, containers=3, since=1_796_000_000)
    for node in range(7):
        assert list(plan.pods_of(node)) == list(again.pods_of(node))
        assert {pod.node for pod in plan.pods_of(node)} == {node}
        assert len(list(plan.pods_of(node))) == 30


def test_all_began_after_the_nodes_and_before_since() -> None:
    plan = Plan(nodes=50, pods=30, containers=2, since=1_796_000_000)
    assert all(plan.booted < pod.started <= plan.since for pod in plan.all_pods())
    assert all(pod.created_ns(name) // 10**9 == pod.started for pod in plan.all_pods() for name in pod.containers)


def test_loads_follow_from_names_and_fit_the_node() -> None:
    plan = Plan(nodes=5, pods=70, containers=2, since=1_796_000_000)
    for pod in plan.all_pods():
        for name in pod.containers:
            assert pod.load(name) == load(pod.namespace, pod.name, name)
            assert 1_000_000 <= pod.load(name).cpu < 100_000_000
            assert 8 * 2**20 <= pod.load(name).memory < 264 * 2**20
    assert all(plan.node_load(node).cpu < plan.capacity.cpu and plan.node_load(node).memory < plan.capacity.memory for node in range(5))
