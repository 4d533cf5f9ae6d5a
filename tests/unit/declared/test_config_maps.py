"""Declarations in ConfigMaps."""

from app.declared.config_maps import MOST_BYTES, ConfigMaps, declarations_in
from app.declared.texts import Text
from app.kube.decode import ConfigMapRecord


def _store(*, own: bool = True) -> tuple[ConfigMaps, list[int]]:
    changes: list[int] = []
    return ConfigMaps("shop", own=own, changed=lambda: changes.append(1)), changes


def _map(name: str, **data: str) -> ConfigMapRecord:
    return ConfigMapRecord("shop", name, {key.replace("__", "."): text for key, text in data.items()})


def test_each_key_is_a_file() -> None:
    """By name and key; keys that are no YAML or JSON are something else's."""
    store, _ = _store()
    store.apply([_map("b", z__yaml="1", a__json="2", notes="3"), _map("a", q__yml="4")], [])

    assert store.texts() == [
        Text("configmap shop/a:q.yml", "4"),
        Text("configmap shop/b:a.json", "2"),
        Text("configmap shop/b:z.yaml", "1"),
    ]


def test_changes_are_told_and_nothing_else() -> None:
    """A list that brings what is known already is no news."""
    store, changes = _store()
    store.apply([_map("a", q__yaml="1")], [])
    store.apply([_map("a", q__yaml="1")], [])
    store.apply([], [("shop", "b")])
    assert len(changes) == 1

    store.apply([_map("a", q__yaml="2")], [])
    store.apply([], [("shop", "a")])
    assert (len(changes), store.texts(), set(store.keys())) == (3, [], set())


def test_a_tenant_has_room_for_as_much_as_one_config_map() -> None:
    """What is beyond it is not read, and says so; kubeglance's own has no such bound."""
    half = "x" * (MOST_BYTES // 2)
    maps = [_map("a", q__yaml=half), _map("b", q__yaml=half), _map("c", q__yaml="1")]
    tenant, own = _store(own=False)[0], _store()[0]
    tenant.apply(maps, [])
    own.apply(maps, [])

    assert [(text.namespace, bool(text.fault)) for text in tenant.texts()] == [("shop", False), ("shop", False), ("shop", True)]
    assert [(text.namespace, text.fault) for text in own.texts()] == [("", "")] * 3


def test_only_labelled_ones_of_one_namespace_are_asked_for() -> None:
    """So that no right to read other ConfigMaps is needed, and their content never comes here."""
    watched = declarations_in("shop")

    assert watched.path == "/api/v1/namespaces/shop/configmaps"
    assert watched.params == {"labelSelector": "kubeglance.io/declarations=true"}
    assert "namespace shop" in watched.grant
