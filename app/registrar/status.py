"""What the registrar says of its work in a ConfigMap: the state of each group, and what only an administrator can do. Pure."""

from collections.abc import Iterable
from typing import NamedTuple

import yaml

from app.errors import KubeError
from app.registrar.registration import CLUSTER_ROLE, Action, Group, Manifest, Refusal, ref

REGISTERED = "registered"
_GRANT = (
    "must be made by an administrator, for the registrar may grant only what it has itself: apply todo.yaml, "
    "or install the registrar with --registrar-group for this group"
)


class Failure(NamedTuple):
    """A write that the cluster refused."""

    action: Action
    error: KubeError


class Status(NamedTuple):
    """`state` by group, or by object where one failed; `todo` are roles to be made, by name, as YAML."""

    state: dict[str, str]
    todo: dict[str, str]

    def data(self) -> dict[str, str]:
        """The data of the ConfigMap."""
        data = {"state.yaml": yaml.safe_dump(self.state, width=200)}
        if self.todo:
            data["todo.yaml"] = "---\n".join(self.todo[name] for name in sorted(self.todo))
        return data


def status_of(groups: Iterable[Group], refused: Iterable[Refusal], failed: Iterable[Failure]) -> Status:
    """The status after a look."""
    state = {group.name: REGISTERED for group in groups}
    state |= {refusal.group: f"refused: {refusal.reason}" for refusal in refused}
    todo = {}
    for action, error in failed:
        kind, name = ref(action.manifest)
        may_not_grant = kind == CLUSTER_ROLE and error.status == 403 and action.verb != "delete"
        state[f"{kind} {name}"] = _GRANT if may_not_grant else f"failed: {error}"
        if may_not_grant:
            todo[name] = yaml.safe_dump(_without_version(action.manifest), sort_keys=False)
    return Status(state, todo)


def _without_version(manifest: Manifest) -> Manifest:
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "resourceVersion"}
    return {**manifest, "metadata": metadata}
