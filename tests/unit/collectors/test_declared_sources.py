"""What sources there are for declarations, and the one that asks nobody."""

import pytest
from pydantic import ValidationError

from collectors import sources
from collectors._source import Spec
from collectors.static import SOURCE, StaticSpec
from tests.fakes.means import means


def test_sources_are_found_by_their_modules() -> None:
    """Kubelets' collectors are none."""
    assert {"http", "kubernetes", "prometheus", "redis", "sql", "static"} <= sources().keys()
    assert not [name for name in sources() if name.startswith("kubelet")]


def test_every_field_of_every_source_is_described() -> None:
    """The reference and the editor's schema are made of it."""
    for source in sources().values():
        assert issubclass(source.spec, Spec)
        assert not [name for name, field in source.spec.model_fields.items() if not field.description], source.name


async def test_static_items() -> None:
    """`response` is what stands under static, whenever it is asked."""
    source = SOURCE.open(StaticSpec.model_validate({"items": [{"name": "a"}, 7]}), means())

    assert {"items": [{"name": "a"}, 7]} == (await source.collect()).value == (await source.collect()).value
    assert source.changed is None
    await source.aclose()


def test_static_has_items_and_nothing_else() -> None:
    """A typing error is no empty list."""
    wrong: list[dict[str, object]] = [{}, {"items": 7}, {"itmes": []}]
    for said in wrong:
        with pytest.raises(ValidationError):
            StaticSpec.model_validate(said)
