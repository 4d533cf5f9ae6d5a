"""The RBAC of what declarations read in the cluster: Secrets and ConfigMaps by name, and the resources that are watched."""

from collections import defaultdict
from collections.abc import Sequence

from app.cli.objects import Manifest, Options, metadata
from app.declared.declaration import AnyDeclaration, is_kind, is_metric
from collectors import sources
from collectors._source import Spec, values_of
from collectors.kubernetes_objects import KubernetesSpec

_API = "rbac.authorization.k8s.io"


def source_rights(declarations: Sequence[AnyDeclaration], options: Options) -> list[Manifest]:
    """A Role with its binding in each namespace that is read, and a ClusterRole with its binding for what is watched in all of them.

    Secrets are granted by name and for get alone: list would show all of them.
    """
    specs = [_spec(declaration) for declaration in declarations]
    rules: dict[str, list[Manifest]] = defaultdict(list)
    """By namespace, "" for all."""
    origins = [value.value_from for spec in specs for value in values_of(spec) if value.value_from is not None]
    secrets = {origin.secret_key_ref.name for origin in origins if origin.secret_key_ref is not None}
    config_maps = {origin.config_map_key_ref.name for origin in origins if origin.config_map_key_ref is not None}
    for resource, names in (("secrets", secrets), ("configmaps", config_maps)):
        if names:
            rule = {"apiGroups": [""], "resources": [resource], "resourceNames": sorted(names), "verbs": ["get"]}
            rules[options.namespace].append(rule)
    watched = {
        (namespace, spec.api_version.rpartition("/")[0], spec.resource)
        for spec in specs
        if isinstance(spec, KubernetesSpec)
        for namespace in spec.namespaces or [""]
    }
    watched |= {("", group, resource) for group, resource in _described(declarations)}
    for namespace, group, resource in sorted(watched):
        rules[namespace].append({"apiGroups": [group], "resources": [resource], "verbs": ["list", "watch"]})
    return [item for namespace, listed in rules.items() for item in _granted(options, listed, namespace)]


def _described(declarations: Sequence[AnyDeclaration]) -> set[tuple[str, str]]:
    """The resources that metrics describe and that are watched for it: not live kinds, nor what kubeglance watches anyway."""
    own = {"live.kubeglance.io", *(each.resource.spec.group for each in declarations if is_kind(each))}
    described = [each.resource.spec.describes for each in declarations if is_metric(each)]
    found = {(each.group, each.resource) for each in described if each is not None and each.group not in own}
    return found - {("", "pods"), ("", "nodes")}


def _spec(declaration: AnyDeclaration) -> Spec:
    ((name, said),) = declaration.resource.spec.source.items()
    return sources()[name].spec.model_validate(said)


def _granted(options: Options, rules: list[Manifest], namespace: str) -> list[Manifest]:
    """A role and its binding to our ServiceAccount."""
    name, prefix = f"{options.service}-sources", "" if namespace else "Cluster"
    subject = {"kind": "ServiceAccount", "name": options.service, "namespace": options.namespace}
    reference = {"apiGroup": _API, "kind": f"{prefix}Role", "name": name}
    about = metadata(options, name, namespace=namespace or None)
    return [
        {"apiVersion": f"{_API}/v1", "kind": f"{prefix}Role", "metadata": about, "rules": rules},
        {"apiVersion": f"{_API}/v1", "kind": f"{prefix}RoleBinding", "metadata": about, "roleRef": reference, "subjects": [subject]},
    ]
