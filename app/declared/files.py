"""Declarations in files and folders. Files are looked at again and again, and read when they may have changed.

Nothing but stat and read is used, so that it works on every file system and with the links that kubelets swap when a mounted ConfigMap
changes.
"""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from app.declared.texts import Text, is_read

MOST_BYTES = 4 * 1024 * 1024
"""Of one file."""

_RACY_S = 2.0
"""A file that changed less than this before it was read may change again within the same tick of its file system's clock."""


class _Seen(NamedTuple):
    """A file as it was read: what tells that it was changed, and what was in it."""

    stamp: tuple[int, int, int, int]
    certain: bool
    text: Text


class Files:
    """The files at some paths. A folder stands for the files right in it, as with kubectl apply -f."""

    def __init__(self, paths: Sequence[Path], wall: Callable[[], float]) -> None:
        """`wall` gives Unix seconds."""
        self._paths = tuple(paths)
        self._wall = wall
        self._seen: dict[Path, _Seen] = {}

    def look(self) -> tuple[Text, ...]:
        """The texts as they are now, in the order of the paths and then of names. Blocks; unchanged files are not read again."""
        seen = {path: self._look_at(path) for path in self._files()}
        self._seen = seen
        return tuple(each.text for each in seen.values())

    def missing(self) -> list[Path]:
        """The paths at which there is nothing now."""
        return [path for path in self._paths if not path.exists()]

    def _files(self) -> Iterator[Path]:
        for path in self._paths:
            if path.is_dir():
                try:
                    names = sorted(entry.name for entry in os.scandir(path) if is_read(entry.name) and entry.is_file())
                except OSError:
                    # What was in the folder is still in it, as far as anybody knows.
                    names = sorted(known.name for known in self._seen if known.parent == path)
                yield from (path / name for name in names)
            elif path.exists():
                yield path

    def _look_at(self, path: Path) -> _Seen:
        before = self._seen.get(path)
        try:
            found = path.stat()
            stamp = (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)
            if before is not None and before.certain and before.stamp == stamp:
                return before
            if not stat.S_ISREG(found.st_mode):
                text = Text(str(path), "", fault="is no file: a pipe, say, would keep its reader waiting for ever")
            elif found.st_size > MOST_BYTES:
                text = Text(str(path), "", fault=f"is {found.st_size} bytes, of which at most {MOST_BYTES} are read")
            else:
                text = Text(str(path), path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as exc:
            return _Seen((0, 0, 0, 0), False, Text(str(path), "", fault=f"cannot be read: {exc}"))
        return _Seen(stamp, self._wall() - found.st_mtime > _RACY_S, text)


class File:
    """One file that has to be there."""

    def __init__(self, path: Path, wall: Callable[[], float]) -> None:
        """`wall` gives Unix seconds."""
        self._path = path
        self._files = Files((path,), wall)

    def look(self) -> Text:
        """The text as it is now, or why it cannot be read. Blocks; an unchanged file is not read again."""
        name = str(self._path)
        found = next((text for text in self._files.look() if text.file == name), None)
        if found is not None:
            return found
        return Text(name, "", fault="is a folder: name the file in it" if self._path.is_dir() else "does not exist")
