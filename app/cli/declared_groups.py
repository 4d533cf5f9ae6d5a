"""The API groups that declarations make: what `kubeglance registrar` would register, for those who keep it in Git instead."""

from collections.abc import Sequence

from app.cli.objects import Manifest, Options
from app.declared.declaration import AnyDeclaration, is_kind
from app.registrar.registration import Group, Install, Resource, objects


def registrations(declarations: Sequence[AnyDeclaration], options: Options) -> list[Manifest]:
    """APIServices and reader roles of all declared groups. They are not the registrar's, which leaves them alone."""
    install = Install(options.namespace, options.service, managed=False)
    return [manifest for group in _groups(declarations) for manifest in objects(group, install, options.ca)]


def _groups(declarations: Sequence[AnyDeclaration]) -> list[Group]:
    versions: dict[str, dict[str, None]] = {}
    resources: dict[str, dict[str, Resource]] = {}
    for declaration in filter(is_kind, declarations):
        spec = declaration.resource.spec
        versions.setdefault(spec.group, {})[spec.version] = None
        below = ("history",) if spec.subresources.history is not None else ()
        resources.setdefault(spec.group, {})[spec.names.plural] = Resource(spec.names.plural, spec.scope == "Namespaced", below)
    return [Group(group, tuple(versions[group]), tuple(resources[group].values())) for group in sorted(versions)]
