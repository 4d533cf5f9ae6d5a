"""`make bench SUITE=micro`: the CPU time of each step between a kubelet's answer and a client's list, in one process, with no network.

For comparing one commit with another on one machine, and for nothing else: a claim against a peer needs both in one run.
"""

from pathlib import Path


def run() -> int:
    """Print a table of all steps; answers pytest's exit code."""
    import pytest  # noqa: PLC0415  # a requirement of make bench, and of this suite alone

    shown = ["--benchmark-columns=min,median,max,rounds", "--benchmark-sort=fullname"]
    measured = ["--benchmark-timer=time.process_time", "--benchmark-max-time=0.5", "--benchmark-disable-gc"]
    return int(pytest.main([str(Path(__file__).parent), "--quiet", *shown, *measured]))
