"""Flags in Go's style (spf13/pflag), derived from Settings: `--flag=value`, `--flag value`, `--switch`, `-v 4`, `-v=4`.

Parsing tells all faults at once and checks no values: Settings does that, for every source in the same way.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from app.cli import adapter_flags
from app.cli.metrics_server_flags import is_harmless, refusal
from app.cli.suggest import nearest
from app.duration import format_duration
from app.settings import LINES, Settings, flag_name

SETTINGS_FILE = "--settings-file"
ENVIRONMENT_PREFIX = "KUBEGLANCE_"
_SHORTHANDS = {"-v": "v"}
_HELP = {"-h", "--help", "-help"}


@dataclass(frozen=True)
class Flag:
    """A flag of `kubeglance serve`. `type` is what a user writes: duration, int, string, strings, bool, file.

    `joint` stands between the values of one that is given several times; "" where the last one wins.
    """

    field: str
    type: str
    default: str
    description: str
    joint: str = ""

    @property
    def name(self) -> str:
        return flag_name(self.field)

    @property
    def variable(self) -> str:
        """The environment variable of the same setting."""
        return ENVIRONMENT_PREFIX + self.field.upper()


@dataclass
class Arguments:
    """What the arguments say: raw values by field, in the order given. Faults are lines for the user."""

    values: dict[str, str] = field(default_factory=dict)
    settings_file: str | None = None
    help: bool = False
    version: bool = False
    faults: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def all_flags() -> tuple[Flag, ...]:
    """The flags of all fields of Settings, in their order."""
    return tuple(
        Flag(
            field=name,
            type=_type_of(info.annotation),
            default=_default_text(info.default),
            description=info.description or "",
            joint="" if _type_of(info.annotation) != "strings" else "\n" if LINES in info.metadata else ",",
        )
        for name, info in Settings.model_fields.items()
    )


def _type_of(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return "string"
    if get_origin(annotation) is tuple:
        return "strings"
    members = [member for member in get_args(annotation) if member is not NoneType] or [annotation]
    return {bool: "bool", int: "int", float: "duration", Path: "file"}.get(members[0], "string")


def _default_text(default: Any) -> str:
    if default is None:
        return ""
    if isinstance(default, bool):
        return "true" if default else "false"
    if isinstance(default, float):
        return format_duration(round(default * 10**9))
    return ",".join(default) if isinstance(default, tuple) else str(default)


def parse(argv: Sequence[str]) -> Arguments:
    """Read the arguments of `kubeglance serve`. Raises nothing: faults are in the answer."""
    known = {flag.name: flag for flag in all_flags()}
    named = known | {f"--{alias}": known[f"--{name}"] for alias, name in adapter_flags.ALIASES.items()}
    out = Arguments()
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        name, equals, value = _long_form(word).partition("=")
        if word in _HELP:
            out.help = True
        elif name == "--version":
            out.version = True
        elif name == SETTINGS_FILE:
            out.settings_file = value if equals else _next_value(rest, name, out)
        elif (flag := named.get(name)) is not None:
            said = value if equals else "true" if flag.type == "bool" else _next_value(rest, name, out)
            if said is not None:
                _store(out, flag, said)
        else:
            if _is_ignored(name):
                out.warnings.append(f"{name}: kubeglance has no use for it, and it is ignored")
            else:
                out.faults.append(_unknown(word, known))
            if not equals and rest and not rest[0].startswith("-"):
                rest.pop(0)  # most likely the value of that flag: one line is enough
    return out


def _long_form(word: str) -> str:
    """-v4, -v=4 and -v as --v=4 and --v."""
    for short, name in _SHORTHANDS.items():
        if word.startswith(short) and not word.startswith("--"):
            tail = word.removeprefix(short)
            if not tail or tail[0] == "=" or tail.isdigit():
                return f"--{name}={tail.removeprefix('=')}" if tail else f"--{name}"
    return word


def _next_value(rest: list[str], name: str, out: Arguments) -> str | None:
    if rest:
        return rest.pop(0)
    out.faults.append(f"{name}: needs a value: write {name}=VALUE")
    return None


def _store(out: Arguments, flag: Flag, value: str) -> None:
    """The last of several wins, but lists grow, as in pflag."""
    before = out.values.get(flag.field)
    out.values[flag.field] = f"{before}{flag.joint}{value}" if flag.joint and before is not None else value


def _is_ignored(name: str) -> bool:
    """Whether it is a flag of a program that kubeglance stands in for, and one whose absence changes nothing."""
    flag = name.removeprefix("--").replace("_", "-")
    return name.startswith("--") and (is_harmless(flag) or flag in adapter_flags.HARMLESS)


def _unknown(word: str, known: dict[str, Flag]) -> str:
    """Why an argument cannot be used, and what was probably meant."""
    name = word.partition("=")[0]
    if not word.startswith("-"):
        return f'"{word}": is no flag, and serve takes flags only; see kubeglance serve --help'
    if not word.startswith("--"):
        long = f"-{name}"
        if long in known or long in {SETTINGS_FILE, "--version"}:
            return f"{name}: long flags begin with two dashes: write {long}"
        if (line := refusal(name.removeprefix("-"))) is not None:
            return f"{name}: {line}"
        return f"{name}: unknown flag; long flags begin with two dashes"
    if (line := refusal(name.removeprefix("--"))) is not None:
        return f"{name}: {line}"
    return f"{name}: unknown flag{nearest(name, [*known, SETTINGS_FILE, '--version', '--help'])}"
