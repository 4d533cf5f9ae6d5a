"""nodestats, podstats and containerstats of a real kubelet's recorded answers, as clients read them."""

from typing import Any

import httpx
import pytest

from tests.unit.whole.test_replay import Whole, running

pytestmark = pytest.mark.looptime

API = "/apis/live.kubeglance.io/v1alpha1"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


async def show(whole: Whole, path: str) -> Any:
    answer = await whole.client.get(f"{API}{path}")
    return answer.json()


async def rows(whole: Whole, path: str) -> Any:
    table = (await whole.client.get(f"{API}{path}", headers=TABLE)).json()
    names = [column["name"] for column in table["columnDefinitions"]]
    return [dict(zip(names, row["cells"], strict=True)) for row in table["rows"]]


async def test_print() -> None:
    async with running() as whole:
        await whole.at(100)
        import json

        print(json.dumps(await show(whole, "/nodestats/real-0"), indent=1))
        print(json.dumps(await show(whole, "/namespaces/default/podstats/web-0"), indent=1))
        print(json.dumps(await show(whole, "/namespaces/default/containerstats/web-0.init"), indent=1))
        for kind in ("nodestats", "podstats", "containerstats"):
            for row in await rows(whole, "/" + kind):
                print(row)
        print(httpx)
