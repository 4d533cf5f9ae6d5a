"""What `kubeglance registrar` does: certificates, APIServices and reader roles of what kubeglance serves, written into the cluster.

A process and a ServiceAccount of its own, so that `kubeglance serve` needs no right to write anything.
"""
