"""kubeglance: a live, read-only Kubernetes API server. docs/architecture.md draws the flow through these packages."""
