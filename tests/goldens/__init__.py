"""What metrics-server answers, recorded from the real one, for kubeglance to be compared with. README.md tells how."""
