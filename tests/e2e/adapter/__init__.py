"""kubeglance in the place of prometheus-adapter: one configuration, one set of series and objects, and every difference of the answers."""
