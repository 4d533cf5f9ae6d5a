"""/healthz, /livez and /readyz, in the words of k8s.io/apiserver/pkg/server/healthz. Answered from memory, without waiting."""

import logging
from collections.abc import Callable, Sequence

from msgspec import Struct

from app.routes.respond import NO_SNIFF, TEXT, Answer, Scope, query_of
from app.wire.query import parse_query, parse_query_all
from app.wire.status import quote, unknown_path

logger = logging.getLogger(__name__)


class Check(Struct, frozen=True):
    """A named check. `fails()` is the reason for which it fails, "" if all is well. It must not block."""

    name: str
    fails: Callable[[], str]


class HealthChecks(Struct, frozen=True):
    """The checks of each root, in the order in which ?verbose prints them."""

    healthz: tuple[Check, ...]
    livez: tuple[Check, ...]
    readyz: tuple[Check, ...]


def always_ok() -> str:
    """A check that passes as long as requests are answered at all (ping)."""
    return ""


class Health:
    """Answers one root and its single checks."""

    def __init__(self, root: str, checks: Sequence[Check]) -> None:
        self._root = root
        self._checks = tuple(checks)
        self._failing: dict[str, str] = {}

    async def all_checks(self, scope: Scope) -> Answer:
        """GET /ROOT with ?verbose and ?exclude=NAME. Reasons are withheld: anyone may ask."""
        raw = query_of(scope)
        excluded = set(parse_query_all(raw, "exclude")) if raw else set()
        unknown = excluded - {check.name for check in self._checks}
        lines, failing = [], {}
        for check in self._checks:
            if check.name in excluded:
                lines.append(f"[+]{check.name} excluded: ok\n")
            elif reason := _reason(check):
                failing[check.name] = reason
                lines.append(f"[-]{check.name} failed: reason withheld\n")
            else:
                lines.append(f"[+]{check.name} ok\n")
        if unknown:
            names = ",".join(quote(name) for name in sorted(unknown))
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}\n")
        if not excluded:
            self._log(failing)
        if failing:
            return _text(500, f"{''.join(lines)}{self._root} check failed\n")
        if "verbose" in parse_query(raw):
            return _text(200, f"{''.join(lines)}{self._root} check passed\n")
        return _OK

    async def one_check(self, scope: Scope) -> Answer:
        """GET /ROOT/CHECK: with the reason, for those who are let in."""
        name = scope["path_params"]["check"]
        check = next((check for check in self._checks if check.name == name), None)
        if check is None:
            raise unknown_path()
        reason = _reason(check)
        return _text(500, f"internal server error: {reason}\n") if reason else _OK

    def _log(self, failing: dict[str, str]) -> None:
        """One line when what fails changes, none while it stays so."""
        if failing.keys() != self._failing.keys():
            if failing:
                logger.warning("%s fails: %s", self._root, "; ".join(f"{name}: {reason}" for name, reason in failing.items()))
            else:
                logger.info("%s passes", self._root)
        self._failing = failing


def _reason(check: Check) -> str:
    try:
        return check.fails()
    except Exception:
        logger.exception("health check %s raised", check.name)
        return "the check itself failed; see the log"


def _text(status: int, text: str) -> Answer:
    return Answer(status, text.encode(), TEXT, (NO_SNIFF,))


_OK = _text(200, "ok")
