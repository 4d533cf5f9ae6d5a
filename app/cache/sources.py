"""The sources that the cache knows, by the names of their collectors."""

from app.cache import rates, steady
from app.cache.samples import Source, SteadyFunction, StepFunction, time_to_live

_RULES: dict[str, tuple[StepFunction, SteadyFunction | None]] = {
    "kubelet_resource": (rates.resource_step, steady.resource_pod),
    "kubelet_summary": (rates.summary_step, steady.summary_pod),
}
"""How the samples of each become usages: by the rules, and by their short cut."""


def source(name: str, interval: float) -> Source:
    """The source of the collector `name`, which is asked every `interval` seconds."""
    step, short_cut = _RULES[name]
    return Source(name, step, time_to_live(interval), short_cut)
