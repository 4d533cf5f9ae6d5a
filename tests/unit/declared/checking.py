"""The checker with sources that tests know, and what the tables of its tests are made with."""

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from app.declared.check import ALONE, Around, Checked, ServedNames, Tenant, check
from app.declared.documents import read
from app.declared.metric_model import LiveMetric
from app.declared.model import LiveResource
from collectors._source import Means, Source, SourceType, Spec, Value
from collectors.http import SOURCE as HTTP
from collectors.kubernetes_objects import SOURCE as KUBERNETES
from collectors.static import SOURCE as STATIC
from tests.unit.declared.canonical import COOL, QUEUES, changed


class Paging(Spec):
    """A part of a source."""

    size: int = Field(100, ge=1, le=500)


class DatabaseSpec(Spec):
    """A source that is not shipped: its rules are plain to see here."""

    host: str
    user: Value | None = None
    password: Value | None = None
    dialect: str = ""
    page: Paging | None = None
    path: str = ""
    options: dict[str, str | Value] = Field(default_factory=dict)


def _open(_spec: Any, _means: Means) -> Source:
    raise AssertionError("nothing is opened by a check")


DATABASE = SourceType(
    "database", DatabaseSpec, _open, lambda spec: spec.host, lambda spec: [(spec.host, 5432)], uses_files=lambda spec: bool(spec.path)
)

TYPES = {each.name: each for each in (STATIC, HTTP, KUBERNETES, DATABASE)}


def no_expressions(_resource: LiveResource | LiveMetric) -> Sequence[Any]:
    """In place of the checker of CEL, which has tests of its own."""
    return ()


def checked(text: str, around: Around = ALONE, file: str = "q.yaml", expressions: Any = no_expressions) -> Checked:
    """What comes of a text that can be read."""
    documents, faults = read(text, file)
    assert [] == faults
    return check(documents, around, types=TYPES, expressions=expressions)


def said(text: str, around: Around = ALONE, **more: Any) -> list[str]:
    """The faults of a text, without the name of the file."""
    return [str(fault).removeprefix("q.yaml:") for fault in checked(text, around, **more).faults]


def queues(old: str, new: str) -> str:
    """The example with a bit of everything, changed."""
    return changed(QUEUES, old, new)


def cool(old: str, new: str) -> str:
    """CoolResource, changed."""
    return changed(COOL, old, new)


SHOP = Tenant(groups=("example.com",), hosts=("*.shop.svc", "db.example.com:5432"))


def of_shop(source: str = "{static: {items: []}}") -> str:
    """A declaration that the namespace shop may make."""
    return COOL.replace("[default]", "[shop]").replace(
        "{static: {items: [{name: hello, namespace: default, message: Hello from CoolResource}]}}", source
    )


CLUSTER = ServedNames(
    groups={"example.com": "the Service monitoring/other", "apps": "kube-apiserver (built in, or by a CustomResourceDefinition)"},
    names={"q": "quotas.example.org", "queue": "queues.example.org"},
)
