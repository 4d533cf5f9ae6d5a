"""A declaration that was accepted: what it says, where it stands, and whose it is."""

from msgspec import Struct

from app.declared.faults import Place, Positions
from app.declared.model import LiveResource


class Declaration(Struct, frozen=True):
    """One LiveResource. `namespace` is that of the ConfigMap it came from, "" where it is kubeglance's own (a file, or its own namespace).

    `digest` is the SHA-256 of what it says: equal digests are equal declarations, wherever they stand.
    """

    resource: LiveResource
    positions: Positions
    namespace: str
    digest: str

    @property
    def name(self) -> str:
        return self.resource.metadata.name

    @property
    def place(self) -> Place:
        return self.positions.start
