"""What every test gets."""

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import settings

# How long an example takes says something about the machine, and nothing about a rule.
settings.register_profile("kubeglance", deadline=None)
settings.load_profile("kubeglance")


@pytest.fixture(scope="session", autouse=True)
def _default_event_loop() -> Iterator[None]:
    """The policy's default loop, owned and closed here: asyncio before 3.14 makes one unasked where tests with and without loops mix."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()
