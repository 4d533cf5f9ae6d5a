"""Secrets taken out of texts: every value that was handed out, also in the forms that it takes on its way."""

import base64
import json
import re
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

from cachetools import LRUCache

HIDDEN = "***"
SHORTEST = 4
"""Shorter values are no secrets worth the name, and would take half of every text with them."""

_SHORTEST_BASE64 = 6
_MOST = 4096
"""So many values are remembered, the last used ones: those that were replaced long ago mean nothing any more."""


class Mask:
    """Knows what must not be shown."""

    def __init__(self) -> None:
        self._secrets: LRUCache[str, None] = LRUCache(_MOST)
        self._pattern: re.Pattern[str] | None = None

    def conceal(self, text: str) -> None:
        """Never show `text` from now on."""
        if len(text) >= SHORTEST and text not in self._secrets:
            self._pattern = None
        if len(text) >= SHORTEST:
            self._secrets[text] = None

    def __call__(self, text: str) -> str:
        """`text` with *** in place of every secret."""
        if not self._secrets:
            return text
        if self._pattern is None:
            # The longest first, so that nothing of it is left where a shorter one is its beginning.
            forms = sorted({form for secret in self._secrets for form in _forms(secret)}, key=len, reverse=True)
            self._pattern = re.compile("|".join(map(re.escape, forms)))
        return self._pattern.sub(HIDDEN, text)


def _forms(secret: str) -> Iterator[str]:
    """A secret as it is, in JSON, in a URL, and in base64: there also as a part of a longer text, such as user:password."""
    yield secret
    yield json.dumps(secret)[1:-1]
    for quoted in (quote(secret, safe=""), quote(secret), quote_plus(secret)):
        yield quoted
        yield re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), quoted)
    content = secret.encode()
    for whole in (base64.b64encode(content).decode(), base64.urlsafe_b64encode(content).decode()):
        yield whole
        yield whole.rstrip("=")
    for before in range(3):
        # Each character of base64 holds 6 bits: those that hold bits of its neighbours are left out.
        padded = base64.b64encode(b"\0" * before + content + b"\0" * (-(before + len(content)) % 3)).decode()
        inside = padded[-(-before * 8 // 6) : (before + len(content)) * 8 // 6]
        if len(inside) >= _SHORTEST_BASE64:
            yield inside
            yield inside.translate({ord("+"): "-", ord("/"): "_"})
