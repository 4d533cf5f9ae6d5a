"""The shape of a LiveResource (kubeglance.io/v1alpha1). Words are those of a CRD, of Prometheus and of core/v1 where they mean the same.

What only one field can tell is checked here; what lies between fields, and all that is CEL, in app/declared/check.py. The JSON Schema for
editors and the reference in docs/ are made from these models.
"""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from app.duration import parse_duration
from app.wire.quantity import parse_bytes
from collectors._source import Spec

API_VERSION = "kubeglance.io/v1alpha1"
MIN_TTL = 60.0


def _seconds(value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError('must be a duration like "15s"')  # noqa: TRY004 -- pydantic takes ValueError for a wrong value
    return parse_duration(value)


def _bytes(value: Any) -> Any:
    return parse_bytes(value) if isinstance(value, str) else value


Duration = Annotated[float, BeforeValidator(_seconds), WithJsonSchema({"type": "string", "examples": ["15s", "2m"]})]
"""Seconds, written as a Go duration."""

Bytes = Annotated[int, BeforeValidator(_bytes), Field(gt=0), WithJsonSchema({"type": ["string", "integer"], "examples": ["1Mi"]})]
"""Bytes, written as a quantity or a number."""

Cel = Annotated[str, Field(min_length=1, max_length=4096, json_schema_extra={"format": "cel"})]
"""A CEL expression."""


class Metadata(Spec):
    """Names the declaration. A namespace is not written here: a declaration belongs to where it was found."""

    name: str = Field(description="Name of the declaration; of a LiveResource always <plural>.<group>.")
    labels: dict[str, str] = Field(default_factory=dict, description="Ignored.")
    annotations: dict[str, str] = Field(default_factory=dict, description="Ignored.")


class Names(Spec):
    """The names of a kind, as in CustomResourceDefinition spec.names."""

    kind: str = Field(description="CamelCase name of the kind.")
    plural: str = Field(description="Name in paths and in kubectl get.")
    singular: str = Field("", description="Lower-case singular; the kind in lower case if it is left out.")
    short_names: list[str] = Field(default_factory=list, description="Short names for kubectl.")
    categories: list[str] = Field(default_factory=list, description="Groups of kinds, such as live.")


class LimitsModel(Spec):
    """What one collection may take. Over a limit it fails as a whole, and the last good values stay."""

    items: int = Field(1000, ge=1, le=100_000, description="Most items of one collection.")
    body_bytes: Bytes = Field(
        1 << 20, le=64 << 20, json_schema_extra={"default": "1Mi"}, description="Most bytes of all bodies of one collection."
    )
    pages: int = Field(20, ge=1, le=1000, description="Most pages of one collection.")
    concurrency: int = Field(2, ge=1, le=16, description="Requests to the source that run at one time.")


class ObjectMapping(Spec):
    """How an item becomes an object. Every leaf is CEL over `item`; a constant is a CEL string in quotes."""

    name: Cel = Field(description="The object's name. One that is no DNS-1123 name becomes a slug with a hash.")
    namespace: Cel | None = Field(None, description="The object's namespace; one that allowNamespaces lists. Namespaced kinds need it.")
    labels: dict[str, Cel] = Field(default_factory=dict, description="Labels; a value that is no label value is left out.")
    annotations: dict[str, Cel] = Field(default_factory=dict, description="Annotations.")
    creation_timestamp: Cel | None = Field(None, description="When the thing was created: a timestamp, or text in RFC 3339.")
    observed_at: Cel | None = Field(None, description="When the source saw it; the time of the collection if it is left out.")
    spec: Any = Field(None, description="The object's spec: what was asked for.")
    status: Any = Field(None, description="The object's status: what is seen.")


class SchemaModel(Spec):
    """As spec.versions[].schema of a CustomResourceDefinition."""

    openapi_v3_schema: dict[str, Any] = Field(alias="openAPIV3Schema", description="Schema of the object, with spec and status.")


class ColumnModel(Spec):
    """A printer column, as in a CRD, with `cel` as another way to fill it."""

    name: str = Field(min_length=1, description="Heading.")
    type: Literal["integer", "number", "string", "boolean", "date"] = Field(description="Type of the cells.")
    format: str = Field("", description="Format of the cells, as in OpenAPI.")
    description: str = Field("", description="What it shows.")
    priority: int = Field(0, ge=0, description="0 is shown always, more with -o wide only.")
    json_path: str | None = Field(None, alias="jsonPath", description="Where the cell is in the object. This or cel.")
    cel: Cel | None = Field(None, description="The cell as CEL over the object: metadata, spec, status.")


class MetricModel(Spec):
    """A field that is also a metric of its object, for the HPA."""

    name: str = Field(description="Name of the metric.")
    value: Cel = Field(description="CEL over the object: its number. An object for which it gives none has no such metric.")
    apis: list[Literal["custom", "external"]] = Field(
        min_length=1,
        description="custom: a metric that describes the object. external: one series for each object, in the object's namespace, "
        "labelled with the object's labels and its `name`.",
    )


class ExpectModel(Spec):
    """What a test wants: a subset of what comes out."""

    count: int | None = Field(None, ge=0, description="Number of objects.")
    dropped: int | None = Field(None, ge=0, description="Number of items that become no object.")
    items: dict[str, Any] = Field(default_factory=dict, description="Objects by NAMESPACE/NAME or NAME; each a subset of what it has.")


class InputModel(Spec):
    """A response of the source, written here or in a file."""

    name: str = Field("", description="What is tested.")
    input: Any = Field(None, description="A response of the source.")
    input_file: str | None = Field(None, description="A JSON or YAML file with a response, beside the declaration.")


class TestModel(InputModel):
    """A response of the source, and what must become of it."""

    expect: ExpectModel = Field(description="What must come out.")


class HistoryModel(Spec):
    """The ring of an object's numbers that /history serves and the column TREND draws."""

    points: int = Field(60, ge=8, le=1000, description="Points that are kept of each field.")
    trend: str | None = Field(None, description="jsonPath of the field that TREND draws; without it there is no such column.")
    maximum: str | None = Field(None, description="jsonPath of the field that is 100 % of TREND; the largest point kept if it is left out.")
    glyphs: Literal["blocks", "ascii"] = Field("blocks", description="How TREND is drawn.")


class SubresourcesModel(Spec):
    """Parts of an object that are read by themselves, each under RBAC of its own."""

    history: HistoryModel | None = Field(None, description="Keep numbers for /history and TREND.")
    raw: bool = Field(False, description="Serve the item behind an object as /raw, secrets masked.")
    log: bool = Field(False, description="Serve the logs of the object's pods as /log; for sources of Kubernetes objects.")


class CollectedSpec(Spec):
    """What every declaration says of its source: where values come from, how often, and what a collection may take."""

    source: dict[str, Any] = Field(description="One key: the name of the source; below it its own fields.")
    interval: Duration = Field(15.0, json_schema_extra={"default": "15s"}, description="How often the source is asked.")
    timeout: Duration = Field(
        5.0, json_schema_extra={"default": "5s"}, description="Deadline of one collection; shorter than the interval."
    )
    ttl: Duration | None = Field(None, description="How long values outlive their last good collection: max(4 intervals, 60s).")
    limits: LimitsModel = Field(LimitsModel.model_validate({}), description="What one collection may take.")
    items: Cel = Field("response", description="CEL over `response` that gives the list of items.")

    @property
    def time_to_live(self) -> float:
        """Seconds that values outlive the last good collection."""
        return self.ttl if self.ttl is not None else max(4 * self.interval, MIN_TTL)


class LiveResourceSpec(CollectedSpec):
    """What is served, where it comes from, and how an item becomes an object."""

    group: str = Field(description="API group.")
    version: str = Field(description="API version.")
    scope: Literal["Namespaced", "Cluster"] = Field(description="Whether objects are in namespaces.")
    names: Names
    object: ObjectMapping
    allow_namespaces: list[str] = Field(default_factory=list, description="Namespaces that objects may be in.")
    schema_: SchemaModel = Field(alias="schema")
    additional_printer_columns: list[ColumnModel] = Field(default_factory=list, description="Columns behind Name.")
    metrics: list[MetricModel] = Field(default_factory=list, description="Fields that are metrics too.")
    subresources: SubresourcesModel = Field(SubresourcesModel.model_validate({}), description="Parts that are read by themselves.")
    tests: list[TestModel] = Field(default_factory=list, description="Run by `kubeglance test`.")


class LiveResource(Spec):
    """A kind that is served live from a source."""

    api_version: Literal["kubeglance.io/v1alpha1"]
    kind: Literal["LiveResource"]
    metadata: Metadata
    spec: LiveResourceSpec
