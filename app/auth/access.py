"""May they: SubjectAccessReview (authorization.k8s.io/v1), asked of kube-apiserver for every caller.

The aggregator's own check is never relied on: callers reach kubeglance directly too. What cannot be found out is refused (500), a verdict
already known is served until it ends.
"""

import asyncio
from collections.abc import Hashable
from typing import Any

import structlog
from msgspec import Struct

from app.auth.identity import MASTERS, Attributes, Narrowed, User
from app.auth.reviews import CACHE_SIZE, REVIEW_TTL, ReviewClient, Sleep, review
from app.auth.single_flight import SingleFlight
from app.auth.verdicts import Verdicts
from app.clock import Clock
from app.errors import KubeError, Problem
from app.wire.status import qualified, quote

PATH = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

_LONGEST_CACHED = 10_000
_SELECTING_VERBS = frozenset({"list", "watch", "deletecollection"})

_log = structlog.get_logger(__name__)


class _AccessStatus(Struct):
    allowed: bool = False
    denied: bool = False
    reason: str = ""


class Verdict(Struct, frozen=True):
    """An authoriser's answer. `reason` is its own text, often empty."""

    allowed: bool
    reason: str


class AccessReviewer:
    """Authorisation with a memory of 10 s.

    The first question leaves out name and selectors: under RBAC a yes to it covers every name, and one verdict then serves all names.
    On a no the whole question is asked, for a Role may name resourceNames; that verdict is kept under the whole question. Only then
    are selectors read at all.
    """

    def __init__(self, client: ReviewClient, clock: Clock, *, sleep: Sleep = asyncio.sleep) -> None:
        self._client = client
        self._sleep = sleep
        self._verdicts: Verdicts[Verdict] = Verdicts(CACHE_SIZE, REVIEW_TTL, clock.monotonic)
        self._flights: SingleFlight[Verdict] = SingleFlight()

    async def check(self, user: User, attributes: Attributes, narrowed: Narrowed | None = None) -> None:
        """Return if `user` may do `attributes`, or what `narrowed` makes of them.

        Raises Problem: 403 Forbidden, 500 InternalError when no verdict can be had.
        """
        if MASTERS in user.groups:
            return
        try:
            verdict = await self._broad(user, attributes)
            if not verdict.allowed and narrowed is not None:
                attributes = narrowed()
            if not verdict.allowed and (attributes.name or attributes.label_selector or attributes.field_selector):
                verdict = await self._verdict((user, attributes), user, attributes)
        except KubeError as exc:
            _log.error(
                "authorisation is not available, the request gets 500",
                error=str(exc),
                fix="kubectl create clusterrolebinding kubeglance:auth-delegator --clusterrole=system:auth-delegator "
                "--serviceaccount=NAMESPACE:NAME"
                if exc.status == 403
                else "is kube-apiserver up and reachable?",
            )
            raise _no_verdict(user, attributes) from exc
        if not verdict.allowed:
            raise forbidden(user, attributes, verdict.reason)

    def knows(self, user: User, attributes: Attributes) -> bool:
        """Whether it is known now that `user` may do `attributes`, those of a resource, whatever its name."""
        if MASTERS in user.groups:
            return True
        verdict = self._verdicts.get(_broad_key(user, attributes))
        return verdict is not None and verdict.allowed

    async def _broad(self, user: User, asked: Attributes) -> Verdict:
        if not asked.resource:
            return await self._verdict((user, asked.verb, asked.path), user, Attributes(verb=asked.verb, path=asked.path))
        key = _broad_key(user, asked)
        verdict = self._verdicts.get(key)
        if verdict is not None:
            return verdict  # the way of most requests: one look-up, and nothing made
        broad = Attributes(
            verb=asked.verb,
            group=asked.group,
            version=asked.version,
            resource=asked.resource,
            subresource=asked.subresource,
            namespace=asked.namespace,
        )
        return await self._verdict(key, user, broad)

    async def _verdict(self, key: Hashable, user: User, attributes: Attributes) -> Verdict:
        verdict = self._verdicts.get(key)
        if verdict is not None:
            return verdict
        if _size(user, attributes) > _LONGEST_CACHED:
            return await self._review(user, attributes)

        async def ask() -> Verdict:
            answer = await self._review(user, attributes)
            self._verdicts.put(key, answer)
            return answer

        return await self._flights.run(key, ask)

    async def _review(self, user: User, attributes: Attributes) -> Verdict:
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {
                "user": user.name,
                "uid": user.uid,
                "groups": list(user.groups),
                "extra": {key: list(values) for key, values in user.extra},
                **_what(attributes),
            },
        }
        status = await review(self._client, PATH, body, _AccessStatus, sleep=self._sleep)
        return Verdict(status.allowed and not status.denied, status.reason)


def _broad_key(user: User, asked: Attributes) -> Hashable:
    return user, asked.verb, asked.group, asked.version, asked.resource, asked.subresource, asked.namespace


def _what(attributes: Attributes) -> dict[str, Any]:
    if not attributes.resource:
        return {"nonResourceAttributes": {"path": attributes.path, "verb": attributes.verb}}
    resource: dict[str, Any] = {
        "verb": attributes.verb,
        "group": attributes.group,
        "version": attributes.version,
        "resource": attributes.resource,
        "subresource": attributes.subresource,
        "namespace": attributes.namespace,
        "name": attributes.name,
    }
    if attributes.verb in _SELECTING_VERBS:
        for field, requirements in (("labelSelector", attributes.label_selector), ("fieldSelector", attributes.field_selector)):
            if requirements:
                resource[field] = {"requirements": [_requirement(*requirement) for requirement in requirements]}
    return {"resourceAttributes": resource}


def _requirement(key: str, operator: str, values: tuple[str, ...]) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)} if values else {"key": key, "operator": operator}


def _size(user: User, attributes: Attributes) -> int:
    """Bytes (roughly: characters) that a verdict's key would keep."""
    strings = [user.name, user.uid, *user.groups]
    for name, values in user.extra:
        strings += [name, *values]
    for key, operator, values in (*attributes.label_selector, *attributes.field_selector):
        strings += [key, operator, *values]
    strings += [attributes.verb, attributes.path, attributes.group, attributes.version, attributes.resource]
    strings += [attributes.subresource, attributes.namespace, attributes.name]
    return sum(map(len, strings))


def forbidden(user: User, attributes: Attributes, reason: str = "") -> Problem:
    """403 with the words of k8s.io/apiserver (pkg/endpoints/handlers/responsewriters/errors.go): clients and people look for them."""
    message = _sentence(user, attributes)
    if reason:
        message = f"{message}: {reason}"
    what = qualified(attributes.group, attributes.resource)
    if not attributes.resource:
        message = f"forbidden: {message}"
    elif attributes.name:
        message = f"{what} {quote(attributes.name)} is forbidden: {message}"
    else:
        message = f"{what} is forbidden: {message}"
    fields = {"name": attributes.name, "group": attributes.group, "kind": attributes.resource}
    details: dict[str, object] = {key: value for key, value in fields.items() if value}
    return Problem(403, "Forbidden", message, details=details, headers=(("X-Content-Type-Options", "nosniff"),))


def _sentence(user: User, attributes: Attributes) -> str:
    who = f"User {quote(user.name)} cannot {attributes.verb}"
    if not attributes.resource:
        return f"{who} path {quote(attributes.path)}"
    resource = f"{attributes.resource}/{attributes.subresource}" if attributes.subresource else attributes.resource
    where = f"in the namespace {quote(attributes.namespace)}" if attributes.namespace else "at the cluster scope"
    return f"{who} resource {quote(resource)} in API group {quote(attributes.group)} {where}"


def _no_verdict(user: User, attributes: Attributes) -> Problem:
    cause = f"no verdict could be had on: {_sentence(user, attributes).replace(' cannot ', ' may ', 1)}"
    return Problem(500, "InternalError", f"Internal error occurred: {cause}", details={"causes": [{"message": cause}]})
