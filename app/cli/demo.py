"""`kubeglance demo`: a simulated cluster with a real kubeglance behind it. All of it is in app/simulation."""

import sys
from collections.abc import Sequence

from app.cli.arguments import Parser
from app.errors import KubeglanceError


def run(argv: Sequence[str]) -> int:
    """Run the demo; the answer is the exit code."""
    from app.simulation import demo  # noqa: PLC0415 -- the simulation is loaded for this command alone

    parser = Parser("demo", "A simulated cluster, its kubelets and a real kubeglance behind them, all in this process.")
    demo.add_arguments(parser)
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as end:
        return int(end.code or 0)
    try:
        return demo.main(arguments)
    except KubeglanceError as err:
        print(f"kubeglance demo: {err}", file=sys.stderr)
        return 1
