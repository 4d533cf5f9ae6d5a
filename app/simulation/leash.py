"""`python -m app.simulation.leash FOLDER serve ...`: kubeglance that does not outlive the demo which started it.

Standard input is a pipe that nobody writes to and only the demo holds: its end is the demo's end, whatever ended it, SIGKILL too. Then
kubeglance is told to end as by SIGTERM, and the demo's temporary FOLDER is removed. `kubeglance serve` itself knows nothing of this.
"""

import os
import runpy
import shutil
import signal
import sys
import threading
import time

_END_WITHIN_S = 5.0


def main() -> None:
    """Run kubeglance with the words after FOLDER in this process, watched by a thread."""
    folder = sys.argv.pop(1)
    threading.Thread(target=_watch, args=(folder,), name="leash", daemon=True).start()
    runpy.run_module("app", run_name="__main__", alter_sys=True)


def _watch(folder: str) -> None:
    while os.read(0, 4096):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_END_WITHIN_S)
    os._exit(128 + signal.SIGTERM)


if __name__ == "__main__":
    main()
