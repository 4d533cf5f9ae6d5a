"""LIST of every pod of the cluster, in each form that clients ask for.

`kubectl get podmetrics -A` asks for a Table, client-go for protobuf, curl and most scripts for JSON. The answer holds every running pod.
Both servers are asked for gzip in one of the rows; one that has no content coding answers as it is, and the row only tells.
"""

from benchmarks import answers
from benchmarks.servers import API
from benchmarks.workloads._listing import listing

JSON = "application/json"
PROTOBUF = "application/vnd.kubernetes.protobuf"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"

PATH = f"{API}/pods"

WORKLOADS = (
    listing("list_pods_json", PATH, {"Accept": JSON, "Accept-Encoding": "identity"}, answers.pods, target=10),
    listing("list_pods_protobuf", PATH, {"Accept": PROTOBUF, "Accept-Encoding": "identity"}, answers.pods, target=10),
    listing("list_pods_table", PATH, {"Accept": TABLE, "Accept-Encoding": "identity"}, answers.pods, target=10),
    listing("list_pods_json_gzip", PATH, {"Accept": JSON, "Accept-Encoding": "gzip"}, answers.pods, target=None),
)
