"""The example of a declaration that tests change, and what stands in for the sources."""

QUEUES = """\
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
      url: https://rabbitmq.mq.svc:15671/api/queues
      auth: {basic: {username: {value: ro}, password: {valueFrom: {secretKeyRef: {name: rabbit, key: pw}}}}}
      tls: {ca: {valueFrom: {configMapKeyRef: {name: rabbit-ca, key: ca.crt}}}}
      paginate: {page: {param: page, sizeParam: page_size, size: 500, last: response.page_count}}
  interval: 15s
  limits: {items: 1000, bodyBytes: 1Mi, pages: 20}
  items: response.items
  object:
    name: item.vhost + "/" + item.name
    namespace: '"mq"'
    labels: {vhost: item.vhost}
    spec: {queue: item.name, durable: item.durable}
    status: {ready: int(item.messages_ready), consumers: int(item.consumers)}
  allowNamespaces: [mq]
  schema:
    openAPIV3Schema:
      type: object
      properties:
        spec: {type: object, properties: {queue: {type: string}, durable: {type: boolean}}}
        status: {type: object, required: [ready], properties: {ready: {type: integer, format: int64}, consumers: {type: integer}}}
  additionalPrinterColumns:
  - {name: Ready, type: integer, jsonPath: .status.ready}
  - {name: Load, type: string, priority: 1, cel: "status.consumers > 0 ? string(status.ready / status.consumers) + '/c' : '<none>'"}
  metrics: [{name: queue_messages_ready, value: status.ready, apis: [custom, external]}]
  tests:
  - input: {page_count: 1, items: [{name: Orders, vhost: eu, durable: true, messages_ready: 7, consumers: 2}]}
    expect: {count: 1, items: {mq/eu-orders-89ea4b9a: {status: {ready: 7}}}}
"""
"""A declaration with a bit of everything."""

COOL = """\
apiVersion: kubeglance.io/v1alpha1
kind: LiveResource
metadata: {name: coolresources.example.com}
spec:
  group: example.com
  version: v1alpha1
  scope: Namespaced
  names: {kind: CoolResource, plural: coolresources, singular: coolresource, shortNames: [cr]}
  source: {static: {items: [{name: hello, namespace: default, message: Hello from CoolResource}]}}
  items: response.items
  object: {name: item.name, namespace: item.namespace, spec: {message: item.message}}
  allowNamespaces: [default]
  schema:
    openAPIV3Schema:
      type: object
      properties: {spec: {type: object, required: [message], properties: {message: {type: string, maxLength: 140}}}}
  additionalPrinterColumns: [{name: Message, type: string, jsonPath: .spec.message}]
"""
"""The same kind as in every introduction to operators."""


def changed(text: str, old: str, new: str) -> str:
    """`text` with one part changed, which is there once."""
    assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
    return text.replace(old, new)
