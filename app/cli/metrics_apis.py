"""The APIServices of the metrics APIs: what `kubeglance registrar` registers by itself once there are metrics."""

from collections.abc import Sequence

from app.cli.objects import Manifest, Options
from app.registrar.registration import Group, Install, objects
from app.wire.metric_values import CUSTOM, EXTERNAL, VERSIONS

APIS = {"custom": CUSTOM, "external": EXTERNAL}
"""Groups by their short names."""


def metrics_api_services(apis: Sequence[str], options: Options) -> list[Manifest]:
    """The APIServices of these APIs, by short name. They are not the registrar's, which leaves them alone."""
    install = Install(options.namespace, options.service, managed=False)
    groups = [Group(APIS[api], VERSIONS[APIS[api]], ()) for api in sorted(set(apis))]
    return [manifest for group in groups for manifest in objects(group, install, options.ca)]
