"""How large a selector may be."""

from app.wire.status import bad_request

MOST_TERMS = 1000
"""Requirements and values of one selector. Upstream has no such limit; here one thread serves all, and a request line has room for 20,000,
which would take a quarter of a second to read."""


def check_size(parameter: str, terms: int) -> None:
    """Raise Problem 400 where a selector has too many terms."""
    if terms > MOST_TERMS:
        raise bad_request(
            f"{parameter} has {terms} requirements and values, and at most {MOST_TERMS} are read: "
            "list with a wider selector, or in several requests"
        )
