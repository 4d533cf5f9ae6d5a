"""app/new_files.py: all files are new or none is."""

from pathlib import Path

import pytest

from app.new_files import NewFile, write_together


def contents(folder: Path) -> dict[str, bytes]:
    """What is there, leftovers too."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_all_are_written_and_nothing_is_left_over(tmp_path: Path) -> None:
    """Old ones are replaced; leftovers of a process that was killed are in nobody's way."""
    (tmp_path / "key").write_bytes(b"old")
    (tmp_path / ".key.new").write_bytes(b"half")

    write_together([NewFile(tmp_path / "key", b"1", private=True), NewFile(tmp_path / "crt", b"2")])

    assert {"key": b"1", "crt": b"2"} == contents(tmp_path)
    assert 0o600 == (tmp_path / "key").stat().st_mode & 0o777


@pytest.mark.parametrize("name", ["a", "b"])
def test_a_folder_in_the_way_changes_nothing(tmp_path: Path, name: str) -> None:
    """The error names it."""
    before = {other: b"old" for other in ("a", "b") if other != name}
    for other, content in before.items():
        (tmp_path / other).write_bytes(content)
    (tmp_path / name).mkdir()

    with pytest.raises(IsADirectoryError) as error:
        write_together([NewFile(tmp_path / "a", b"new"), NewFile(tmp_path / "b", b"new")])
    assert str(tmp_path / name) == error.value.filename
    assert before == contents(tmp_path)


def test_a_fault_while_files_are_put_into_place_brings_the_old_ones_back(tmp_path: Path) -> None:
    """Here the second file cannot be moved away, for a folder has the name that it would get."""
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"old")
    (tmp_path / ".b.old").mkdir()

    with pytest.raises(OSError, match="directory"):
        write_together([NewFile(tmp_path / "a", b"new"), NewFile(tmp_path / "b", b"new")])
    assert {"a": b"old", "b": b"old"} == contents(tmp_path)
