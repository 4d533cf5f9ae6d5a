"""A thin client of kubelets: one GET at a time over kept TLS connections, and every failure told by its cause."""
