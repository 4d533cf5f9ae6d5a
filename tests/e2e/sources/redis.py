"""Redis: a server of its own, with a password, and over TLS if it is given an authority."""

import shutil
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.e2e.controlplane.pki import FiledAuthority
from tests.e2e.sources.server import Server

PASSWORD = "a secret of tests"


def skip_reason() -> str | None:
    """One line if it cannot run here, else None."""
    return None if shutil.which("redis-server") else "no Redis server: install the Debian package redis-server"


class RedisServer(Server):
    """Without persistence: what it held is gone when it was killed."""

    name = "redis"

    def __init__(self, authority: FiledAuthority | None = None, *, settings: Sequence[str] = ()) -> None:
        """`authority` signs its certificate for cache.test; `settings` are lines of redis.conf."""
        super().__init__()
        lines = ["bind 127.0.0.1", 'save ""', "appendonly no", f"dir {self.folder}", f'requirepass "{PASSWORD}"', *settings]
        if authority is None:
            lines.append(f"port {self.port}")
        else:
            pair = authority.server("redis", "cache.test", dns=["cache.test"])
            for source, name in ((pair.certificate, "tls.crt"), (pair.key, "tls.key")):
                (self.folder / name).write_bytes(source.read_bytes())
                self.own(self.folder / name, 0o600)
            lines += ["port 0", f"tls-port {self.port}", "tls-auth-clients no"]
            lines += [f"tls-cert-file {self.folder}/tls.crt", f"tls-key-file {self.folder}/tls.key"]
            lines += [f"tls-ca-cert-file {self.folder}/tls.crt"]
        self._config = self.folder / "redis.conf"
        self._config.write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.own(self._config, 0o600)

    def command(self) -> Sequence[str | Path]:
        found = shutil.which("redis-server")
        assert found is not None
        return [found, self._config]

    def answers(self) -> bool:
        with socket.create_connection(("127.0.0.1", self.port), timeout=1):
            return True

    def admin(self, *commands: Sequence[str]) -> list[Any]:
        """Run commands over a plain connection; the first line of each reply."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection, connection.makefile("rwb") as stream:
            replies = []
            for command in (("AUTH", PASSWORD), *commands):
                parts = [part.encode() for part in command]
                stream.write(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in parts))
                stream.flush()
                replies.append(stream.readline().rstrip().decode())
                assert not replies[-1].startswith("-"), f"{command[0]}: {replies[-1]}"
                if replies[-1].startswith("$") and replies[-1] != "$-1":
                    stream.read(int(replies[-1][1:]) + 2)
        return replies[1:]
