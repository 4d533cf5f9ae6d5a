"""The bodies of lists, made as they are taken."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cache.collection import Item
from app.routes.rendering import Form, Page, Renderer
from tests.fakes.kinds import PODS, make_item

FORMS = [
    Form(),
    *(Form("Table", version, include) for version, include in product(("v1", "v1beta1"), ("", "None", "Object", "Metadata"))),
    *(Form("PartialObjectMetadataList", version) for version in ("v1", "v1beta1")),
]
NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
ITEMS = st.lists(
    st.builds(make_item, NAMES, NAMES, labels=st.dictionaries(NAMES, NAMES, max_size=2), value=st.integers(0, 10**12)), max_size=4
)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: " ".join((form.target or "plain", form.version, form.include)).strip())
@given(items=ITEMS, copies=st.sampled_from([1, 100]))
def test_the_length_is_that_of_the_chunks(form: Form, items: list[Item], copies: int) -> None:
    """A list's length is told before its chunks are made, and is theirs."""
    body = Renderer(PODS, "v1").many(items * copies, Page(7, "token", 3), form)
    assert body.length == len(b"".join(body.chunks))
