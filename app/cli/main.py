"""Which command is meant. Each command's module is imported when it is chosen and not before: `serve` is to stay small."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from app.cli.suggest import nearest


class Command(NamedTuple):
    """A command: what it does in one line, and how to run it (arguments, environment -> exit code)."""

    summary: str
    run: Callable[[Sequence[str], Mapping[str, str]], int]


def _serve(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    from app.cli.serve import run  # noqa: PLC0415 -- see the module

    return run(argv, environ)


def _render(argv: Sequence[str], _environ: Mapping[str, str]) -> int:
    from app.cli.render import run  # noqa: PLC0415 -- see the module

    return run(argv)


def _test(argv: Sequence[str], _environ: Mapping[str, str]) -> int:
    from app.cli.test_declarations import run  # noqa: PLC0415 -- see the module

    return run(argv)


def _probe(argv: Sequence[str], _environ: Mapping[str, str]) -> int:
    from app.cli.probe import run  # noqa: PLC0415 -- see the module

    return run(argv)


def _demo(argv: Sequence[str], _environ: Mapping[str, str]) -> int:
    from app.cli.demo import run  # noqa: PLC0415 -- see the module

    return run(argv)


def _certs(argv: Sequence[str], _environ: Mapping[str, str]) -> int:
    from app.cli.certs import run  # noqa: PLC0415 -- see the module

    return run(argv)


def _manifests(argv: Sequence[str], _environ: Mapping[str, str]) -> int:
    from app.cli.manifests import run  # noqa: PLC0415 -- see the module

    return run(argv)


def _registrar(argv: Sequence[str], _environ: Mapping[str, str]) -> int:
    from app.cli.registrar import run  # noqa: PLC0415 -- see the module

    return run(argv)


def _check(argv: Sequence[str], _environ: Mapping[str, str]) -> int:
    from app.cli.check import run  # noqa: PLC0415 -- see the module

    return run(argv)


def _explain(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    from app.cli.explain import run  # noqa: PLC0415 -- see the module

    return run(argv, environ)


def _convert(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    from app.cli.convert import run  # noqa: PLC0415 -- see the module

    return run(argv, environ)


def _schema(argv: Sequence[str], _environ: Mapping[str, str]) -> int:
    from app.cli.schema import run  # noqa: PLC0415 -- see the module

    return run(argv)


def _version(argv: Sequence[str], _environ: Mapping[str, str]) -> int:
    from app.cli.version import run  # noqa: PLC0415 -- see the module

    return run(argv)


COMMANDS = {
    "serve": Command("run the server", _serve),
    "demo": Command("show it all on a simulated cluster, no Kubernetes needed", _demo),
    "certs": Command("make a CA and a serving certificate, as files", _certs),
    "manifests": Command("print the Kubernetes objects that install kubeglance", _manifests),
    "registrar": Command("keep certificates, APIServices and reader roles in the cluster", _registrar),
    "check": Command("check declarations of live kinds, without a cluster or against one", _check),
    "render": Command("print what kubectl would of a sample of what a source answers", _render),
    "test": Command("run the tests that declarations bring along", _test),
    "probe": Command("make one real collection of a declaration and show each step", _probe),
    "explain": Command("show what leads to a metric of prometheus-adapter's file", _explain),
    "convert": Command("print the metrics of prometheus-adapter's file as declarations", _convert),
    "schema": Command("print the JSON Schema of declarations, for editors", _schema),
    "version": Command("print the version", _version),
}


def usage() -> str:
    """What `kubeglance`, `kubeglance help` and `kubeglance --help` print."""
    rows = "\n".join(f"  {name:<11}{command.summary}" for name, command in COMMANDS.items())
    return f"""\
kubeglance serves live metrics as Kubernetes resources: kubectl top, kubectl get podmetrics and the HPA read from it.

Usage: kubeglance COMMAND [flags]

Commands:
{rows}

kubeglance COMMAND --help tells more. New here? Try: kubeglance demo"""


def main(argv: Sequence[str] | None = None, environ: Mapping[str, str] | None = None) -> int:
    """Run the command that the arguments name; the answer is the exit code: 0 done, 1 failed, 2 wrong use."""
    words = list(sys.argv[1:] if argv is None else argv)
    environ = os.environ if environ is None else environ
    if not words or words[0] in {"help", "-h", "--help"}:
        return _help(words[1:], environ)
    if words[0] == "--version":
        words[0] = "version"
    command = COMMANDS.get(words[0])
    if command is None:
        kind = "flag before a command" if words[0].startswith("-") else "command"
        print(f"kubeglance: unknown {kind} {words[0]}{nearest(words[0], list(COMMANDS))}; see kubeglance --help", file=sys.stderr)
        return 2
    return _finished(lambda: command.run(words[1:], environ))


def _help(words: Sequence[str], environ: Mapping[str, str]) -> int:
    if words and words[0] not in COMMANDS:
        print(f"kubeglance help: unknown command {words[0]}{nearest(words[0], list(COMMANDS))}; see kubeglance --help", file=sys.stderr)
        return 2
    return _finished(lambda: COMMANDS[words[0]].run(["--help"], environ) if words else _print_usage())


def _print_usage() -> int:
    print(usage())
    return 0


def _finished(run: Callable[[], int]) -> int:
    """Run to the end of all output. A standard output that takes no more is told in one line, and a closed pipe not at all."""
    try:
        code = run()
        if sys.stdout is not None:  # None: it was closed before we began
            sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _drop_output()  # the reader of the pipe has seen enough
        return 0
    except OSError as err:
        if not _output_is_broken():
            raise
        _drop_output()
        print(f"kubeglance: cannot write the output: {err.strerror}", file=sys.stderr)
        return 1
    return code


def _output_is_broken() -> bool:
    """Whether standard output is what failed: then a line more fails too."""
    try:
        print(flush=True)
    except OSError:
        return True
    return False


def _drop_output() -> None:
    """Let Python not complain once more when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
