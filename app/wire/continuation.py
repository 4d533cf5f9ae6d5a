"""The continue token: where the next page of a list begins, and of which version all pages are.

The form is that of k8s.io/apiserver/pkg/storage/continue.go: base64url (no padding) of {"v":"meta.k8s.io/v1","rv":N,"start":"..."}.
"""

import base64
import binascii

import msgspec
from msgspec import Struct

from app.wire.status import bad_request

_API_VERSION = "meta.k8s.io/v1"


class Continuation(Struct, frozen=True):
    """`version` is the first page's resourceVersion; `start` is "namespace/name" or "name", with a NUL behind the last item's."""

    version: int
    start: str

    def after(self, namespace: str | None) -> tuple[str, str]:
        """The key where the page begins. `namespace` is that of the request, None for a list over all namespaces."""
        if namespace is not None:
            return (namespace, self.start)
        space, slash, name = self.start.partition("/")
        return (space, name) if slash else ("", space)


class _Token(Struct):
    v: str = ""
    rv: int = 0
    start: str = ""


def encode_continue(version: int, last: tuple[str, str], namespace: str | None) -> str:
    """The token for the page behind the object at key `last`; with `namespace` the key is written without it."""
    start = last[1] if namespace is not None or not last[0] else f"{last[0]}/{last[1]}"
    body = msgspec.json.encode(_Token(_API_VERSION, version, f"{start}\0"))
    return base64.urlsafe_b64encode(body).rstrip(b"=").decode()


def decode_continue(token: str) -> Continuation:
    """The contents of a token. Raises Problem 400."""
    try:
        padded = token.encode("ascii") + b"=" * (-len(token) % 4)
        decoded = msgspec.json.decode(base64.b64decode(padded, altchars=b"-_", validate=True), type=_Token)
    except (UnicodeEncodeError, binascii.Error, ValueError, msgspec.MsgspecError) as exc:
        raise _invalid("continue key is not valid") from exc
    if decoded.v != _API_VERSION:
        raise _invalid("continue key is not valid: server does not recognize this encoded version")
    if not 0 < decoded.rv < 2**63:
        raise _invalid("continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
    if not decoded.start:
        raise _invalid("continue key is not valid: encoded start key empty (version meta.k8s.io/v1)")
    if any(part in {"", ".", ".."} for part in decoded.start.split("/")):
        raise _invalid("continue key is not valid")
    return Continuation(decoded.rv, decoded.start)


def _invalid(text: str) -> Exception:
    return bad_request(f"invalid continue token: {text}")
