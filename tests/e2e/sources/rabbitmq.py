"""RabbitMQ with its management plugin over TLS: a node of its own, with a port mapper of its own that ends with it."""

import shutil
import ssl
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from tests.e2e.controlplane.pki import FiledAuthority
from tests.e2e.controlplane.processes import Process, free_port, plain_environment
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.sources.server import Server

HOST = "rabbitmq.test"
USER, PASSWORD = "ro", "a secret of tests"
_PROGRAM = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
"""What Debian's wrapper in /usr/sbin calls, which insists on the user rabbitmq."""


def skip_reason() -> str | None:
    """One line if it cannot run here, else None."""
    return None if _PROGRAM.exists() and shutil.which("epmd") else "no RabbitMQ server: install the Debian package rabbitmq-server"


class RabbitMQServer(Server):
    """Queues survive a restart where they are durable. The certificate, of `authority`, is for HOST and localhost."""

    name = "rabbitmq"

    def __init__(self, authority: FiledAuthority) -> None:
        super().__init__()
        self.authority = authority
        pair = authority.server("rabbitmq", HOST, dns=[HOST, "localhost"])
        for source, name in ((pair.certificate, "tls.crt"), (pair.key, "tls.key")):
            self._put(name, source.read_bytes())
        self._put("enabled_plugins", b"[rabbitmq_management].\n")
        settings = {
            "listeners.tcp": "none",
            "management.ssl.ip": "127.0.0.1",
            "management.ssl.port": self.port,
            "management.ssl.cacertfile": self.folder / "tls.crt",
            "management.ssl.certfile": self.folder / "tls.crt",
            "management.ssl.keyfile": self.folder / "tls.key",
            "default_user": USER,
            "default_pass": PASSWORD,
            "collect_statistics_interval": 1000,
            "log.console": "true",
            "log.file": "false",
        }
        self._put("rabbitmq.conf", "".join(f"{name} = {value}\n" for name, value in settings.items()).encode())
        self._mapper_port, self._node_port = free_port(), free_port()
        self._mapper = Process(
            "epmd",
            self.as_user(["epmd", "-address", "127.0.0.1", "-port", str(self._mapper_port)]),
            self.folder.with_suffix(".epmd.log"),
            env=plain_environment(),
        )
        self._client: httpx.Client | None = None

    def command(self) -> Sequence[str | Path]:
        """The node itself, with no shell around it that would outlive it or hide it from signals."""
        variables = {
            "HOME": self.folder,  # of the Erlang cookie
            "ERL_EPMD_PORT": self._mapper_port,
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_DIST_PORT": self._node_port,
            "RABBITMQ_NODENAME": f"kubeglance-{self.port}@localhost",
            "RABBITMQ_CONFIG_FILE": self.folder / "rabbitmq.conf",
            "RABBITMQ_ENABLED_PLUGINS_FILE": self.folder / "enabled_plugins",
            "RABBITMQ_MNESIA_BASE": self.folder / "data",
            "RABBITMQ_LOG_BASE": self.folder / "log",
            "RABBITMQ_LOGS": "-",
            "RUNNING_UNDER_SYSTEMD": "true",
        }
        return ["env", *(f"{name}={value}" for name, value in variables.items()), _PROGRAM]

    def answers(self) -> bool:
        try:
            return self.admin("GET", "overview").status_code == 200
        except httpx.TransportError as error:
            raise OSError(str(error)) from error

    def admin(self, method: str, path: str, body: Any = None) -> httpx.Response:
        """A request to the management API."""
        if self._client is None:
            context = ssl.create_default_context(cafile=self.authority.certificate)
            self._client = httpx.Client(
                base_url=f"https://localhost:{self.port}/api", verify=context, auth=(USER, PASSWORD), timeout=20, trust_env=False
            )
        return self._client.request(method, f"/{path}", json=body)

    def declare(self, queue: str, *, messages: int = 0, vhost: str = "%2F") -> None:
        """A durable queue with so many messages."""
        self.admin("PUT", f"queues/{vhost}/{queue}", {"durable": True}).raise_for_status()
        for _ in range(messages):
            message = {"properties": {"delivery_mode": 2}, "routing_key": queue, "payload": "x", "payload_encoding": "string"}
            self.admin("POST", f"exchanges/{vhost}/amq.default/publish", message).raise_for_status()

    def change_password(self, password: str) -> None:
        """Of USER, whom we are too."""
        self.admin("PUT", f"users/{USER}", {"password": password, "tags": "administrator"}).raise_for_status()
        assert self._client is not None
        self._client.auth = (USER, password)

    def wait_counted(self, queues: Mapping[str, int], *, seconds: float = 60) -> None:
        """Until the management plugin tells so many messages of each queue: it counts some seconds later."""

        def look() -> bool:
            found = {each["name"]: each.get("messages_ready") for each in self.admin("GET", "queues").json()}
            assert dict(queues) == found
            return True

        wait_until("messages to be counted", look, seconds=seconds)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
        super().close()
        self._mapper.stop()
        self.folder.with_suffix(".epmd.log").unlink(missing_ok=True)

    def _put(self, name: str, content: bytes) -> None:
        path = self.folder / name
        path.write_bytes(content)
        self.own(path, 0o600)
