"""Measurements. The side-by-side run against the peers is not built yet; what is here times the hot path alone."""
