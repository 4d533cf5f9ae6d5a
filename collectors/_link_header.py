"""The Link header (RFC 8288)."""

import re

_QUOTED = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_LINK = re.compile(rf'[\s,]*<([^>]*)>((?:\s*;\s*[^\s=;,"]+(?:\s*=\s*(?:{_QUOTED}|[^\s;,"]*))?)*+)\s*(?=,|$)')
_PARAMETER = re.compile(rf';\s*([^\s=;,"]+)(?:\s*=\s*({_QUOTED}|[^\s;,"]*))?')
_LONGEST = 16 * 1024


def target_of(header: str, relation: str) -> str | None:
    """The target of the first link of that relation, as it is written; None where there is none, or the header breaks the grammar before.

    The first `rel` of a link counts; it may name several relations, in any case.
    """
    end = 0
    header = header[:_LONGEST]
    while (link := _LINK.match(header, end)) is not None:
        for name, value in _PARAMETER.findall(link[2]):
            if name.lower() == "rel":
                if relation in value.strip('"').lower().split():
                    return str(link[1])
                break
        end = link.end()
    return None
