"""The protobuf fields that NodeMetrics and PodMetrics share. Shape: generated.proto in k8s.io/metrics pkg/apis/metrics, v1 as v1beta1."""

from collections.abc import Callable

from app.wire.messages import duration, map_entry, time
from app.wire.protobuf import delimited
from app.wire.quantity import format_bytes, format_cpu

_LONGEST = 128  # characters of a quantity; an int64 with its suffix has 21 at most


def window_fields(measured: int, window: int) -> bytes:
    """Fields 2 and 3: timestamp (Unix ns) and window (ns)."""
    return delimited(2, time(measured)) + delimited(3, duration(window))


def usage_fields(number: int) -> Callable[[int, int, int | None], bytes]:
    """A function from nanocores, bytes of memory and bytes of swap (None if unknown) to the ResourceList, the map in field `number`.

    All that stands before a quantity's text depends on its length alone, and so is made once: each container passes here.
    """
    before_cpu, before_memory, before_swap = (_before_quantity(number, resource) for resource in ("cpu", "memory", "swap"))

    def fields(cpu: int, memory: int, swap: int | None) -> bytes:
        cpu_text, memory_text = format_cpu(cpu).encode(), format_bytes(memory).encode()
        entries = before_cpu[len(cpu_text)] + cpu_text + before_memory[len(memory_text)] + memory_text
        if swap is None:
            return entries
        swap_text = format_bytes(swap).encode()
        return entries + before_swap[len(swap_text)] + swap_text

    return fields


def _before_quantity(number: int, resource: str) -> list[bytes]:
    """By the length of a quantity's text: the map entry up to there. A Quantity is a message with its text in field 1."""
    entries = (map_entry(number, resource, delimited(1, bytes(length))) for length in range(_LONGEST))
    return [entry[: len(entry) - length] for length, entry in enumerate(entries)]
