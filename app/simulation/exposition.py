"""/metrics/resource as a kubelet v1.37 writes it: families and lines sorted, Go's number format, millisecond timestamps.

The source of the form is a recording of a real kubelet; the families are those of pkg/kubelet/metrics/collectors/resource_metrics.go.
"""

from app.simulation.model import SimulatedNode, SimulatedPod

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"

FAMILIES = (
    ("container_cpu_usage_seconds_total", "counter", "[STABLE] Cumulative cpu time consumed by the container in core-seconds"),
    ("container_memory_working_set_bytes", "gauge", "[STABLE] Current working set of the container in bytes"),
    ("container_start_time_seconds", "gauge", "[STABLE] Start time of the container since unix epoch in seconds"),
    (
        "container_swap_limit_bytes",
        "gauge",
        "[ALPHA] Current amount of the container swap limit in bytes. Reported only on non-windows systems",
    ),
    (
        "container_swap_usage_bytes",
        "gauge",
        "[ALPHA] Current amount of the container swap usage in bytes. Reported only on non-windows systems",
    ),
    ("node_cpu_usage_seconds_total", "counter", "[STABLE] Cumulative cpu time consumed by the node in core-seconds"),
    ("node_memory_working_set_bytes", "gauge", "[STABLE] Current working set of the node in bytes"),
    ("node_swap_usage_bytes", "gauge", "[ALPHA] Current swap usage of the node in bytes. Reported only on non-windows systems"),
    ("pod_cpu_usage_seconds_total", "counter", "[STABLE] Cumulative cpu time consumed by the pod in core-seconds"),
    ("pod_memory_working_set_bytes", "gauge", "[STABLE] Current working set of the pod in bytes"),
    ("pod_swap_usage_bytes", "gauge", "[ALPHA] Current amount of the pod swap usage in bytes. Reported only on non-windows systems"),
    ("resource_scrape_error", "gauge", "[STABLE] 1 if there was an error while getting container metrics, 0 otherwise"),
)


def resource_metrics(node: SimulatedNode, t: int) -> str:
    """The body at Unix ns `t`. A cgroup that was not looked at yet has only its start time, as on a real kubelet."""
    lines: dict[str, list[str]] = {name: [] for name, _, _ in FAMILIES}
    for pod in node.pods.values():
        _pod_lines(pod, t, lines)
    looked = node.housekeeping.latest(t)
    if looked is not None:
        stamp = looked // 1_000_000
        lines["node_cpu_usage_seconds_total"].append(f" {go_float(node.cpu_ns(looked) / 1e9)} {stamp}")
        lines["node_memory_working_set_bytes"].append(f" {go_float(node.memory_at(looked))} {stamp}")
        lines["node_swap_usage_bytes"].append(f" 0 {stamp}")
    lines["resource_scrape_error"].append(" 0")
    parts: list[str] = []
    for name, kind, description in FAMILIES:
        if rows := lines[name]:
            rows.sort()  # as client_golang sorts by label values: the closing quote comes before all that a name may contain
            parts.append(f"# HELP {name} {description}\n# TYPE {name} {kind}\n")
            parts.extend([f"{name}{row}\n" for row in rows])
    return "".join(parts)


def _pod_lines(pod: SimulatedPod, t: int, lines: dict[str, list[str]]) -> None:
    of_pod = f'namespace="{pod.namespace}",pod="{pod.name}"}}'
    for run in pod.containers.values():
        if run.ended is not None and run.ended <= t:
            continue
        labels = f'{{container="{run.name}",{of_pod}'
        lines["container_start_time_seconds"].append(f"{labels} {go_float(run.started / 1e9)}")
        looked = run.housekeeping.latest(t)
        if looked is None:
            continue
        stamp = looked // 1_000_000
        lines["container_cpu_usage_seconds_total"].append(f"{labels} {go_float(run.cpu_ns(looked) / 1e9)} {stamp}")
        lines["container_memory_working_set_bytes"].append(f"{labels} {go_float(run.memory_at(looked))} {stamp}")
        lines["container_swap_usage_bytes"].append(f"{labels} 0 {stamp}")
        if run.spec.memory_limit is not None:
            lines["container_swap_limit_bytes"].append(f"{labels} {go_float(run.spec.memory_limit)} {stamp}")
    looked = pod.housekeeping.latest(t)
    if looked is not None:
        stamp = looked // 1_000_000
        lines["pod_cpu_usage_seconds_total"].append(f"{{{of_pod} {go_float(pod.cpu_ns(looked) / 1e9)} {stamp}")
        lines["pod_memory_working_set_bytes"].append(f"{{{of_pod} {go_float(pod.memory_at(looked))} {stamp}")
        lines["pod_swap_usage_bytes"].append(f"{{{of_pod} 0 {stamp}")


def go_float(value: float) -> str:
    """A number as Go's strconv.FormatFloat(v, 'g', -1, 64) writes it: 5.3776384e+07, 995328, 0.010294952."""
    text = repr(float(value))
    if "e" in text:
        return text
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        return text.removesuffix(".0")
    whole, _, fraction = text.lstrip("-").partition(".")
    digits = (whole + fraction).rstrip("0")
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{'-' if value < 0 else ''}{digits[0]}{rest}e+{len(whole) - 1:02d}"
