"""Which declarations are in force: what was found is checked, what is good is taken, and what a bad edit spoiled stays as it last was.

Each declaration stands for itself: a fault costs the document that has it. A document that vanishes takes its kind along, but for one of a
text that cannot be read, or in which some faulty document may be what became of it.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import structlog
from msgspec import Struct

from app.declared.check import Around, Checked, Known, ServedNames, check
from app.declared.declaration import AnyDeclaration, known_as
from app.declared.documents import Document, read
from app.declared.faults import Fault, Place
from app.declared.tenants import Tenant
from app.declared.texts import Text

log = structlog.get_logger(__name__)
Check = Callable[[Sequence[Document], Around, Known], Checked]


class Rejected(Struct, frozen=True):
    """A document that cannot be taken: what it is known as ("" if it has no name, or is no document at all), and all that is wrong with it.

    `served` tells whether an older version of it goes on being served.
    """

    name: str
    namespace: str
    place: Place
    faults: tuple[Fault, ...]
    served: bool = False


class Loaded(NamedTuple):
    """What is in force after a load: declarations by name, what was rejected, and warnings about what was not."""

    declarations: Mapping[str, AnyDeclaration]
    rejected: Sequence[Rejected]
    warnings: Sequence[Fault]


class _Force(NamedTuple):
    """A declaration that is in force, and the document that it was."""

    document: Document
    declaration: AnyDeclaration

    @property
    def file(self) -> str:
        return self.document.positions.start.file


class _Parsed(NamedTuple):
    """The documents of one namespace, and what is wrong with the texts that they stand in."""

    documents: list[Document]
    faults: list[Fault]


class Loader:
    """Keeps what is in force between loads. `load` takes a while: call it in a thread, one call at a time."""

    def __init__(self, *, own: str, servers: Collection[str] | None = None, checker: Check = check) -> None:
        """`own` is kubeglance's own namespace, `servers` the names of --prometheus-servers, None if they are not known."""
        self._own = own
        self._servers = servers
        self._checker = checker
        self._parsed: dict[Text, tuple[list[Document], list[Fault]]] = {}
        self._known = Known()
        self._in_force: dict[str, _Force] = {}

    def load(self, texts: Sequence[Text], tenants: Mapping[str, Tenant], cluster: ServedNames | None) -> Loaded:
        """Take what is good of `texts`. Of two declarations that clash the one that is in force already stays, else kubeglance's own, else
        the first. Of two metrics of one name kubeglance's own always does."""
        self._parsed = {text: self._parsed.get(text) or _parse(text) for text in texts}
        found = {namespace: self._of(namespace) for namespace in sorted({text.namespace for text in texts})}
        names = {(namespace, name_of(each, namespace)) for namespace, parsed in found.items() for each in parsed.documents}
        # What is in force elsewhere and was not taken away there.
        staying = {name: each for name, each in self._in_force.items() if (each.declaration.namespace, name) in names}
        force: dict[str, _Force] = {}
        rejected: list[Rejected] = []
        warnings: list[Fault] = []
        for namespace, parsed in found.items():
            elsewhere = {name: each for name, each in staying.items() if each.declaration.namespace != namespace} | force
            tenant = tenants.get(namespace, Tenant()) if namespace else None
            others = [each.declaration for each in elsewhere.values()]
            around = Around(namespace or self._own, tenant, cluster, others=others, servers=self._servers)
            good, faulty, odd = self._take(parsed, around, namespace)
            force |= {name: each for name, each in good.items() if name not in force}
            rejected += faulty
            warnings += odd
        self._known.forget()
        self._in_force = force
        return Loaded({name: each.declaration for name, each in force.items()}, rejected, warnings)

    def _of(self, namespace: str) -> _Parsed:
        """What was found of a namespace, in the order in which it is to be taken. What is said twice, as in a ConfigMap that is mounted
        too, is said once."""
        documents: dict[str, Document] = {}
        faults: list[Fault] = []
        parsed = [each for text, each in self._parsed.items() if text.namespace == namespace]
        for document in sorted((each for documents, _ in parsed for each in documents), key=lambda each: self._is_new(each, namespace)):
            documents.setdefault(document.digest, document)
        for _, found in parsed:
            faults += found
        return _Parsed(list(documents.values()), faults)

    def _is_new(self, document: Document, namespace: str) -> bool:
        """Whether nothing of that name is in force from the same file."""
        known = self._in_force.get(name_of(document, namespace))
        return known is None or known.file != document.positions.start.file

    def _take(self, parsed: _Parsed, around: Around, namespace: str) -> tuple[dict[str, _Force], list[Rejected], list[Fault]]:
        """What is in force of a namespace now, what is rejected, and warnings."""
        documents = parsed.documents
        checked = self._checked(documents, around)
        held = self._held(parsed, checked, around, namespace)
        if held:
            # What is new must not clash with what is held either. What is faulty has been told why.
            places = {each.place for each in checked.declarations}
            others = [*around.others, *(each.declaration for each in held.values())]
            again = self._checked([each for each in documents if each.positions.start in places], around._replace(others=others))
            checked = Checked(again.declarations, list(dict.fromkeys([*checked.faults, *again.faults])))
            held |= self._held(parsed, checked, around, namespace)
        good = {each.place: each for each in checked.declarations}
        taken = {
            declaration.name: _Force(document, declaration)
            for document in documents
            if (declaration := good.get(document.positions.start)) is not None
        }
        force = {**held, **taken}
        faults = [*parsed.faults, *checked.faults]
        rejected = []
        for document, of_document in _by_document(documents, faults):
            serious = tuple(fault for fault in of_document if not fault.warning)
            if not serious:
                continue
            # A text that goes wrong behind a good document is told under no name.
            name = name_of(document, namespace) if document is not None and document.positions.start not in good else ""
            place = document.positions.start if document is not None and name else serious[0].place
            rejected.append(Rejected(name, namespace, place, serious, served=name in force))
        return force, rejected, [fault for fault in faults if fault.warning]

    def _checked(self, documents: Sequence[Document], around: Around) -> Checked:
        """What the checker says. A document that it fails on costs that document only."""
        try:
            return self._checker(documents, around, self._known)
        except Exception:
            if len(documents) == 1:
                log.exception("a declaration cannot be checked; please report it", place=str(documents[0].positions.start))
                return Checked(
                    [], [Fault(documents[0].positions.start, "", "cannot be checked; please report it, with the log's traceback")]
                )
        declarations: list[AnyDeclaration] = []
        faults: list[Fault] = []
        for document in documents:
            checked = self._checked([document], around._replace(others=[*around.others, *declarations]))
            declarations += checked.declarations
            faults += checked.faults
        return Checked(declarations, faults)

    def _held(self, parsed: _Parsed, checked: Checked, around: Around, namespace: str) -> dict[str, _Force]:
        """What is in force, has no good version now, and was not taken away: it goes on, if it is still allowed."""
        good = {each.name for each in checked.declarations}
        places = {each.place for each in checked.declarations}
        bad = [each for each in parsed.documents if each.positions.start not in places]
        spoiled = {name_of(each, namespace) for each in bad}
        # Documents under a name that is not known may be what became of any that is missing from their text.
        unclear = {each.positions.start.file for each in bad if name_of(each, namespace) not in self._in_force}
        unclear |= {fault.place.file for fault in parsed.faults if not fault.warning}
        held = {
            name: each
            for name, each in self._in_force.items()
            if each.declaration.namespace == namespace and name not in good and (name in spoiled or each.file in unclear)
        }
        if not namespace or not held:
            return held
        # Rights may have been taken away meanwhile, or the operator have declared the same: a bad edit must not keep either.
        operators = [each for each in around.others if not each.namespace]
        allowed = self._checked([each.document for each in held.values()], Around(around.namespace, around.tenant, others=operators))
        return {each.name: held[each.name] for each in allowed.declarations}


def name_of(document: Document, namespace: str = "") -> str:
    """What is known of a document of a tenant's namespace by, whatever it says; "" if it has no name."""
    said = document.value if isinstance(document.value, dict) else {}
    metadata = said.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return known_as(str(said.get("kind")), name, namespace) if isinstance(name, str) and name else ""


def _parse(text: Text) -> tuple[list[Document], list[Fault]]:
    if text.fault:
        return [], [Fault(Place(text.file), "", text.fault)]
    return read(text.content, text.file)


def _by_document(documents: Iterable[Document], faults: Iterable[Fault]) -> list[tuple[Document | None, tuple[Fault, ...]]]:
    """Faults by what has them: the last document of their file that begins at or before them, or None and their file."""
    of_files: dict[str, list[Document]] = {}
    for document in sorted(documents, key=lambda each: each.positions.start):
        of_files.setdefault(document.positions.start.file, []).append(document)
    found: dict[Place, tuple[Document | None, list[Fault]]] = {}
    for fault in faults:
        begun = of_files.get(fault.place.file, [])
        index = bisect_right(begun, fault.place, key=lambda each: each.positions.start) - 1
        owner = begun[index] if index >= 0 else None
        found.setdefault(owner.positions.start if owner is not None else Place(fault.place.file, 0, 0), (owner, []))[1].append(fault)
    return [(owner, tuple(of_owner)) for owner, of_owner in found.values()]
