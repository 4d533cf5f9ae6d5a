"""Who may do what in the simulated cluster: a few accounts with static tokens and fixed rules, instead of RBAC objects."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from app.auth.identity import AUTHENTICATED, MASTERS

_READ = frozenset({"get", "list", "watch"})
_DISCOVERY = ("/api", "/apis", "/healthz", "/livez", "/openapi", "/readyz", "/version")


class Account(Struct, frozen=True):
    """A caller. `reads` is "all" or "cluster" (nodes, pods, namespaces, config maps), `reviews` allows token and access reviews."""

    token: str
    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    reads: str = "all"
    reviews: bool = False


class Accounts:
    """The accounts of one cluster, and the verdicts about them. What no rule allows is denied."""

    def __init__(self, accounts: Iterable[Account]) -> None:
        self._by_token = {account.token: account for account in accounts}
        self._by_name = {account.name: account for account in self._by_token.values()}

    def authenticate(self, token: str) -> Account | None:
        """The account of that token."""
        return self._by_token.get(token)

    def review_token(self, token: str) -> dict[str, Any]:
        """The status of a TokenReview."""
        account = self.authenticate(token)
        if account is None:
            return {"authenticated": False, "error": "the token is not known to the simulated cluster"}
        groups = [*account.groups, AUTHENTICATED]
        return {"authenticated": True, "user": {"username": account.name, "uid": account.uid, "groups": groups}}

    def review_access(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """The status of a SubjectAccessReview with that spec."""
        user, groups = str(spec.get("user") or ""), list(spec.get("groups") or ())
        asked = spec.get("resourceAttributes") or {}
        path = str((spec.get("nonResourceAttributes") or {}).get("path") or "")
        verb = str((asked or spec.get("nonResourceAttributes") or {}).get("verb") or "")
        return {"allowed": self.allowed(user, groups, verb, str(asked.get("group") or ""), str(asked.get("resource") or ""), path=path)}

    def allowed(self, user: str, groups: Iterable[str], verb: str, group: str, resource: str, *, path: str = "") -> bool:
        """Whether `user` may: a verb on a resource, or (with `path`) a verb on a non-resource path."""
        groups = set(groups)
        if MASTERS in groups:
            return True
        if path and verb == "get" and AUTHENTICATED in groups and any(path == root or path.startswith(f"{root}/") for root in _DISCOVERY):
            return True
        account = self._by_name.get(user)
        if account is None:
            return False
        if verb == "create":
            return account.reviews and resource in {"tokenreviews", "subjectaccessreviews"}
        return verb in _READ and (account.reads == "all" or (account.reads == "cluster" and not group and not path))
