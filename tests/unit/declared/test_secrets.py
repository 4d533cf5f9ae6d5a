"""app/declared/secrets.py: where values are read, who may, and when they are read anew."""

import asyncio
import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from app.declared.mask import Mask
from app.declared.secrets import FRESH_S, Secrets
from app.errors import KubeError, KubeUnavailable
from collectors._base import Cause, CollectError
from collectors._source import Value
from tests.fakes.clock import ManualClock

OWN = "kube-system"


class FakeKube:
    """Objects by path; an exception in place of one is raised."""

    def __init__(self, objects: Mapping[str, Any]) -> None:
        self.objects = dict(objects)
        self.asked: list[str] = []

    async def get_json(self, path: str) -> Any:
        self.asked.append(path)
        await asyncio.sleep(0)
        found = self.objects.get(path, KubeError("not found", status=404))
        if isinstance(found, Exception):
            raise found
        return found


def secret(**data: str) -> dict[str, Any]:
    return {"data": {name: base64.b64encode(text.encode()).decode() for name, text in data.items()}}


def value(**origin: Any) -> Value:
    return Value.model_validate({"valueFrom": origin})


PASSWORD = value(secretKeyRef={"name": "db", "key": "pw"})
CA = value(configMapKeyRef={"name": "ca", "key": "ca.crt"})
DB = f"/api/v1/namespaces/{OWN}/secrets/db"


class Reading:
    """Secrets of a kubeglance in kube-system."""

    def __init__(self, objects: Mapping[str, Any] | None = None, **more: Any) -> None:
        self.kube = FakeKube(objects or {DB: secret(pw="hunter2")})
        self.clock = ManualClock()
        self.mask = Mask()
        self.secrets = Secrets(self.kube, own_namespace=OWN, mask=self.mask, clock=self.clock, **more)

    async def __call__(self, wanted: Value, namespace: str = "") -> str:
        return await self.secrets.read(wanted, namespace)

    async def error(self, wanted: Value, namespace: str = "") -> CollectError:
        with pytest.raises(CollectError) as caught:
            await self(wanted, namespace)
        assert caught.value.remedy
        return caught.value


async def test_what_stands_in_the_declaration() -> None:
    """It is no secret: who reads the declaration has it."""
    read = Reading()

    assert await read(Value.model_validate({"value": "hunter2"})) == "hunter2"
    assert read.mask("hunter2") == "hunter2"


async def test_secrets_and_config_maps_of_the_own_namespace() -> None:
    """For declarations of files, and of kubeglance's namespace."""
    read = Reading({DB: secret(pw="hunter2"), f"/api/v1/namespaces/{OWN}/configmaps/ca": {"data": {"ca.crt": "PEM of a CA"}}})

    assert (await read(PASSWORD), await read(CA)) == ("hunter2", "PEM of a CA")
    assert read.mask("hunter2 beside PEM of a CA") == "*** beside PEM of a CA"


async def test_a_tenant_reads_its_own_namespace_only() -> None:
    """The namespace is the declaration's, whatever the names in it look like."""
    read = Reading({"/api/v1/namespaces/shop/secrets/db": secret(pw="theirs"), DB: secret(pw="ours")})

    assert await read(PASSWORD, "shop") == "theirs"
    escaping = value(secretKeyRef={"name": "../../kube-system/secrets/db", "key": "pw"})
    assert (await read.error(escaping, "shop")).cause is Cause.VALUE
    assert read.kube.asked[-1] == "/api/v1/namespaces/shop/secrets/..%2F..%2Fkube-system%2Fsecrets%2Fdb"


@pytest.mark.parametrize("origin", [{"env": "SOURCE_TOKEN"}, {"file": "token"}])
async def test_a_tenant_reads_neither_variables_nor_files(origin: dict[str, str], tmp_path: Path) -> None:
    """Those are kubeglance's own."""
    (tmp_path / "token").write_text("t")
    read = Reading(directory=tmp_path, environ={"SOURCE_TOKEN": "t"})

    assert (await read.error(value(**origin), "shop")).cause is Cause.NOT_ALLOWED


async def test_a_secret_is_read_anew_after_some_seconds() -> None:
    """A changed one is used without a reload; until then it is asked for once, however many keys are wanted."""
    read = Reading({DB: secret(pw="old", user="ro")})

    user = value(secretKeyRef={"name": "db", "key": "user"})
    assert ("old", "old", "ro") == tuple(await asyncio.gather(read(PASSWORD), read(PASSWORD), read(user)))
    read.kube.objects[DB] = secret(pw="new")
    read.clock.advance(FRESH_S - 1)
    assert await read(PASSWORD) == "old"
    assert [DB] == read.kube.asked
    read.clock.advance(1)
    assert await read(PASSWORD) == "new"


async def test_a_secret_that_was_refused_is_read_anew_at_once() -> None:
    """Whoever got a 401 with it says so."""
    read = Reading()
    await read(PASSWORD)
    read.kube.objects[DB] = secret(pw="new")

    read.secrets.refused(PASSWORD, "shop")
    assert await read(PASSWORD) == "hunter2"
    read.secrets.refused(PASSWORD, "")
    assert await read(PASSWORD) == "new"


async def test_while_the_cluster_is_away_what_was_read_stays() -> None:
    """Sources go on while kube-apiserver is rolled out. One that was never read is not made up."""
    read = Reading()
    await read(PASSWORD)
    read.clock.advance(3600)
    read.kube.objects = {DB: KubeUnavailable("away")}

    assert await read(PASSWORD) == "hunter2"
    read.kube.objects = {}
    assert (await read.error(PASSWORD)).cause is Cause.VALUE
    read.kube.objects = {DB: KubeUnavailable("away")}
    assert "away" in (await read.error(PASSWORD)).message


@pytest.mark.parametrize(
    ("found", "words"),
    [
        pytest.param(KubeError("no", status=404), "Secret kube-system/db does not exist", id="missing"),
        pytest.param(KubeError("no", status=403), "may not be read by kubeglance", id="forbidden"),
        pytest.param(KubeError("teapot", status=418), "teapot", id="anything-else"),
        pytest.param(secret(other="x"), "has no key pw", id="no-such-key"),
        pytest.param({"metadata": {}}, "has no key pw", id="an-empty-secret"),
        pytest.param([], "has no key pw", id="no-object"),
        pytest.param({"data": {"pw": "%%%"}}, "is not text", id="no-base64"),
        pytest.param({"data": {"pw": base64.b64encode(b"\xff").decode()}}, "is not text", id="bytes"),
        pytest.param({"data": {"pw": 3}}, "has no key pw", id="a-number"),
    ],
)
async def test_secrets_that_cannot_be_read(found: Any, words: str) -> None:
    """The message names what is missing, the remedy what to do."""
    error = await Reading({DB: found}).error(PASSWORD)

    assert error.cause is Cause.VALUE
    assert words in error.message


async def test_without_a_cluster() -> None:
    """`kubeglance probe` without a kubeconfig."""
    secrets = Secrets(None, own_namespace=OWN, mask=Mask(), clock=ManualClock())

    with pytest.raises(CollectError, match="no cluster"):
        await secrets.read(PASSWORD, "")


async def test_variables() -> None:
    """Those with the prefix, and read each time."""
    environ = {"SOURCE_TOKEN": "t0ken", "AWS_SECRET_ACCESS_KEY": "x"}
    read = Reading(environ=environ)

    assert await read(value(env="SOURCE_TOKEN")) == "t0ken"
    assert read.mask("t0ken") == "***"
    assert (await read.error(value(env="AWS_SECRET_ACCESS_KEY"))).cause is Cause.NOT_ALLOWED
    assert (await read.error(value(env="SOURCE_NONE"))).cause is Cause.VALUE


async def test_files(tmp_path: Path) -> None:
    """One line feed at the end is an editor's. A mounted Secret is links: they are followed inside, and the file is read each time."""
    mounted = tmp_path / "rabbit"
    (mounted / "..2026").mkdir(parents=True)
    (mounted / "..2026" / "pw").write_text("hunter2\n\n")
    (mounted / "..data").symlink_to("..2026")
    (mounted / "pw").symlink_to("..data/pw")
    read = Reading(directory=tmp_path)

    assert await read(value(file="rabbit/pw")) == "hunter2\n"
    (mounted / "..2026" / "pw").write_text("changed\r\n")
    assert await read(value(file="rabbit/pw")) == "changed"


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        pytest.param("../outside", Cause.NOT_ALLOWED, id="up"),
        pytest.param("sub/../../outside", Cause.NOT_ALLOWED, id="down-and-up"),
        pytest.param("link", Cause.NOT_ALLOWED, id="a-link-to-the-outside"),
        pytest.param("folder-link/passwd", Cause.NOT_ALLOWED, id="through-a-link-to-a-folder"),
        pytest.param("/etc/passwd", Cause.NOT_ALLOWED, id="absolute"),
        pytest.param("circle", Cause.VALUE, id="links-in-a-circle"),
        pytest.param("sub", Cause.VALUE, id="a-folder"),
        pytest.param("none", Cause.VALUE, id="missing"),
        pytest.param("a\0b", Cause.VALUE, id="no-path"),
        pytest.param("bytes", Cause.VALUE, id="no-text"),
        pytest.param("large", Cause.VALUE, id="too-large"),
        pytest.param("", Cause.VALUE, id="the-folder-itself"),
    ],
)
async def test_files_that_cannot_be_read(name: str, cause: Cause, tmp_path: Path) -> None:
    """Nothing outside of the folder is read, whatever leads there, and no error shows what is in a file."""
    folder = tmp_path / "secrets"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "outside").write_text("x")
    (folder / "link").symlink_to(tmp_path / "outside")
    (folder / "folder-link").symlink_to("/etc")
    (folder / "circle").symlink_to("circle")
    (folder / "bytes").write_bytes(b"\xff\xfe")
    (folder / "large").write_bytes(b"x" * (1 << 20) + b"x")

    assert cause is (await Reading(directory=folder).error(value(file=name))).cause


async def test_files_without_a_folder() -> None:
    """Nothing may be read until the operator says where."""
    assert (await Reading().error(value(file="x"))).cause is Cause.NOT_ALLOWED
