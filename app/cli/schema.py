"""`kubeglance schema`: the JSON Schema of declarations, for editors that complete and check YAML as it is written."""

from collections.abc import Sequence

from app.cli.arguments import Parser
from app.declared.json_schema import KINDS, text
from collectors import sources


def run(argv: Sequence[str]) -> int:
    """Print it; the answer is the exit code."""
    parser = Parser("schema", "Print the JSON Schema of declarations, for editors: kubeglance schema > liveresource.json")
    parser.add_argument("kind", nargs="?", choices=tuple(KINDS), default="LiveResource", help="kind of declaration")
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as end:
        return int(end.code or 0)
    print(text(sources(), arguments.kind), end="")
    return 0
