"""What a request that failed means to people: its cause, what happened where, and a remedy."""

import socket
import ssl
from http import HTTPStatus

from app.http1.connections import CLOSED
from app.http1.response import NotHTTPError, Response
from collectors._base import Cause, CollectError

_STATUS = {
    401: (Cause.UNAUTHORIZED, "the kubelet does not accept our token or certificate: is its webhook authentication on?"),
    403: (Cause.FORBIDDEN, "grant our ServiceAccount the verb get on nodes/metrics and nodes/stats"),
    404: (Cause.NOT_FOUND, "this kubelet does not serve that path"),
}
_PHRASES = {status.value: status.phrase for status in HTTPStatus}
"""Our own words for a status: the answer's are the other side's, and go into a log."""


def check(response: Response, url: str, *, limit: int) -> None:
    """Raise CollectError if `response`, as far as it has come, is not what was asked for.

    A Content-Encoding is refused: 16 KiB of gzip can become 16 MB before a size can be checked.
    """
    if response.status not in {0, 200}:
        cause, remedy = _STATUS.get(response.status, (Cause.STATUS, "see the kubelet's log"))
        raise CollectError(cause, f"GET {url}: {response.status} {_PHRASES.get(response.status, '')}".rstrip(), remedy)
    if response.encoding != "identity":
        raise CollectError(Cause.ENCODING, f"GET {url}: answered with a Content-Encoding that was not asked for", "ask for identity")
    if response.size > limit:
        remedy = "a kubelet does not answer so much: find out what does"
        raise CollectError(Cause.TOO_LARGE, f"GET {url}: more than {limit} bytes", remedy)


def failure(url: str, error: OSError | NotHTTPError) -> CollectError:
    """What an exchange that broke off means."""
    match error:
        case ssl.SSLCertVerificationError():
            why = error.verify_message or str(error)
            remedy = (
                "the kubelet's serving certificate is not trusted for this address: have it signed by the cluster CA with this "
                "address as SAN, give its CA with --kubelet-certificate-authority, or (insecure) set --kubelet-insecure-tls"
            )
            return CollectError(Cause.CERTIFICATE, f"GET {url}: x509: {why}", remedy)
        case socket.gaierror():
            remedy = "the node's name does not resolve: prefer InternalIP"
            return CollectError(Cause.DNS, f"GET {url}: {error.strerror or error}", remedy)
        case _ if isinstance(error, CLOSED):
            what = "the connection was closed before the answer was whole"
            return CollectError(Cause.CLOSED, f"GET {url}: {what}", "see the kubelet's log")
        case ssl.SSLError():
            return CollectError(Cause.CERTIFICATE, f"GET {url}: TLS: {error}", "does TLS listen on that port?")
        case NotHTTPError():
            return CollectError(Cause.PAYLOAD, f"GET {url}: the answer is not HTTP", "another program listens on that port")
        case _:
            remedy = "check the address type (--kubelet-preferred-address-types), the port (--kubelet-port) and the network"
            return CollectError(Cause.DIAL, f"GET {url}: {error.strerror or error}", remedy)
