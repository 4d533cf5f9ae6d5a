"""What is in force after each load: the rules of last good versions, of clashes, and of tenants."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from app.declared.check import Around, Checked, Known, check
from app.declared.check_alone import ExpressionFault
from app.declared.documents import Document
from app.declared.loader import Loaded, Loader, name_of
from app.declared.metric_model import LiveMetric
from app.declared.model import LiveResource
from app.declared.served_names import ServedNames
from app.declared.tenants import Tenant
from app.declared.texts import Text
from collectors import static
from tests.fakes.declared import live_resource, text_of
from tests.unit.declared.metrics import ORDERS

QUEUES, TABLES = live_resource("queues"), live_resource("tables")
BROKEN = live_resource("queues", interval="5x")
SHOP = "shop.example.com"


def of_shop(plural: str = "carts", group: str = SHOP, **spec: Any) -> dict[str, Any]:
    """What a tenant may declare."""
    namespaced = {"scope": "Namespaced", "allowNamespaces": ["shop"], "object": {"name": "item.name", "namespace": '"shop"'}}
    return live_resource(plural, group, **namespaced, **spec)


class _Loads:
    """A loader, and what it is told."""

    def __init__(self) -> None:
        self.looked_at: list[str] = []
        """The names of the declarations that were checked by themselves, in turn."""
        checker = partial(check, types={"static": static.SOURCE}, expressions=self._look)
        self.loader = Loader(own="kubeglance-system", checker=checker)
        self.tenants: Mapping[str, Tenant] = {"shop": Tenant((SHOP,))}
        self.cluster: ServedNames | None = None

    def _look(self, resource: LiveResource | LiveMetric) -> list[ExpressionFault]:
        self.looked_at.append(resource.metadata.name)
        return []

    def load(self, *texts: Text) -> Loaded:
        self.looked_at.clear()
        return self.loader.load(texts, self.tenants, self.cluster)

    def own(self, **files: str | dict[str, Any] | Sequence[Any]) -> Loaded:
        """Files of kubeglance's own, by name: documents."""
        return self.load(*(Text(f"{name}.yaml", _text(said)) for name, said in files.items()))


def _text(said: Any) -> str:
    return text_of(*said) if isinstance(said, list | tuple) else text_of(said)


def _tenants(said: Any, name: str = "carts") -> Text:
    return Text(f"configmap shop/{name}:a.yaml", _text(said), "shop")


@pytest.fixture
def loads() -> _Loads:
    return _Loads()


def test_every_good_declaration_is_taken(loads: _Loads) -> None:
    """Several of a file, and of several files."""
    loaded = loads.own(a=[QUEUES, TABLES], b=live_resource("jobs"))

    assert sorted(loaded.declarations) == ["jobs.example.com", "queues.example.com", "tables.example.com"]
    assert loaded.rejected == []


def test_a_fault_costs_its_own_document_only(loads: _Loads) -> None:
    """With its place, and all that is wrong with it."""
    loaded = loads.own(a=[BROKEN, TABLES])

    assert list(loaded.declarations) == ["tables.example.com"]
    (rejected,) = loaded.rejected
    assert (rejected.name, rejected.served) == ("queues.example.com", False)
    assert "spec.interval" in str(rejected.faults[0])


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(BROKEN, id="a field is wrong"),
        pytest.param("metadata: {name: queues.example.com", id="the text is no YAML any more"),
        pytest.param({**QUEUES, "metadata": {"name": "queus.example.com"}}, id="the name is misspelt"),
        pytest.param({**QUEUES, "metadata": {}}, id="the name is gone"),
        pytest.param({**QUEUES, "kind": "LiveResourc"}, id="the kind is misspelt"),
    ],
)
def test_a_bad_edit_keeps_the_last_good_version(loads: _Loads, edit: Any) -> None:
    """Until it is mended; then the new one counts."""
    before = loads.own(a=QUEUES).declarations["queues.example.com"]

    spoiled = loads.own(a=edit)
    assert spoiled.declarations == {"queues.example.com": before}
    assert spoiled.rejected

    mended = loads.own(a=live_resource("queues", interval="30s"))
    assert mended.declarations["queues.example.com"].resource.spec.interval == 30
    assert mended.rejected == []


def test_a_file_that_cannot_be_read_keeps_what_it_held(loads: _Loads) -> None:
    """A file system that is away for a moment takes no kind away."""
    before = loads.own(a=QUEUES)
    after = loads.load(Text("a.yaml", "", fault="cannot be read: it is away"))

    assert after.declarations == before.declarations
    assert ["cannot be read: it is away"] == [fault.message for each in after.rejected for fault in each.faults]


_FAULTY = live_resource("rows", ttl="1s")  # in its rules: its expressions are looked at
_ASIDE = Text("b.yaml", _text([TABLES, _FAULTY, live_resource("jobs")]))


@pytest.mark.parametrize(
    ("texts", "looked_at"),
    [
        pytest.param([Text("a.yaml", _text(QUEUES)), _ASIDE], [], id="nothing"),
        pytest.param([Text("a.yaml", _text(live_resource("queues", interval="30s"))), _ASIDE], ["queues.example.com"], id="one of them"),
        pytest.param([Text("a.yaml", _text([live_resource("cells"), QUEUES])), _ASIDE], ["cells.example.com"], id="a new one before it"),
        pytest.param([Text("a.yaml", "# why it is here\n" + _text(QUEUES)), _ASIDE], [], id="a comment"),
        pytest.param([Text("c.yaml", _text(QUEUES)), _ASIDE], [], id="its file"),
        pytest.param([_ASIDE], [], id="one goes"),
        pytest.param([Text("a.yaml", _text(BROKEN)), _ASIDE], ["queues.example.com"], id="to a bad one"),
    ],
)
def test_what_did_not_change_is_not_checked_again(loads: _Loads, texts: list[Text], looked_at: list[str]) -> None:
    """Only a document that says something new is looked at, be others good or faulty; what is wrong with those is told all the same."""
    loads.load(Text("a.yaml", _text(QUEUES)), _ASIDE)
    assert sorted(loads.looked_at) == ["jobs.example.com", "queues.example.com", "rows.example.com", "tables.example.com"]

    loaded = loads.load(*texts)

    assert loads.looked_at == looked_at
    assert "spec.ttl" in {fault.path for each in loaded.rejected for fault in each.faults}


def test_what_did_not_change_is_held_against_what_did(loads: _Loads) -> None:
    """Names that clash are found although neither is checked by itself again, and so is what the cluster serves meanwhile."""
    thief = live_resource("queues2", names={"kind": "Queue", "plural": "queues2"})
    loads.own(a=QUEUES, b=TABLES)

    loaded = loads.own(a=QUEUES, b=thief, c=TABLES)
    assert ["queues2.example.com"] == [each.name for each in loaded.rejected]
    assert loads.looked_at == ["queues2.example.com"]

    loads.cluster = ServedNames({"example.com": "the Service others/server"}, {})
    loaded = loads.own(a=QUEUES, b=thief, c=TABLES)
    assert {"queues.example.com", "queues2.example.com", "tables.example.com"} == {each.name for each in loaded.rejected}
    assert loads.looked_at == []


def test_what_a_tenant_may_is_asked_again_when_it_changes(loads: _Loads) -> None:
    """And what went is forgotten: it is checked anew when it comes back."""
    loads.load(_tenants(of_shop()))
    loads.tenants = {"shop": Tenant((SHOP,), ("*.shop.svc",))}

    loads.load(_tenants(of_shop()))
    assert loads.looked_at == ["carts.shop.example.com"]

    loads.load()
    loads.load(_tenants(of_shop()))
    assert loads.looked_at == ["carts.shop.example.com"]


def test_what_was_taken_out_is_gone(loads: _Loads) -> None:
    """A file that was removed, and a document of one that stays."""
    loads.own(a=[QUEUES, TABLES], b=live_resource("jobs"))

    assert list(loads.own(a=TABLES).declarations) == ["tables.example.com"]
    assert loads.own().declarations == {}


def test_a_document_beside_a_faulty_one_can_be_taken_out(loads: _Loads) -> None:
    """What is faulty says who it is, so that it is clear that it is not the other."""
    loads.own(a=[QUEUES, TABLES])

    assert list(loads.own(a=BROKEN).declarations) == ["queues.example.com"]


def test_a_declaration_that_moves_to_another_file_stays(loads: _Loads) -> None:
    """The same digest, another place."""
    before = loads.own(a=QUEUES).declarations["queues.example.com"]
    after = loads.own(b=QUEUES).declarations["queues.example.com"]

    assert (before.digest, before.place.file) == (after.digest, "a.yaml")
    assert after.place.file == "b.yaml"


def test_of_two_of_one_kind_the_first_stays(loads: _Loads) -> None:
    """The other one is a fault, whichever file comes first; and is taken when the first is removed."""
    other = live_resource("queues", interval="30s")
    loads.own(b=QUEUES)

    both = loads.own(a=other, b=QUEUES)
    assert both.declarations["queues.example.com"].place.file == "b.yaml"
    assert [each.place.file for each in both.rejected] == ["a.yaml"]

    assert loads.own(a=other).declarations["queues.example.com"].place.file == "a.yaml"


def test_what_is_said_twice_is_said_once(loads: _Loads) -> None:
    """A ConfigMap with the label that is mounted too."""
    loaded = loads.load(Text("a.yaml", _text(QUEUES)), Text("configmap kubeglance-system/q:a.yaml", _text(QUEUES)))

    assert (list(loaded.declarations), loaded.rejected) == (["queues.example.com"], [])


def test_what_is_new_does_not_clash_with_what_is_held(loads: _Loads) -> None:
    """A second declaration of a kind cannot slip in while the first is spoiled."""
    held = loads.own(a=QUEUES).declarations
    thief = live_resource("queues2", names={"kind": "Queue", "plural": "queues2"})

    loaded = loads.own(a=BROKEN, b=thief)

    assert loaded.declarations == held
    assert sorted(each.name for each in loaded.rejected) == ["queues.example.com", "queues2.example.com"]


def test_a_group_of_somebody_else_is_refused(loads: _Loads) -> None:
    """What the cluster serves already is not ours."""
    loads.cluster = ServedNames({"example.com": "the Service others/server"}, {})

    loaded = loads.own(a=QUEUES)

    assert loaded.declarations == {}
    assert "others/server" in str(loaded.rejected[0].faults[0])


def test_a_tenant_declares_within_its_rights(loads: _Loads) -> None:
    """Its group, its namespace."""
    loaded = loads.load(_tenants(of_shop()))

    assert loaded.declarations["carts.shop.example.com"].namespace == "shop"
    assert loaded.rejected == []


@pytest.mark.parametrize(
    ("said", "path"),
    [
        pytest.param(of_shop(group="bank.example.com"), "spec.group", id="a group that is not listed"),
        pytest.param(live_resource("carts", SHOP), "spec.scope", id="a kind without namespaces"),
        pytest.param(
            {**of_shop(), "spec": {**of_shop()["spec"], "allowNamespaces": ["shop", "bank"]}},
            "spec.allowNamespaces[1]",
            id="objects elsewhere",
        ),
    ],
)
def test_a_tenant_declares_nothing_else(loads: _Loads, said: Any, path: str) -> None:
    """And what it may not costs itself only."""
    loaded = loads.load(Text("a.yaml", _text(QUEUES)), _tenants([said, of_shop("wares")]))

    assert sorted(loaded.declarations) == ["queues.example.com", "wares.shop.example.com"]
    assert path in {fault.path for each in loaded.rejected for fault in each.faults}


def test_a_namespace_that_is_not_listed_declares_nothing(loads: _Loads) -> None:
    """Nor what was taken before it was struck off the list, nor by a bad edit."""
    loads.load(_tenants(of_shop()))
    loads.tenants = {"shop": Tenant()}

    assert loads.load(_tenants(of_shop())).declarations == {}


def test_a_bad_edit_does_not_keep_rights_that_were_taken_away(loads: _Loads) -> None:
    """The last good version is held only as far as it is still allowed."""
    loads.load(_tenants(of_shop()))
    assert list(loads.load(_tenants(of_shop(interval="5x"))).declarations) == ["carts.shop.example.com"]

    loads.tenants = {"shop": Tenant(("other.example.com",))}
    assert loads.load(_tenants(of_shop(interval="5x"))).declarations == {}


def test_a_tenant_takes_no_kind_of_others(loads: _Loads) -> None:
    """A kind of kubeglance's own stays, in a group that a tenant has too; and the other way round."""
    own = Text("a.yaml", _text(live_resource("carts", SHOP)))
    first = loads.load(own, _tenants(of_shop()))
    assert first.declarations["carts.shop.example.com"].namespace == ""

    loads = _Loads()
    loads.load(_tenants(of_shop()))
    second = loads.load(own, _tenants(of_shop()))
    assert second.declarations["carts.shop.example.com"].namespace == "shop"


def test_a_declaration_can_move_between_namespaces(loads: _Loads) -> None:
    """In one load: what is taken away in one place makes room in the other."""
    loads.load(_tenants(of_shop()))

    moved = loads.load(Text("a.yaml", _text(live_resource("carts", SHOP))))

    assert moved.declarations["carts.shop.example.com"].namespace == ""
    assert moved.rejected == []


def test_a_checker_that_fails_on_one_document_costs_that_only() -> None:
    """A bug of ours must not keep all others from being reloaded."""

    def checker(documents: Sequence[Document], around: Around, known: Known) -> Checked:
        if any(name_of(each) == "queues.example.com" for each in documents):
            raise ZeroDivisionError
        return check(documents, around, known, types={"static": static.SOURCE}, expressions=lambda _resource: [])

    loader = Loader(own="kubeglance-system", checker=checker)
    with capture_logs() as logs:
        loaded = loader.load([Text("a.yaml", _text([TABLES, QUEUES, live_resource("jobs")]))], {}, None)

    assert sorted(loaded.declarations) == ["jobs.example.com", "tables.example.com"]
    assert [each.name for each in loaded.rejected] == ["queues.example.com"]
    assert [line["event"] for line in logs] == ["a declaration cannot be checked; please report it"]


_STATES = st.sampled_from(["10s", "20s", "5x", "absent"])
_EDITS = st.lists(st.one_of(st.just("no YAML"), st.tuples(_STATES, _STATES)), max_size=6)


@given(_EDITS)
@settings(max_examples=60, deadline=None)
def test_whatever_is_edited_what_is_in_force_is_the_last_good_of_what_is_there(edits: list[Any]) -> None:
    """Two declarations of one file, each good, faulty or absent, or all of it unreadable: the rule, told once more and simply."""
    loads, wanted = _Loads(), dict[str, str]()
    for edit in edits:
        if edit == "no YAML":
            loaded = loads.own(a="spec: [")
        else:
            said = {plural: interval for plural, interval in zip(("queues", "tables"), edit, strict=True) if interval != "absent"}
            loaded = loads.own(a=[live_resource(plural, interval=interval) for plural, interval in said.items()])
            # A faulty document of a name that is not in force may be what became of another that is missing.
            unclear = any(interval == "5x" and plural not in wanted for plural, interval in said.items())
            kept = {plural: interval for plural, interval in wanted.items() if said.get(plural) == "5x" or (plural not in said and unclear)}
            wanted = kept | {plural: interval for plural, interval in said.items() if interval != "5x"}

        in_force = {name.partition(".")[0]: f"{each.resource.spec.interval:g}s" for name, each in loaded.declarations.items()}
        assert in_force == wanted
        assert bool(loaded.rejected) == (edit == "no YAML" or "5x" in edit)


def _metric(**spec: Any) -> dict[str, Any]:
    said: dict[str, Any] = yaml.safe_load(ORDERS)
    del said["spec"]["namespaces"]
    return {**said, "spec": {**said["spec"], **spec}}


def test_tenants_metrics_of_one_name_are_in_force_side_by_side(loads: _Loads) -> None:
    """Each keeps its last good version by itself, and goes by itself."""
    loads.tenants = {"shop": Tenant(()), "alpha": Tenant(())}

    def load(shop: Any, alpha: Any) -> Loaded:
        texts = {"shop": shop, "alpha": alpha}
        return loads.load(*(Text(f"configmap {name}/m:a.yaml", _text(said), name) for name, said in texts.items() if said is not None))

    assert {"orders.alpha", "orders.shop"} == load(_metric(), _metric()).declarations.keys()

    spoiled = load(_metric(interval="5x"), _metric(interval="20s"))
    assert {"orders.alpha", "orders.shop"} == spoiled.declarations.keys()
    assert [("orders.shop", True)] == [(each.name, each.served) for each in spoiled.rejected]
    assert 15.0 == spoiled.declarations["orders.shop"].resource.spec.interval
    assert 20.0 == spoiled.declarations["orders.alpha"].resource.spec.interval

    assert ["orders.shop"] == list(load(_metric(), None).declarations)


def test_of_metrics_that_overlap_the_one_in_force_stays(loads: _Loads) -> None:
    """Whichever comes first in the order of files."""
    first = _metric(namespaces=["shop"])
    second = {**_metric(namespaces="any"), "metadata": {"name": "all-orders"}}
    loads.own(b=first)
    loaded = loads.own(a=second, b=first)

    assert ["orders"] == list(loaded.declarations)
    (rejected,) = loaded.rejected
    assert "overlaps: external metric orders_waiting is served by orders" in rejected.faults[0].message


@pytest.mark.parametrize("namespaces", [["shop"], "any"])
@pytest.mark.parametrize("edit", [{}, {"interval": "30s"}, {"interval": "5x"}], ids=["as it was", "another version", "a bad edit"])
def test_the_operators_metric_takes_the_place_of_a_tenants(loads: _Loads, namespaces: Any, edit: dict[str, Any]) -> None:
    """Although the tenant's was there first, and whatever becomes of it; when the operator's goes, the tenant's is back."""
    loads.tenants = {"shop": Tenant(())}
    own = Text("own.yaml", _text({**_metric(namespaces=namespaces), "metadata": {"name": "all-orders"}}))
    assert ["orders.shop"] == list(loads.load(_tenants(_metric())).declarations)

    loaded = loads.load(own, _tenants(_metric(**edit)))

    assert ["all-orders"] == list(loaded.declarations)
    (rejected,) = loaded.rejected
    assert ("orders.shop", False) == (rejected.name, rejected.served)
    if edit != {"interval": "5x"}:
        told = "overlaps: external metric orders_waiting is served by all-orders in own.yaml:1:1 already, and what the operator declares"
        assert rejected.faults[0].message.startswith(told)
    assert ["orders.shop"] == list(loads.load(_tenants(_metric())).declarations)


def test_the_operators_kind_with_a_metric_takes_the_place_of_a_tenants_metric(loads: _Loads) -> None:
    """What it declares for the HPA counts as a metric too."""
    loads.tenants = {"shop": Tenant(())}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"status": {"type": "object", "properties": {"n": {"type": "integer"}}}}}}
    made = {"name": "item.name", "namespace": '"shop"', "status": {"n": "1"}}
    metric = {"name": "orders_waiting", "value": "status.n", "apis": ["external"]}
    kind = live_resource("carts", scope="Namespaced", allowNamespaces=["shop"], object=made, schema=schema, metrics=[metric])
    loads.load(_tenants(_metric()))
    loaded = loads.load(Text("own.yaml", _text(kind)), _tenants(_metric()))

    assert ["carts.example.com"] == list(loaded.declarations)
    assert ["orders.shop"] == [each.name for each in loaded.rejected]


def test_tenants_do_not_take_metrics_from_the_operator(loads: _Loads) -> None:
    """A tenant's new one is refused, and nothing of the operator's moves."""
    loads.tenants = {"shop": Tenant(())}
    own = Text("own.yaml", _text(_metric(namespaces=["shop"])))
    loads.load(own)
    loaded = loads.load(own, _tenants(_metric()))

    assert ["orders"] == list(loaded.declarations)
    assert [("orders.shop", False)] == [(each.name, each.served) for each in loaded.rejected]


def test_a_named_server_that_is_not_there_is_told_and_costs_nothing() -> None:
    """Whoever declares it may do so before the operator names the server."""
    loader = Loader(own="kubeglance-system", servers=["main"], checker=partial(check, expressions=lambda _resource: []))
    loaded = loader.load(
        [Text("a.yaml", _text(live_resource("queues", source={"prometheus": {"server": "man", "query": "up"}})))], {}, None
    )

    assert list(loaded.declarations) == ["queues.example.com"]
    assert ['there is no server "man" in --prometheus-servers'] == [fault.message for fault in loaded.warnings]
