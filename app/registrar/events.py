"""Kubernetes Events about declarations that cannot be taken: on the ConfigMap where one stands, or on kubeglance's Service."""

import re
from datetime import UTC, datetime
from hashlib import sha256
from typing import NamedTuple

from app.registrar.registration import MANAGER, Install, Manifest

_CONFIG_MAP = re.compile(r"configmap (?P<namespace>[^/]+)/(?P<name>[^:]+):")
_LONGEST = 1000  # of core/v1 Event's message


class Invalid(NamedTuple):
    """A declaration that cannot be taken: its name, where it stands, and what is wrong."""

    name: str
    file: str
    message: str


def event_of(fault: Invalid, install: Install, wall: float) -> Manifest:
    """The Event. The same fault has the same name, so that a registrar that starts anew makes no second one."""
    found = _CONFIG_MAP.match(fault.file)
    about = {"apiVersion": "v1", "kind": "Service", "namespace": install.namespace, "name": install.service}
    if found:
        about = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": found["namespace"], "name": found["name"]}
    mark = sha256("\0".join(fault).encode()).hexdigest()[:16]
    now = datetime.fromtimestamp(int(wall), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{about['name'][:200]}.{mark}", "namespace": about["namespace"]},
        "involvedObject": about,
        "type": "Warning",
        "reason": "InvalidDeclaration",
        "message": f"{fault.name}: {fault.message}"[:_LONGEST],
        "source": {"component": MANAGER},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
