"""A Redis server as a source: one connection that is kept, and the few commands that the declaration asks for."""

import asyncio
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from collectors._base import Cause, CollectError
from collectors._dialing import broken, dial
from collectors._host import at
from collectors._kept_connection import KEEP_SECONDS, once_more
from collectors._resp import Command, ReplyError, Resp
from collectors._source import Means, Response
from collectors._tls import verifying

if TYPE_CHECKING:
    from collectors.redis import Keys, RedisSpec, Streams

BATCH = 500
"""Commands that are sent at one time."""

_LENGTHS = {b"string": "STRLEN", b"list": "LLEN", b"set": "SCARD", b"zset": "ZCARD", b"hash": "HLEN", b"stream": "XLEN"}

_CODES = {
    "WRONGPASS": (Cause.UNAUTHORIZED, "check username and password"),
    "NOAUTH": (Cause.UNAUTHORIZED, "give source.redis a password"),
    "NOPERM": (Cause.FORBIDDEN, "ACL SETUSER: grant it +info +scan +@read, and the keys"),
    "DENIED": (Cause.FORBIDDEN, "the server is in protected mode: give it a password or bind it to an address"),
    "LOADING": (Cause.STATUS, "the server reads its data set: wait"),
    "BUSY": (Cause.STATUS, "a script holds the server up"),
    "MASTERDOWN": (Cause.STATUS, "the replica has lost its master"),
}
"""What the first word of an error means."""


class Redis:
    """Asks one server. A connection that failed, or that the server closed meanwhile, is replaced at the next collection."""

    changed: asyncio.Event | None = None

    def __init__(self, spec: "RedisSpec", means: Means) -> None:
        self._spec = spec
        self._means = means
        self._where = at(spec.host, spec.port)
        self._resp: Resp | None = None
        self._opened = 0.0

    async def collect(self) -> Response:
        return await once_more(self._collect, kept=self._resp is not None)

    async def _collect(self) -> Response:
        limit = self._means.limits.body_bytes
        try:
            async with asyncio.timeout(self._means.timeout):
                resp = await self._connected()
                resp.room = limit
                value = await self._asked(resp)
        except BaseException as exc:
            self._drop()
            error = self._told(exc)
            if error is None:
                raise
            raise error from exc
        return Response(value, limit - resp.room)

    async def aclose(self) -> None:
        self._drop()

    # What is asked

    async def _asked(self, resp: Resp) -> Any:
        spec = self._spec
        if spec.keys is not None:
            return await self._keys(resp, spec.keys)
        if spec.streams is not None:
            return await self._streams(resp, spec.streams)
        return await self._info(resp, spec.info.sections if spec.info is not None else ())

    async def _keys(self, resp: Resp, wanted: "Keys") -> list[dict[str, Any]]:
        names = await self._names(resp, wanted, of_type=wanted.type)
        about = await self._each(resp, [command for name in names for command in (("TYPE", name), ("PTTL", name))])
        types, lives = about[::2], about[1::2]
        countable = [index for index, kind in enumerate(types) if kind in _LENGTHS]
        counted = await self._each(resp, [(_LENGTHS[types[index]], names[index]) for index in countable], spared="WRONGTYPE")
        lengths = dict(zip(countable, counted, strict=True))
        items = []
        for index, (name, kind, life) in enumerate(zip(names, types, lives, strict=True)):
            item: dict[str, Any] = {"key": _text(name), "type": _text(kind)}
            if kind == b"none":
                if wanted.names is None:
                    continue  # it is gone since SCAN found it
                item["length"] = 0
            elif isinstance(lengths.get(index), int):  # else it has none, or became something else since TYPE
                item["length"] = lengths[index]
            if life >= 0:
                item["expiresInSeconds"] = life // 1000
            items.append(item)
        return items

    async def _streams(self, resp: Resp, wanted: "Streams") -> dict[str, Any]:
        names = await self._names(resp, wanted, of_type="stream")
        told = await self._each(
            resp,
            [command for name in names for command in (("XINFO", "STREAM", name), ("XINFO", "GROUPS", name))],
            spared="ERR no such key",
        )
        streams: list[dict[str, Any]] = []
        groups: list[dict[str, Any]] = []
        for name, stream, members in zip(names, told[::2], told[1::2], strict=True):
            key = _text(name)
            if isinstance(stream, ReplyError) or isinstance(members, ReplyError):
                if wanted.names is not None:
                    streams.append({"key": key, "length": 0, "groups": 0})
                continue
            streams.append({"key": key} | _stream(_fields(stream)))
            groups += [{"stream": key} | _group(_fields(group)) for group in members]
            self._bounded(len(groups), "consumer groups")
        return {"streams": streams, "groups": groups}

    async def _info(self, resp: Resp, wanted: Sequence[str]) -> dict[str, Any]:
        sections: dict[str, Any] = {}
        for told in await self._each(resp, [("INFO", section) for section in wanted]):
            sections |= info(_text(told))
        return sections

    async def _names(self, resp: Resp, wanted: "Keys | Streams", *, of_type: str | None) -> list[bytes]:
        """The keys by name, or those that SCAN finds, in order and each once."""
        if wanted.pattern is None:
            names = list(dict.fromkeys(name.encode() for name in wanted.names or ()))
            self._bounded(len(names), "keys")
            return names
        scan: Command = ("MATCH", wanted.pattern, "COUNT", str(wanted.count), *(("TYPE", of_type) if of_type else ()))
        found: set[bytes] = set()
        cursor = b"0"
        for _ in range(self._means.limits.pages):
            ((cursor, names),) = await self._each(resp, [("SCAN", cursor, *scan)])
            found.update(names)
            self._bounded(len(found), "keys")
            if cursor == b"0":
                return sorted(found)
        looked = self._means.limits.pages * wanted.count
        raise CollectError(
            Cause.TOO_LARGE,
            f"{self._where}: there are more than {looked} keys to look at",
            "name the keys, raise limits.pages or count, or keep them in a database (db) of their own",
        )

    async def _each(self, resp: Resp, commands: Sequence[Command], *, spared: str = "") -> list[Any]:
        """All replies. An error among them is raised, but for one that begins with `spared`."""
        replies: list[Any] = []
        for some in _in_batches(commands):
            replies += await resp.call(some)
        for reply in replies:
            if isinstance(reply, ReplyError) and not (spared and str(reply).startswith(spared)):
                raise reply
        return replies

    def _bounded(self, count: int, what: str) -> None:
        limit = self._means.limits.items
        if count > limit:
            raise CollectError(Cause.TOO_LARGE, f"{self._where}: more than {limit} {what}", "raise limits.items, or ask for fewer")

    # The connection

    async def _connected(self) -> Resp:
        """The connection that is kept, or a new one."""
        now = asyncio.get_running_loop().time()
        if self._resp is not None and (self._resp.closed or now - self._opened > KEEP_SECONDS):
            self._drop()
        if self._resp is None:
            self._resp = await self._dial()
            self._opened = now
            await self._greet(self._resp)
        return self._resp

    async def _dial(self) -> Resp:
        spec, means = self._spec, self._means
        context = None
        if spec.tls is not None:
            context = verifying(await means.secret(spec.tls.ca) if spec.tls.ca is not None else "", spec.host)

        async def connect(address: str) -> Resp:
            reader, writer = await asyncio.open_connection(address, spec.port, ssl=context)
            return Resp(reader, writer, where=self._where, room=means.limits.body_bytes)

        addresses = await means.may_reach(spec.host, spec.port)
        return await dial(addresses, connect, where=self._where, timeout=means.timeout)

    async def _greet(self, resp: Resp) -> None:
        """Say who we are, and see that it is a server that this source can ask."""
        spec, means = self._spec, self._means
        if spec.password is not None:
            user = [await means.secret(spec.username)] if spec.username is not None else []
            await self._each(resp, [("AUTH", *user, await means.secret(spec.password))])
        await resp.call([("CLIENT", "SETNAME", "kubeglance")])  # for people who look at CLIENT LIST; an ACL may refuse it
        if spec.db:
            await self._each(resp, [("SELECT", str(spec.db))])
        if spec.info is None:
            (told,) = await self._each(resp, [("INFO", "server")])
            mode = info(_text(told)).get("server", {}).get("redis_mode", "standalone")
            if mode != "standalone":
                raise CollectError(
                    Cause.QUERY,
                    f"{self._where}: the server runs in {mode} mode, which this source does not support",
                    "name a server that has all the keys: clusters and Sentinels are not asked",
                )

    def _drop(self) -> None:
        resp, self._resp = self._resp, None
        if resp is not None:
            resp.abort()

    def _told(self, error: BaseException) -> CollectError | None:
        """What people are told of an error; None if it is told already, or none that this source expects."""
        match error:
            case ReplyError():
                return self._refused(error)
            case EOFError():  # asyncio.IncompleteReadError
                return broken(ConnectionResetError(), self._where)
            case OSError():
                return broken(error, self._where)
            case AttributeError() | IndexError() | TypeError() | ValueError():  # replies of other shapes than the commands have
                return CollectError(Cause.PAYLOAD, f"{self._where}: no answer of Redis", "is it Redis that listens there?")
            case _:
                return None

    def _refused(self, error: ReplyError) -> CollectError:
        cause, remedy = _CODES.get(error.code, (Cause.QUERY, "does the server know the command, and the database?"))
        if cause is Cause.UNAUTHORIZED:
            for value in (self._spec.username, self._spec.password):
                if value is not None:
                    self._means.refused(value)
        return CollectError(cause, f"{self._where}: {str(error)[:300]}", remedy)


def info(text: str) -> dict[str, dict[str, Any]]:
    """What INFO says, by section in lower case. Numbers are numbers; "keys=1,expires=0" is an object; all else is text."""
    sections: dict[str, dict[str, Any]] = {}
    fields: dict[str, Any] = {}
    for line in text.splitlines():
        if line.startswith("#"):
            fields = sections.setdefault(line[1:].strip().lower(), {})
        else:
            name, colon, value = line.partition(":")
            if colon:
                fields[name] = _info_value(value)
    return sections


_WHOLE = re.compile(r"0|-?[1-9]\d{0,17}")  # a leading zero is of something that is no number, such as a hash
_BROKEN = re.compile(r"-?(0|[1-9]\d{0,14})\.\d{1,15}")
_PAIRS = re.compile(r"\w+=[^,=]*(,\w+=[^,=]*)*")


def _info_value(value: str) -> Any:
    if _WHOLE.fullmatch(value):
        return int(value)
    if _BROKEN.fullmatch(value):
        return float(value)
    if _PAIRS.fullmatch(value):
        return {name: _info_value(part) for name, _, part in (pair.partition("=") for pair in value.split(","))}
    return value


def _fields(reply: Sequence[Any]) -> dict[bytes, Any]:
    """A map, which RESP2 writes as a list of names and values in turn."""
    return dict(zip(reply[::2], reply[1::2], strict=True))


def _stream(fields: dict[bytes, Any]) -> dict[str, Any]:
    """What of XINFO STREAM is about the stream: not what its entries say."""
    shown = {
        "length": fields.get(b"length"),
        "groups": fields.get(b"groups"),
        "lastGeneratedId": _text(fields.get(b"last-generated-id")),
        "entriesAdded": fields.get(b"entries-added"),  # since Redis 7
        "firstEntryId": _entry(fields.get(b"first-entry")),
        "lastEntryId": _entry(fields.get(b"last-entry")),
    }
    return {name: value for name, value in shown.items() if value is not None}


def _group(fields: dict[bytes, Any]) -> dict[str, Any]:
    shown = {
        "name": _text(fields.get(b"name")),
        "consumers": fields.get(b"consumers"),
        "pending": fields.get(b"pending"),
        "lastDeliveredId": _text(fields.get(b"last-delivered-id")),
        "entriesRead": fields.get(b"entries-read"),  # since Redis 7
        "lag": fields.get(b"lag"),  # since Redis 7; not known after some XDEL
    }
    return {name: value for name, value in shown.items() if value is not None}


def _entry(entry: Sequence[Any] | None) -> str | None:
    return _text(entry[0]) if entry else None


def _text(raw: Any) -> Any:
    return raw.decode("utf-8", "backslashreplace") if isinstance(raw, bytes) else raw


def _in_batches(commands: Sequence[Command]) -> Iterable[Sequence[Command]]:
    return (commands[start : start + BATCH] for start in range(0, len(commands), BATCH))
