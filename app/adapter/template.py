"""Go's text/template as far as a query needs it, between << and >>: fields, variables, pipelines, if, range, with, and Go's own functions.

The language: https://pkg.go.dev/text/template. What is left out (define, template, block, break, continue, call, methods, =, escaping for
HTML) is refused when a template is read, so that nothing is filled in otherwise than Go would.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

_OPEN, _CLOSE = "<<", ">>"
_TOKEN = re.compile(
    r"\s*(?:(?P<text>\"(?:[^\"\\\n]|\\.)*\"|`[^`]*`)|(?P<number>[+-]?\d+(?:\.\d+)?)(?![\w.])|(?P<variable>\$\w*(?:\.[A-Za-z_]\w*)*)"
    r"|(?P<field>(?:\.[A-Za-z_]\w*)+|\.)|(?P<word>[A-Za-z_]\w*)|(?P<symbol>:=|[,|()]))"
)
_MOST_CHARACTERS = 64 * 1024
"""Of a template, of what is made of it, and of every text on the way."""

_MOST_DIGITS = 64
_MOST_TURNS = 10_000
"""Of all loops together, when a template is filled in once."""

_DEEPEST = 32
_REFUSED = {"define", "template", "block", "break", "continue"}
_FORMAT = re.compile(r"%(?:%|([svdq]))")


class TemplateError(Exception):
    """A template that cannot be read or filled in. The message says what is wrong with it, in words."""


class _Turns:
    """Counts the turns of all loops: loops in loops multiply."""

    def __init__(self) -> None:
        self._left = _MOST_TURNS

    def take(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise TemplateError(f"its loops take more than {_MOST_TURNS} turns")


class _Written:
    """The text that is made."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0

    def append(self, text: str) -> None:
        self._length += len(text)
        if self._length > _MOST_CHARACTERS:
            raise TemplateError(f"gives more than {_MOST_CHARACTERS} characters")
        self._parts.append(text)

    def __str__(self) -> str:
        return "".join(self._parts)


class _Scope:
    """What names mean at one place. `variables` are innermost last."""

    def __init__(self, dot: Any, variables: dict[str, Any], turns: _Turns) -> None:
        self.dot = dot
        self.variables = variables
        self.turns = turns

    def inner(self, dot: Any, **variables: Any) -> "_Scope":
        return _Scope(dot, {**self.variables, **variables}, self.turns)


_Value = Callable[[_Scope], Any]
_Node = Callable[[_Scope, _Written], None]


class _Token(NamedTuple):
    kind: str
    text: str


class Template:
    """A template that was read. Raises TemplateError for one that cannot be."""

    def __init__(self, text: str) -> None:
        if len(text) > _MOST_CHARACTERS:
            raise TemplateError(f"is longer than {_MOST_CHARACTERS} characters")
        parser = _Parser(list(_pieces(text)))
        self._node = parser.body(0)
        parser.finish()

    def fill(self, values: Mapping[str, Any]) -> str:
        """The text with these values as the fields of dot. Raises TemplateError."""
        out = _Written()
        self._node(_Scope(values, {"$": values}, _Turns()), out)
        return str(out)


def _pieces(text: str) -> Iterator[str | list[_Token]]:
    """Text, and actions as their tokens; white space that - trims is left out."""
    at, trim = 0, False
    while True:
        start = text.find(_OPEN, at)
        plain = text[at:] if start < 0 else text[at:start]
        plain = plain.lstrip() if trim else plain
        if start < 0:
            yield plain
            return
        begin = start + len(_OPEN)
        if text[begin : begin + 1] == "-" and text[begin + 1 : begin + 2].isspace():
            plain, begin = plain.rstrip(), begin + 1
        yield plain
        comment = text[begin:].lstrip().startswith("/*")
        tokens, end = _comment(text, begin) if comment else _tokens(text, begin)
        trim = text[end : end + 1] == "-"
        end += trim
        if not text.startswith(_CLOSE, end):
            raise TemplateError(f"{text[end : end + 10]!r} cannot stand in an action: {_OPEN} has no {_CLOSE}")
        at = end + len(_CLOSE)
        if not comment:
            yield tokens


def _comment(text: str, begin: int) -> tuple[list[_Token], int]:
    end = text.find("*/", begin)
    if end < 0:
        raise TemplateError("a comment has no end")
    end += 2
    return [], end + (text[end : end + 2] == " -")


def _tokens(text: str, at: int) -> tuple[list[_Token], int]:
    """The tokens of one action, and where it ends: at its >>, or at the - before it."""
    tokens: list[_Token] = []
    while True:
        rest = at + len(text[at:]) - len(text[at:].lstrip())
        if text.startswith(_CLOSE, rest):
            return tokens, rest
        if rest > at and text.startswith(f"-{_CLOSE}", rest):
            return tokens, rest
        found = _TOKEN.match(text, at)
        if found is None:
            shown = text[rest : rest + 10]
            raise TemplateError(f"{shown!r} cannot stand in an action" if shown else f"an action has no {_CLOSE}")
        kind = found.lastgroup or ""
        tokens.append(_Token(kind, found.group(kind)))
        at = found.end()


class _Parser:
    """Pieces to nodes, by recursive descent."""

    def __init__(self, pieces: Sequence[str | list[_Token]]) -> None:
        self._pieces = pieces
        self._at = 0
        self._end: list[_Token] = []

    def finish(self) -> None:
        if self._end:
            raise TemplateError(f"{self._end[0].text} stands alone")

    def body(self, depth: int) -> _Node:
        """Nodes up to an end or else, which is left in `_end`, or to the end of all."""
        if depth > _DEEPEST:
            raise TemplateError("is nested too deeply")
        nodes: list[_Node] = []
        self._end = []
        while self._at < len(self._pieces):
            piece = self._pieces[self._at]
            self._at += 1
            if isinstance(piece, str):
                nodes.append(_text(piece))
                continue
            word = piece[0].text if piece and piece[0].kind == "word" else ""
            if word in {"end", "else"}:
                self._end = piece
                break
            if word in _REFUSED:
                raise TemplateError(f"{word} is not supported")
            if word in {"if", "with", "range"}:
                nodes.append(self._block(word, piece[1:], depth))
            else:
                nodes.append(_action(piece))
        return _sequence(nodes)

    def _block(self, word: str, tokens: list[_Token], depth: int) -> _Node:
        names, pipeline = _declared(tokens, most=2 if word == "range" else 1)
        body = self.body(depth + 1)
        if not self._end:
            raise TemplateError(f"{word} has no end")
        otherwise: _Node = _sequence([])
        if self._end[0].text == "else":
            rest = self._end[1:]
            if rest:
                if rest[0] != _Token("word", "if") or word == "range":
                    raise TemplateError("else takes nothing, or if")
                otherwise = self._block("if", rest[1:], depth + 1)
            else:
                otherwise = self.body(depth + 1)
                if not self._end or len(self._end) > 1 or self._end[0].text != "end":
                    raise TemplateError(f"{word} has no end")
        elif len(self._end) > 1:
            raise TemplateError("end takes nothing")
        self._end = []
        if word == "range":
            return _range(names, pipeline, body, otherwise)
        return _conditional(word, names, pipeline, body, otherwise)


def _text(text: str) -> _Node:
    return lambda _scope, out: out.append(text)


def _sequence(nodes: Sequence[_Node]) -> _Node:
    def run(scope: _Scope, out: _Written) -> None:
        inner = scope.inner(scope.dot)
        for node in nodes:
            node(inner, out)

    return run


def _action(tokens: list[_Token]) -> _Node:
    """A pipeline whose value is written, or kept by a variable."""
    names, pipeline = _declared(tokens, most=1)
    if not names:
        return lambda scope, out: out.append(shown(pipeline(scope)))

    def keep(scope: _Scope, _out: _Written) -> None:
        scope.variables[names[0]] = pipeline(scope)

    return keep


def _conditional(word: str, names: Sequence[str], pipeline: _Value, body: _Node, otherwise: _Node) -> _Node:
    def run(scope: _Scope, out: _Written) -> None:
        value = pipeline(scope)
        inner = scope.inner(value if word == "with" else scope.dot, **dict.fromkeys(names, value))
        if value:
            body(inner, out)
        else:
            otherwise(scope.inner(scope.dot, **dict.fromkeys(names, value)), out)

    return run


def _range(names: Sequence[str], pipeline: _Value, body: _Node, otherwise: _Node) -> _Node:
    def run(scope: _Scope, out: _Written) -> None:
        value = pipeline(scope)
        if isinstance(value, Mapping):
            pairs: list[tuple[Any, Any]] = sorted(value.items())
        elif isinstance(value, list | tuple):
            pairs = list(enumerate(value))
        else:
            raise TemplateError(f"range cannot go over {shown(value)!r}")
        for key, each in pairs:
            scope.turns.take()
            bound = dict(zip(names, (key, each) if len(names) == 2 else (each,), strict=False))
            body(scope.inner(each, **bound), out)
        if not pairs:
            otherwise(scope, out)

    return run


def _declared(tokens: list[_Token], *, most: int) -> tuple[list[str], _Value]:
    """The variables that a pipeline is kept by, and the pipeline."""
    for index, token in enumerate(tokens):
        if token == _Token("symbol", ":="):
            head = [each for each in tokens[:index] if each.text != ","]
            if not head or len(head) > most or any(each.kind != "variable" or "." in each.text for each in head):
                raise TemplateError(f":= takes the names of variables before it, {most} at most")
            return [each.text for each in head], _pipeline(tokens[index + 1 :])
    return [], _pipeline(tokens)


def _pipeline(tokens: list[_Token]) -> _Value:
    """Commands between |: the value of one is the last argument of the next."""
    value: _Value | None = None
    for command in _split(tokens):
        value = _command(command, value)
    if value is None:
        raise TemplateError("an action is empty")
    return value


def _split(tokens: list[_Token]) -> list[list[_Token]]:
    """At each | outside of parentheses."""
    commands: list[list[_Token]] = [[]]
    depth = 0
    for token in tokens:
        if token.kind == "symbol":
            depth += {"(": 1, ")": -1}.get(token.text, 0)
            if depth < 0 or depth > _DEEPEST:
                raise TemplateError("parentheses do not match" if depth < 0 else "is nested too deeply")
        if token == _Token("symbol", "|") and not depth:
            commands.append([])
        else:
            commands[-1].append(token)
    if depth:
        raise TemplateError("parentheses do not match")
    if len(commands) > 1 and not all(commands):
        raise TemplateError("a command of a pipeline is empty")
    return commands if tokens else []


def _command(tokens: list[_Token], before: _Value | None) -> _Value:
    if tokens[0].kind == "word" and tokens[0].text not in {"true", "false", "nil"}:
        name = tokens[0].text
        function = FUNCTIONS.get(name)
        if function is None:
            raise TemplateError(f"there is no function {name}; there are {', '.join(sorted(FUNCTIONS))}")
        arguments = [*_operands(tokens[1:]), *([before] if before is not None else [])]
        return lambda scope: _called(name, function, [argument(scope) for argument in arguments])
    operands = _operands(tokens)
    if len(operands) != 1 or before is not None:
        raise TemplateError(f"{tokens[0].text} is no function, and takes no arguments")
    return operands[0]


def _called(name: str, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    try:
        value = function(*arguments)
    except TemplateError as exc:
        raise TemplateError(f"{name}: {exc}") from None
    except (TypeError, ValueError, IndexError, KeyError):
        raise TemplateError(f"{name} cannot take {', '.join(repr(shown(each)) for each in arguments) or 'nothing'}") from None
    if isinstance(value, str) and len(value) > _MOST_CHARACTERS:
        raise TemplateError(f"{name} gives more than {_MOST_CHARACTERS} characters")
    return value


def _operands(tokens: list[_Token]) -> list[_Value]:
    values: list[_Value] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token == _Token("symbol", "("):
            depth, start = 1, at
            while depth:
                depth += {"(": 1, ")": -1}.get(tokens[at].text, 0) if tokens[at].kind == "symbol" else 0
                at += 1
            values.append(_pipeline(tokens[start : at - 1]))
        else:
            values.append(_operand(token))
    return values


def _operand(token: _Token) -> _Value:
    match token.kind:
        case "text":
            return _constant(_unquoted(token.text))
        case "number":
            if len(token.text) > _MOST_DIGITS:
                raise TemplateError(f"a number has more than {_MOST_DIGITS} digits")
            return _constant(float(token.text) if "." in token.text else int(token.text))
        case "field":
            names = [name for name in token.text.split(".") if name]
            return lambda scope: _field(scope.dot, names)
        case "variable":
            variable, *names = token.text.split(".")
            return lambda scope: _field(_variable(scope, variable), names)
        case "word" if token.text in {"true", "false", "nil"}:
            return _constant({"true": True, "false": False, "nil": None}[token.text])
        case _:
            raise TemplateError(f"{token.text} cannot be an argument")


def _constant(value: Any) -> _Value:
    return lambda _scope: value


def _unquoted(text: str) -> str:
    if text[0] == "`":
        return text[1:-1]
    try:
        return str(json.loads(text))
    except ValueError:
        raise TemplateError(f"{text} has an escape that is not known") from None


def _variable(scope: _Scope, name: str) -> Any:
    if name not in scope.variables:
        raise TemplateError(f"there is no variable {name}")
    return scope.variables[name]


def _field(value: Any, names: Sequence[str]) -> Any:
    for name in names:
        if not isinstance(value, Mapping) or name not in value:
            known = f"; there are {', '.join(f'.{each}' for each in value)}" if isinstance(value, Mapping) else ""
            raise TemplateError(f"there is no field .{name}{known}")
        value = value[name]
    return value


def shown(value: Any) -> str:
    """A value as Go prints it: [a b], map[a:1]."""
    match value:
        case None:
            return "<no value>"
        case bool():
            return "true" if value else "false"
        case Mapping():
            return f"map[{' '.join(f'{shown(key)}:{shown(each)}' for key, each in sorted(value.items()))}]"
        case list() | tuple():
            return f"[{' '.join(map(shown, value))}]"
        case _:
            return str(value)


def _index(value: Any, *keys: Any) -> Any:
    """Of a map the value of a key, or the empty text; of a list that of an index."""
    for key in keys:
        if isinstance(value, Mapping):
            value = value.get(key, "")
        elif isinstance(value, list | tuple) and isinstance(key, int) and 0 <= key < len(value):
            value = value[key]
        else:
            raise TemplateError(f"{shown(value)!r} has no {shown(key)!r}")
    return value


def _printf(form: str, *values: Any) -> str:
    rest = iter(values)

    def one(found: re.Match[str]) -> str:
        if found.group(1) is None:
            return "%"
        value = next(rest, None)
        return json.dumps(value, ensure_ascii=False) if found.group(1) == "q" else shown(value)

    if len(_FORMAT.findall(form)) - form.count("%%") != len(values) or "%" in _FORMAT.sub("", form):
        raise TemplateError("takes %s, %v, %d and %q, one for each value")
    return _FORMAT.sub(one, form)


def _all(*values: Any) -> Any:
    return next((value for value in values if not value), values[-1])


def _any(*values: Any) -> Any:
    return next((value for value in values if value), values[-1])


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "and": _all,
    "or": _any,
    "not": lambda value: not value,
    "len": len,
    "index": _index,
    "print": lambda *values: "".join(map(shown, values)),
    "printf": _printf,
    "eq": lambda one, *others: any(one == other for other in others),
    "ne": lambda one, other: one != other,
    "lt": lambda one, other: one < other,
    "le": lambda one, other: one <= other,
    "gt": lambda one, other: one > other,
    "ge": lambda one, other: one >= other,
}
"""Those of Go that a query can want."""
