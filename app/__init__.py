"""kubeglance: a live, read-only Kubernetes API server. docs/architecture.md draws the flow through these packages."""

__version__ = "0.1.0"
"""The version of this tree; pyproject.toml and CHANGELOG.md say the same (a test holds them together)."""
