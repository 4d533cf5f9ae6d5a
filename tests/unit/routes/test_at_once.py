"""Gets that are answered at once: what the usual way would answer, and nothing that it would not."""

from typing import Any

import pytest

from app.routes.respond import PIECE
from tests.fakes.kinds import make_item
from tests.unit.routes.server import Server
from tests.unit.routes.test_resources import BETA, PARTIAL, TABLE, V1

POD = f"{V1}/namespaces/a/pods/one"


def scope_of(
    path: str, accept: str = "application/json", *, method: str = "GET", query: str = "", agent: str = "kubectl"
) -> dict[str, Any]:
    headers = [(b"accept", accept.encode()), (b"user-agent", agent.encode()), (b"audit-id", b"mine")]
    return {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": headers, "http_version": "1.1"}


async def usual(server: Server, scope: dict[str, Any]) -> tuple[int, dict[bytes, bytes], bytes]:
    messages: list[Any] = []

    async def send(message: Any) -> None:
        messages.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request"}

    await server.resources(scope, receive, send)
    return messages[0]["status"], dict(messages[0]["headers"]), b"".join(each["body"] for each in messages[1:])


@pytest.mark.parametrize("accept", ["application/json", "*/*", PARTIAL.replace("json", "vnd.kubernetes.protobuf"), TABLE, PARTIAL, ""])
@pytest.mark.parametrize("agent", ["kubectl", "curl/8"])
@pytest.mark.parametrize("path", [POD, POD.replace(V1, BETA), f"{V1}/nodes/n1", f"{V1}/namespaces/b/pods/three"])
async def test_the_answer_is_that_of_the_usual_way(path: str, agent: str, accept: str) -> None:
    """Status, headers and body, in each form, by JSON that is read by people too; and an observer hears of it."""
    server = Server()
    server.gate.knows = True
    answer = server.kinds.at_once(scope_of(path, accept, agent=agent))
    assert answer is not None
    alike, own, body = answer
    observed = list(server.observed)

    status, headers, expected = await usual(server, scope_of(path, accept, agent=agent))

    assert (200, expected) == (status, body)
    assert {**headers} == {**dict(alike), **dict([own]), b"content-length": b"%d" % len(body)}
    assert observed * 2 == server.observed


@pytest.mark.parametrize(
    "scope",
    [
        pytest.param(scope_of(POD, method="HEAD"), id="HEAD"),
        pytest.param(scope_of(POD, method="DELETE"), id="another method"),
        pytest.param(scope_of(POD, query="pretty=true"), id="a query"),
        pytest.param(scope_of(POD, "text/plain"), id="a form that there is not"),
        pytest.param(scope_of(POD, TABLE.replace("Table", "PartialObjectMetadataList")), id="a form of lists"),
        pytest.param(scope_of(POD + "x"), id="no such object"),
        pytest.param(scope_of(f"{V1}/namespaces/a/pods/waiting"), id="an object without values"),
        pytest.param(scope_of(POD + "/log"), id="a subresource"),
        pytest.param(scope_of(POD + "/log/x"), id="what is below one"),
        pytest.param(scope_of(POD + "//x"), id="what is below none"),
        pytest.param(scope_of(f"{V1}/watch/namespaces/a/pods/one"), id="a watch"),
        pytest.param(scope_of(f"{V1}/pods"), id="a list"),
        pytest.param(scope_of(f"{V1}/pods/one"), id="no namespace"),
        pytest.param(scope_of(f"{V1}/namespaces/a/nodes/n1"), id="a namespace where there is none"),
        pytest.param(scope_of(POD.replace("v1", "v9")), id="no such version"),
        pytest.param(scope_of("/apis/custom.metrics.k8s.io/v1beta2/namespaces/a/pods/one"), id="another API"),
        pytest.param(scope_of("/apis/metrics.k8s.io"), id="discovery"),
        pytest.param(scope_of("/"), id="the root"),
    ],
)
def test_all_else_is_left_to_the_usual_way(scope: dict[str, Any]) -> None:
    """It answers, or says what is wrong; the request is left as it came."""
    server = Server()
    server.gate.knows = True
    before = {**scope, "headers": list(scope["headers"])}

    assert server.kinds.at_once(scope) is None
    assert before == scope


def test_who_is_not_known_is_not_answered() -> None:
    """Whoever it is has to be found out first."""
    assert Server().kinds.at_once(scope_of(POD)) is None


def test_long_objects_go_in_pieces() -> None:
    """As all that is longer than a piece."""
    server = Server()
    server.gate.knows = True
    server.collection(0).replace([make_item("a", "one", labels={"x": "y" * PIECE})], (), 8)

    assert server.kinds.at_once(scope_of(POD)) is None


def test_what_cannot_be_encoded_is_left_to_the_usual_way() -> None:
    """There it is told, and not twice."""
    server = Server()
    server.gate.knows = True
    server.collection(0).replace([make_item("a", "one", value="no number")], (), 8)  # type: ignore[arg-type]

    assert server.kinds.at_once(scope_of(POD)) is None
