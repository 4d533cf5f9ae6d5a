"""app/cozystack: what of a HelmRelease is shown as an application, and which definitions make a kind."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cozystack.definition import BadDefinition, Definition, definition_of
from app.cozystack.projection import kind_of, project, with_defaults
from app.kinds._base import Age

SCHEMA = {"type": "object", "properties": {"replicas": {"type": "integer", "default": 2}, "size": {"type": "string"}}}
POSTGRES = Definition("postgres", "Postgres", "postgreses", "postgres", "postgres-", SCHEMA)
SEEN = 1_764_500_000 * 10**9


def definition(**application: Any) -> dict[str, Any]:
    told = {"kind": "Postgres", "plural": "postgreses", "singular": "postgres", "openAPISchema": json.dumps(SCHEMA), **application}
    return {"metadata": {"name": "postgres"}, "spec": {"application": told, "release": {"prefix": "postgres-"}}}


def release(name: str = "postgres-db", **fields: Any) -> dict[str, Any]:
    labels = {"apps.cozystack.io/application.kind": "Postgres", "apps.cozystack.io/application.group": "apps.cozystack.io"}
    metadata = {
        "name": name,
        "namespace": "tenant-a",
        "uid": "of the release",
        "creationTimestamp": "2025-11-30T10:53:20Z",
        "labels": {**labels, "apps.cozystack.io-team": "blue", "sharding.fluxcd.io/key": "tenants"},
        "annotations": {"apps.cozystack.io-note": "ours", "meta.helm.sh/release-name": "postgres-db"},
        "ownerReferences": [{"name": "somebody"}],
    }
    spec = {"values": {"size": "10Gi", "_cluster": {"secret": "value"}}}
    status = {
        "lastAttemptedRevision": "0.9.1+abc123",
        "conditions": [
            {"type": "Ready", "status": "True", "reason": "ok", "message": "m", "lastTransitionTime": "t", "observedGeneration": 3},
            {"type": "TestSuccess", "status": "True"},
        ],
    }
    return {"metadata": metadata, "spec": spec, "status": status, **fields}


def test_the_name_is_that_of_the_release_without_the_prefix() -> None:
    """postgres-db is the Postgres db."""
    found = project(POSTGRES, release(), SEEN)

    assert found is not None
    assert ("tenant-a", "db") == found.key


@pytest.mark.parametrize("name", ["redis-db", "postgres-", "db"])
def test_a_release_of_another_name_is_none_of_this_kind(name: str) -> None:
    """The label alone does not make it one: a get of its name would look for another release."""
    assert project(POSTGRES, release(name), SEEN) is None


def test_only_what_users_set_is_shown_of_labels_and_annotations() -> None:
    """Under the names that they gave it."""
    found = project(POSTGRES, release(), SEEN)

    assert found is not None
    assert (("team", "blue"),) == found.labels
    assert (("note", "ours"),) == found.value.annotations


def test_values_of_the_platform_are_not_shown_and_defaults_are() -> None:
    """Top-level names with an underscore hold what users must not see; a default holds although nobody wrote it."""
    found = project(POSTGRES, release(), SEEN)

    assert found is not None
    assert {"size": "10Gi", "replicas": 2} == found.value.spec


def test_conditions_of_the_application_without_the_release_generation() -> None:
    """Ready and Released only."""
    found = project(POSTGRES, release(), SEEN)

    assert found is not None
    assert [{"type": "Ready", "status": "True", "reason": "ok", "message": "m", "lastTransitionTime": "t"}] == found.value.status[
        "conditions"
    ]
    assert "0.9.1+abc123" == found.value.status["version"]


@pytest.mark.parametrize(
    ("status", "cells"),
    [
        pytest.param({"lastAttemptedRevision": "0.9.1+abc"}, ("Unknown", "abc"), id="no condition: it is not known"),
        pytest.param({"lastAttemptedRevision": "0.9.1"}, ("Unknown", "<unknown>"), id="no part behind a plus: not known"),
        pytest.param({"conditions": [{"type": "Ready", "status": "False"}]}, ("False", "<unknown>"), id="not ready"),
        pytest.param({}, ("Unknown", "<unknown>"), id="never reconciled"),
        pytest.param({"conditions": "nonsense", "lastAttemptedRevision": 3}, ("Unknown", "<unknown>"), id="odd types are not known"),
    ],
)
def test_cells(status: dict[str, Any], cells: tuple[str, str]) -> None:
    """READY, AGE, VERSION."""
    found = project(POSTGRES, release(status=status), SEEN)

    assert found is not None
    ready, age, version = found.value.cells
    assert cells == (ready, version)
    assert Age(SEEN) == age


def test_only_releases_of_the_group_belong_to_a_kind() -> None:
    """Both labels decide."""
    other = release()
    other["metadata"]["labels"]["apps.cozystack.io/application.group"] = "other.example.com"

    assert ("Postgres", "") == (kind_of(release()), kind_of(other))
    assert "" == kind_of({"metadata": {}})


DEEP = {
    "properties": {
        "users": {"type": "object", "additionalProperties": {"properties": {"admin": {"default": False}}}},
        "hosts": {"items": {"properties": {"port": {"default": 5432}}}},
        "backup": {"default": {"schedule": "daily"}, "properties": {"schedule": {"default": "never"}, "keep": {"default": 3}}},
    }
}


@pytest.mark.parametrize(
    ("value", "filled"),
    [
        pytest.param({}, {"backup": {"schedule": "daily", "keep": 3}}, id="a default is itself filled"),
        pytest.param({"backup": {}}, {"backup": {"schedule": "never", "keep": 3}}, id="an object that is there gets what it lacks"),
        pytest.param({"backup": None}, {"backup": None}, id="null was written, and stays"),
        pytest.param(
            {"users": {"bob": {}}, "backup": None}, {"users": {"bob": {"admin": False}}, "backup": None}, id="every value of a map"
        ),
        pytest.param({"hosts": [{}], "backup": None}, {"hosts": [{"port": 5432}], "backup": None}, id="every item of a list"),
        pytest.param({"hosts": "text", "backup": None}, {"hosts": "text", "backup": None}, id="another type than told stays as it is"),
    ],
)
def test_defaults(value: Any, filled: Any) -> None:
    """As the structural defaulting of custom resources does it."""
    assert filled == with_defaults(value, DEEP)


def test_defaults_do_not_change_what_they_are_filled_into() -> None:
    """The release and the schema are shared with others."""
    value: dict[str, Any] = {"hosts": [{}]}
    first = with_defaults(value, DEEP)
    first["backup"]["schedule"] = "changed"

    assert {"hosts": [{}]} == value
    assert "daily" == with_defaults(value, DEEP)["backup"]["schedule"]


def test_a_definition_is_read() -> None:
    """Kind, plural, singular, prefix, schema."""
    assert POSTGRES == definition_of(definition())


@pytest.mark.parametrize(
    ("manifest", "fault"),
    [
        pytest.param({"metadata": {"name": "x"}}, "spec is missing", id="no spec"),
        pytest.param(definition(kind="postgres"), "spec.application.kind is not a kind", id="a kind in lower case"),
        pytest.param(definition(plural="Postgreses"), "spec.application.plural is not a plural", id="a plural in upper case"),
        pytest.param(definition(openAPISchema="{"), "openAPISchema is no JSON", id="a schema that is no JSON"),
        pytest.param(definition(openAPISchema="[]"), "openAPISchema is no JSON object", id="a schema that is no object"),
        pytest.param(definition(singular=7), "spec.application.singular", id="a singular that is no text"),
    ],
)
def test_bad_definitions_say_what_is_wrong(manifest: dict[str, Any], fault: str) -> None:
    """Each costs its own kind only."""
    with pytest.raises(BadDefinition, match=fault):
        definition_of(manifest)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(st.sampled_from(["metadata", "labels", "spec", "values", "status", "a"]), below, max_size=4)
    ),
    max_leaves=20,
)


@given(odd=st.dictionaries(st.sampled_from(["metadata", "spec", "status"]), ANYTHING), schema=ANYTHING)
def test_no_release_is_too_odd(odd: dict[str, Any], schema: Any) -> None:
    """It becomes an application or none; nothing fails."""
    kind_of(odd)
    project(Definition("x", "X", "xs", "x", "", schema if isinstance(schema, dict) else {}), odd, SEEN)


@given(spec=ANYTHING)
def test_no_definition_is_too_odd(spec: Any) -> None:
    """It is read, or it is said what is wrong."""
    try:
        definition_of({"metadata": {"name": "x"}, "spec": spec})
    except BadDefinition as fault:
        said = str(fault)
    else:
        said = "nothing is wrong"
    assert said
