"""The Kubernetes objects that install kubeglance, as data. Pure: options and kinds in, objects out; app/cli/manifests.py prints them.

deploy/base is made from this by `make manifests`, so that the two cannot differ.
"""

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.kinds._base import Kind

Manifest = dict[str, Any]

_USER = 1000
_SYSTEM_NAMESPACES = frozenset({"default", "kube-system"})
_SERVICE = "kubeglance"
"""What kubeglance serve takes for the name of its own Service, if it is not told another."""

CONFIG_MAPS = "--declaration-config-maps"

API_SERVICES: Manifest = {"apiGroups": ["apiregistration.k8s.io"], "resources": ["apiservices"], "verbs": ["list"]}
"""Tells whose groups there are already: no declaration may take the place of another server."""

_TLS_FOLDER = "/etc/kubeglance/tls"


@dataclass(frozen=True)
class Options:
    """What can be chosen. `ca` is PEM for the APIServices' caBundle, None to leave it out (cert-manager then puts it in)."""

    image: str
    namespace: str = "kube-system"
    service: str = _SERVICE
    replicas: int = 2
    cert_secret: str = "kubeglance-tls"  # noqa: S105 -- the name of a Secret
    ca: bytes | None = None
    port: int = 10250  # what metrics-server listens on too: firewalls between control plane and nodes mostly let it through
    arguments: tuple[str, ...] = ()
    rules: tuple[Manifest, ...] = ()  # what these arguments need beyond what every install needs
    config_maps: bool = True  # whether declarations are read from ConfigMaps of the namespace; it costs nothing as long as there are none


def install(options: Options, kinds: Sequence[Kind], *, api_services: bool = True) -> dict[str, list[Manifest]]:
    """All objects, grouped under the names of the files of deploy/base, in the order in which they are to be applied.

    Without `api_services` these are left to `kubeglance registrar`.
    """
    namespace = [] if options.namespace in _SYSTEM_NAMESPACES else [_namespace(options)]
    return {
        **({"namespace": namespace} if namespace else {}),
        "rbac": [_service_account(options), *_own_rights(options), *_readers(options, kinds)],
        "service": [_service(options)],
        "deployment": [_deployment(options)],
        "poddisruptionbudget": [_disruption_budget(options)],
        **({"apiservices": list(_api_services(options, kinds))} if api_services else {}),
    }


def metadata(options: Options, name: str, *, namespace: str | None = None, labels: Mapping[str, str] | None = None) -> Manifest:
    """The metadata of an object of this install."""
    where = {"namespace": namespace} if namespace else {}
    return {"name": name, **where, "labels": {**_selector(options), **(labels or {})}}


def _selector(options: Options) -> dict[str, str]:
    return {"app.kubernetes.io/name": options.service}


def _namespace(options: Options) -> Manifest:
    # The level that the Deployment keeps to (Pod Security Standards), enforced.
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata(options, options.namespace, labels=labels)}


def _service_account(options: Options) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(options, options.service, namespace=options.namespace),
    }


def _own_rights(options: Options) -> Iterator[Manifest]:
    """What kubeglance itself may do: read nodes, pods and claims, read kubelets, ask who is asking and what they may do. It writes
    nothing.
    """
    yield _cluster_role(
        options,
        f"system:{options.service}",
        [
            {"apiGroups": [""], "resources": ["nodes", "persistentvolumeclaims", "pods"], "verbs": ["list", "watch"]},
            # The kubelet's own authorisation: /metrics/resource is nodes/metrics, /stats/summary is nodes/stats.
            {"apiGroups": [""], "resources": ["nodes/metrics", "nodes/stats"], "verbs": ["get"]},
            *([API_SERVICES] if options.config_maps else []),
            *options.rules,
        ],
    )
    yield _binding(options, "ClusterRoleBinding", f"system:{options.service}", "ClusterRole", f"system:{options.service}")
    yield _binding(options, "ClusterRoleBinding", f"{options.service}:system:auth-delegator", "ClusterRole", "system:auth-delegator")
    yield _binding(options, "RoleBinding", f"{options.service}-auth-reader", "Role", "extension-apiserver-authentication-reader")
    if options.config_maps:
        name = f"{options.service}-declarations"
        yield {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": metadata(options, name, namespace=options.namespace),
            "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]}],
        }
        yield _binding(options, "RoleBinding", name, "Role", name, namespace=options.namespace)


def _readers(options: Options, kinds: Sequence[Kind]) -> Iterator[Manifest]:
    """Who may view a namespace may view its metrics: that role joins view, edit and admin by aggregation.

    Kinds of the whole cluster tell of nodes and of where sources are, which viewers of a namespace need not know: they have a role of their
    own, bound to nobody. Those of Kubernetes' own groups are with the others, as metrics-server has them.
    """
    for_viewers = [kind for kind in kinds if kind.namespaced or kind.group.endswith(".k8s.io")]
    others = [kind for kind in kinds if kind not in for_viewers]
    aggregated = {f"rbac.authorization.k8s.io/aggregate-to-{role}": "true" for role in ("view", "edit", "admin")}
    yield _cluster_role(options, f"system:{options.service}:reader", _reading(for_viewers), labels=aggregated)
    if others:
        yield _cluster_role(options, f"{options.service}-live-cluster-reader", _reading(others))


def _reading(kinds: Sequence[Kind]) -> list[Manifest]:
    by_verbs: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for kind in kinds:
        by_verbs.setdefault((kind.group, kind.verbs), []).append(kind.resource)
    return [
        {"apiGroups": [group], "resources": sorted(resources), "verbs": list(verbs)}
        for (group, verbs), resources in sorted(by_verbs.items())
    ]


def _cluster_role(options: Options, name: str, rules: list[Manifest], labels: Mapping[str, str] | None = None) -> Manifest:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": metadata(options, name, labels=labels),
        "rules": rules,
    }


def _binding(options: Options, kind: str, name: str, role_kind: str, role: str, *, namespace: str = "kube-system") -> Manifest:
    """Binds a role to our ServiceAccount; a Role that of `namespace`."""
    where = namespace if kind == "RoleBinding" else None
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": metadata(options, name, namespace=where),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": options.service, "namespace": options.namespace}],
    }


def _service(options: Options) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(options, options.service, namespace=options.namespace),
        "spec": {
            "selector": _selector(options),
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": "https"}],
        },
    }


def _deployment(options: Options) -> Manifest:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(options, options.service, namespace=options.namespace),
        "spec": {
            "replicas": options.replicas,
            "selector": {"matchLabels": _selector(options)},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
            "template": {"metadata": {"labels": _selector(options)}, "spec": _pod(options)},
        },
    }


def _pod(options: Options) -> Manifest:
    return {
        "serviceAccountName": options.service,
        "priorityClassName": "system-cluster-critical",
        "nodeSelector": {"kubernetes.io/os": "linux"},
        # Variables such as KUBEGLANCE_PORT, made for every Service, would only crowd the environment.
        "enableServiceLinks": False,
        # The drain after SIGTERM takes --shutdown-delay-duration (10 s) and then open requests.
        "terminationGracePeriodSeconds": 40,
        "securityContext": pod_security(),
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": _selector(options)},
            }
        ],
        "containers": [_container(options)],
        "volumes": [
            {"name": "tls", "secret": {"secretName": options.cert_secret, "defaultMode": 0o440}},
            {"name": "tmp", "emptyDir": {"sizeLimit": "16Mi"}},
        ],
    }


def _container(options: Options) -> Manifest:
    return {
        "name": "kubeglance",
        "image": options.image,
        "args": [
            f"--secure-port={options.port}",
            f"--tls-cert-file={_TLS_FOLDER}/tls.crt",
            f"--tls-private-key-file={_TLS_FOLDER}/tls.key",
            *([] if options.service == _SERVICE else [f"--service={options.service}"]),
            *([CONFIG_MAPS] if options.config_maps and not any(flag.startswith(CONFIG_MAPS) for flag in options.arguments) else []),
            *options.arguments,
        ],
        "ports": [{"name": "https", "containerPort": options.port, "protocol": "TCP"}],
        # Liveness is the event loop's own heartbeat: three of these in a row mean a hang, not a slow source.
        "livenessProbe": _probe("/livez", period=10, timeout=5),
        "readinessProbe": _probe("/readyz", period=5, timeout=3),
        "resources": {"requests": {"cpu": "100m", "memory": "200Mi"}},
        **hardened(),
        "volumeMounts": [
            {"name": "tls", "mountPath": _TLS_FOLDER, "readOnly": True},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 -- a volume of the pod's own
        ],
    }


def pod_security() -> Manifest:
    """As whom our pods run."""
    return {
        "runAsNonRoot": True,
        "runAsUser": _USER,
        "runAsGroup": _USER,
        "fsGroup": _USER,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def hardened() -> Manifest:
    """What every container of ours is denied (Pod Security Standards, restricted)."""
    return {
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
    }


def _probe(path: str, *, period: int, timeout: int) -> Manifest:
    return {
        "httpGet": {"path": path, "port": "https", "scheme": "HTTPS"},
        "periodSeconds": period,
        "timeoutSeconds": timeout,
        "failureThreshold": 3,
    }


def _disruption_budget(options: Options) -> Manifest:
    # maxUnavailable and not minAvailable: with one replica a node can still be drained.
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(options, options.service, namespace=options.namespace),
        "spec": {
            "maxUnavailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": _selector(options)},
        },
    }


def _api_services(options: Options, kinds: Sequence[Kind]) -> Iterator[Manifest]:
    """One for each version of each group, always verified: insecureSkipTLSVerify is never set."""
    for group, version, group_priority, version_priority in _group_versions(kinds):
        bundle = {} if options.ca is None else {"caBundle": base64.b64encode(options.ca).decode()}
        yield {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": metadata(options, f"{version}.{group}"),
            "spec": {
                "group": group,
                "version": version,
                "groupPriorityMinimum": group_priority,
                "versionPriority": version_priority,
                "service": {"name": options.service, "namespace": options.namespace, "port": 443},
                **bundle,
            },
        }


def _group_versions(kinds: Iterable[Kind]) -> Iterator[tuple[str, str, int, int]]:
    """(group, version, group priority, version priority), each version once. Higher is preferred; without a word, in the given order."""
    seen: set[tuple[str, str]] = set()
    for kind in kinds:
        for place, version in enumerate(kind.versions):
            if (kind.group, version) not in seen:
                seen.add((kind.group, version))
                yield kind.group, version, kind.group_priority, (kind.version_priorities or {}).get(version, 100 - place)
