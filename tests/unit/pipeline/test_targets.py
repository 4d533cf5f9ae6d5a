import pytest

from app.kube.records import NodeRecord, Resources
from app.pipeline.targets import RESOURCE, targets
from app.settings import Settings
from collectors._base import Cause, CollectError


def _node(*addresses: tuple[str, str], port: int = 0, path: str = "") -> NodeRecord:
    return NodeRecord("n1", "u", (), 0, True, addresses, port, path, Resources(), Resources())


_IP, _NAME, _OUTER = ("InternalIP", "10.0.0.7"), ("Hostname", "n1"), ("ExternalIP", "203.0.113.9")


@pytest.mark.parametrize(
    ("node", "settings", "urls"),
    [
        pytest.param(_node(_NAME, _IP), {}, ("https://10.0.0.7:10250", "https://n1:10250"), id="order of preference, all kept"),
        pytest.param(
            _node(_NAME, _IP, _OUTER), {"kubelet_preferred_address_types": ("Hostname",)}, ("https://n1:10250",), id="preferred types only"
        ),
        pytest.param(
            _node(("InternalIP", "10.0.0.7"), ("InternalIP", "fd00::7")),
            {},
            ("https://10.0.0.7:10250", "https://[fd00::7]:10250"),
            id="dual stack in the node's order, IPv6 bracketed",
        ),
        pytest.param(_node(("Hostname", "10.0.0.7"), _IP), {}, ("https://10.0.0.7:10250",), id="each address once"),
        pytest.param(_node(_IP, port=10251), {}, ("https://10.0.0.7:10250",), id="port of the flag"),
        pytest.param(_node(_IP, port=10251), {"kubelet_use_node_status_port": True}, ("https://10.0.0.7:10251",), id="port of the node"),
        pytest.param(_node(_IP), {"kubelet_use_node_status_port": True}, ("https://10.0.0.7:10250",), id="no port in the node"),
        pytest.param(_node(_IP, port=70000), {"kubelet_use_node_status_port": True}, ("https://10.0.0.7:10250",), id="port out of range"),
        pytest.param(_node(("Hostname", "evil/x"), _IP), {}, ("https://10.0.0.7:10250",), id="what is no address is passed over"),
    ],
)
def test_urls(node: NodeRecord, settings: dict[str, object], urls: tuple[str, ...]) -> None:
    """Types in the flag's order, then the node's order; every usable address is kept for the next try."""
    assert tuple(each.url for each in targets(node, RESOURCE, Settings.model_validate(settings))) == urls


@pytest.mark.parametrize(
    "address",
    ["", "evil.example/path", "user@evil", "a b", "n1:1234", "fe80::1%eth0", "-n1", "n1\n", "é", "x" * 300],
)
def test_what_is_no_address_is_refused(address: str) -> None:
    """Our token goes to this host: text that could become another URL is no address."""
    with pytest.raises(CollectError) as caught:
        targets(_node(("InternalIP", address)), RESOURCE, Settings())

    assert caught.value.cause is Cause.ADDRESS
    assert "--kubelet-preferred-address-types" in caught.value.remedy


def test_no_preferred_address_says_what_the_node_has() -> None:
    """The message has the types wanted and the addresses found."""
    with pytest.raises(CollectError, match=r"types Hostname \(it has: InternalIP=10.0.0.7\)"):
        targets(_node(_IP), RESOURCE, Settings(kubelet_preferred_address_types=("Hostname",)))


@pytest.mark.parametrize(
    ("annotation", "path"),
    [
        pytest.param("", "", id="none"),
        pytest.param("/api/metrics/resource", "/api/metrics/resource", id="a path"),
        pytest.param("metrics", "/metrics", id="without slash"),
        pytest.param("@evil.example/", "/@evil.example/", id="no other host"),
        pytest.param("//evil.example", "/evil.example", id="no network path"),
        pytest.param("/a?b#c", "/a%3Fb%23c", id="no query or fragment"),
        pytest.param("/a\r\nX: y", "/a%0D%0AX:%20y", id="no header"),
    ],
)
def test_the_path_annotation_stays_a_path(annotation: str, path: str) -> None:
    """Whoever may annotate a node chooses the path on its kubelet, nothing else."""
    assert targets(_node(_IP, path=annotation), RESOURCE, Settings())[0].path == path


def test_the_path_annotation_is_for_the_resource_collector_only() -> None:
    """The annotation speaks of /metrics/resource."""
    assert targets(_node(_IP, path="/x"), "kubelet_summary", Settings())[0].path == ""
