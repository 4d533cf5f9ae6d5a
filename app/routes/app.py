"""All routes on one FastAPI application. No middleware, no mounts, no redirects, no generated documentation."""

from functools import partial

from fastapi import FastAPI
from prometheus_client import CollectorRegistry
from starlette.routing import Route

from app.auth.identity import Gate
from app.clock import Clock
from app.routes.access import guarded
from app.routes.by_group import ByGroup
from app.routes.descriptions import Descriptions, by_group_version
from app.routes.discovery import Discovery
from app.routes.health import Health, HealthChecks
from app.routes.index import create_index, unknown
from app.routes.metrics import create_metrics
from app.routes.openapi import OpenApi
from app.routes.problems import Answering, Endpoint, install_handlers, read_only
from app.routes.version import VersionInfo, create_version

RESOURCE_PATHS = (
    "/apis/{group}/{version}/{plural}",
    "/apis/{group}/{version}/{plural}/{name}",
    "/apis/{group}/{version}/namespaces/{namespace}/{plural}",
    "/apis/{group}/{version}/namespaces/{namespace}/{plural}/{name}",
    "/apis/{group}/{version}/{rest:path}",
)
"""The last one is for what is not served: subresources, old watch paths. It gets its 404 or 405 from the same endpoint."""


def create_app(
    descriptions: Descriptions,
    resources: ByGroup,
    *,
    gate: Gate,
    checks: HealthChecks,
    registry: CollectorRegistry,
    clock: Clock,
    version: VersionInfo,
) -> FastAPI:
    """The application. `descriptions` are of all that `resources` serves, the endpoint that the dispatcher calls too."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    install_handlers(app)

    def serve(path: str, answer: Answering, *, open_to_all: bool = False) -> None:
        """One route for all methods, with and without a trailing slash: the endpoint decides, and a redirect would not get through."""
        endpoint = Endpoint(answer if open_to_all else guarded(gate, answer))
        for form in (path,) if path == "/" else (path, f"{path}/"):
            app.router.routes.append(Route(form, endpoint))

    roots = {"healthz": checks.healthz, "livez": checks.livez, "readyz": checks.readyz}
    for root, of_root in roots.items():
        health = Health(root, of_root)
        app.router.routes.append(Route(f"/{root}", Endpoint(health.all_checks)))
        serve(f"/{root}/{{check:path}}", health.one_check)

    discovery = Discovery(descriptions)
    serve("/apis", read_only(discovery.all_groups))
    serve("/apis/{group}", read_only(discovery.group))
    serve("/apis/{group}/{version}", read_only(discovery.resources))
    for path in RESOURCE_PATHS:
        app.router.routes.append(Route(path, resources))

    openapi = OpenApi(descriptions, clock, version.git_version)
    serve("/openapi/v2", openapi.v2)
    serve("/openapi/v3", openapi.v3_root)
    serve("/openapi/v3/{document:path}", openapi.v3)

    serve("/version", read_only(create_version(version)))
    serve("/metrics", create_metrics(registry))
    serve("/", create_index(partial(_listed_paths, descriptions, checks)))
    app.router.routes.append(Route("/{path:path}", Endpoint(guarded(gate, unknown))))
    return app


def _listed_paths(descriptions: Descriptions, checks: HealthChecks) -> list[str]:
    served = by_group_version(descriptions.current())
    paths = ["/apis", "/openapi/v2", "/openapi/v3", "/metrics", "/version", "/healthz", "/livez", "/readyz"]
    paths += [f"/apis/{group}" for group in {group for group, _ in served}]
    paths += [f"/apis/{group}/{version}" for group, version in served]
    paths += [f"/openapi/v3/apis/{group}/{version}" for group, version in served]
    for root, of_root in (("healthz", checks.healthz), ("livez", checks.livez), ("readyz", checks.readyz)):
        paths += [f"/{root}/{check.name}" for check in of_root]
    return paths
