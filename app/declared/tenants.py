"""What declarations of other namespaces may do: a YAML file of the operator's, by namespace.

    shop:
      groups: [shop.example.com]
      hosts: ["*.shop.svc", "api.example.com:443"]

A namespace that is not listed may declare nothing. One that is may make Namespaced kinds in its groups, with objects in itself only, of
sources that reach its hosts only; app/declared/check.py holds it to that.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from app.declared.files import File
from app.errors import KubeglanceError
from app.wire.object_names import is_group, is_label

_HOST = re.compile(r"(\*\.)?[A-Za-z0-9_]([-A-Za-z0-9_.]*[A-Za-z0-9_])?|\[[0-9A-Fa-f:.]+\]")
_PORT = re.compile(r":(\d{1,5})")


class TenantsError(KubeglanceError):
    """The file cannot be used. The message has one line for each fault."""


class Tenant(Struct, frozen=True):
    """What the declarations of one namespace may do. `groups` are whole names of API groups.

    `hosts` are names, names behind "*." (any name that ends so) or addresses, IPv6 in brackets; with ":port" that port only.
    """

    groups: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


def parse_tenants(text: str) -> dict[str, Tenant]:
    """The tenants by namespace. Raises TenantsError, with all faults."""
    import yaml  # noqa: PLC0415 -- where there are no tenants nobody needs YAML as long as nothing is declared

    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as exc:
        raise TenantsError(f"is not valid YAML: {' '.join(str(exc).split())}") from exc
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise TenantsError("must map namespaces to what they may: groups and hosts")
    faults: list[str] = []
    tenants = {str(namespace): _tenant(str(namespace), said, faults) for namespace, said in found.items()}
    if faults:
        raise TenantsError("\n".join(faults))
    return tenants


class TenantsFile:
    """The file of --tenants, which is looked at again and again: one that stays as it is is neither read nor parsed anew."""

    def __init__(self, path: Path, wall: Callable[[], float]) -> None:
        """`wall` gives Unix seconds."""
        self._file = File(path, wall)
        self._parsed: tuple[str, dict[str, Tenant]] | None = None

    def read(self) -> dict[str, Tenant]:
        """The tenants of now. Blocks. Raises TenantsError, as often as it is asked while the file cannot be used."""
        found = self._file.look()
        if found.fault:
            raise TenantsError(found.fault)
        if self._parsed is None or self._parsed[0] != found.content:
            self._parsed = (found.content, parse_tenants(found.content))
        return self._parsed[1]


def _tenant(namespace: str, said: Any, faults: list[str]) -> Tenant:
    if not is_label(namespace):
        faults.append(f'"{namespace}": is not a name of a namespace')
    if said is not None and not isinstance(said, dict):
        faults.append(f"{namespace}: must have groups and hosts")
        return Tenant()
    words: Mapping[Any, Any] = said or {}
    faults += [f"{namespace}.{key}: unknown field; known are groups and hosts" for key in words if key not in {"groups", "hosts"}]
    return Tenant(_names(namespace, words, "groups", faults), _names(namespace, words, "hosts", faults))


def _names(namespace: str, words: Mapping[Any, Any], field: str, faults: list[str]) -> tuple[str, ...]:
    listed = words.get(field) or []
    if not isinstance(listed, list):
        faults.append(f"{namespace}.{field}: must be a list")
        return ()
    is_valid = _is_group if field == "groups" else _is_host
    what = "an API group such as shop.example.com" if field == "groups" else "a host such as *.shop.svc or api.example.com:443"
    faults += [f"{namespace}.{field}[{index}]: {name!r} is not {what}" for index, name in enumerate(listed) if not is_valid(name)]
    return tuple(str(name) for name in listed)


def _is_group(name: Any) -> bool:
    return isinstance(name, str) and is_group(name)


def _is_host(name: Any) -> bool:
    if not isinstance(name, str) or (host := _HOST.match(name)) is None:
        return False
    port = name[host.end() :]
    return not port or ((number := _PORT.fullmatch(port)) is not None and 0 < int(number[1]) < 65536)
