"""`kubeglance serve`: from arguments to settings to the server. Wrong settings end with code 2, a server that fails with 1."""

import sys
from collections.abc import Callable, Mapping, Sequence

from app import memory
from app.cli.flags import SETTINGS_FILE, Flag, all_flags, parse
from app.cli.sources import load
from app.errors import KubeglanceError, SettingsError
from app.settings import Settings

_HEAD = """\
Serves live metrics as Kubernetes resources behind the kube-apiserver's aggregation layer.

Usage: kubeglance serve [flags]

Every flag can also be given as a variable (--metric-resolution as KUBEGLANCE_METRIC_RESOLUTION) or in a settings file
(metric-resolution: 15s). Flags win over variables, variables over the file. Durations are written as in Go: 15s, 1m30s.

Flags:"""


def run(argv: Sequence[str], environ: Mapping[str, str], start: Callable[[Settings], int] | None = None) -> int:
    """Run the server until it ends; `start` is app.main.serve unless another is given. The answer is the exit code."""
    arguments = parse(argv)
    if arguments.help:
        print(usage())
        return 0
    if arguments.version:
        from app.cli.version import version_line  # noqa: PLC0415 -- package metadata is slow to read and rarely asked for

        print(version_line())
        return 0
    try:
        settings, warnings = load(arguments, environ)
    except SettingsError as err:
        for fault in err.faults:
            print(f"kubeglance serve: {fault}", file=sys.stderr)
        return 2
    for warning in warnings:
        print(f"kubeglance serve: warning: {warning}", file=sys.stderr)
    try:
        return (start or _server())(settings)
    except KubeglanceError as err:
        print(f"kubeglance serve: {err}", file=sys.stderr)
        return 1


def _server() -> Callable[[Settings], int]:
    with memory.loading():
        from app.main import serve  # noqa: PLC0415 -- wrong settings are told before the server is loaded
    return serve


def usage() -> str:
    """The text of --help, made from Settings."""
    rows = [(_left(flag), flag.description + (f" (default {flag.default})" if flag.default else "")) for flag in all_flags()]
    rows.append((f"{SETTINGS_FILE} file", "YAML file with settings by their flag names (KUBEGLANCE_SETTINGS_FILE)."))
    rows.append(("--version", "Print the version and end."))
    return "\n".join([_HEAD, *(f"  {left}\n        {text}" for left, text in rows)])


def _left(flag: Flag) -> str:
    short = "-v, " if flag.name == "--v" else ""
    return f"{short}{flag.name}" + ("" if flag.type == "bool" else f" {flag.type}")
