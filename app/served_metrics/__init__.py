"""Metrics for the HPA: what custom.metrics.k8s.io and external.metrics.k8s.io serve, whatever a value comes from."""
