"""Adapter files with rules of all shapes: those of prometheus-adapter's own tests (its default configuration), as YAML."""

DEFAULT = """
rules:
- seriesQuery: '{__name__=~"^container_.*",container!="POD",namespace!="",pod!=""}'
  resources: &pods {overrides: {namespace: {resource: namespace}, pod: {resource: pod}}}
  name: {matches: "^container_(.*)_seconds_total$"}
  metricsQuery: 'sum(rate(<<.Series>>{<<.LabelMatchers>>,container!="POD"}[1m])) by (<<.GroupBy>>)'
- seriesQuery: '{__name__=~"^container_.*",container!="POD",namespace!="",pod!=""}'
  seriesFilters: [{isNot: "^container_.*_seconds_total$"}]
  resources: {overrides: {namespace: {resource: namespace}, pod: {resource: pod}}}
  name: {matches: "^container_(.*)_total$"}
  metricsQuery: 'sum(rate(<<.Series>>{<<.LabelMatchers>>,container!="POD"}[1m])) by (<<.GroupBy>>)'
- seriesQuery: '{__name__=~"^container_.*",container!="POD",namespace!="",pod!=""}'
  seriesFilters: [{isNot: "^container_.*_total$"}]
  resources: {overrides: {namespace: {resource: namespace}, pod: {resource: pod}}}
  name: {matches: "^container_(.*)$"}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>,container!="POD"}) by (<<.GroupBy>>)'
- seriesQuery: '{namespace!="",__name__!~"^container_.*"}'
  seriesFilters: [{isNot: ".*_total$"}]
  resources: {template: "kube_<<.Resource>>"}
  name: {matches: ""}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
- seriesQuery: '{namespace!="",__name__!~"^container_.*"}'
  seriesFilters: [{isNot: ".*_seconds_total"}]
  resources: {template: "kube_<<.Resource>>"}
  name: {matches: "^(.*)_total$"}
  metricsQuery: 'sum(rate(<<.Series>>{<<.LabelMatchers>>}[1m])) by (<<.GroupBy>>)'
- seriesQuery: '{namespace!="",__name__!~"^container_.*"}'
  resources: {template: "kube_<<.Resource>>"}
  name: {matches: "^(.*)_seconds_total$"}
  metricsQuery: 'sum(rate(<<.Series>>{<<.LabelMatchers>>}[1m])) by (<<.GroupBy>>)'
""".replace("&pods ", "")

RESOURCE_RULES = """
resourceRules:
  cpu:
    containerQuery: 'cpu(rate(x{<<.LabelMatchers>>}[1m])) by (<<.GroupBy>>)'
    nodeQuery: 'nodecpu(x{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
    resources: {overrides: {instance: {resource: nodes}, namespace: {resource: namespace}, pod: {resource: pod}}}
    containerLabel: container
  memory:
    containerQuery: 'mem(x{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
    nodeQuery: 'nodemem(x{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
    resources: {overrides: {instance: {resource: nodes}, namespace: {resource: namespace}, pod: {resource: pod}}}
    containerLabel: container
  window: 3m
"""
