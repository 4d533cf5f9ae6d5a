"""Several files that belong together, such as a certificate and its key, written so that all are new or none is."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class NewFile(NamedTuple):
    """What a file is to hold. A `private` one is never readable by another user."""

    path: Path
    content: bytes
    private: bool = False


def write_together(files: Sequence[NewFile]) -> None:
    """Write all, or leave all as they were. Raises OSError.

    All are complete beside their places before any is put into place. The old ones are moved away first, so that even a process that is
    killed in between leaves a file missing (and an old one under a name that ends in ".old"), never a pair that does not match.
    """
    fresh = [_beside(file.path, "new") for file in files]
    moved: list[tuple[Path, Path]] = []
    placed: list[Path] = []
    try:
        for file, new in zip(files, fresh, strict=True):
            _write(new, file)
        for file in files:
            if file.path.exists():
                old = _beside(file.path, "old")
                file.path.replace(old)
                moved.append((file.path, old))
        for file, new in zip(files, fresh, strict=True):
            new.replace(file.path)
            placed.append(file.path)
    except BaseException:
        for path in placed:
            path.unlink()
        for path, old in moved:
            old.replace(path)
        raise
    finally:
        for new in fresh:
            new.unlink(missing_ok=True)
    for _, old in moved:
        old.unlink()


def _beside(path: Path, end: str) -> Path:
    return path.with_name(f".{path.name}.{end}")


def _write(path: Path, file: NewFile) -> None:
    if file.path.is_dir():  # which could be moved away like a file
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(file.path))
    path.unlink(missing_ok=True)  # of a process that was killed
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if file.private else 0o644)
    with os.fdopen(descriptor, "wb") as out:
        out.write(file.content)
