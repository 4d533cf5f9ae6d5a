"""The 103 flags that metrics-server v0.9.0 documents, and what kubeglance does with each.

A Deployment of metrics-server should work with only its image changed, so every flag of its documentation has a place here. What is
neither IMPLEMENTED nor HARMLESS is refused, each with a line that says why.
"""

from enum import Enum


class Class(Enum):
    """What becomes of a flag."""

    IMPLEMENTED = "implemented"
    HARMLESS = "harmless"  # leaving it out changes nothing that a client or an auditor relies on: ignored with one warning
    WEAKENS = "weakens"  # ignoring it would open what the operator meant to close: refused for good, unless it is built
    PLANNED = "planned"  # it changes what is served or to whom, and will be built


HONOURED = frozenset({Class.IMPLEMENTED, Class.HARMLESS})
"""The classes that are accepted."""

_IMPLEMENTED = """
    kubeconfig metric-resolution version kubelet-certificate-authority kubelet-client-certificate kubelet-client-key
    kubelet-insecure-tls kubelet-port kubelet-preferred-address-types kubelet-request-timeout kubelet-use-node-status-port
    shutdown-delay-duration bind-address cert-dir secure-port tls-cert-file tls-private-key-file tls-cipher-suites tls-min-version
    authentication-kubeconfig authorization-kubeconfig logging-format v max-requests-inflight
"""
_PLANNED = """
    node-selector request-timeout authentication-token-webhook-cache-ttl authorization-webhook-cache-authorized-ttl
    authorization-webhook-cache-unauthorized-ttl authentication-tolerate-lookup-failure deprecated-kubelet-completely-insecure
    permit-address-sharing permit-port-sharing
"""
_WEAKENS = """
    authentication-skip-lookup client-ca-file requestheader-allowed-names requestheader-client-ca-file
    requestheader-extra-headers-prefix requestheader-group-headers requestheader-uid-headers requestheader-username-headers
    authorization-always-allow-paths tls-curve-preferences tls-sni-cert-key
    strict-transport-security-directives audit-log-batch-buffer-size audit-log-batch-max-size audit-log-batch-max-wait
    audit-log-batch-throttle-burst audit-log-batch-throttle-enable audit-log-batch-throttle-qps audit-log-compress audit-log-format
    audit-log-maxage audit-log-maxbackup audit-log-maxsize audit-log-mode audit-log-path audit-log-truncate-enabled
    audit-log-truncate-max-batch-size audit-log-truncate-max-event-size audit-log-version audit-policy-file
    audit-webhook-batch-buffer-size audit-webhook-batch-max-size audit-webhook-batch-max-wait audit-webhook-batch-throttle-burst
    audit-webhook-batch-throttle-enable audit-webhook-batch-throttle-qps audit-webhook-config-file audit-webhook-initial-backoff
    audit-webhook-mode audit-webhook-truncate-enabled audit-webhook-truncate-max-batch-size audit-webhook-truncate-max-event-size
    audit-webhook-version
"""
_HARMLESS = """
    advertise-address cors-allowed-origins emulated-version emulation-forward-compatible external-hostname feature-gates
    goaway-chance livez-grace-period max-mutating-requests-inflight min-compatibility-version min-request-timeout
    runtime-config-emulation-forward-compatible shutdown-send-retry-after shutdown-watch-termination-grace-period
    storage-initialization-timeout disable-http2-serving http2-max-streams-per-connection contention-profiling debug-socket-path
    enable-priority-and-fairness profiling log-flush-frequency log-json-info-buffer-size log-json-split-stream
    log-text-info-buffer-size log-text-split-stream vmodule
"""

FLAGS: dict[str, Class] = {
    name: kind
    for kind, names in (
        (Class.IMPLEMENTED, _IMPLEMENTED),
        (Class.PLANNED, _PLANNED),
        (Class.WEAKENS, _WEAKENS),
        (Class.HARMLESS, _HARMLESS),
    )
    for name in names.split()
}

SHORTHANDS = {"v": "v", "l": "node-selector"}

_WHY = {
    Class.PLANNED: "a flag of metrics-server that kubeglance does not have yet; remove it, or stay with metrics-server if you need it",
    Class.WEAKENS: "a flag of metrics-server that kubeglance does not have, and ignoring it could weaken security; "
    "remove it if you can do without it",
}

_INSTEAD = {
    "deprecated-kubelet-completely-insecure": "kubelets are asked over HTTPS only; --kubelet-insecure-tls skips the check of their "
    "certificates, for tests",
}


def refusal(name: str) -> str | None:
    """Why metrics-server's flag `name` (without dashes) is refused; None if it is accepted, or is none of its flags."""
    kind = FLAGS.get(SHORTHANDS.get(name, name))
    if kind is None or kind in HONOURED:
        return None
    return _INSTEAD.get(name, _WHY[kind])


def is_harmless(name: str) -> bool:
    """Whether metrics-server's flag `name` (without dashes) is ignored with a warning."""
    return FLAGS.get(name) is Class.HARMLESS
