"""Prometheus: a server of its own that scrapes itself and what a test serves."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

from tests.e2e.sources.server import Server

_ASKED = re.compile(r'^prometheus_http_requests_total\{code="\d+",handler="/api/v1/(?:query|query_range|series)"\} (\d+)$', re.MULTILINE)


def skip_reason() -> str | None:
    """One line if it cannot run here, else None."""
    return None if shutil.which("prometheus") else "no Prometheus: install the Debian package prometheus"


class PrometheusServer(Server):
    """Scrapes every second, or as often as it is told."""

    name = "prometheus"

    def __init__(self, targets: Sequence[str] = (), *, interval: str = "1s") -> None:
        """`targets` are host:port of what is scraped besides itself, under the job `test`."""
        super().__init__()
        jobs = {"prometheus": [f"127.0.0.1:{self.port}"], "test": [*targets]}
        lines = [f"global: {{scrape_interval: {interval}}}", "scrape_configs:"]
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
            return httpx.get(f"{self.url}/-/ready", timeout=5, trust_env=False).status_code == 200
        except httpx.TransportError as error:
            raise OSError(str(error)) from error

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def asked(self) -> int:
        """How many requests for values and for lists of series it has answered, by its own count."""
        told = httpx.get(f"{self.url}/metrics", timeout=5, trust_env=False).text
        return sum(int(count) for count in _ASKED.findall(told))

    def query(self, text: str) -> list[Any]:
        """The result of an instant query."""
        answer = httpx.get(f"{self.url}/api/v1/query", params={"query": text}, timeout=5, trust_env=False)
        found: list[Any] = answer.json()["data"]["result"]
        return found
