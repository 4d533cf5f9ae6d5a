"""The files of declarations that a command names: each once, with its documents."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from app.cli.suggest import nearest
from app.declared.check import Around, check
from app.declared.declaration import AnyDeclaration, is_kind
from app.declared.documents import MAX_BYTES, Document, read
from app.declared.faults import Fault, Place
from app.declared.texts import is_read
from app.errors import KubeglanceError


class NothingToRead(KubeglanceError):
    """A path that leads to no file, or a file without the declaration that is meant."""


class File(NamedTuple):
    """A file, what documents it has, and what is wrong with it so far. `named` is whether the user named it and not its folder."""

    path: Path
    named: bool
    documents: Sequence[Document]
    faults: Sequence[Fault]


def read_files(paths: Sequence[Path]) -> list[File]:
    """All files, but for those in folders that hold the input of a declaration's test. Raises NothingToRead.

    A folder stands for its *.yaml, *.yml and *.json files, at any depth.
    """
    found: dict[Path, bool] = {}
    for path in paths:
        if path.is_dir():
            within = list(_in_folder(path))
            if not within:
                raise NothingToRead(f"{path}: there is no *.yaml, *.yml or *.json in this folder")
            for each in within:
                found.setdefault(each, False)
        elif path.exists():
            found[path] = True
        else:
            raise NothingToRead(f"{path}: there is no such file or folder")
    files = [_file(path, named) for path, named in found.items()]
    inputs = {name for file in files for document in file.documents for name in _inputs(document, file.path.parent)}
    return [file for file in files if file.named or os.path.abspath(file.path) not in inputs]  # noqa: PTH100 -- resolve would follow links


def _in_folder(folder: Path) -> Iterator[Path]:
    """Below, by name. Hidden names are passed over: in a mounted ConfigMap they are the kubelet's folders, which links lead into."""
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(where) / name for name in sorted(files) if is_read(name))


def _file(path: Path, named: bool) -> File:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as err:
        return File(path, named, (), (Fault(Place(str(path)), "", f"cannot be read: {err.strerror}"),))
    return File(path, named, *read(content, str(path)))


def _inputs(document: Document, folder: Path) -> Iterator[str]:
    """The files that the tests of a document name, whatever else it says."""
    spec = document.value.get("spec") if isinstance(document.value, dict) else None
    tests = spec.get("tests") if isinstance(spec, dict) else None
    for test in tests if isinstance(tests, list) else ():
        name = test.get("inputFile") if isinstance(test, dict) else None
        if isinstance(name, str) and "\0" not in name:
            yield os.path.abspath(folder / name)  # noqa: PTH100 -- as above


def declarations_of(paths: Sequence[Path]) -> list[AnyDeclaration]:
    """All good declarations of these files and folders. Raises NothingToRead where something is wrong with one: `check` tells it all."""
    found: list[AnyDeclaration] = []
    for file in read_files(paths):
        checked = check(file.documents, Around(base=file.path.parent, others=tuple(found)))
        faults = [fault for fault in (*file.faults, *checked.faults) if not fault.warning]
        if faults:
            raise NothingToRead(f"{faults[0]}; see kubeglance check")
        found += checked.declarations
    return found


def chosen(path: Path, wanted: str) -> AnyDeclaration | None:
    """The declaration of a file that is meant, `wanted` being one of its names, "" for the only one; None if there are faults, which are
    printed. Raises NothingToRead."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as err:
        raise NothingToRead(f"{path}: cannot be read: {err.strerror}") from err
    documents, faults = read(content, str(path))
    checked = check(documents, Around(base=path.parent))
    found = {each.name: each for each in checked.declarations if not wanted or wanted in _names(each)}
    if len(found) == 1:
        return next(iter(found.values()))
    faults = [*faults, *checked.faults]
    if any(not fault.warning for fault in faults):
        print("\n".join(map(str, sorted(faults, key=lambda fault: fault.place))))
        return None
    if not found:
        kinds = [each.resource.spec.names.kind if is_kind(each) else each.name for each in checked.declarations]
        raise NothingToRead(f"{path}: there is no {f'kind {wanted}' if wanted else 'declaration'} in it{nearest(wanted, kinds)}")
    raise NothingToRead(f"{path}: there are {len(found)} declarations in it: choose one with --kind: {', '.join(sorted(found))}")


def _names(declaration: AnyDeclaration) -> set[str]:
    if not is_kind(declaration):
        return {declaration.name}
    names = declaration.resource.spec.names
    return {declaration.name, names.kind, names.plural, names.singular, names.kind.lower(), *names.short_names}
