"""CEL: expressions over JSON-like values, compiled once, checked for types, bounded in time and size.

The runtime is Google's (cel-expr-python, docs/decisions/0022-cel-is-googles.md), with its extensions for text, math and optional values,
and one function of our own: LIST.sort(), for the keys of a map come in no order. Only this module imports it.

Programs and bindings may be used by several threads: an evaluation changes neither. It holds the interpreter's lock, and takes about
a second at most: loops nest twice, the runtime ends what goes through 10,000 elements, app/declared/cel_pieces.py has it go through
long lists piece by piece, and app/declared/cel_growth.py keeps the rest small.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_math, ext_optional, ext_strings

from app.declared import cel_syntax
from app.declared.cel_growth import MOST_LISTED, MOST_MADE, MOST_READ, MOST_STEPS, Estimate, can_grow
from app.declared.cel_pieces import list_path
from app.declared.cel_syntax import Node
from app.duration import format_duration
from app.errors import KubeglanceError
from app.nearest import nearest_word

LONGEST = 4096
"""Characters of an expression."""

MOST_NESTED = 2
"""Loops (all, exists, exists_one, map, filter) in each other."""

MOST_DEEP = 64
"""Levels of lists and mappings in each other that an expression may give: all that goes on with them goes through them by recursion."""

_ERROR = cel.Type.ERROR
_EXTENSIONS = (ext_strings.ExtStrings(), ext_math.ExtMath(), ext_optional.ExtOptional())
_FUNCTIONS = (
    "all", "bool", "charAt", "contains", "double", "duration", "endsWith", "exists", "exists_one", "filter", "format", "getDate",
    "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear", "getHours", "getMilliseconds", "getMinutes", "getMonth",
    "getSeconds", "has", "hasValue", "indexOf", "int", "join", "lastIndexOf", "lowerAscii", "map", "matches", "math.abs",
    "math.ceil", "math.floor", "math.greatest", "math.least", "math.round", "math.sqrt", "optional.none", "optional.of", "orValue",
    "quote", "replace", "reverse", "size", "sort", "split", "startsWith", "string", "substring", "timestamp", "trim", "type", "uint",
    "upperAscii",
)  # fmt: skip


class CelError(KubeglanceError):
    """An expression that cannot be compiled, or has no value for what it was given.

    `message` says why in a short sentence without the expression; `offset` is the character at which it went wrong, None if that is not
    known. `expected` and `nearest` are those of a Fault.
    """

    def __init__(self, message: str, offset: int | None = None, *, expected: str = "", nearest: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.expected = expected
        self.nearest = nearest


class Missing(CelError):
    """The expression asks for a member or an element that is not there, or has no number to give: its value is unknown."""


class Bound:
    """Values of variables, made ready for the runtime once, for several programs over the same names."""

    def __init__(self, environment: "_Environment", variables: Mapping[str, Any]) -> None:
        self._environment = environment
        self.variables = variables
        self.activation = environment.activation(variables)

    def fit(self) -> None:
        """Turn what the runtime cannot take into what it can."""
        self.activation = self._environment.activation({name: _fitting(value) for name, value in self.variables.items()})


class Program:
    """A compiled expression. Called with its variables it gives a JSON-like value; raises CelError.

    Whole numbers stay whole (int64 and uint64); timestamps become RFC 3339, durations Go's notation. `type` is what the expression is
    known to give, as CEL writes types ("int", "list(string)", "dyn").
    """

    def __init__(self, environment: "_Environment", compiled: Any, tree: Node, type_: str) -> None:
        self._environment = environment
        self._evaluate = compiled.eval
        self._can_grow = can_grow(tree)
        self._list = list_path(tree)
        self.tree = tree
        self.type = type_

    def __call__(self, variables: Mapping[str, Any]) -> Any:
        return self.evaluate(self.bind(variables))

    def bind(self, variables: Mapping[str, Any]) -> Bound:
        """Values for this program and others that were compiled over the same names."""
        return Bound(self._environment, variables)

    def evaluate(self, over: Bound) -> Any:
        """The value over what is bound. Raises CelError."""
        try:
            pieces = list(self._list.pieces(over.variables)) if self._list is not None else []
            if self._can_grow:
                _check(Estimate(self.tree, over.variables), in_pieces=bool(pieces))
            if not pieces:
                return self._evaluated(over)
            return [each for piece in pieces for each in self._evaluated(self.bind(piece))]
        except RecursionError:
            raise CelError("looks at what is nested too deep") from None

    def _evaluated(self, over: Bound) -> Any:
        try:
            return self._value(over)
        except _Unfit:
            over.fit()
        try:
            return self._value(over)
        except _Unfit as exc:
            raise CelError("a value is of a kind that CEL does not know") from exc

    def _value(self, over: Bound) -> Any:
        try:
            value = self._evaluate(over.activation)
            plain = value.plain_value()
            failed = type(plain) is str and value.type() == _ERROR  # an error's plain value is its message
        except (RuntimeError, TypeError, ValueError, SystemError) as exc:  # what the binding raises for C++ errors and odd values
            raise _of_runtime(str(exc)) from None
        if failed:
            raise _of_runtime(str(plain))
        return _json_like(plain)


def _check(estimate: Estimate, *, in_pieces: bool) -> None:
    """Raises CelError for an evaluation that could take too much."""
    if estimate.is_too_large:
        raise CelError(f"could make more than {MOST_MADE >> 20} MiB of it: repeat and replace less")
    if estimate.read > MOST_READ:
        raise CelError(f"could go through more than {MOST_READ >> 20} MiB: look at less for each element")
    if not in_pieces and estimate.copied > MOST_LISTED**2:
        what = f"maps or filters more than {MOST_LISTED:,} elements on the way to something else"
        raise CelError(f"{what}: give the list itself, or have the source filter or count")


def compile_cel(text: str, variables: Mapping[str, Any]) -> Program:
    """Compile an expression over the variables named. Raises CelError.

    What stands behind a name is not read here: app/declared/cel_types.py checks an expression against the schemas of its variables.
    """
    return _environment(tuple(sorted(variables))).compile(text)


def checked_type(text: str, types: Mapping[str, str]) -> str:
    """What an expression gives over variables of these types, both as CEL writes types ("list(string)"). Raises CelError."""
    environment = _new_environment({name: _type(signature) for name, signature in types.items()})
    return _name_of(_compiled(environment, text, tuple(types)).return_type())


class _Environment:
    """Names, of which nothing more is known."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._env = _new_environment(dict.fromkeys(names, cel.Type.DYN))
        self.activation: Callable[[Mapping[str, Any]], Any] = self._env.Activation

    def compile(self, text: str) -> Program:
        if len(text) > LONGEST:
            raise CelError(f"is longer than {LONGEST} characters")
        compiled = _compiled(self._env, text, self._names)
        tree = cel_syntax.parse(compiled.serialize())
        if cel_syntax.depth(tree) > MOST_NESTED:
            raise CelError(f"has loops (all, exists, map, filter) more than {MOST_NESTED} deep in each other")
        type_ = _name_of(compiled.return_type())
        if type_.startswith("optional_type"):
            raise CelError("gives an optional value", expected=".orValue(...) at its end; a member that is missing needs no question mark")
        if type_ in {"bytes", "type"} or type_.startswith("type("):
            raise CelError(f"gives {type_}", expected="a value that JSON can hold")
        return Program(self, compiled, tree, type_)


@lru_cache(maxsize=32)
def _environment(names: tuple[str, ...]) -> _Environment:
    return _Environment(names)


def _new_environment(variables: Mapping[str, Any]) -> Any:
    return cel.NewEnv(variables=variables, extensions=_EXTENSIONS, functions=[_SORT])


def _sorted(values: Sequence[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError as exc:
        raise ValueError("sort() takes a list of numbers or a list of texts") from exc


_ANY_LIST = cel.Type.List(cel.Type.DYN)
_SORT = cel.FunctionDecl("sort", [cel.Overload("list_sort", return_type=_ANY_LIST, parameters=[_ANY_LIST], is_member=True, impl=_sorted)])


def _compiled(environment: Any, text: str, names: tuple[str, ...]) -> Any:
    try:
        return environment.compile(text)
    except (RuntimeError, TypeError, ValueError) as exc:  # as above
        raise _of_compiler(str(exc), text, names) from None


# Types


_SIMPLE = {
    "bool": cel.Type.BOOL,
    "double": cel.Type.DOUBLE,
    "dyn": cel.Type.DYN,
    "int": cel.Type.INT,
    "string": cel.Type.STRING,
}


def _type(signature: str) -> Any:
    """A type as CEL writes it: list(T), or map(string, T), or one of the simple ones."""
    if signature.startswith("list("):
        return cel.Type.List(_type(signature[5:-1]))
    if signature.startswith("map("):
        return cel.Type.Map(cel.Type.STRING, _type(signature.removeprefix("map(string, ")[:-1]))
    return _SIMPLE[signature]


def _name_of(type_: Any) -> str:
    """A type as CEL writes it: the runtime writes LIST<STRING>."""
    name: str = type_.name()
    return name.replace("<", "(").replace(">", ")").lower()


# Values


def _json_like(value: Any, room: int = MOST_DEEP) -> Any:
    """A value of the runtime as JSON can hold it, with `room` levels at most.

    Raises Missing for what is no number, CelError for what JSON has not, or what is too deep.
    """
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is float:
        if value - value != 0.0:
            raise Missing("the number is infinite, or none")
        return value
    if kind is dict or kind is list:
        if not room:
            raise CelError(f"gives more than {MOST_DEEP} levels of lists and mappings in each other")
        if kind is dict:
            return {_key(key): _json_like(part, room - 1) for key, part in value.items()}
        return [_json_like(part, room - 1) for part in value]
    if kind is datetime:
        return _rfc3339(value)
    if kind is timedelta:
        return format_duration((value.days * 86_400 + value.seconds) * 10**9 + value.microseconds * 1000)
    raise CelError("gives bytes or a type, which JSON does not have")


def _key(key: Any) -> str:
    if type(key) is bool:
        return "true" if key else "false"
    return str(key)


def _rfc3339(time: datetime) -> str:
    text = time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    if len(text) < len("2006-01-02T15:04:05"):  # strftime does not pad years
        text = text.rjust(19, "0")
    fraction = f".{time.microsecond:06}".rstrip("0") if time.microsecond else ""
    return f"{text}{fraction}Z"


_LEAST, _MOST = -(1 << 63), (1 << 64) - 1


class _Unfit(Exception):
    """A variable holds what the runtime cannot take."""


def _fitting(value: Any) -> Any:
    """The same with whole numbers beyond 64 bits as doubles, as JSON readers of Kubernetes take them, and text that is UTF-8."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if _LEAST <= value <= _MOST else _as_double(value)
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, Mapping):
        return {_fitting_key(key): _fitting(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_fitting(part) for part in value]
    return value


def _fitting_key(key: Any) -> Any:
    return _fitting(key) if isinstance(key, str) else str(key)


def _as_double(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


# Messages


_UNFIT = re.compile(
    r"Integer value '-?\d+' out of range for|Non-CEL value type for|Invalid map key type|construction from null is not valid"
)
_MISSING = re.compile(r'Key not found in map : ("?)(.*?)\1$|Applying SELECT to non-message type|Index error: index=(-?\d+)', re.DOTALL)
_OVERLOAD = re.compile(r"No matching overloads found : ([^(]+)(\(.*\))?", re.DOTALL)
_STATUS = re.compile(r"^[A-Z_]+: |\s*\[[A-Z_]+\]$")
_COMPILER = re.compile(r"<input>:(-?\d+):(-?\d+): (.*)")
_UNDECLARED = re.compile(r"undeclared reference to '([^']*)'")
_MISMATCH = re.compile(r"found no matching overload for '([^']*)' applied to '(.*)'")
_UNEXPECTED = re.compile(r"Syntax error: (?:mismatched|extraneous|no viable alternative at) input '(.*?)'(?: expecting.*)?$")
_WORDS = {"_?_:_": "? :", "_[_]": "[ ]", "!_": "!", "-_": "-", "@in": "in"}


def _of_runtime(text: str) -> CelError | _Unfit:
    """What went wrong in an evaluation."""
    if _UNFIT.search(text):
        return _Unfit(text)
    missing = _MISSING.search(text)
    if missing is not None:
        if missing[2] is not None:
            return Missing(f'there is no "{missing[2]}"')
        return Missing(f"there is no element {missing[3]}" if missing[3] is not None else "a member is asked of what has none")
    if "Iteration budget exceeded" in text:
        return CelError(f"goes through {MOST_STEPS} elements or more")
    overload = _OVERLOAD.search(text)
    if overload is not None:
        if overload[1].startswith("<jump_condition>"):
            return CelError("a condition is neither true nor false")
        return CelError(f'"{_operator(overload[1])}" cannot take {_types(overload[2] or "")}; convert with int(), double() or string()')
    plain = _STATUS.sub("", _STATUS.sub("", text.strip())).strip()
    return CelError(plain[:1].lower() + plain[1:] if plain else "has no value")


def _of_compiler(text: str, expression: str, names: tuple[str, ...]) -> CelError:
    """What the compiler said first, as a short sentence."""
    if "recursion" in text:
        return CelError("is nested too deeply, or has too many terms", expected="at most 32 levels or terms of one operator")
    found = _COMPILER.search(text)
    if found is None:
        return CelError(
            "is no text in UTF-8" if "incompatible function arguments" in text else _STATUS.sub("", text.split("\n", maxsplit=1)[0])
        )
    offset = _offset(expression, int(found[1]), int(found[2]))
    said = found[3].strip()
    said = _STATUS.sub("", said)
    undeclared = _UNDECLARED.match(said)
    if undeclared is not None:
        return _nothing_named(undeclared[1].strip(".").split(".")[0], expression, offset, names)
    mismatch = _MISMATCH.match(said)
    if mismatch is not None:
        return CelError(f'"{_operator(mismatch[1])}" cannot take {_types(mismatch[2])}', offset)
    unexpected = _UNEXPECTED.match(said)
    if unexpected is not None:
        what = "ends too early" if unexpected[1] == "<EOF>" else f'"{unexpected[1]}" does not belong here'
        return CelError(what, offset)
    return CelError(said.removeprefix("Syntax error: ")[:200], offset)


def _nothing_named(name: str, expression: str, offset: int | None, names: tuple[str, ...]) -> CelError:
    start = expression.find(name, 0, None if offset is None else offset + len(name))
    end = start + len(name)
    near = nearest_word(name, _FUNCTIONS if start >= 0 and expression[end : end + 1] == "(" else names)
    expected = "" if near else f"one of {', '.join(names)}, or a function of CEL"
    return CelError(f'nothing is named "{name}"', start if start >= 0 else offset, expected=expected, nearest=near)


def _offset(expression: str, line: int, column: int) -> int | None:
    """The character at a line and column, which both count from 1."""
    if line < 1 or column < 1:
        return None
    lines = expression.split("\n")
    return min(sum(len(before) + 1 for before in lines[: line - 1]) + column - 1, len(expression))


def _operator(function: str) -> str:
    function = function.strip()
    return _WORDS.get(function) or function.strip("_")


def _types(signature: str) -> str:
    """Types as a signature has them, "(int64, string)", in words: "int and string"."""
    inner = re.sub(r"\b(u?int)64\b", r"\1", signature.strip("().").split(").")[0])
    parts = re.split(r", (?![^(]*\))", inner)
    return " and ".join(part for part in parts if part) or "values of these types"
