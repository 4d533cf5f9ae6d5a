"""The Kubernetes objects that run `kubeglance registrar`, as data. Pure; app/cli/manifests.py prints them with --registrar."""

from collections.abc import Iterator, Sequence

from app.cli.objects import Manifest, Options, hardened, metadata, pod_security

_WRITE = ["get", "list", "create", "update", "delete"]


def registrar(options: Options, groups: Sequence[str]) -> list[Manifest]:
    """All objects. `groups` are those whose readers it may make roles for: it is given get and list on them, and never `escalate`."""
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(options, _name(options), namespace=options.namespace)},
        *_cluster_rights(options, groups),
        *_namespace_rights(options),
        _deployment(options),
    ]


def _name(options: Options) -> str:
    return f"{options.service}-registrar"


def _cluster_rights(options: Options, groups: Sequence[str]) -> Iterator[Manifest]:
    name = f"system:{_name(options)}"
    rules = [
        {"apiGroups": ["apiregistration.k8s.io"], "resources": ["apiservices"], "verbs": _WRITE},
        {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"], "verbs": _WRITE},
        {"apiGroups": [""], "resources": ["namespaces"], "resourceNames": [options.namespace], "verbs": ["get"]},
        # Events stand beside the ConfigMaps of declarations, which may be in any namespace.
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]},
        {"apiGroups": ["live.kubeglance.io"], "resources": ["collectors"], "verbs": ["get", "list"]},
    ]
    if groups:
        # Nobody may grant what he does not have himself (RBAC's escalation check).
        rules.append({"apiGroups": sorted(groups), "resources": ["*"], "verbs": ["get", "list"]})
    yield {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": metadata(options, name),
        "rules": rules,
    }
    yield _binding(options, "ClusterRole", name, namespace=None)


def _namespace_rights(options: Options) -> Iterator[Manifest]:
    secrets, status = [options.cert_secret, f"{options.service}-ca"], _name(options)
    yield {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": metadata(options, _name(options), namespace=options.namespace),
        "rules": [
            # A rule for `create` cannot name what is created.
            {"apiGroups": [""], "resources": ["secrets", "configmaps"], "verbs": ["create"]},
            {"apiGroups": [""], "resources": ["secrets"], "resourceNames": secrets, "verbs": ["get", "update"]},
            {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [status], "verbs": ["get", "update"]},
        ],
    }
    yield _binding(options, "Role", _name(options), namespace=options.namespace)


def _binding(options: Options, role_kind: str, role: str, *, namespace: str | None) -> Manifest:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": f"{role_kind}Binding",
        "metadata": metadata(options, role, namespace=namespace),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": _name(options), "namespace": options.namespace}],
    }


def _deployment(options: Options) -> Manifest:
    labels = {"app.kubernetes.io/name": _name(options)}
    arguments = [
        f"--namespace={options.namespace}",
        f"--service={options.service}",
        f"--serving-secret={options.cert_secret}",
        f"--authority-secret={options.service}-ca",
    ]
    container = {
        "name": "registrar",
        "image": options.image,
        "command": ["kubeglance", "registrar"],
        "args": arguments,
        "resources": {"requests": {"cpu": "10m", "memory": "80Mi"}},
        **hardened(),
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(options, _name(options), namespace=options.namespace, labels=labels),
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "strategy": {"type": "Recreate"},  # one that writes is enough
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "serviceAccountName": _name(options),
                    "priorityClassName": "system-cluster-critical",
                    "nodeSelector": {"kubernetes.io/os": "linux"},
                    "enableServiceLinks": False,
                    "securityContext": pod_security(),
                    "containers": [container],
                },
            },
        },
    }
