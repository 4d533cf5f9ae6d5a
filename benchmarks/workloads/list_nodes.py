"""LIST of all nodes in JSON: what dashboards and `kubectl top nodes` ask for."""

from benchmarks import answers
from benchmarks.servers import API
from benchmarks.workloads._listing import listing
from benchmarks.workloads.list_pods import JSON

WORKLOAD = listing("list_nodes", f"{API}/nodes", {"Accept": JSON, "Accept-Encoding": "identity"}, answers.nodes, target=2)
