"""Talking to kube-apiserver: a thin async client, list+watch, and the slim records that are kept of nodes and pods."""
