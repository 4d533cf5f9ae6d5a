"""The label sets of the Prometheus text format, in whatever spelling the format allows.

Grammar: https://prometheus.io/docs/instrumenting/exposition_formats/ (text format 0.0.4).
"""

import re

# Possessive quantifiers (*+) keep no state to go back to: a hostile value without an end costs its length and no memory.
_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"([^"\\]*+(?:\\.[^"\\]*+)*+)"\s*(?:,|$)')
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "\\": "\\", '"': '"'}
_LONGEST = 8 * 1024


def parse_labels(text: str) -> dict[str, str] | None:
    """The labels in what stands between a sample's braces, unescaped; None if it breaks the grammar, or is longer than 8 KiB."""
    if len(text) > _LONGEST:
        return None
    labels: dict[str, str] = {}
    end = 0
    while (label := _LABEL.match(text, end)) is not None:
        labels[label[1]] = _ESCAPE.sub(_unescape, label[2])
        end = label.end()
    return labels if not text[end:].strip() else None


def _unescape(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[1], match[0])
