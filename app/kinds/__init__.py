"""Kinds: pure projections from what is known of a node or pod to an object. One public module is one kind and has one `KIND`.

Discovery, OpenAPI, RBAC rows and manifests derive from what a KIND declares about itself.
"""
