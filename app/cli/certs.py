"""`kubeglance certs`: a CA and a serving certificate in files, for clusters without cert-manager.

The CA goes into the caBundle of the APIServices (`kubeglance manifests --ca-file`), the leaf into a Secret of type kubernetes.io/tls.
"""

import argparse
import ipaddress
import sys
from collections.abc import Sequence
from pathlib import Path

from app.certs import Authority, CertificateError, write_key
from app.cli.arguments import Parser
from app.clock import Clock, SystemClock

_CA_DAYS = 3650


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
        print(f"kubeglance certs: cannot write {err.filename}: {err.strerror}; give --dir a folder that can be written", file=sys.stderr)
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
    for address in arguments.ip:
        try:
            ipaddress.ip_address(address)
        except ValueError:
            parser.error(f"--ip={address}: is not an IP address")
    for name in arguments.dns:
        if not name or not name.isascii() or len(name) > 253 or any(char.isspace() or char in ",/:" for char in name):
            parser.error(f"--dns={name}: is not a DNS name")
    if not 1 <= arguments.days <= _CA_DAYS:
        parser.error(f"--days={arguments.days}: must be between 1 and {_CA_DAYS}")


def _write(arguments: argparse.Namespace, clock: Clock) -> list[str]:
    """Make what is missing; the answer is a line a file."""
    folder: Path = arguments.dir
    folder.mkdir(parents=True, exist_ok=True)
    ca_certificate, ca_key = folder / "ca.crt", folder / "ca.key"
    made = []
    if (ca_certificate.exists() or ca_key.exists()) and not arguments.force:
        authority = Authority.load(ca_certificate, ca_key, clock)
        left = authority.certificate.not_valid_after_utc.timestamp() - clock.wall()
        if left <= 0:
            raise CertificateError(f"the CA in {ca_certificate} has ended; make a new one with --force and change the caBundles")
        made.append(f"{ca_certificate}  used again")
    else:
        authority = Authority.create(f"{arguments.service} CA", clock, days=_CA_DAYS)
        authority.save(ca_certificate, ca_key)
        made += [f"{ca_certificate}  new CA, for caBundle", f"{ca_key}  its key: keep it safe, the cluster does not need it"]
    names = tuple(arguments.dns) or service_names(arguments.service, arguments.namespace)
    common_name = next((name for name in names if name.endswith(".svc")), names[0])[:64]
    leaf, key = authority.issue(common_name, dns=names, ips=arguments.ip, server=True, days=arguments.days)
    write_key(folder / "tls.key", key)
    (folder / "tls.crt").write_bytes(leaf)
    made += [f"{folder / 'tls.crt'}  for {', '.join([*names, *arguments.ip])}", f"{folder / 'tls.key'}  its key"]
    return made


def _next_steps(arguments: argparse.Namespace) -> list[str]:
    folder, namespace, service = arguments.dir, arguments.namespace, arguments.service
    return [
        "Next:",
        f"  kubectl -n {namespace} create secret tls {service}-tls --cert={folder}/tls.crt --key={folder}/tls.key",
        f"  kubeglance manifests --namespace={namespace} --service={service} --ca-file={folder}/ca.crt | kubectl apply -f -",
    ]
