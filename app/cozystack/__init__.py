"""Cozystack: each ApplicationDefinition in the cluster becomes a kind, whose objects are projected from HelmReleases."""
