"""What sources are given in unit tests: servers that are functions, secrets in a dict, expressions that are Python."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from collectors._base import Cause, CollectError
from collectors._http_client import Answer, HttpClient, Request, Trust
from collectors._source import Evaluate, Limits, Means, Value

Handler = Callable[[Request], Answer]


def answer(body: bytes | str, *, status: int = 200, kind: str = "application/json", **headers: str) -> Answer:
    """An answer; headers by their names in lower case."""
    content = body.encode() if isinstance(body, str) else body
    return Answer(status, {"content-type": kind, **headers}, content, len(content))


class FakeHttp:
    """A network. Every request of every client goes to `handle`; what was asked, and which clients were opened, is kept."""

    def __init__(self, handle: Handler) -> None:
        self._handle = handle
        self.requests: list[Request] = []
        self.limits: list[int] = []
        self.trusts: list[Trust] = []
        self.open = 0

    def client(self, trust: Trust) -> HttpClient:
        self.trusts.append(trust)
        self.open += 1
        return self

    async def send(self, request: Request, *, limit: int) -> Answer:
        self.requests.append(request)
        self.limits.append(limit)
        given = self._handle(request)
        if max(given.size, len(given.body)) > limit:
            raise CollectError(Cause.TOO_LARGE, "more than limit")
        return given

    async def aclose(self) -> None:
        self.open -= 1


class FakeSecrets:
    """Values by the name of their Secret or ConfigMap; literal ones as they are. `refused` and `concealed` are what sources said."""

    def __init__(self, **values: str) -> None:
        self.values = values
        self.refused: list[Value] = []
        self.concealed: list[str] = []

    async def read(self, value: Value) -> str:
        origin = value.value_from
        if origin is None:
            return value.value or ""
        reference = origin.secret_key_ref or origin.config_map_key_ref
        assert reference is not None
        if reference.name not in self.values:
            raise CollectError(Cause.VALUE, f"{reference.name} does not exist")
        return self.values[reference.name]


def python_cel(text: str, variables: Sequence[str]) -> Evaluate:
    """Expressions in Python's own words: enough to see when they are asked, and with what. The real ones are app/declared/cel.py's."""

    def evaluate(values: Mapping[str, Any]) -> Any:
        assert sorted(variables) == sorted(values)
        try:
            return eval(text, {}, dict(values))
        except Exception as exc:
            raise CollectError(Cause.MAPPING, f"{text}: {exc!r}") from exc

    return evaluate


async def nowhere(host: str, _port: int) -> Sequence[str]:
    """A host policy for those who ask through FakeHttp."""
    raise AssertionError(f"{host} was looked up")


def means(
    http: FakeHttp,
    secrets: FakeSecrets | None = None,
    *,
    wall: Callable[[], float] = lambda: 1_764_500_000.0,
    timeout: float = 5.0,
    limits: Limits | None = None,
) -> Means:
    """The Means of a source."""
    secrets = secrets or FakeSecrets()
    return Means(
        secret=secrets.read,
        may_reach=nowhere,
        compile_cel=python_cel,
        limits=limits or Limits(),
        timeout=timeout,
        wall=wall,
        http=http.client,
        refused=secrets.refused.append,
        conceal=secrets.concealed.append,
    )
