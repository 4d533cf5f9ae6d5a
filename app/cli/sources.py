"""Where settings come from: flags win over KUBEGLANCE_* variables, these over the settings file, this over the defaults.

Every fault names its source, and all faults of all sources are told at once.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from app.cli.flags import ENVIRONMENT_PREFIX, SETTINGS_FILE, Arguments, all_flags
from app.cli.suggest import nearest
from app.errors import SettingsError
from app.settings import BROKEN_RULES, Settings, flag_name

_NOT_SETTINGS = re.compile(
    r"KUBEGLANCE_(?:SETTINGS_FILE|TEST_\w+|(?:\w+_)?(?:SERVICE_(?:HOST|PORT(?:_\w+)?)|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?))"
)
"""Variables that are no settings: the file's own, those of the test suite, and those that a kubelet sets in every pod for a Service named
kubeglance (KUBEGLANCE_SERVICE_HOST, KUBEGLANCE_PORT_443_TCP_ADDR and so on, see Kubernetes' docs on service links)."""


@dataclass
class Layers:
    """Raw values by field, each with the source that won, and what was wrong or strange on the way."""

    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def put(self, name: str, value: Any, origin: str) -> None:
        """Lay a value over those that are there."""
        self.values[name] = value
        self.origins[name] = origin


def load(arguments: Arguments, environ: Mapping[str, str]) -> tuple[Settings, tuple[str, ...]]:
    """The settings and lines of warning. Raises SettingsError with every fault of every source."""
    layers = Layers(faults=list(arguments.faults), warnings=list(arguments.warnings))
    path = arguments.settings_file or environ.get(f"{ENVIRONMENT_PREFIX}SETTINGS_FILE", "")
    if path:
        _read_file(layers, Path(path))
    _read_environment(layers, environ)
    for name, value in arguments.values.items():
        layers.put(name, value, flag_name(name))
    settings = _validated(layers)
    if settings is None or layers.faults:
        raise SettingsError(layers.faults)
    return settings, tuple(layers.warnings)


def _read_environment(layers: Layers, environ: Mapping[str, str]) -> None:
    known = {flag.variable: flag.field for flag in all_flags()}
    for variable, value in sorted(environ.items()):
        if variable in known:
            layers.put(known[variable], value, variable)
        elif variable.startswith(ENVIRONMENT_PREFIX) and not _NOT_SETTINGS.fullmatch(variable):
            layers.warnings.append(f"{variable}: no such setting, ignored{nearest(variable, list(known))}")


def _read_file(layers: Layers, path: Path) -> None:
    """A YAML mapping whose keys are flag names without dashes in front, or the same with underscores."""
    from app.cli.settings_file import read  # noqa: PLC0415 -- only who gives a file pays for the parser

    where = f"settings file {path}"
    try:
        content = read(path)
    except OSError as err:
        layers.faults.append(f"{SETTINGS_FILE}: cannot read {path}: {err.strerror}")
        return
    except ValueError as err:
        layers.faults.append(f"{where}: {err}")
        return
    if content is None:
        return
    if not isinstance(content, dict):
        layers.faults.append(f"{where}: must be a mapping such as metric-resolution: 15s")
        return
    for key, value in content.items():
        name = str(key).replace("-", "_")
        origin = f"{where}: {key}"
        if name not in Settings.model_fields:
            layers.faults.append(f"{origin}: no such setting{nearest(str(key), [flag.name.removeprefix('--') for flag in all_flags()])}")
        elif name in layers.values:
            layers.faults.append(f"{origin}: given twice, once with dashes and once with underscores")
        else:
            _put_file_value(layers, name, value, origin)


def _put_file_value(layers: Layers, name: str, value: Any, origin: str) -> None:
    """Scalars are the text that a flag would have, so that `15` is as wrong for a duration here as it is there."""
    if value is None:
        return
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        layers.put(name, ",".join(value), origin)
    elif isinstance(value, bool):
        layers.put(name, "true" if value else "false", origin)
    elif isinstance(value, str):
        layers.put(name, value, origin)
    else:
        layers.faults.append(f"{origin}: must be a text, a number, true or false, or a list of texts")


def _validated(layers: Layers) -> Settings | None:
    """Settings from the layers; faults go to the layers. Rules between fields are told also when other fields are wrong."""
    wrong: set[str] = set()
    values = dict(layers.values)
    while True:
        try:
            settings = Settings.model_validate(values)
        except ValidationError as err:
            details = err.errors(include_url=False, include_input=False)
            layers.faults.extend(_lines(details, layers, wrong))
            bad = {str(detail["loc"][0]) for detail in details if detail["loc"]}
            if not bad:
                return None
            wrong |= bad
            values = {name: value for name, value in values.items() if name not in bad}
        else:
            return settings


def _lines(details: Sequence[ErrorDetails], layers: Layers, wrong: set[str]) -> list[str]:
    lines = []
    for detail in details:
        if detail["type"] == BROKEN_RULES:
            broken: list[tuple[tuple[str, ...], str]] = detail["ctx"]["broken"]
            for fields, text in broken:
                if wrong.isdisjoint(fields):
                    given = [layers.origins[name] for name in fields if name in layers.origins]
                    indirect = [origin for origin in given if not origin.startswith("--")]
                    lines.append(f"{text} (from {', '.join(given)})" if indirect else text)
        else:
            name = str(detail["loc"][0])
            message = detail["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
            lines.append(f"{layers.origins.get(name, flag_name(name))}={layers.values.get(name)}: {message}")
    return lines
