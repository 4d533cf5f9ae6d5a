"""The kinds that the demo declares: a few lines of YAML each, in a folder to which the user may add."""

from pathlib import Path

_COOL_RESOURCES = """\
# A kind whose objects stand here. Change a message and save: kubectl get coolresources shows it within seconds.
apiVersion: kubeglance.io/v1alpha1
kind: LiveResource
metadata: {name: coolresources.example.com}
spec:
  group: example.com
  version: v1alpha1
  scope: Namespaced
  names: {kind: CoolResource, plural: coolresources, singular: coolresource, shortNames: [cr]}
  source:
    static:
      items:
      - {name: hello, message: Hello from CoolResource}
      - {name: no-etcd, message: This object is in no database}
  items: response.items
  object:
    name: item.name
    namespace: '"default"'
    spec: {message: item.message}
  allowNamespaces: [default]
  schema:
    openAPIV3Schema:
      type: object
      properties:
        spec:
          type: object
          required: [message]
          properties:
            message: {type: string, maxLength: 140, description: What it says.}
  additionalPrinterColumns:
  - {name: Message, type: string, jsonPath: .spec.message}
  tests:
  - input: {items: [{name: hello, message: Hi}]}
    expect: {count: 1, items: {default/hello: {spec: {message: Hi}}}}
"""

_QUEUES = """\
# A kind over an HTTP API: the queues of a broker that the demo simulates.
apiVersion: kubeglance.io/v1alpha1
kind: LiveResource
metadata: {name: queues.msg.example.com}
spec:
  group: msg.example.com
  version: v1alpha1
  scope: Namespaced
  names: {kind: Queue, plural: queues, singular: queue, shortNames: [q], categories: [live]}
  source:
    http:
      url: %(url)s
      tls: {ca: {value: %(ca)s}}
  interval: 5s
  timeout: 3s
  items: response.items
  object:
    name: item.name
    namespace: '"mq"'
    labels: {vhost: item.vhost}
    spec: {queue: item.name, durable: item.durable}
    status:
      ready: int(item.messages_ready)
      unacknowledged: int(item.messages_unacknowledged)
      consumers: int(item.consumers)
  allowNamespaces: [mq]
  schema:
    openAPIV3Schema:
      type: object
      properties:
        spec:
          type: object
          properties:
            queue: {type: string, description: Name at the broker.}
            durable: {type: boolean, description: Whether it outlives the broker.}
        status:
          type: object
          required: [ready]
          properties:
            ready: {type: integer, format: int64, description: Messages that wait.}
            unacknowledged: {type: integer, format: int64, description: Messages that consumers hold.}
            consumers: {type: integer, format: int64, description: Who takes messages.}
  additionalPrinterColumns:
  - {name: Ready, type: integer, jsonPath: .status.ready}
  - {name: Unacked, type: integer, jsonPath: .status.unacknowledged}
  - {name: Consumers, type: integer, jsonPath: .status.consumers}
  - {name: Load, type: string, cel: "status.consumers > 0 ? string(status.ready / status.consumers) + ' each' : 'nobody listens'"}
  tests:
  - input: {items: [{name: orders, vhost: shop, durable: true, messages_ready: 7, messages_unacknowledged: 1, consumers: 2}]}
    expect: {count: 1, items: {mq/orders: {status: {ready: 7}}}}
"""


def write(folder: Path, *, queues: str, authority: str) -> None:
    """Write the declarations. `queues` is the URL of the broker's API, `authority` the PEM of who signed its certificate."""
    folder.mkdir()
    (folder / "coolresources.yaml").write_text(_COOL_RESOURCES, encoding="utf-8")
    one_line = '"' + authority.strip().replace("\n", "\\n") + '\\n"'
    (folder / "queues.yaml").write_text(_QUEUES % {"url": queues, "ca": one_line}, encoding="utf-8")
