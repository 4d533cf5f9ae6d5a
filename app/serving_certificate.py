"""Which certificate is served: the files that were given, or a self-signed pair in --cert-dir, made at start as metrics-server does.

The pair is named as kube-apiserver's library names it: apiserver.crt and apiserver.key. It is used again while it is valid. One that
someone else put there is used, and never overwritten.
"""

import datetime
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from app.certs import Authority, CertificateError
from app.clock import Clock
from app.new_files import NewFile, write_together
from app.settings import Settings

_ISSUER = "kubeglance self-signed"
_DAYS = 3650  # nobody verifies it against a bundle that was given in advance, so that a short life would only be an outage to come
_LEFT = datetime.timedelta(days=30)  # a pair of our own with less is made anew at start


class ServingFiles(NamedTuple):
    """PEM files: the leaf first and then what signed it, and the leaf's key."""

    certificate: Path
    key: Path


def serving_files(settings: Settings, clock: Clock) -> ServingFiles:
    """The files to serve with. Raises CertificateError where a self-signed pair is needed and cannot be had."""
    if settings.tls_cert_file is not None and settings.tls_private_key_file is not None:
        return ServingFiles(settings.tls_cert_file, settings.tls_private_key_file)
    addresses = ["127.0.0.1", "::1"]
    if settings.bind_address not in {"0.0.0.0", "::", *addresses}:  # noqa: S104 -- compared, not bound
        addresses.append(settings.bind_address)
    return self_signed(settings.cert_dir, clock, names=("localhost", socket.gethostname()), addresses=addresses)


def self_signed(folder: Path, clock: Clock, *, names: Sequence[str], addresses: Sequence[str]) -> ServingFiles:
    """The pair in `folder`, made now unless a usable one is there."""
    files = ServingFiles(folder / "apiserver.crt", folder / "apiserver.key")
    if _usable(files, clock):
        return files
    authority = Authority.create(f"{_ISSUER} CA", clock, days=_DAYS)
    leaf, key = authority.issue(_ISSUER, dns=_dns_names(names), ips=addresses, server=True, days=_DAYS)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_together([NewFile(files.key, key, private=True), NewFile(files.certificate, leaf + authority.certificate_pem)])
    except OSError as err:
        raise CertificateError(
            f"cannot write a self-signed serving certificate into {folder}: {err.strerror}; "
            "give --cert-dir a folder that can be written (in a pod: an emptyDir volume), or --tls-cert-file and --tls-private-key-file"
        ) from err
    return files


def _dns_names(names: Sequence[str]) -> list[str]:
    """Names as a certificate may hold them: ASCII, each once, in order."""
    return [name for name in dict.fromkeys(names) if name and name.isascii()]


def _usable(files: ServingFiles, clock: Clock) -> bool:
    """Whether the pair is there and serves. False: it may be made anew. Raises CertificateError for a broken pair of someone else."""
    try:
        pem = files.certificate.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as err:
        raise CertificateError(f"cannot read {files.certificate}: {err.strerror}; mend its permissions or remove it") from err
    try:
        leaf = x509.load_pem_x509_certificate(pem)
        ours = leaf.issuer.rfc4514_string() == f"CN={_ISSUER} CA"
        fault = _fault(leaf, files, clock, datetime.timedelta(0) if not ours else _LEFT)
    except (ValueError, UnsupportedAlgorithm) as err:  # parts of a certificate are read when they are asked for
        raise CertificateError(f"{files.certificate} is no PEM certificate that can be used; replace or remove it") from err
    if fault and not ours:
        raise CertificateError(f"{files.certificate} was not made by kubeglance and cannot be served: {fault}; replace or remove it")
    return not fault


def _fault(leaf: x509.Certificate, files: ServingFiles, clock: Clock, left: datetime.timedelta) -> str:
    """What keeps the pair from being served, "" if nothing does."""
    now = datetime.datetime.fromtimestamp(clock.wall(), datetime.UTC)
    if now < leaf.not_valid_before_utc:
        return f"it is not valid before {leaf.not_valid_before_utc:%Y-%m-%d %H:%M:%S} UTC"
    if now + left >= leaf.not_valid_after_utc:
        return f"it ends at {leaf.not_valid_after_utc:%Y-%m-%d %H:%M:%S} UTC"
    try:
        key = load_pem_private_key(files.key.read_bytes(), password=None)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as err:
        return f"its key {files.key} cannot be read ({err})"
    return "" if key.public_key() == leaf.public_key() else f"the key in {files.key} belongs to another certificate"
