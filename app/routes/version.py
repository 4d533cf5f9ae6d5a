"""GET /version: version.Info of k8s.io/apimachinery."""

import platform
import re
from collections.abc import Awaitable, Callable

import msgspec
from msgspec import Struct

from app.routes.respond import Answer, Scope

_NUMBERS = re.compile(r"v?(\d+)\.(\d+)")


class VersionInfo(Struct, frozen=True, rename="camel"):
    """What was built, of what, and what it runs on. `go_version` names the language of this program instead."""

    major: str
    minor: str
    git_version: str
    git_commit: str
    git_tree_state: str
    build_date: str
    go_version: str
    compiler: str
    platform: str


def version_info(version: str, *, commit: str = "", tree_state: str = "", build_date: str = "") -> VersionInfo:
    """The info of a release such as "0.1.0" on this machine."""
    numbers = _NUMBERS.match(version)
    major, minor = numbers.groups() if numbers else ("", "")
    return VersionInfo(
        major,
        minor,
        f"v{version.removeprefix('v')}",
        commit,
        tree_state,
        build_date,
        f"python{platform.python_version()}",
        platform.python_implementation(),
        f"{platform.system().lower()}/{platform.machine()}",
    )


def create_version(info: VersionInfo) -> Callable[[Scope], Awaitable[Answer]]:
    """The answer of /version, made once."""
    answer = Answer(200, msgspec.json.format(msgspec.json.encode(info), indent=2))

    async def version(_scope: Scope) -> Answer:
        return answer

    return version
