"""Which hosts a source may reach, and at which addresses: decided by what a name resolves to, and not by how it is written.

Addresses of metadata services give out the credentials of the machine to whoever asks, and link-local ones are of services that trust
their own node; nobody's source reaches them unless the operator says so. A tenant's reach the hosts in its list only, and no address of
this pod itself (loopback) by a name whose owner may point it anywhere.
"""

import ipaddress
import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from app.http1.dialing import Resolver
from collectors._base import Cause, CollectError

_Address = IPv4Address | IPv6Address
_Network = IPv4Network | IPv6Network

_REFUSED: Sequence[tuple[str, str]] = (
    ("169.254.0.0/16", "a link-local address, where clouds have their metadata services"),
    ("fe80::/10", "a link-local address"),
    ("fd00:ec2::/32", "the metadata service of AWS"),
    ("fd20:ce::/32", "the metadata service of Google Cloud"),
    ("100.100.100.200/32", "the metadata service of Alibaba Cloud"),
    ("168.63.129.16/32", "the metadata service of Azure"),
    ("192.0.0.192/32", "the metadata service of Oracle Cloud"),
    ("0.0.0.0/8", "no address of a host"),
    ("::/128", "no address of a host"),
    ("224.0.0.0/4", "a multicast address"),
    ("ff00::/8", "a multicast address"),
    ("255.255.255.255/32", "the broadcast address"),
)
_NETWORKS: Sequence[tuple[_Network, str]] = [(ipaddress.ip_network(network), what) for network, what in _REFUSED]
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_REMEDY = "choose another host; an operator may allow networks with --source-allowed-networks"


class HostPolicy:
    """For the sources of one declaration. Look-ups take their turns in the resolver's threads, so that a dead DNS server blocks no one."""

    def __init__(self, resolver: Resolver, *, allowed_networks: Sequence[str] = (), tenant_hosts: Sequence[str] | None = None) -> None:
        """`allowed_networks` may be reached whatever they are. `tenant_hosts` is a tenant's list (see app/declared/tenants.py), None for
        declarations of kubeglance's own."""
        self._resolver = resolver
        self._allowed = [ipaddress.ip_network(network) for network in allowed_networks]
        self._tenant_hosts = tenant_hosts

    async def may_reach(self, host: str, port: int) -> list[str]:
        """The addresses of `host` that may be connected to, as text. Raises CollectError if there is none."""
        if self._tenant_hosts is not None and not is_listed(host, port, self._tenant_hosts):
            message = f"{host}:{port} must not be reached: it is not in the list of hosts of this namespace"
            raise CollectError(Cause.NOT_ALLOWED, message, "the operator adds hosts to the namespace's entry in the tenants file")
        addresses = await self._resolved(host, port)
        refused = {address: why for address in addresses if (why := self._refused(address, host)) is not None}
        allowed = [str(address) for address in addresses if address not in refused]
        if not allowed:
            address, why = next(iter(refused.items()))
            where = f"{host} ({address})" if str(address) != host.strip("[]") else host
            raise CollectError(Cause.NOT_ALLOWED, f"{where} must not be reached: it is {why}", _REMEDY)
        return allowed

    async def _resolved(self, host: str, port: int) -> list[_Address]:
        try:
            found = await self._resolver.addresses(host.strip("[]"), port)
        except socket.gaierror as exc:
            remedy = "check the name; a Service of the cluster is SERVICE.NAMESPACE.svc"
            raise CollectError(Cause.DNS, f"{host}: {exc.strerror or exc}", remedy) from exc
        return [*dict.fromkeys(_address(str(info[4][0])) for info in found)]

    def _refused(self, address: _Address, host: str) -> str | None:
        """Why an address must not be reached, None if it may."""
        forms = [address, *_embedded(address)]
        if any(form.version == network.version and form in network for form in forms for network in self._allowed):
            return None
        for form in forms:
            for network, what in _NETWORKS:
                if form.version == network.version and form in network:
                    return what
        by_a_name = host.lower() != "localhost" and not _is_numeric(host)
        if self._tenant_hosts is not None and by_a_name and any(form.is_loopback for form in forms):
            return "an address of kubeglance's own pod"
        return None


def is_listed(host: str, port: int, listed: Sequence[str]) -> bool:
    """Whether a tenant's list has `host`: as itself, under a name that begins with "*.", and at this port if the entry names one."""
    name = _canonical(host)
    for entry in listed:
        pattern, only = _split_port(entry)
        if only not in {None, port}:
            continue
        pattern = _canonical(pattern)
        if name == pattern or (pattern.startswith("*.") and name.endswith(pattern[1:]) and not _is_numeric(name)):
            return True
    return False


def _split_port(entry: str) -> tuple[str, int | None]:
    host, colon, port = entry.rpartition(":")
    return (host, int(port)) if colon and port.isdigit() and (host.endswith("]") or ":" not in host) else (entry, None)


def _canonical(host: str) -> str:
    """One spelling of a host: names in lower case without the root's dot, addresses as ipaddress writes them."""
    name = host.strip("[]").lower().removesuffix(".")
    return str(_address(name)) if _is_numeric(name) else name


def _is_numeric(host: str) -> bool:
    """Whether `host` is an address in any form that getaddrinfo takes for one: 2130706433, 0x7f.1 and 127.1 are 127.0.0.1."""
    try:
        socket.getaddrinfo(host.strip("[]"), None, flags=socket.AI_NUMERICHOST)
    except (socket.gaierror, UnicodeError):
        return False
    return True


def _address(text: str) -> _Address:
    """The address that getaddrinfo takes `text` for; IPv4 where it is written as IPv6."""
    numeric = str(socket.getaddrinfo(text, None, flags=socket.AI_NUMERICHOST)[0][4][0])
    address = ipaddress.ip_address(numeric.partition("%")[0])
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def _embedded(address: _Address) -> list[_Address]:
    """The IPv4 addresses that an IPv6 address leads to by translation or by a tunnel."""
    if not isinstance(address, IPv6Address):
        return []
    found = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in _NAT64 or 0xFFFFFF < int(address) <= 0xFFFFFFFF:  # the second is ::a.b.c.d
        found.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return [each for each in found if each is not None]
