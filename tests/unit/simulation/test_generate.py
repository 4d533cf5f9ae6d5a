"""Clusters that are made up from a few numbers."""

from app.simulation.generate import generate
from tests.fakes.clock import ManualClock


def test_names_that_are_drawn_twice_are_drawn_again() -> None:
    """Five letters recur in a big cluster: with this seed some pod's name did."""
    assert len(generate(ManualClock(), nodes=20, pods=3000, seed=1).pods) == 60_000
