"""`kubeglance schema`: the JSON Schema of declarations, for editors that complete and check YAML as it is written."""

from collections.abc import Sequence

from app.cli.arguments import Parser
from app.declared.json_schema import text
from collectors import sources


def run(argv: Sequence[str]) -> int:
    """Print it; the answer is the exit code."""
    try:
        Parser("schema", "Print the JSON Schema of declarations, for editors: kubeglance schema > liveresource.json").parse_args(argv)
    except SystemExit as end:
        return int(end.code or 0)
    print(text(sources()), end="")
    return 0
