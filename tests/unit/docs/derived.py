"""What is written by hand nowhere: deploy/base, tables of README.md and of pages under docs, the reference of
declarations and their JSON Schema.

`make docs` writes them, test_docs.py compares them.
"""

import json
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from app import __version__
from app.cli.flags import all_flags
from app.cli.manifests import base_files
from app.cli.metrics_server_flags import FLAGS, Class
from app.cli.objects import Options, install
from app.declared import json_schema
from app.kinds import load
from benchmarks import report, results
from collectors import sources
from tests.e2e.adapter import differences as adapter_differences
from tests.goldens.differences import DIFFERENCES, SECTIONS
from tests.unit.docs import reference

ROOT = Path(__file__).parents[3]
_MARKED = re.compile(r"(<!-- derived: (?P<name>[a-z-]+) -->\n).*?(<!-- end -->\n)", re.DOTALL)


def flags_table() -> str:
    """A row for each field of Settings."""
    rows = ["| flag | variable | takes | default | what it is |", "|---|---|---|---|---|"]
    for flag in all_flags():
        default = f"`{flag.default}`" if flag.default else ""
        rows.append(f"| `{flag.name}` | `{flag.variable}` | {flag.type} | {default} | {flag.description} |")
    return "\n".join(rows) + "\n"


def metrics_server_table() -> str:
    """metrics-server's flags by what becomes of them."""
    said = {
        Class.IMPLEMENTED: "Works, with the same meaning",
        Class.PLANNED: "Refused until it is built",
        Class.WEAKENS: "Refused: ignoring it could weaken security",
        Class.HARMLESS: "Ignored with a warning: kubeglance has no use for it",
    }
    rows = ["| what becomes of it | flags |", "|---|---|"]
    for kind, text in said.items():
        rows.append(f"| {text} | {', '.join(f'`--{name}`' for name in sorted(FLAGS) if FLAGS[name] is kind)} |")
    return "\n".join(rows) + "\n"


def differences_table(section: str) -> str:
    """What tests/unit/goldens proves to differ from metrics-server."""
    rows = ["| what | metrics-server | kubeglance | why |", "|---|---|---|---|"]
    rows += [f"| {each.what} | {each.there} | {each.here} | {each.why} |" for each in DIFFERENCES if each.section == section]
    return "\n".join(rows) + "\n"


def adapter_differences_table() -> str:
    """What tests/e2e/test_adapter_peer.py proves to differ from prometheus-adapter."""
    rows = ["| what | prometheus-adapter | kubeglance | why |", "|---|---|---|---|"]
    rows += [f"| {each.what} | {each.there} | {each.here} | {each.why} |" for each in adapter_differences.DIFFERENCES]
    return "\n".join(rows) + "\n"


def benchmarks_table() -> str:
    """The latest full run of `make bench`, if one was kept."""
    if not results.LATEST.exists():
        return "No full run was kept yet.\n"
    chart = results.LATEST.with_suffix(".png").relative_to(ROOT)
    return f"![How many times better each figure is]({chart})\n\n{report.markdown(json.loads(results.LATEST.read_text(encoding='utf-8')))}"


def hpa_benchmarks_table() -> str:
    """The latest full run of `make bench SUITE=hpa`, if one was kept."""
    if not results.HPA.exists():
        return "No full run was kept yet.\n"
    return report.markdown(json.loads(results.HPA.read_text(encoding="utf-8")), reported=True)


TABLES: dict[str, Callable[[], str]] = {
    "flags": flags_table,
    "metrics-server-flags": metrics_server_table,
    "adapter-differences": adapter_differences_table,
    "benchmarks": benchmarks_table,
    "benchmarks-hpa": hpa_benchmarks_table,
    **{f"differences-{section}": partial(differences_table, section) for section in SECTIONS},
}


def with_tables(page: str) -> str:
    """The page with its marked parts made anew."""
    return _MARKED.sub(lambda found: found[1] + TABLES[found["name"]]() + found[3], page)


def files() -> dict[Path, str]:
    """Every derived file, whole."""
    base = base_files(install(Options(image=f"kubeglance:{__version__}"), load()))
    names = ("README.md", "docs/benchmarks.md", "docs/flags.md")
    pages = [ROOT / name for name in (*names, *(f"docs/differences-from-{peer}.md" for peer in ("metrics-server", "prometheus-adapter")))]
    made = {page: with_tables(page.read_text(encoding="utf-8")) for page in pages}
    made[ROOT / "docs" / "reference-liveresource.md"] = reference.page()
    made[ROOT / "docs" / "reference-livemetric.md"] = reference.page_of_metrics()
    for kind in json_schema.KINDS:
        made[ROOT / "docs" / "schema" / f"{kind.lower()}.json"] = json_schema.text(sources(), kind)
    return {**made, **{ROOT / "deploy" / "base" / name: text for name, text in base.items()}}


def main() -> int:
    """Write what has changed."""
    for path, text in files().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"wrote {path.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
