"""One bounded GET against a target, with every foreign error translated into a CollectError with its cause and remedy."""

import socket
import ssl
from collections.abc import Iterator
from http import HTTPStatus

import aiohttp
import httpx

from collectors._base import Cause, CollectError, Target

_STATUS = {
    401: (Cause.UNAUTHORIZED, "the kubelet does not accept our token or certificate: is its webhook authentication on?"),
    403: (Cause.FORBIDDEN, "grant our ServiceAccount the verb get on nodes/metrics and nodes/stats"),
    404: (Cause.NOT_FOUND, "this kubelet does not serve that path"),
}
_DIAL = (Cause.DIAL, "check the address type (--kubelet-preferred-address-types), the port (--kubelet-port) and the network")


async def fetch(client: httpx.AsyncClient, target: Target, path: str, *, limit: int) -> bytes:
    """The body of GET `path` from `target`, at most `limit` bytes. Raises CollectError.

    Redirects are not followed, and a Content-Encoding is refused (16 KiB of gzip can become 16 MB before a size can be checked).
    """
    url = target.url + path
    try:
        async with client.stream("GET", url) as response:
            if response.status_code != 200:
                cause, remedy = _STATUS.get(response.status_code, (Cause.STATUS, "see the kubelet's log"))
                raise CollectError(cause, f"GET {url}: {response.status_code} {_phrase(response.status_code)}".rstrip(), remedy)
            if response.headers.get("content-encoding", "identity") != "identity":
                raise CollectError(
                    Cause.ENCODING, f"GET {url}: answered with a Content-Encoding that was not asked for", "ask for identity"
                )
            return await _read(response, url, limit)
    except (httpx.HTTPError, httpx.InvalidURL, aiohttp.ClientError) as error:
        raise _translate(error, url) from error


def _phrase(code: int) -> str:
    """Our own words for a status: the answer's are the other side's, and go into a log."""
    return HTTPStatus(code).phrase if code in {status.value for status in HTTPStatus} else ""


async def _read(response: httpx.Response, url: str, limit: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    async for piece in response.aiter_raw():
        size += len(piece)
        if size > limit:
            raise CollectError(
                Cause.TOO_LARGE, f"GET {url}: more than {limit} bytes", "a kubelet does not answer so much: find out what does"
            )
        pieces.append(piece)
    return b"".join(pieces)


def _translate(error: Exception, url: str) -> CollectError:
    """The cause of a transport's error. x509, refused, DNS and closed all arrive as one httpx class: the chain tells them apart."""
    for link in _chain(error):
        match link:
            case ssl.SSLCertVerificationError():
                why = link.verify_message or str(link)
                remedy = (
                    "the kubelet's serving certificate is not trusted for this address: have it signed by the cluster CA with this "
                    "address as SAN, give its CA with --kubelet-certificate-authority, or (insecure) set --kubelet-insecure-tls"
                )
                return CollectError(Cause.CERTIFICATE, f"GET {url}: x509: {why}", remedy)
            case socket.gaierror():
                return CollectError(Cause.DNS, f"GET {url}: {link.strerror or link}", "the node's name does not resolve: prefer InternalIP")
            case ConnectionResetError() | BrokenPipeError() | aiohttp.ServerDisconnectedError() | aiohttp.ClientPayloadError():
                return CollectError(
                    Cause.CLOSED, f"GET {url}: the connection was closed before the answer was whole", "see the kubelet's log"
                )
            case httpx.RemoteProtocolError() | httpx.ReadError():
                return CollectError(
                    Cause.CLOSED, f"GET {url}: the connection was closed before the answer was whole", "see the kubelet's log"
                )
            case ssl.SSLError():
                return CollectError(Cause.CERTIFICATE, f"GET {url}: TLS: {link}", "does TLS listen on that port?")
            case aiohttp.ClientResponseError():
                return CollectError(Cause.PAYLOAD, f"GET {url}: the answer is not HTTP", "another program listens on that port")
            case OSError():
                return CollectError(_DIAL[0], f"GET {url}: {link.strerror or link}", _DIAL[1])
            case _:
                continue
    if isinstance(error, httpx.ReadTimeout | httpx.PoolTimeout):
        return CollectError(Cause.DEADLINE, f"GET {url}: timed out", "the kubelet is slow or hangs")
    cause, remedy = _DIAL if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout) else (Cause.STATUS, "see the kubelet's log")
    return CollectError(cause, f"GET {url}: {error}", remedy)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """What caused `error`, the innermost first."""
    links: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in links:
        links.append(link)
        link = link.__cause__ or link.__context__
    return reversed(links)
