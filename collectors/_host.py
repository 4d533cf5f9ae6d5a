"""A host as it stands in a declaration."""

import ipaddress
import re
from typing import Annotated

from pydantic import AfterValidator

_NAME = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?\.?", re.IGNORECASE)


def _alone(host: str) -> str:
    if _NAME.fullmatch(host):
        return host
    try:
        ipaddress.ip_address(host)
    except ValueError:
        raise ValueError("must be a name or an address alone; port, database, user and password have fields of their own") from None
    return host


Host = Annotated[str, AfterValidator(_alone)]
"""A name or an IP address, without a port, a scheme or credentials."""


def at(host: str | None, port: int) -> str:
    """The host and port as people write them: an IPv6 address in brackets."""
    return f"[{host}]:{port}" if host is not None and ":" in host else f"{host}:{port}"
