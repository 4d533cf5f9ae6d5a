"""The settings file: YAML, read so that what is written is what counts."""

from pathlib import Path
from typing import Any

import yaml

_KEPT = {"tag:yaml.org,2002:null", "tag:yaml.org,2002:bool"}


class _Loader(yaml.SafeLoader):
    """Numbers and dates stay the text that they are, as in a flag: YAML 1.1 would make 8 of 010, 90 of 1:30, and choke on 2023-99-99.

    A key that is given twice is a fault, as the YAML specification has it; PyYAML would let the last one win without a word.
    """

    yaml_implicit_resolvers = {  # noqa: RUF012 -- PyYAML's form
        first: [(tag, pattern) for tag, pattern in resolvers if tag in _KEPT]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """PyYAML's hook for every mapping."""
        lines: dict[str, int] = {}
        for key, _ in node.value:
            line = key.start_mark.line + 1
            if isinstance(key, yaml.ScalarNode) and lines.setdefault(key.value, line) != line:
                raise yaml.YAMLError(f"{key.value} is given twice, in lines {lines[key.value]} and {line}")
        return super().construct_mapping(node, deep)


def read(path: Path) -> Any:
    """The content of the file. Raises OSError, and ValueError that says in one line what is wrong with it."""
    try:
        return yaml.load(path.read_text(encoding="utf-8"), _Loader)  # noqa: S506 -- a SafeLoader
    except RecursionError as err:
        raise ValueError("is nested too deeply") from err
    except (yaml.YAMLError, ValueError, OverflowError) as err:
        raise ValueError(f"is not valid YAML: {' '.join(str(err).split())}") from err
