"""The flags that prometheus-adapter v0.12.0 has beside those of metrics-server, and what kubeglance does with each.

Those that Settings has are implemented under their own names. What metrics-server has too is in metrics_server_flags.py.
"""

ALIASES = {"lister-kubeconfig": "kubeconfig"}
"""Flags that say the same as another one of ours."""

HARMLESS = frozenset(
    {
        "add-dir-header",
        "alsologtostderr",
        "client-burst",
        "client-qps",
        "disable-http2",
        "discovery-interval",
        "log-backtrace-at",
        "log-dir",
        "log-file",
        "log-file-max-size",
        "logtostderr",
        "one-output",
        "skip-headers",
        "skip-log-headers",
        "stderrthreshold",
    }
)
"""Flags whose absence changes nothing that a client relies on: ignored, with one warning."""
