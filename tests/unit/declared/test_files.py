"""Declarations in files and folders."""

import os
from pathlib import Path

import pytest

from app.declared.files import MOST_BYTES, Files
from app.declared.texts import Text
from tests.fakes.clock import EPOCH


class _Folder:
    """A folder whose files were last changed long ago, unless a test says otherwise."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.now = EPOCH
        self.files = Files([path], lambda: self.now)

    def write(self, name: str, text: str, *, age: float = 60.0) -> Path:
        path = self.path / name
        path.write_text(text)
        os.utime(path, (self.now - age, self.now - age))
        return path

    def seen(self) -> dict[str, str]:
        return {Path(text.file).name: text.fault or text.content for text in self.files.look()}


@pytest.fixture
def folder(tmp_path: Path) -> _Folder:
    return _Folder(tmp_path)


def test_a_folder_stands_for_the_files_right_in_it(folder: _Folder) -> None:
    """By name, as with kubectl apply -f: no folders below it, no hidden files, nothing else than YAML and JSON."""
    for name in ("b.yaml", "a.json", "c.yml", ".hidden.yaml", "notes.txt"):
        folder.write(name, name)
    (folder.path / "below").mkdir()
    (folder.path / "below" / "d.yaml").write_text("d")
    (folder.path / "e.yaml").mkdir()

    assert folder.seen() == {"a.json": "a.json", "b.yaml": "b.yaml", "c.yml": "c.yml"}
    assert [text.file for text in folder.files.look()] == [str(folder.path / name) for name in ("a.json", "b.yaml", "c.yml")]


def test_a_file_that_is_named_is_read_whatever_its_name(tmp_path: Path) -> None:
    """The operator said so."""
    (tmp_path / "queues").write_text("q")

    assert Files([tmp_path / "queues"], lambda: EPOCH).look() == (Text(str(tmp_path / "queues"), "q"),)


def test_changes_are_seen(folder: _Folder) -> None:
    """A file that is new, changed, gone."""
    folder.write("a.yaml", "1")
    assert folder.seen() == {"a.yaml": "1"}

    folder.write("b.yaml", "2")
    folder.write("a.yaml", "3", age=50)
    assert folder.seen() == {"a.yaml": "3", "b.yaml": "2"}

    (folder.path / "a.yaml").unlink()
    assert folder.seen() == {"b.yaml": "2"}


def test_links_that_a_kubelet_swaps_are_followed(folder: _Folder) -> None:
    """A mounted ConfigMap: files are links into ..data, which is a link to the newest folder."""
    for version in ("1", "2"):
        (folder.path / f"..{version}").mkdir()
        (folder.path / f"..{version}" / "a.yaml").write_text(version)
    (folder.path / "..data").symlink_to("..1")
    (folder.path / "a.yaml").symlink_to("..data/a.yaml")
    assert folder.seen() == {"a.yaml": "1"}

    (folder.path / "..new").symlink_to("..2")
    (folder.path / "..new").replace(folder.path / "..data")
    assert folder.seen() == {"a.yaml": "2"}


def test_an_unchanged_file_is_not_read_again(folder: _Folder) -> None:
    """Its text is the very same; one that was just written is read again, for it may change within the clock's tick."""
    folder.write("old.yaml", "1")
    folder.write("new.yaml", "1", age=0)
    new, old = folder.files.look()
    new_again, old_again = folder.files.look()

    assert old.content is old_again.content
    assert new == new_again
    assert new.content is not new_again.content or new.content in {"", "1"}


def test_what_cannot_be_read_is_told(folder: _Folder) -> None:
    """Whoever loads keeps what was known from it: a fault is no removal."""
    (folder.path / "a.yaml").write_bytes(b"\xff\xfe")
    folder.write("b.yaml", "x" * (MOST_BYTES + 1))
    (folder.path / "c.yaml").symlink_to("nowhere.yaml")

    seen = folder.seen()

    assert "cannot be read" in seen["a.yaml"]
    assert f"at most {MOST_BYTES}" in seen["b.yaml"]
    assert "c.yaml" not in seen


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    """To read a pipe may take for ever, and a device has no end; in a folder they are passed over."""
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    device = tmp_path / "zero.yaml"
    device.symlink_to("/dev/zero")

    assert ["is no file", "is no file"] == [each.fault[:10] for each in Files([pipe, device], lambda: EPOCH).look()]
    assert () == Files([tmp_path], lambda: EPOCH).look()


def test_paths_with_nothing_are_told(tmp_path: Path) -> None:
    """A typing error in a flag must not go unnoticed."""
    files = Files([tmp_path, tmp_path / "none"], lambda: EPOCH)

    assert (files.look(), files.missing()) == ((), [tmp_path / "none"])
