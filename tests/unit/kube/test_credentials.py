from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import KubeError
from app.kube.credentials import RenewingCredentials, token_file
from tests.fakes.clock import ManualClock


async def test_a_token_file_is_read_again_after_a_minute(tmp_path: Path) -> None:
    """A token that the kubelet replaced is in use at most 60 s later."""
    file, clock = tmp_path / "token", ManualClock()
    file.write_text("one\n")
    credentials = RenewingCredentials(token_file(file), clock)
    before = await credentials.header()
    file.write_text("two\n")
    clock.advance(59)
    cached = await credentials.header()
    clock.advance(1)

    assert (before, cached, await credentials.header()) == ("Bearer one", "Bearer one", "Bearer two")


async def test_a_refused_token_is_read_again_soon(tmp_path: Path) -> None:
    """After a 401 the file is read again, but no more often than every 5 s."""
    file, clock = tmp_path / "token", ManualClock()
    file.write_text("one")
    credentials = RenewingCredentials(token_file(file), clock)
    await credentials.header()
    file.write_text("two")
    credentials.refused()
    at_once = await credentials.header()
    clock.advance(5)

    assert (at_once, await credentials.header()) == ("Bearer one", "Bearer two")


async def test_a_token_file_that_vanished_keeps_the_last_token(tmp_path: Path) -> None:
    """While the kubelet swaps the file, the old token goes on."""
    file, clock = tmp_path / "token", ManualClock()
    file.write_text("one")
    credentials = RenewingCredentials(token_file(file), clock)
    await credentials.header()
    file.unlink()
    clock.advance(60)

    assert await credentials.header() == "Bearer one"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param(None, "cannot read", id="missing"),
        pytest.param("", "is empty", id="empty"),
        pytest.param("one\ntwo", "has a line break", id="two lines"),
    ],
)
async def test_no_token_at_all_is_an_error_that_names_the_file(tmp_path: Path, content: str | None, text: str) -> None:
    """Without any token there is nothing to send: the file is named."""
    file = tmp_path / "token"
    if content is not None:
        file.write_text(content)

    with pytest.raises(KubeError, match=text) as caught:
        await RenewingCredentials(token_file(file), ManualClock()).header()
    assert str(file) in str(caught.value)


async def test_a_program_is_run_off_the_loop() -> None:
    """An exec plugin may take seconds: it runs in a thread, and its answer is kept."""
    answers = ["Bearer a", "Bearer b"]
    credentials = RenewingCredentials(lambda: answers.pop(0), ManualClock(), in_thread=True)

    assert (await credentials.header(), await credentials.header()) == ("Bearer a", "Bearer a")


@given(st.binary(max_size=40))
def test_no_token_file_crashes_it(content: bytes) -> None:
    """Any file is a header that can be sent, or a KubeError."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "token"
        file.write_bytes(content)
        with suppress(KubeError):
            header = token_file(file)()
            assert header.startswith("Bearer ")
            assert header.isprintable()
