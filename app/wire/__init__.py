"""Kubernetes wire forms as pure functions: quantities, selectors, list options, negotiation, tables, Status, discovery, OpenAPI."""
