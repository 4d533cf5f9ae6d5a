"""LIST of one namespace by label: what the HPA sends for each of its targets.

kube-controller-manager's client prefers protobuf (k8s.io/metrics has it), and so does this workload; the same in JSON is reported. The
answer holds the 400 pods of one Deployment among the 700 of the namespace.
"""

from benchmarks import answers
from benchmarks.answers import Usages
from benchmarks.plan import SELECTED_APP, Plan
from benchmarks.servers import API
from benchmarks.workloads._listing import listing
from benchmarks.workloads.list_pods import JSON, PROTOBUF

NAMESPACE = "team-0"
PATH = f"{API}/namespaces/{NAMESPACE}/pods?labelSelector=app%3D{SELECTED_APP}"
HEADERS = {"Accept": f"{PROTOBUF},{JSON}", "Accept-Encoding": "identity"}


def selected(plan: Plan) -> Usages:
    """What the answer must hold."""
    return answers.pods(plan, lambda pod: pod.namespace == NAMESPACE and pod.labels["app"] == SELECTED_APP)


WORKLOADS = (
    listing("list_pods_selector", PATH, HEADERS, selected, target=5),
    listing("list_pods_selector_json", PATH, {**HEADERS, "Accept": JSON}, selected, target=None),
)
