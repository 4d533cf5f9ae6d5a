"""Cells of printer columns: those of kube-apiserver for the columns of a CRD, and CEL columns, which CRDs do not have.

What a path does not find is blank, and so is a value of another type than the column's: nobody is shown a zero that was not there. A
column of type string prints numbers and booleans as text and lists and maps as JSON; one of type date shows how long ago that was.
"""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec

from app.declared import jsonpath
from app.declared.cel import Bound, CelError, Missing, Program, compile_cel
from app.declared.model import ColumnModel
from app.declared.times import unix_ns
from app.kinds._base import Age, Cell, Column

NAME = Column(name="Name", type="string", format="name", description="Name of the object.")
"""Always the first column."""

OBJECT_VARIABLES = ("metadata", "spec", "status")
"""What CEL over an object sees."""

Tell = Callable[[str, str], None]
"""Hears of a cell that is blank for an error: the column's name, and why."""


_INT64 = 1 << 63
_GO_EXPONENT = 6  # of strconv's %g with the shortest precision, "if shortest { eprec = 6 }"


class Columns:
    """The columns behind Name of one kind."""

    def __init__(self, models: Sequence[ColumnModel]) -> None:
        """Raises CelError and JsonPathError, which app/declared/expressions.py tells beforehand."""
        self.columns = tuple(
            Column(name=each.name, type=each.type, format=each.format, description=each.description, priority=each.priority)
            for each in models
        )
        variables = dict.fromkeys(OBJECT_VARIABLES)
        self._cells: list[jsonpath.JsonPath | Program] = [
            compile_cel(each.cel, variables) if each.cel is not None else jsonpath.parse(each.json_path or "") for each in models
        ]
        self._program = next((each for each in self._cells if isinstance(each, Program)), None)

    def cells(self, obj: Mapping[str, Any], tell: Tell) -> tuple[Cell, ...]:
        """A cell a column, of an object with metadata, spec and status."""
        bound = self._program.bind({name: obj.get(name) for name in OBJECT_VARIABLES}) if self._program is not None else None
        cells: list[Cell] = []
        for column, how in zip(self.columns, self._cells, strict=True):
            value = how.find(obj) if isinstance(how, jsonpath.JsonPath) else _evaluated(how, bound, column.name, tell)
            cells.append(cell_of(column.type, value))
        return tuple(cells)


def _evaluated(program: Program, bound: Bound | None, column: str, tell: Tell) -> Any:
    if bound is None:
        return None
    try:
        return program.evaluate(bound)
    except Missing:
        return None
    except CelError as error:
        tell(column, error.message)
        return None


def cell_of(type_: str, value: Any) -> Cell:
    """The cell of a value in a column of a type (cellForJSONValue of k8s.io/apiextensions-apiserver)."""
    if value is None:
        return None
    match type_:
        case "string":
            return text_of(value)
        case "boolean":
            return value if isinstance(value, bool) else None
        case "date":
            return _age(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if type_ == "number":
        return float(value)
    whole = int(value)
    return whole if -_INT64 <= whole < _INT64 else None


def _age(value: Any) -> Cell:
    if not isinstance(value, str):
        return None
    try:
        return Age(unix_ns(value))
    except ValueError:
        return "<invalid>"


def text_of(value: Any) -> str:
    """A value as kubectl prints it: text as it is, numbers as Go's %v, lists and maps as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _go_float(value)
    text = msgspec.json.encode(value, order="sorted").decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")  # as encoding/json of Go


def _go_float(number: float) -> str:
    """A double as fmt.Print of Go has it: the fewest digits that are exact, with an exponent below 1e-04 and from 1e+06 on."""
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    power = len(digits) - 1 + int(exponent)
    minus = "-" if sign else ""
    if number and not -4 <= power < _GO_EXPONENT:
        rest = "".join(map(str, digits[1:]))
        return f"{minus}{digits[0]}{'.' if rest else ''}{rest}e{'-' if power < 0 else '+'}{abs(power):02}"
    return f"{minus}{format(Decimal(repr(abs(number))).normalize(), 'f')}"
