"""`python -m app`, and the console script `kubeglance`."""

import signal
import sys
from types import FrameType


def main() -> int:
    """The exit code of the command that sys.argv names.

    A SIGTERM ends the process from the first moment on: as process 1 of a container it would otherwise be lost until the server has
    handlers of its own, for the kernel gives process 1 no default action. SIGINT is Python's KeyboardInterrupt, here from the first
    import on. Both end with 128 + the signal's number, and in order, so that temporary files with keys are removed.
    """
    signal.signal(signal.SIGTERM, _end)
    try:
        from app.cli.main import main as run  # noqa: PLC0415 -- importing it takes a while in which a signal may come

        return run()
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def _end(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
