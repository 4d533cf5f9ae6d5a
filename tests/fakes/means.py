"""What a source is given to work with, without a cluster: values stand in the declaration, all hosts are this machine."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from collectors._source import Limits, Means, Value


class Values:
    """Reads Values that stand in the declaration, and those that a test puts under a key of a Secret."""

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        self.secrets = dict(secrets or {})
        self.read: list[str] = []
        self.refused: list[Value] = []

    async def secret(self, value: Value) -> str:
        if value.value is not None:
            return value.value
        assert value.value_from is not None
        assert value.value_from.secret_key_ref is not None
        key = value.value_from.secret_key_ref.key
        self.read.append(key)
        return self.secrets[key]


def means(
    *,
    values: Values | None = None,
    limits: Limits | None = None,
    timeout: float = 30.0,
    addresses: Sequence[str] = ("127.0.0.1",),
    folder: Path | None = None,
) -> Means:
    """Means of a source that asks what listens at `addresses`."""
    values = values or Values()

    async def may_reach(_host: str, _port: int) -> Sequence[str]:
        return addresses

    return Means(
        secret=values.secret,
        may_reach=may_reach,
        compile_cel=_no_cel,
        limits=limits or Limits(),
        timeout=timeout,
        wall=lambda: 1_800_000_000.0,
        refused=values.refused.append,
        folder=folder,
    )


def _no_cel(text: str, _variables: Sequence[str]) -> Callable[[Mapping[str, Any]], Any]:
    raise AssertionError(f"no expression was expected: {text}")
