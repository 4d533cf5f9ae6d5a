"""Prometheus: a server of its own that scrapes itself and what a test serves."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

from tests.e2e.sources.server import Server


def skip_reason() -> str | None:
    """One line if it cannot run here, else None."""
    return None if shutil.which("prometheus") else "no Prometheus: install the Debian package prometheus"


class PrometheusServer(Server):
    """Scrapes every second."""

    name = "prometheus"

    def __init__(self, targets: Sequence[str] = ()) -> None:
        """`targets` are host:port of what is scraped besides itself, under the job `test`."""
        super().__init__()
        jobs = {"prometheus": [f"127.0.0.1:{self.port}"], "test": [*targets]}
        lines = ["global: {scrape_interval: 1s, evaluation_interval: 1s}", "scrape_configs:"]
        lines += [f"- {{job_name: {name}, static_configs: [{{targets: {listed}}}]}}" for name, listed in jobs.items() if listed]
        self._config = self.folder / "prometheus.yml"
        self._config.write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.own(self._config, 0o600)

    def command(self) -> Sequence[str | Path]:
        found = shutil.which("prometheus")
        assert found is not None
        return [
            found,
            f"--config.file={self._config}",
            f"--storage.tsdb.path={self.folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{self.port}",
            "--log.level=warn",
        ]

    def answers(self) -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{self.port}/-/ready", timeout=5, trust_env=False).status_code == 200
        except httpx.TransportError as error:
            raise OSError(str(error)) from error

    def query(self, text: str) -> list[Any]:
        """The result of an instant query."""
        answer = httpx.get(f"http://127.0.0.1:{self.port}/api/v1/query", params={"query": text}, timeout=5, trust_env=False)
        found: list[Any] = answer.json()["data"]["result"]
        return found
