"""`make goldens`: ask the real metrics-server all that is in requests.py, and keep the answers in files."""

import sys
import tempfile
from pathlib import Path

from tests.e2e.controlplane import programs
from tests.e2e.controlplane.processes import stop_all_at_exit
from tests.goldens.answer import FOLDER, file_of
from tests.goldens.metrics_server import PROGRAMS, recording
from tests.goldens.requests import REQUESTS


def record(directory: Path) -> dict[Path, str]:
    """All goldens as they are today, by file. `directory` is for certificates and logs."""
    with recording(directory) as (server, client):
        return {file_of(request): server.ask(client, request).text for request in REQUESTS}


def main() -> int:
    """Write what has changed, remove what is asked no more. Exit code 1, with one line, if a program is missing."""
    if reason := programs.skip_reason(*PROGRAMS):
        sys.stderr.write(f"error: {reason}\n")
        return 1
    stop_all_at_exit()
    with tempfile.TemporaryDirectory(prefix="kubeglance-goldens-") as directory:
        goldens = record(Path(directory))
    for path in set(FOLDER.rglob("*.json")) - goldens.keys():
        path.unlink()
        sys.stdout.write(f"removed {path.relative_to(FOLDER)}\n")
    for path, text in goldens.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"wrote {path.relative_to(FOLDER)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
