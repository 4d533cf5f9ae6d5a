"""The argument parser of the smaller commands: argparse, with faults in the form that all commands have."""

import argparse
import sys
from typing import NoReturn


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that takes no shortened flags and tells a fault in one line, with exit code 2."""

    def __init__(self, command: str, description: str) -> None:
        super().__init__(
            prog=f"kubeglance {command}",
            description=description,
            allow_abbrev=False,
            formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        )

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: {message}; see {self.prog} --help", file=sys.stderr)
        self.exit(2)
