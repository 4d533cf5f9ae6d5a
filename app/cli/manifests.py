"""`kubeglance manifests`: the objects that install kubeglance, as YAML for `kubectl apply -f -` or as files for kustomize."""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import yaml
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from app import __version__
from app.cli import names
from app.cli.arguments import Parser
from app.cli.flags import SETTINGS_FILE, parse
from app.cli.metrics_apis import APIS, metrics_api_services
from app.cli.objects import API_SERVICES, CONFIG_MAPS, Manifest, Options, install
from app.cli.registrar_objects import registrar
from app.cli.sources import load
from app.errors import KubeglanceError, SettingsError
from app.kinds._base import Kind
from app.settings import Settings
from app.wire.object_names import is_group

_HEAD = "# Made by `kubeglance manifests`. To change it, change app/cli/objects.py and run `make manifests`, or patch it in an overlay.\n"


class ManifestError(KubeglanceError):
    """The manifests cannot be made as asked. The message says what to change."""


def run(argv: Sequence[str], kinds: Sequence[Kind] | None = None) -> int:
    """Print the objects, or write them with --dir; the answer is the exit code."""
    parser = _parser()
    try:
        arguments = parser.parse_args(argv)
        _check(parser, arguments)
    except SystemExit as end:
        return int(end.code or 0)
    try:
        options = _options(arguments)
        groups = install(options, _known_kinds(arguments.settings) if kinds is None else kinds, api_services=not arguments.registrar)
        if arguments.registrar:
            groups["registrar"] = registrar(options, arguments.registrar_group)
        if arguments.metrics_api and not arguments.registrar:
            groups["metrics-apis"] = metrics_api_services(arguments.metrics_api, options)
        if arguments.declared:
            groups |= _of_declarations(arguments.declared, options, registered=arguments.registrar)
        if arguments.dir is None:
            print(to_yaml([item for group in groups.values() for item in group]), end="")
        else:
            write_base(arguments.dir, groups)
    except KubeglanceError as err:
        print(f"kubeglance manifests: {err}", file=sys.stderr)
        return 1
    if options.ca is None and not arguments.registrar:
        print(
            "kubeglance manifests: note: without --ca-file the APIServices have no caBundle, and kube-apiserver will not trust the "
            "server until cert-manager or you put one in",
            file=sys.stderr,
        )
    return 0


def to_yaml(objects: Sequence[Manifest]) -> str:
    """YAML documents, keys in the order in which people write them."""
    return "".join(f"---\n{yaml.safe_dump(item, sort_keys=False, width=140)}" for item in objects)


def base_files(groups: Mapping[str, Sequence[Manifest]]) -> dict[str, str]:
    """File names and texts of a kustomize base."""
    files = {f"{name}.yaml": _HEAD + to_yaml(objects) for name, objects in groups.items()}
    kustomization = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": sorted(files)}
    return {**files, "kustomization.yaml": _HEAD + yaml.safe_dump(kustomization, sort_keys=False)}


def write_base(folder: Path, groups: Mapping[str, Sequence[Manifest]]) -> None:
    """Write a kustomize base. Raises ManifestError where the folder cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in base_files(groups).items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as err:
        raise ManifestError(f"cannot write {err.filename}: {err.strerror}") from err


def _of_declarations(paths: Sequence[Path], options: Options, *, registered: bool) -> dict[str, list[Manifest]]:
    """What declarations need: their groups, unless the registrar sees to them, and what their sources read."""
    from app.cli.declared_files import declarations_of  # noqa: PLC0415 -- only who names declarations pays for their checks
    from app.cli.declared_groups import registrations  # noqa: PLC0415
    from app.cli.source_rights import source_rights  # noqa: PLC0415

    declarations = declarations_of(paths)
    groups = {} if registered else {"declared": registrations(declarations, options)}
    return {**groups, "sources": source_rights(declarations, options)}


def _known_kinds(settings: Settings) -> tuple[Kind, ...]:
    """The built-in kinds that are served with these settings: an APIService of a group that is not would hold up namespaces that go."""
    from app import kinds  # noqa: PLC0415 -- so that tests can give kinds of their own without loading these

    if settings.live_kinds:
        return kinds.load()
    return (*kinds.published(), *(kinds.of_sources() if settings.serves_live else ()))


def _parser() -> Parser:
    parser = Parser("manifests", "Print the Kubernetes objects that install kubeglance.")
    parser.add_argument("--namespace", default="kube-system", help="namespace of all that has one")
    parser.add_argument("--service", default="kubeglance", help="name of the Service, the Deployment and the ServiceAccount")
    parser.add_argument("--image", default=f"kubeglance:{__version__}", help="container image")
    parser.add_argument("--replicas", type=int, default=2, help="replicas of the Deployment")
    parser.add_argument("--ca-file", type=Path, help="PEM certificates for the APIServices' caBundle (ca.crt of kubeglance certs)")
    parser.add_argument("--cert-secret", default="", help="Secret of type kubernetes.io/tls to serve with (default: SERVICE-tls)")
    parser.add_argument(
        "--arg", action="append", default=[], metavar="FLAG", help="a flag for kubeglance serve, repeatable: --arg=--kubelet-insecure-tls"
    )
    parser.add_argument(
        "--registrar", action="store_true", help="with `kubeglance registrar`, which makes certificates, APIServices and reader roles"
    )
    parser.add_argument(
        "--registrar-group",
        action="append",
        default=[],
        metavar="GROUP",
        help="an API group of declared kinds whose reader roles the registrar may make, repeatable",
    )
    parser.add_argument(
        "--metrics-api",
        action="append",
        choices=APIS,
        default=[],
        help="register custom.metrics.k8s.io or external.metrics.k8s.io for the HPA, repeatable (the registrar does so by itself when "
        "there are metrics); one server in the cluster has each of them",
    )
    parser.add_argument("--pod-logs", action="store_true", help="let kinds that ask for /log read the logs of pods, for callers who may")
    parser.add_argument(
        "--declared",
        action="append",
        type=Path,
        default=[],
        metavar="FILE|DIR",
        help="declarations: also APIServices and reader roles of their groups (without --registrar, which makes them), and the right "
        "to read the Secrets, ConfigMaps and resources that they name, repeatable",
    )
    parser.add_argument("--dir", type=Path, help="write a kustomize base into this folder instead of printing")
    return parser


def _check(parser: Parser, arguments: argparse.Namespace) -> None:
    arguments.cert_secret = arguments.cert_secret or f"{arguments.service}-tls"
    if not names.is_label(arguments.namespace):
        parser.error(f"--namespace={arguments.namespace}: is not {names.LABEL}")
    if not names.is_service(arguments.service):
        parser.error(f"--service={arguments.service}: is not {names.SERVICE}")
    if not names.is_object(arguments.cert_secret):
        parser.error(f"--cert-secret={arguments.cert_secret}: is not {names.OBJECT}")
    if not arguments.image or any(char.isspace() for char in arguments.image):
        parser.error(f"--image={arguments.image}: is not an image reference")
    if arguments.replicas < 0:
        parser.error(f"--replicas={arguments.replicas}: must not be negative")
    if arguments.registrar and arguments.ca_file is not None:
        parser.error("--ca-file and --registrar exclude each other: the registrar has a CA of its own")
    if arguments.registrar_group and not arguments.registrar:
        parser.error("--registrar-group needs --registrar")
    for group in arguments.registrar_group:
        if not is_group(group):
            parser.error(f"--registrar-group={group}: is not an API group, such as example.com")
    arguments.settings = _settings(parser, arguments.arg)


def _settings(parser: Parser, flags: Sequence[str]) -> Settings:
    """What kubeglance serve makes of these flags, once they are known to be good."""
    given = parse([CONFIG_MAPS, *flags])
    if given.help or given.version:
        parser.error("--arg: --help and --version end kubeglance serve at once: remove them")
    if given.settings_file is not None:
        parser.error(f"--arg: {SETTINGS_FILE} needs a file in the pod, which these objects do not bring: give each setting as an --arg")
    try:
        settings, _ = load(given, {})
    except SettingsError as err:
        parser.error(f"--arg: {'; '.join(err.faults)}")
    return settings


def _rules(settings: Settings, *, pod_logs: bool) -> Iterator[Manifest]:
    """What these settings need to read in the cluster."""
    if pod_logs:
        yield {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]}
    if settings.declarations and not settings.declaration_config_maps:
        yield API_SERVICES
    if settings.cozystack:
        yield {"apiGroups": ["cozystack.io"], "resources": ["applicationdefinitions"], "verbs": ["list", "watch"]}
        yield {"apiGroups": ["helm.toolkit.fluxcd.io"], "resources": ["helmreleases"], "verbs": ["list", "watch"]}


def _options(arguments: argparse.Namespace) -> Options:
    return Options(
        image=arguments.image,
        namespace=arguments.namespace,
        service=arguments.service,
        replicas=arguments.replicas,
        cert_secret=arguments.cert_secret,
        ca=None if arguments.ca_file is None else _read_bundle(arguments.ca_file),
        port=arguments.settings.secure_port,
        arguments=tuple(arguments.arg),
        rules=tuple(_rules(arguments.settings, pod_logs=arguments.pod_logs)),
        config_maps=arguments.settings.declaration_config_maps,
    )


def _read_bundle(path: Path) -> bytes:
    """The certificates of a PEM file and nothing else of it: a key in the same file must not end in an APIService."""
    try:
        certificates = x509.load_pem_x509_certificates(path.read_bytes())
    except OSError as err:
        raise ManifestError(f"--ca-file: cannot read {path}: {err.strerror}") from err
    except ValueError as err:
        raise ManifestError(f"--ca-file: {path} has no PEM certificate; give it ca.crt of `kubeglance certs`") from err
    return b"".join(certificate.public_bytes(Encoding.PEM) for certificate in certificates)
