"""app/declared/hosts.py: what a source may reach is decided by the addresses, however the host is written."""

import socket
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.declared.hosts import HostPolicy, is_listed
from app.http1.dialing import AddrInfo, Resolver
from collectors._base import Cause, CollectError


class Names(Resolver):
    """A DNS of a few names; addresses are read by the machine's own getaddrinfo."""

    def __init__(self, **names: Sequence[str]) -> None:
        super().__init__(threads=1)
        self._names = {name.replace("_", "."): addresses for name, addresses in names.items()}

    async def addresses(self, host: str, port: int, family: int = socket.AF_UNSPEC) -> list[AddrInfo]:
        found = self._names.get(host, [host])
        try:
            return [info for each in found for info in socket.getaddrinfo(each, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)]
        except socket.gaierror as exc:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known") from exc


async def reached(host: str, names: Names | None = None, *, allowed: Sequence[str] = (), tenant: Sequence[str] | None = None) -> list[str]:
    resolver = names or Names()
    try:
        return await HostPolicy(resolver, allowed_networks=allowed, tenant_hosts=tenant).may_reach(host, 80)
    finally:
        resolver.close()


@pytest.mark.parametrize(
    "host",
    [
        pytest.param("169.254.169.254", id="dotted"),
        pytest.param("2852039166", id="decimal"),
        pytest.param("0xa9fea9fe", id="hexadecimal"),
        pytest.param("0251.0376.0251.0376", id="octal"),
        pytest.param("169.254.43518", id="three-parts"),
        pytest.param("[::ffff:169.254.169.254]", id="ipv4-mapped"),
        pytest.param("::ffff:a9fe:a9fe", id="ipv4-mapped-in-hexadecimal"),
        pytest.param("::169.254.169.254", id="ipv4-compatible"),
        pytest.param("64:ff9b::169.254.169.254", id="nat64"),
        pytest.param("2002:a9fe:a9fe::1", id="6to4"),
        pytest.param("fe80::1", id="link-local"),
        pytest.param("fe80::1%lo", id="link-local-with-a-zone"),
        pytest.param("fd00:ec2::254", id="aws-by-ipv6"),
        pytest.param("100.100.100.200", id="alibaba"),
        pytest.param("0.0.0.0", id="no-address"),
        pytest.param("::", id="no-address-of-ipv6"),
        pytest.param("224.0.0.1", id="multicast"),
        pytest.param("255.255.255.255", id="broadcast"),
        pytest.param("metadata.example", id="a-name-of-it"),
    ],
)
async def test_metadata_services_are_not_reached(host: str) -> None:
    """In no spelling, and by no name."""
    with pytest.raises(CollectError, match="must not be reached") as caught:
        await reached(host, Names(metadata_example=["169.254.169.254"]))

    assert caught.value.cause is Cause.NOT_ALLOWED
    assert "--source-allowed-networks" in caught.value.remedy


@pytest.mark.parametrize(
    ("host", "addresses"),
    [
        pytest.param("10.0.0.1", ["10.0.0.1"], id="a-pod"),
        pytest.param("127.0.0.1", ["127.0.0.1"], id="a-sidecar"),
        pytest.param("[::1]", ["::1"], id="a-sidecar-by-ipv6"),
        pytest.param("2001:db8::7", ["2001:db8::7"], id="ipv6"),
        pytest.param("::ffff:10.0.0.1", ["10.0.0.1"], id="ipv4-mapped"),
        pytest.param("two.example", ["10.0.0.1", "2001:db8::7"], id="a-name-with-two"),
        pytest.param("mixed.example", ["10.0.0.1"], id="of-a-name-with-a-bad-address-the-good-one"),
    ],
)
async def test_addresses_that_are_reached(host: str, addresses: list[str]) -> None:
    """As they are connected to: nothing is looked up again."""
    names = Names(two_example=["10.0.0.1", "2001:db8::7"], mixed_example=["169.254.169.254", "10.0.0.1"])

    assert addresses == await reached(host, names)


async def test_networks_that_the_operator_allows() -> None:
    """A node-local DNS cache has metrics, too."""
    assert await reached("169.254.20.10", allowed=["169.254.20.10/32"]) == ["169.254.20.10"]
    with pytest.raises(CollectError):
        await reached("169.254.169.254", allowed=["169.254.20.10/32"])


async def test_a_name_that_does_not_resolve() -> None:
    """It is told as such."""
    with pytest.raises(CollectError, match=r"no\.such") as caught:
        await reached("no.such")

    assert caught.value.cause is Cause.DNS


async def test_tenants_reach_their_list_only() -> None:
    """By name, whatever it resolves to; but not this pod itself by a name, nor metadata services at all."""
    names = Names(db_shop_svc=["10.0.0.1"], evil_shop_svc=["127.0.0.1"], worse_shop_svc=["169.254.169.254"])

    assert await reached("db.shop.svc", names, tenant=["*.shop.svc"]) == ["10.0.0.1"]
    for host in ("evil.shop.svc", "worse.shop.svc", "10.0.0.1", "db.other.svc"):
        with pytest.raises(CollectError) as caught:
            await reached(host, names, tenant=["*.shop.svc"])
        assert caught.value.cause is Cause.NOT_ALLOWED


@pytest.mark.parametrize(
    ("host", "port", "listed", "expected"),
    [
        pytest.param("a.b", 80, ["a.b"], True, id="itself"),
        pytest.param("A.B.", 80, ["a.b"], True, id="in-any-spelling"),
        pytest.param("x.a.b", 80, ["a.b"], False, id="not-below"),
        pytest.param("x.a.b", 80, ["*.a.b"], True, id="below-a-star"),
        pytest.param("y.x.a.b", 80, ["*.a.b"], True, id="far-below-a-star"),
        pytest.param("a.b", 80, ["*.a.b"], False, id="a-star-is-something"),
        pytest.param("xa.b", 80, ["*.a.b"], False, id="a-star-ends-at-a-dot"),
        pytest.param("a.b", 443, ["a.b:443"], True, id="with-the-port"),
        pytest.param("a.b", 80, ["a.b:443"], False, id="with-another-port"),
        pytest.param("10.0.0.1", 80, ["10.0.0.1"], True, id="an-address"),
        pytest.param("167772161", 80, ["10.0.0.1"], True, id="an-address-in-another-spelling"),
        pytest.param("10.0.0.1", 80, ["*.0.0.1"], False, id="a-star-has-no-addresses"),
        pytest.param("2001:db8::7", 80, ["[2001:DB8:0::7]:80"], True, id="ipv6-with-a-port"),
        pytest.param("2001:db8::7", 80, ["[2001:db8::7]"], True, id="ipv6"),
        pytest.param("a.b", 80, [], False, id="nothing-is-listed"),
    ],
)
def test_a_tenants_list(host: str, port: int, listed: list[str], expected: bool) -> None:
    """Names, names behind a star, addresses, each with or without a port."""
    assert expected is is_listed(host, port, listed)


@given(st.text(max_size=20), st.lists(st.text(max_size=20), max_size=3))
def test_no_host_crashes_it(host: str, listed: list[str]) -> None:
    """For whatever stands in a declaration or a list."""
    is_listed(host, 80, listed)


@given(st.ip_addresses())
async def test_no_address_crashes_it(address: object) -> None:
    """For every address there is a verdict."""
    names = Names(name_example=[str(address)])
    try:
        assert await reached("name.example", names, tenant=["*.example"])
    except CollectError as error:
        assert error.cause is Cause.NOT_ALLOWED  # noqa: PT017 -- either is a verdict
