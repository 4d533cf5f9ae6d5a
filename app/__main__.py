"""`python -m app`, and the console script `kubeglance`."""

import sys

from app.cli.main import main as _main


def main() -> int:
    """The exit code of the command that sys.argv names."""
    return _main()


if __name__ == "__main__":
    sys.exit(main())
