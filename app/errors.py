"""The error tree of kubeglance. Foreign exceptions are translated where they enter, always `raise ... from exc`.

KubeglanceError
├── SettingsError       wrong flags or files: all faults at once, shown to the operator without a traceback
├── KubeError           kube-apiserver did not do what was asked
│   └── KubeUnavailable it could not be reached at all, or answered 5xx or 429
└── Problem             a request that ends in a Status object (app/routes/problems.py is the only one who answers with it)

Collectors have a tree of their own (collectors/_base.py), for they never import app.
"""

from collections.abc import Sequence


class KubeglanceError(Exception):
    """Base of all errors that kubeglance raises on purpose."""


class SettingsError(KubeglanceError):
    """Flags, environment or settings file are wrong. `faults` has one line for each fault: what, where, what to do."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = tuple(faults)


class KubeError(KubeglanceError):
    """kube-apiserver refused a call. `status` is the HTTP code, None if there was no answer; `reason` is the Status reason."""

    def __init__(self, message: str, *, status: int | None = None, reason: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


class KubeUnavailable(KubeError):
    """kube-apiserver could not be reached or cannot serve now; trying again later may help."""


class Problem(KubeglanceError):
    """A request that cannot be served. Becomes a Status (meta/v1) with these fields.

    `reason` and `code` are those of k8s.io/apimachinery's metav1.StatusReason. `details` goes to Status.details as it is.
    `headers` are added to the response (Allow, Retry-After).
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: dict[str, object] | None = None,
        headers: Sequence[tuple[str, str]] = (),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.headers = tuple(headers)
