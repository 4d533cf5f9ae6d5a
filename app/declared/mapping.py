"""From a response to objects: what each item becomes, and why some become none.

An item is judged by itself. An error in one of its expressions, or a value that breaks the schema, costs that item and nothing else. A
member that the item does not have leaves its field out; where the schema requires the field, the item is dropped. No value is made up.
"""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from app.declared.cel import Bound, CelError, Missing, Program, compile_cel
from app.declared.columns import OBJECT_VARIABLES, Columns
from app.declared.fresh import Freshness
from app.declared.items import MORE, MOST_TOLD, NAME_SHOWN, Items, Leaf, Unmappable, kind_of, leaf, needed, texts, time_of
from app.declared.model import LiveResource
from app.declared.objects import Dropped, LiveObject, LiveValue, Mapped
from app.declared.validation import Absent, Invalid, compile_schema
from app.kube.records import Key, Labels
from app.served_metrics.numbers import exact
from app.wire.label_syntax import faults_of_value
from app.wire.object_names import MOST_CHARACTERS, SOURCE_NAME, object_name
from app.wire.timestamps import format_time

PARTS = ("spec", "status")
"""What of an object a declaration fills."""

_Template = Any
"""What stands under object.spec or object.status with every text compiled: a Leaf, or a dict or list of them."""


class Mapper:
    """The mapping of one declaration. It keeps nothing between calls, so that several threads may use it."""

    def __init__(self, resource: LiveResource) -> None:
        """Raises CelError and JsonPathError for what app/declared/expressions.py tells as faults."""
        spec, mapping = resource.spec, resource.spec.object
        self._items = Items(spec)
        self._namespaces = frozenset(spec.allow_namespaces)
        self._name = _of_item("name", mapping.name)
        self._namespace = _of_item("namespace", mapping.namespace) if mapping.namespace is not None else None
        self._labels = [(key, _of_item(f"labels.{key}", text)) for key, text in sorted(mapping.labels.items())]
        self._annotations = [(key, _of_item(f"annotations.{key}", text)) for key, text in sorted(mapping.annotations.items())]
        self._created = _of_item("creationTimestamp", mapping.creation_timestamp) if mapping.creation_timestamp is not None else None
        self._observed = _of_item("observedAt", mapping.observed_at) if mapping.observed_at is not None else None
        parts = {part: getattr(mapping, part) for part in PARTS}
        self._parts = {part: _template(text, part) for part, text in parts.items() if text is not None}
        self._validate = compile_schema(_parts_of(spec.schema_.openapi_v3_schema))
        self._metrics = [(metric.name, compile_cel(metric.value, dict.fromkeys(OBJECT_VARIABLES))) for metric in spec.metrics]
        self._keeps_items = spec.subresources.raw or spec.subresources.log
        self.freshness = Freshness(spec.schema_.openapi_v3_schema)
        self.columns = Columns(spec.additional_printer_columns)

    def map(self, response: Any, observed: int, deadline: Callable[[], bool]) -> Mapped:
        """The objects of a response that was seen at `observed` (Unix ns). `deadline()` turns true when it has taken too long.

        Raises CollectError where the response as a whole gives no items.
        """
        objects: dict[Key, LiveObject] = {}
        sources: dict[Key, tuple[int, str]] = {}
        shared: dict[Labels, Labels] = {}
        dropped: list[Dropped] = []
        blank: list[Dropped] = []
        for index, item in self._items.of(response, deadline):
            try:
                source, obj = self._object(item, observed, shared, _Blanks(index, blank))
                _alone(obj.key, source, sources)
            except Unmappable as why:
                dropped.append(why.dropped(index, dropped))
            else:
                objects[obj.key] = obj
                sources[obj.key] = (index, source)
        return Mapped(list(objects.values()), dropped, blank)

    def aged(self, objects: Sequence[LiveObject]) -> list[LiveObject]:
        """The same objects after a collection that failed: no longer fresh."""
        return [LiveObject(key, labels, self._aged(key, labels, value)) for key, labels, value in objects]

    def _aged(self, key: Key, labels: Labels, value: LiveValue) -> LiveValue:
        if not self.columns.columns:
            return replace(value, fresh=False)
        cells = self.columns.cells(self._whole(key, labels, value, fresh=False), _Blanks(0, []))
        return replace(value, cells=cells, fresh=False)

    def _object(self, item: Any, observed: int, shared: dict[Labels, Labels], blanks: "_Blanks") -> tuple[str, LiveObject]:
        """The name in the source, and the object. Raises Unmappable."""
        over = self._name.program.bind({"item": item})
        source = ""
        try:
            source = _name_of(needed(self._name, over))
            namespace = self._namespace_of(over)
            key = (namespace, object_name(source))
            labels = tuple((name, text) for name, text in texts(self._labels, over) if not faults_of_value(text))
            labels = shared.setdefault(labels, labels)
            annotations = dict(texts(self._annotations, over))
            if key[1] != source:
                annotations[SOURCE_NAME] = source
            created = time_of(self._created, over) or 0
            observed = time_of(self._observed, over) or observed
            spec, status = self._filled(over)
        except Unmappable as why:
            raise Unmappable(source, why.reason) from None
        pairs = tuple(sorted(annotations.items()))
        value = LiveValue(spec, status, pairs, created, observed, (), item=item if self._keeps_items else None)
        if self.columns.columns or self._metrics:
            whole = self._whole(key, labels, value, fresh=True)
            blanks.name = key[1]
            cells = self.columns.cells(whole, blanks) if self.columns.columns else ()
            value = replace(value, cells=cells, metrics=self._numbers(whole, blanks))
        return source, LiveObject(key, labels, value)

    def _namespace_of(self, over: Bound) -> str:
        if self._namespace is None:
            return ""
        namespace = needed(self._namespace, over)
        if not isinstance(namespace, str):
            raise Unmappable("", f"object.namespace: gives {kind_of(namespace)}, and not text")
        if namespace not in self._namespaces:
            raise Unmappable("", f'object.namespace: "{namespace[:NAME_SHOWN]}" is not one of allowNamespaces')
        return namespace

    def _filled(self, over: Bound) -> tuple[Any, Any]:
        """spec and status by the schema."""
        missing: dict[str, str] = {}
        filled = {part: _fill(template, over, missing) for part, template in self._parts.items()}
        for part, value in filled.items():
            if value is _LEFT_OUT and isinstance(self._parts[part], dict):
                filled[part] = {}  # so that the schema can say what it requires
        try:
            checked = self._validate({part: value for part, value in filled.items() if value is not _LEFT_OUT}, "")
        except Absent as absent:
            path = absent.path.removeprefix(".")
            why = next((f" ({why})" for place, why in missing.items() if place == path or place.startswith(f"{path}.")), "")
            raise Unmappable("", f"{path}: is required, and the item gives none{why}") from None
        except Invalid as invalid:
            raise Unmappable("", str(invalid).removeprefix(".")) from None
        return checked.get("spec"), checked.get("status")

    def _whole(self, key: Key, labels: Labels, value: LiveValue, *, fresh: bool) -> dict[str, Any]:
        """The object as columns and metrics see it."""
        metadata: dict[str, Any] = {"name": key[1], "labels": dict(labels), "annotations": dict(value.annotations)}
        if key[0]:
            metadata["namespace"] = key[0]
        if value.created:
            metadata["creationTimestamp"] = format_time(value.created)
        status = self.freshness.status(value.status, value.observed, fresh=fresh)
        return {"metadata": metadata, "spec": value.spec or {}, "status": status}

    def _numbers(self, whole: Mapping[str, Any], blanks: "_Blanks") -> tuple[Decimal | None, ...]:
        """The numbers of spec.metrics. What is none is none: nobody is told a zero."""
        if not self._metrics:
            return ()
        over = self._metrics[0][1].bind(whole)
        return tuple(_number(name, program, over, blanks) for name, program in self._metrics)


class _Blanks:
    """Hears of the cells of one item that are blank for an error."""

    def __init__(self, index: int, blank: list[Dropped]) -> None:
        self._index = index
        self._blank = blank
        self.name = ""

    def __call__(self, column: str, why: str) -> None:
        self.tell(f"column {column}: {why}")

    def tell(self, why: str) -> None:
        """Of something else that is blank."""
        self._blank.append(Dropped(self._index, self.name, why if len(self._blank) < MOST_TOLD else MORE))


def _alone(key: Key, source: str, sources: Mapping[Key, tuple[int, str]]) -> None:
    """Raises Unmappable where an object has that key already."""
    if key in sources:
        first, name = sources[key]
        what = f'is named {"/".join(filter(None, key))}, as is item {first} ("{name[:NAME_SHOWN]}"): the first is kept'
        raise Unmappable(source, what)


def _number(name: str, program: Program, over: Bound, blanks: _Blanks) -> Decimal | None:
    try:
        return exact(program.evaluate(over))
    except Missing:
        return None
    except CelError as error:
        blanks.tell(f"metric {name}: {error.message}")
    except ValueError as error:
        blanks.tell(f"metric {name}: {error}")
    return None


def _parts_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of what a declaration fills of an object."""
    properties = {name: part for name, part in schema.get("properties", {}).items() if name in PARTS}
    return {"type": "object", "properties": properties, "required": [name for name in schema.get("required", ()) if name in PARTS]}


def _of_item(path: str, text: str) -> Leaf:
    return leaf("object", path, text)


def _template(text: Any, path: str) -> _Template:
    if isinstance(text, str):
        return _of_item(path, text)
    if isinstance(text, Mapping):
        return {name: _template(part, f"{path}.{name}") for name, part in text.items()}
    if isinstance(text, list | tuple):
        return [_template(part, f"{path}[{index}]") for index, part in enumerate(text)]
    raise CelError(f"{path}: is no CEL", expected=f"text; a constant is CEL too: {text!r}")


_LEFT_OUT = object()
"""What an expression gives whose item has not what it asks for."""


def _fill(template: _Template, over: Bound, missing: dict[str, str]) -> Any:
    """The value of a template. What has no value is left out, and so is a mapping of which nothing is left; `missing` learns why."""
    if type(template) is Leaf:
        try:
            return template.program.evaluate(over)
        except Missing as why:
            missing[template.path] = why.message
            return _LEFT_OUT
        except CelError as error:
            raise Unmappable("", f"{template.place}: {error.message}") from None
    if isinstance(template, dict):
        members = {name: value for name, part in template.items() if (value := _fill(part, over, missing)) is not _LEFT_OUT}
        return members if members or not template else _LEFT_OUT
    return [value for part in template if (value := _fill(part, over, missing)) is not _LEFT_OUT]


def _name_of(value: Any) -> str:
    """A name in the source: text, or a whole number."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise Unmappable("", f"object.name: gives {kind_of(value)}, and not text")
    name = str(value)
    if len(name) > MOST_CHARACTERS:
        raise Unmappable(name, f"object.name: has {len(name)} characters, may have at most {MOST_CHARACTERS}")
    return name
