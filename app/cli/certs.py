"""`kubeglance certs`: a CA and a serving certificate in files, for clusters without cert-manager.

The CA goes into the caBundle of the APIServices (`kubeglance manifests --ca-file`), the leaf into a Secret of type kubernetes.io/tls.
"""

import argparse
import ipaddress
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from app.certs import Authority, CertificateError
from app.cli import names
from app.cli.arguments import Parser
from app.clock import Clock, SystemClock
from app.new_files import NewFile, write_together

_CA_DAYS = 3650
_COMMON_NAME = 64  # RFC 5280 appendix A.1, ub-common-name
_FILES_IN_COMMANDS = (("cert", "tls.crt"), ("key", "tls.key"), ("ca-file", "ca.crt"))


def run(argv: Sequence[str], clock: Clock | None = None) -> int:
    """Write the files and say what to do with them; the answer is the exit code."""
    parser = _parser()
    try:
        arguments = parser.parse_args(argv)
        _check(parser, arguments)
    except SystemExit as end:
        return int(end.code or 0)
    try:
        made = _write(arguments, clock or SystemClock())
    except CertificateError as err:
        print(f"kubeglance certs: {err}", file=sys.stderr)
        return 1
    except OSError as err:
        where = err.filename or arguments.dir
        print(f"kubeglance certs: cannot write {where}: {err.strerror}; give --dir a folder that can be written", file=sys.stderr)
        return 1
    print("\n".join([*made, "", *_next_steps(arguments)]))
    return 0


def service_names(service: str, namespace: str) -> tuple[str, ...]:
    """The DNS names of a Service; the aggregator verifies the third (<service>.<namespace>.svc)."""
    return (service, f"{service}.{namespace}", f"{service}.{namespace}.svc", f"{service}.{namespace}.svc.cluster.local")


def _parser() -> Parser:
    parser = Parser("certs", "Make a CA and a serving certificate. An existing CA is used again, so that caBundles stay valid.")
    parser.add_argument("--dir", type=Path, default=Path("certs"), help="folder for ca.crt, ca.key, tls.crt and tls.key")
    parser.add_argument("--namespace", default="kube-system", help="namespace of the Service")
    parser.add_argument("--service", default="kubeglance", help="name of the Service")
    parser.add_argument(
        "--dns", action="append", default=[], metavar="NAME", help="a DNS name, repeatable; instead of those of the Service"
    )
    parser.add_argument("--ip", action="append", default=[], metavar="ADDRESS", help="an IP address, repeatable")
    parser.add_argument("--days", type=int, default=365, help="days until the serving certificate ends; never later than its CA")
    parser.add_argument("--force", action="store_true", help="make a new CA also where there is one: caBundles must then be changed")
    return parser


def _check(parser: Parser, arguments: argparse.Namespace) -> None:
    if not names.is_service(arguments.service):
        parser.error(f"--service={arguments.service}: is not {names.SERVICE}")
    if not names.is_label(arguments.namespace):
        parser.error(f"--namespace={arguments.namespace}: is not {names.LABEL}")
    for address in arguments.ip:
        if not _is_address(address):
            parser.error(f"--ip={address}: is not an IP address")
    for name in arguments.dns:
        if not names.is_host(name):
            parser.error(f"--dns={name if name.isprintable() else repr(name)}: is not a DNS name")
    if not 1 <= arguments.days <= _CA_DAYS:
        parser.error(f"--days={arguments.days}: must be between 1 and {_CA_DAYS}")


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text  # a certificate has no place for a zone


def _write(arguments: argparse.Namespace, clock: Clock) -> list[str]:
    """Make what is missing; the answer is a line a file. All files are written together, so that a fault leaves the old ones."""
    folder: Path = arguments.dir
    ca_certificate, ca_key, leaf_certificate, leaf_key = (folder / name for name in ("ca.crt", "ca.key", "tls.crt", "tls.key"))
    files, made = [], []
    if (ca_certificate.exists() or ca_key.exists()) and not arguments.force:
        authority = Authority.load(ca_certificate, ca_key, clock)
        left = authority.certificate.not_valid_after_utc.timestamp() - clock.wall()
        if left <= 0:
            raise CertificateError(f"the CA in {ca_certificate} has ended; make a new one with --force and change the caBundles")
        made.append(f"{ca_certificate}  used again")
    else:
        authority = Authority.create(f"{arguments.service[: _COMMON_NAME - 3]} CA", clock, days=_CA_DAYS)
        files += [NewFile(ca_key, authority.key_pem, private=True), NewFile(ca_certificate, authority.certificate_pem)]
        made += [f"{ca_certificate}  new CA, for caBundle", f"{ca_key}  its key: keep it safe, the cluster does not need it"]
    dns = tuple(arguments.dns) or service_names(arguments.service, arguments.namespace)
    common_name = next((name for name in dns if name.endswith(".svc")), dns[0])[:_COMMON_NAME]
    leaf, key = authority.issue(common_name, dns=dns, ips=arguments.ip, server=True, days=arguments.days)
    folder.mkdir(parents=True, exist_ok=True)
    write_together([*files, NewFile(leaf_key, key, private=True), NewFile(leaf_certificate, leaf)])
    made += [f"{leaf_certificate}  for {', '.join([*dns, *arguments.ip])}", f"{leaf_key}  its key"]
    return made


def _next_steps(arguments: argparse.Namespace) -> list[str]:
    folder, namespace, service = arguments.dir, arguments.namespace, arguments.service
    certificate, key, ca = (shlex.quote(f"--{flag}={folder / name}") for flag, name in _FILES_IN_COMMANDS)
    return [
        "Next:",
        f"  kubectl -n {namespace} create secret tls {service}-tls {certificate} {key}",
        f"  kubeglance manifests --namespace={namespace} --service={service} {ca} | kubectl apply -f -",
    ]
