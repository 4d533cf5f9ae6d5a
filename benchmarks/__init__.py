"""Measurements: beside the real metrics-server, as clusters grow, and step by step. docs/benchmarks.md tells how each figure is made."""
