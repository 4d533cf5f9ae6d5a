"""How kubeglance behaves as clusters grow: the same measurements at 10 to 5,000 nodes, against simulated kubelets and kube-apiserver."""
