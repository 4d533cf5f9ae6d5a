"""What autoscalers ask: kubeglance beside prometheus-adapter, with one configuration, one Prometheus and the same requests."""
