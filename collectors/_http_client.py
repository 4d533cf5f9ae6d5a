"""HTTP as sources ask for it. The client itself is handed in, as that of kubelets is: it owns connections, names and limits."""

from collections.abc import Mapping
from typing import Protocol
from urllib.parse import urlsplit

from msgspec import Struct


class Trust(Struct, frozen=True):
    """How the other side of TLS is verified, and who we are to it. PEM texts, "" where there is none.

    `ca` "" stands for the machine's own CAs, `server_name` "" for the host of the URL. `verify` is False where a declaration says so.
    """

    ca: str = ""
    certificate: str = ""
    key: str = ""
    server_name: str = ""
    verify: bool = True


class Request(Struct, frozen=True):
    """One request. `url` is absolute; `headers` are those beside Host, User-Agent, Accept-Encoding and Content-Length."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


class Answer(Struct, frozen=True):
    """What came back: the body as it is without a Content-Encoding, `size` its bytes on the wire.

    `headers` has content-type, link and location, by names in lower case, where they were sent.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    size: int


class HttpClient(Protocol):
    """A client for the requests of one source. It follows no redirects, keeps no cookies, and takes no proxy from the environment."""

    async def send(self, request: Request, *, limit: int) -> Answer:
        """The answer, whatever its status. Raises CollectError.

        A body of more than `limit` bytes, on the wire or unpacked, is an error; of an answer that is none of 2xx the beginning is enough.
        """
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...


def shown(url: str) -> str:
    """What people are shown of a URL: no credentials, no query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
