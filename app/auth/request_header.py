"""Identity by the front proxy's headers (k8s.io/apiserver, pkg/authentication/request/headerrequest).

The caller must have been told apart as the front proxy before: nothing here looks at the certificate. Header names are matched as they
are, lower-cased: `x_remote_user` is another header than `x-remote-user`. Values are never split or joined.
"""

from collections.abc import Sequence
from urllib.parse import unquote

from cachetools import LRUCache

from app.auth.identity import User
from app.auth.trust import TrustBundle

Headers = Sequence[tuple[bytes, bytes]]
"""Headers as ASGI gives them: names lower-case, duplicates kept, in the order of arrival."""

_LONGEST_KEPT = 4096


class FrontProxyReader:
    """front_proxy_user with a memory: the aggregator brings the same few callers again and again, and equal headers mean one user."""

    def __init__(self, maxsize: int = 1024) -> None:
        self._users: LRUCache[tuple[int, Headers], User | None] = LRUCache(maxsize)

    def read(self, headers: tuple[tuple[bytes, bytes], ...], bundle: TrustBundle) -> User | None:
        """`headers` may be those only that the bundle gives a meaning to."""
        key = (bundle.generation, headers)
        try:
            return self._users[key]
        except KeyError:
            user = front_proxy_user(headers, bundle)
            if sum(len(name) + len(value) for name, value in headers) <= _LONGEST_KEPT:
                self._users[key] = user
            return user


def front_proxy_user(headers: Headers, bundle: TrustBundle) -> User | None:
    """The user whom the front proxy speaks for, None if no username header has a value."""
    name = _first_value(headers, bundle.username_headers)
    if not name:
        return None
    return User(
        name=name,
        uid=_first_value(headers, bundle.uid_headers),
        groups=_all_values(headers, bundle.group_headers),
        extra=_extra(headers, bundle.extra_prefixes),
    )


def _first_value(headers: Headers, names: tuple[bytes, ...]) -> str:
    """The first configured name whose first header is not empty wins, as with Go's Header.Get."""
    for wanted in names:
        for name, value in headers:
            if name == wanted:
                if value:
                    return _text(value)
                break
    return ""


def _all_values(headers: Headers, names: tuple[bytes, ...]) -> tuple[str, ...]:
    return tuple(_text(value) for wanted in names for name, value in headers if name == wanted and value)


def _extra(headers: Headers, prefixes: tuple[bytes, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found: dict[str, list[str]] = {}
    for prefix in prefixes:
        for name, value in headers:
            if name.startswith(prefix):
                found.setdefault(_extra_key(name[len(prefix) :]), []).append(_text(value))
    return tuple((key, tuple(values)) for key, values in sorted(found.items()))


def _extra_key(suffix: bytes) -> str:
    """Keys arrive percent-encoded, for a header name cannot hold a slash. A broken encoding is kept as it is, as Go does."""
    text = _text(suffix)
    if "%" not in text:
        return text
    pieces = text.split("%")[1:]
    if not all(len(piece) >= 2 and all(digit in "0123456789abcdefABCDEF" for digit in piece[:2]) for piece in pieces):
        return text
    return unquote(text, errors="replace")


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
