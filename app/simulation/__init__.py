"""A simulated cluster for the demo, the tests and the benchmarks: nodes, pods, kubelets, and the few kube-apiserver paths needed."""
