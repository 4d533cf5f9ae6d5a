"""kubeglance answers what metrics-server v0.9.0 answered to the same questions about the same cluster, but for what a table lists."""

from dataclasses import replace

import pytest

from tests.goldens.answer import FOLDER, file_of, load
from tests.goldens.differences import DIFFERENCES, expected
from tests.goldens.kubeglance import answering
from tests.goldens.requests import API, REQUESTS


@pytest.mark.looptime
async def test_every_answer_is_metrics_servers_but_for_the_listed_differences() -> None:
    """Status, headers, and the body to the order of its fields; of protobuf that means byte for byte.

    Where this fails, either kubeglance is to be mended, or tests/goldens/differences.py needs a row with its reason.
    """
    wrong: dict[str, tuple[str, str]] = {}
    async with answering() as kubeglance:
        for request in REQUESTS:
            wanted, answer = expected(request)[0].text, (await kubeglance.ask(request)).text
            if wanted != answer:
                wrong[request.name] = (wanted, answer)
    wanted, answer = next(iter(wrong.values()), ("", ""))

    assert [] == list(wrong)[1:]
    assert wanted == answer


@pytest.mark.looptime
async def test_v1_answers_as_v1beta1() -> None:
    """Both versions have one wire form: the same questions under v1 have the same answers, but for the version that they name."""
    of_version = [request for request in REQUESTS if request.path.startswith(f"{API}/")]
    wrong: list[str] = []
    async with answering() as kubeglance:
        for request in of_version:
            wanted = expected(request)[0].text.replace(API.removeprefix("/apis/"), "metrics.k8s.io/v1")
            asked = replace(request, path=request.path.replace("/v1beta1/", "/v1/"))
            if wanted != (await kubeglance.ask(asked)).text:
                wrong.append(request.name)

    assert len(of_version) > 100
    assert [] == wrong


def test_every_listed_difference_still_occurs() -> None:
    """A row that changes no golden is to be removed."""
    shown = {difference.what for request in REQUESTS for difference in expected(request)[1]}

    assert [] == [difference.what for difference in DIFFERENCES if difference.what not in shown]


def test_every_difference_is_listed_once() -> None:
    """Rows have names of their own."""
    names = [difference.what for difference in DIFFERENCES]

    assert sorted(set(names)) == sorted(names)


def test_there_is_one_golden_for_each_request() -> None:
    """No golden is left over from a question that is asked no more, and no question has two names."""
    files = [file_of(request) for request in REQUESTS]

    assert sorted(files) == sorted(FOLDER.rglob("*.json"))


def test_goldens_are_as_they_were_written() -> None:
    """A golden changed by hand would no longer be what metrics-server said; at least its form tells."""
    assert [] == [request.name for request in REQUESTS if load(request).text != file_of(request).read_text(encoding="utf-8")]
