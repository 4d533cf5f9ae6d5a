"""Routes to other adapters of the cluster: there is one APIService for each API of metrics, and with routes several may serve it."""
