"""LiveMetrics that tests are made of."""

from tests.unit.declared.canonical import changed

__all__ = ["ORDERS", "REQUESTS", "changed"]

REQUESTS = """\
apiVersion: kubeglance.io/v1alpha1
kind: LiveMetric
metadata: {name: http-requests}
spec:
  api: custom
  name: http_requests
  describes: {resource: pods}
  source: {static: {items: []}}
  items: response.items
  window: 2m
  sample:
    object: {namespace: item.namespace, name: item.pod}
    value: item.value
    labels: {code: item.code}
"""

ORDERS = """\
apiVersion: kubeglance.io/v1alpha1
kind: LiveMetric
metadata: {name: orders}
spec:
  api: external
  name: orders_waiting
  source: {static: {items: []}}
  items: response.items
  sample: {value: item.waiting, labels: {region: item.region}}
  namespaces: [shop]
  missing: {policy: Hold, for: 2m}
  interval: 15s
  tests:
  - input: {items: [{region: eu, waiting: 12}]}
    expect: {count: 1, series: [{labels: {region: eu}, value: 12}]}
"""
