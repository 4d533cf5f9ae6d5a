"""The end-to-end, unit and property tests of kubeglance."""
