"""What is served of one declaration: a kind, its objects, and for how long. Each change is one step of the collection's version."""

from collections.abc import Callable, Sequence

from app.cache.collection import Collection, Item
from app.cache.versions import Versions
from app.declared.declaration import Declaration
from app.declared.live_kind import LiveKind
from app.declared.objects import LiveObject
from app.kube.records import Key
from app.pipeline.apart import Apart

_NOT_OF_THE_SHAPE = {"source": {}, "interval": 0.0, "timeout": 0.0, "ttl": None, "limits": None, "tests": []}


class Shown:
    """The objects of one kind. `fresh` turns false when a collection failed; `expires` is when their time is over (monotonic seconds)."""

    def __init__(self, declaration: Declaration, live: LiveKind, versions: Versions, why: Callable[[Key], str | None]) -> None:
        self.live = live
        self.collection = Collection(why=why, version=versions.next())
        self.expires: float | None = None
        self._versions = versions
        self._shape = shape(declaration)
        self._objects: dict[Key, LiveObject] = {}
        self._fresh = True

    def __len__(self) -> int:
        return len(self._objects)

    def adopt(self, declaration: Declaration, live: LiveKind, why: Callable[[Key], str | None]) -> bool:
        """Go on as the objects of a changed declaration. False where its objects would be other ones."""
        if self._shape != shape(declaration):
            return False
        self.live = live
        self.collection.why = why
        return True

    def publish(self, objects: Sequence[LiveObject], expires: float) -> None:
        """Serve these and no others. One that says the same as before stays, with its version."""
        before, now = self._objects, {each.key: each for each in objects}
        put = [each for each in objects if (old := before.get(each.key)) is None or old.value != each.value or old.labels != each.labels]
        gone = [key for key in before if key not in now]
        if put or gone:
            self._replace(put, gone)
        self._objects, self._fresh, self.expires = now, True, expires

    async def age(self, apart: Apart) -> None:
        """They are no longer fresh. Cells that tell so are made anew `apart`: of many objects that takes a while."""
        objects = self._objects
        if self._fresh and objects:
            aged = await apart(lambda: self.live.aged(list(objects.values())))
            if self._objects is not objects:  # their time was over meanwhile
                return
            self._replace(aged, ())
            self._objects = {each.key: each for each in aged}
        self._fresh = False

    def expire(self) -> bool:
        """Their time is over. Whether there were any."""
        gone = list(self._objects)
        if gone:
            self._replace((), gone)
        self._objects, self.expires = {}, None
        return bool(gone)

    def step_over(self, other: "Shown") -> None:
        """Have a version above that of what this takes the place of: a list's version never goes back."""
        if self.collection.version < other.collection.version:
            self._replace((), ())

    def _replace(self, put: Sequence[LiveObject], gone: Sequence[Key]) -> None:
        version = self._versions.next()
        self.collection.replace([Item(key, labels, version, value) for key, labels, value in put], gone, version)


def shape(declaration: Declaration) -> object:
    """What of a declaration its objects are made by. Where that stays, objects may stay."""
    return declaration.resource.spec.model_copy(update=_NOT_OF_THE_SHAPE)
