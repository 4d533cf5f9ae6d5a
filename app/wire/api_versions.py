"""In which order the versions of a group are preferred (kube-aware order of k8s.io/apimachinery pkg/version)."""

import re

_KNOWN = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
_STABILITY = {None: 0, "beta": 1, "alpha": 2}


def preference(version: str) -> tuple[int, int, int, str]:
    """A sort key: v2, v1, v1beta2, v1beta1, v1alpha1; what is no such version comes last, by the alphabet."""
    parts = _KNOWN.fullmatch(version)
    if parts is None:
        return 3, 0, 0, version
    return _STABILITY[parts[2]], -int(parts[1]), -int(parts[3] or 0), version
