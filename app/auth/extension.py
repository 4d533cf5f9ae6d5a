"""Keeps the trust bundle in step with ConfigMap kube-system/extension-apiserver-authentication. app/kube/reflector.py watches it."""

from collections.abc import Mapping, Sequence, Set

import structlog
from cryptography import x509

from app.auth.trust import REQUESTHEADER_CA, USERNAME_HEADERS, Trust, TrustBundle, TrustDataError, parse_bundle
from app.kube.decode import ConfigMapRecord
from app.kube.records import Key

NAMESPACE = "kube-system"
NAME = "extension-apiserver-authentication"

SHOW = f"kubectl -n {NAMESPACE} get configmap {NAME} -o yaml"

_log = structlog.get_logger(__name__)


class ExtensionAuthentication:
    """A reflector's sink. A ConfigMap that cannot be read, or that goes away, leaves the last good bundle in force."""

    def __init__(self, trust: Trust) -> None:
        self._trust = trust
        self._present = False
        self._warned = ""

    def keys(self) -> Set[Key]:
        return {(NAMESPACE, NAME)} if self._present else frozenset()

    def apply(self, upserts: Sequence[ConfigMapRecord], deletes: Sequence[Key]) -> None:
        """Take what the reflector saw. Other ConfigMaps than ours are ignored."""
        if (NAMESPACE, NAME) in deletes:
            self._present = False
            self._warn(
                f"ConfigMap {NAMESPACE}/{NAME} is gone, its last content stays in force; kube-apiserver writes it anew when it starts"
            )
        for record in upserts:
            if record.key == (NAMESPACE, NAME):
                self._present = True
                self._take(record.data)

    def _take(self, data: Mapping[str, str]) -> None:
        try:
            bundle = parse_bundle(data)
        except TrustDataError as exc:
            self._warn(f"ConfigMap {NAMESPACE}/{NAME} cannot be read, its last good content stays in force: {exc}; look at it with: {SHOW}")
            return
        changed = self._trust.replace(bundle)
        if changed:
            _report(self._trust.bundle)
        self._warn(_weakness(bundle, data))

    def _warn(self, text: str) -> None:
        """One warning for one fault: the reflector lists again and again."""
        if text and text != self._warned:
            _log.warning(text)
        self._warned = text


def _weakness(bundle: TrustBundle, data: Mapping[str, str]) -> str:
    if bundle.ambiguous:
        return (
            "SECURITY: client-ca-file and requestheader-client-ca-file share an authority and requestheader-allowed-names is empty, so any "
            "user's certificate could speak for anybody. Front-proxy headers are refused from certificates of that authority. Start "
            "kube-apiserver with --requestheader-allowed-names=NAME, better with a front-proxy CA of its own"
        )
    if not bundle.requestheader_cas:
        return (
            f"ConfigMap {NAMESPACE}/{NAME} has no {REQUESTHEADER_CA}: requests through kube-apiserver get 401 or 403. Start kube-apiserver "
            f"with --requestheader-client-ca-file and --requestheader-username-headers=X-Remote-User; look at it with: {SHOW}"
        )
    if not bundle.username_headers:
        return (
            f"ConfigMap {NAMESPACE}/{NAME} has no {USERNAME_HEADERS} ({data.get(USERNAME_HEADERS, 'absent')}): requests through "
            f"kube-apiserver get 401. Start kube-apiserver with --requestheader-username-headers=X-Remote-User; look at it with: {SHOW}"
        )
    return ""


def _report(bundle: TrustBundle) -> None:
    for use, authorities in (("users", bundle.client_cas), ("front proxy", bundle.requestheader_cas)):
        for authority in authorities:
            _log.info(
                "trusting a certificate authority",
                use=use,
                subject=authority.subject.rfc4514_string(),
                issuer=authority.issuer.rfc4514_string(),
                subject_key_id=_subject_key_id(authority),
                ends=authority.not_valid_after_utc.isoformat(),
                generation=bundle.generation,
            )


def _subject_key_id(certificate: x509.Certificate) -> str:
    try:
        return certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest.hex()
    except (ValueError, x509.ExtensionNotFound):
        return ""
