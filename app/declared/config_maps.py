"""Declarations in ConfigMaps with the label kubeglance.io/declarations=true: each key that ends in .yaml, .yml or .json is a file.

They are watched in kubeglance's own namespace and in those of tenants, and nowhere else: it needs no right to read other ConfigMaps.
"""

from collections.abc import Callable, Sequence, Set

from app.declared.texts import Text, is_read
from app.kube import decode
from app.kube.decode import ConfigMapRecord
from app.kube.records import Key
from app.kube.watched import Watched

LABEL = "kubeglance.io/declarations"

MOST_BYTES = 1024 * 1024
"""Of all texts of one tenant together: as much as one ConfigMap can hold. What a namespace writes must cost the others nothing."""


def declarations_in(namespace: str) -> Watched[ConfigMapRecord]:
    """The ConfigMaps of a namespace that hold declarations."""
    return Watched(
        name=f"configmaps with declarations in {namespace}",
        path=f"/api/v1/namespaces/{namespace}/configmaps",
        decode=decode.config_map,
        grant=f'grant it with a Role {{apiGroups: [""], resources: [configmaps], verbs: [list, watch]}} in namespace {namespace} '
        "and a RoleBinding to our ServiceAccount",
        params={"labelSelector": f"{LABEL}=true"},
    )


class ConfigMaps:
    """The ConfigMaps of one namespace. A reflector feeds it through `apply` and `keys`."""

    def __init__(self, namespace: str, *, own: bool, changed: Callable[[], None]) -> None:
        """`own` is whether it is kubeglance's own namespace; `changed` is called after every change."""
        self._tenant = "" if own else namespace
        self._changed = changed
        self._records: dict[Key, ConfigMapRecord] = {}

    def keys(self) -> Set[Key]:
        """Part of the reflector's Store."""
        return self._records.keys()

    def apply(self, upserts: Sequence[ConfigMapRecord], deletes: Sequence[Key]) -> None:
        """Part of the reflector's Store."""
        before = dict(self._records)
        self._records.update((record.key, record) for record in upserts)
        for key in deletes:
            self._records.pop(key, None)
        if self._records != before:
            self._changed()

    def texts(self) -> list[Text]:
        """By name and key. A tenant's texts beyond MOST_BYTES are left out, each with a fault that says so."""
        texts, size = [], 0
        for (namespace, name), record in sorted(self._records.items()):
            for key, content in sorted(record.data.items()):
                if not is_read(key):
                    continue
                file = f"configmap {namespace}/{name}:{key}"
                size += len(content.encode())
                if self._tenant and size > MOST_BYTES:
                    texts.append(
                        Text(file, "", self._tenant, f"the declarations of namespace {namespace} are more than {MOST_BYTES} bytes")
                    )
                else:
                    texts.append(Text(file, content, self._tenant))
        return texts
