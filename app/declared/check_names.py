"""The names of a declared kind: by the rules of CRDs, beside other declarations, and beside what the cluster serves."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from app import kinds
from app.declared.declaration import Declaration
from app.declared.faults import Path
from app.declared.finding import Finding, duplicate, invalid, repeated
from app.declared.model import LiveResource, LiveResourceSpec
from app.declared.served_names import ServedNames
from app.wire.object_names import is_group, is_label_1035

_LABEL = "lower-case letters, digits and dashes, a letter first, at most 63 characters"
_KIND = "letters, digits and dashes, a letter first, at most 63 characters"
_GROUP = "a DNS name of lower case with a dot in it, such as queues.example.com"
_OWNERS = {"k8s.io": "Kubernetes", "kubernetes.io": "Kubernetes", "kubeglance.io": "kubeglance"}

NAMES: Path = ("spec", "names")
GROUP: Path = ("spec", "group")


def findings(resource: LiveResource) -> Iterator[Finding]:
    """What is wrong with the names of one declaration."""
    spec, names = resource.spec, resource.spec.names
    yield from _group(spec.group)
    if not is_label_1035(spec.version):
        yield invalid(("spec", "version"), spec.version, "a version such as v1alpha1")
    yield from _label((*NAMES, "plural"), names.plural)
    if names.singular:
        yield from _label((*NAMES, "singular"), names.singular)
    if not is_label_1035(names.kind.lower()):
        yield invalid((*NAMES, "kind"), names.kind, _KIND)
    for field, listed in (("shortNames", names.short_names), ("categories", names.categories)):
        again = repeated(listed)
        for index, name in enumerate(listed):
            yield from _label((*NAMES, field, index), name)
            if index in again:
                yield duplicate((*NAMES, field, index), name)
    name = f"{names.plural}.{spec.group}"
    if resource.metadata.name != name and is_label_1035(names.plural) and is_group(spec.group):
        because = ((*NAMES, "plural"), GROUP)
        yield invalid(("metadata", "name"), resource.metadata.name, f'"{name}", which is <plural>.<group>', because=because)


def _group(group: str) -> Iterator[Finding]:
    if not is_group(group):
        yield invalid(GROUP, group, _GROUP)
    for domain, owner in _OWNERS.items():
        if group == domain or group.endswith(f".{domain}"):
            yield Finding(GROUP, f"Forbidden: groups of {domain} belong to {owner}", "a group of your own, such as queues.example.com")


def _label(path: Path, name: str) -> Iterator[Finding]:
    if not is_label_1035(name):
        yield invalid(path, name, _LABEL, nearest=name.lower() if is_label_1035(name.lower()) else "")


def beside(resource: LiveResource, others: Sequence[Declaration]) -> Iterator[Finding]:
    """What clashes with other declarations: in one group nothing may, between groups kubectl has to choose.

    Kubernetes takes plural, singular and short names together, and kinds with the kinds of their lists.
    """
    spec = resource.spec
    for other in others:
        if other.name == resource.metadata.name:
            yield Finding(("metadata", "name"), f'Duplicate value: "{other.name}" is declared in {other.place} already')
            continue
        theirs = other.resource.spec
        same_group = theirs.group == spec.group
        taken = set(resource_names(theirs))
        place = f"{other.name} in {other.place}"
        for path, name in _named(spec):
            if name in taken and same_group:
                yield Finding(path, f'Duplicate value: "{name}" is a name of {place} already')
            elif name in taken:
                what = f'"{name}" is also a name of {place}'
                yield Finding(path, what, f"{name}.{spec.group} in kubectl, or another name", warning=True)
        their_kinds = {theirs.names.kind, f"{theirs.names.kind}List"}
        if same_group and their_kinds & {spec.names.kind, f"{spec.names.kind}List"}:
            yield Finding((*NAMES, "kind"), f'Duplicate value: "{spec.names.kind}" is a kind of {place} already')


def beside_built_in(spec: LiveResourceSpec) -> Iterator[Finding]:
    """Names that kubectl takes for kinds that kubeglance brings along, or for the pods and nodes that two of them are named like."""
    for path, name in _named(spec):
        if (resource := _built_in().get(name)) is not None:
            what = f'"{name}" is a name of {resource}, which kubeglance serves too'
            yield Finding(path, what, f"{name}.{spec.group} in kubectl, or another name", warning=True)


@cache
def _built_in() -> Mapping[str, str]:
    return {
        name: f"{kind.resource}.{kind.group}" for kind in kinds.load() for name in (kind.resource, kind.singular, *kind.short_names) if name
    }


def served(spec: LiveResourceSpec, cluster: ServedNames) -> Iterator[Finding]:
    """What clashes with what others serve in the cluster."""
    if (owner := cluster.groups.get(spec.group)) is not None:
        yield Finding(GROUP, f"Forbidden: {spec.group} is served by {owner} already", "a group that nothing else serves")
        return
    for path, name in _named(spec):
        if (resource := cluster.names.get(name)) is not None:
            what = f'"{name}" is a name of {resource} in this cluster, and kubectl takes it for that'
            yield Finding(path, what, f"{name}.{spec.group} in kubectl, or another name", warning=True)


def _named(spec: LiveResourceSpec) -> Iterator[tuple[Path, str]]:
    """The names that kubectl finds a resource by, each once, with their places."""
    names = spec.names
    seen = set()
    paths: list[tuple[Path, str]] = [((*NAMES, "plural"), names.plural), ((*NAMES, "singular"), names.singular or names.kind.lower())]
    for path, name in [*paths, *(((*NAMES, "shortNames", index), name) for index, name in enumerate(names.short_names))]:
        if name not in seen:
            seen.add(name)
            yield path, name


def resource_names(spec: LiveResourceSpec) -> Iterator[str]:
    """The names that kubectl finds a resource by, each once."""
    return (name for _, name in _named(spec))
