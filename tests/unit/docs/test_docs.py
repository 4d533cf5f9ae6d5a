"""Documentation that drifts is worse than none: what can be compared with the code is."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from app import __version__
from app.cli.flags import all_flags
from app.cli.metrics_server_flags import FLAGS
from app.cli.version import version_line
from app.telemetry import Metrics
from benchmarks.hpa import suite as hpa
from benchmarks.rows import Better
from benchmarks.workloads import FIGURES
from collectors._base import Cause
from tests.unit.docs import derived
from tests.unit.lab.kubelets import FAULTS

ROOT = derived.ROOT
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def read(name: str) -> str:
    """A page by its path from the root."""
    return (ROOT / name).read_text(encoding="utf-8")


def test_versions_agree() -> None:
    """pyproject.toml, the newest entry of the changelog and `kubeglance version` say the same."""
    project = tomllib.loads(read("pyproject.toml"))["project"]["version"]
    newest = re.search(r"^## \[(\d[^\]]*)\]", read("CHANGELOG.md"), re.MULTILINE)

    assert newest is not None
    assert {__version__} == {project, newest[1], version_line().split()[1]}


@pytest.mark.parametrize("path", derived.files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_derived_files_are_up_to_date(path: Path) -> None:
    """`make docs` writes them."""
    assert derived.files()[path] == path.read_text(encoding="utf-8")


def test_flags_that_are_mentioned_exist() -> None:
    """A page that tells to set a flag of serve that is no more would only annoy."""
    page = read("docs/known-issues.md") + read("docs/install.md") + read("docs/flags.md")
    mentioned = set(re.findall(r"`(--[a-z][a-z0-9-]+)", page))
    known = {flag.name for flag in all_flags()} | {f"--{name}" for name in FLAGS}
    others = {
        "--settings-file",
        "--ca-file",
        "--cert-secret",
        "--namespace",
        "--force",
        "--dns",
        "--dir",
        "--image",
        "--service",
        "--arg",
        "--registrar-group",
    }

    assert set() == mentioned - known - others - {"--enable-aggregator-routing", "--requestheader-client-ca-file"}


def test_every_cause_has_a_remedy() -> None:
    """A cause is what metrics and logs say; known-issues has a heading for each."""
    headings = set(re.findall(r"^### `([a-z_]+)`", read("docs/known-issues.md"), re.MULTILINE))

    assert {cause.value for cause in Cause} == headings


def test_every_metric_is_described() -> None:
    """docs/metrics.md has a row for each metric, and none for what is no more."""
    registry = CollectorRegistry()
    Metrics(registry)
    exported = {f"{family.name}_total" if family.type == "counter" else family.name for family in registry.collect()}
    described = set(re.findall(r"^\| `([a-z_]+)`", read("docs/metrics.md"), re.MULTILINE))

    assert exported == {name for name in described if name.startswith(("metrics_server_", "kubeglance_"))}


def test_every_decision_is_listed() -> None:
    """Numbers are unique and without gaps; the list has a line for each page."""
    pages = sorted(path.name for path in (DOCS / "decisions").glob("[0-9]*.md"))

    assert [f"{number:04}" for number in range(1, len(pages) + 1)] == [name[:4] for name in pages]
    assert pages == sorted(set(re.findall(r"\]\((\d{4}-[a-z0-9-]+\.md)\)", read("docs/decisions/README.md"))))


def test_layers_are_those_of_the_import_contract() -> None:
    """What CONTRIBUTING.md draws is what `make check` proves."""
    (layers,) = [item["layers"] for item in tomllib.loads(read("pyproject.toml"))["tool"]["importlinter"]["contracts"] if "layers" in item]

    assert "\n".join(layers) in read("CONTRIBUTING.md")


def test_every_failure_family_has_its_test() -> None:
    """A row names a test that is there: a function or class of that file, and among its cases one of that name."""
    missing = []
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)(?:\[([^\]]+)\])?`", read("docs/failure-families.md"))
    for path, name, case in named:
        text = read(path) if (ROOT / path).exists() else ""
        if f" {name}(" not in text and f"\n{name} = " not in text:
            missing.append(f"{path}::{name}")
        elif case and f'"{case}"' not in text and case not in FAULTS:
            missing.append(f"{path}::{name}[{case}]")

    assert len(named) > 50
    assert [] == missing


_RULES = {
    **{name: f"tests/unit/cache/test_{name}.py" for name in ("rates", "usage", "store", "reasons")},
    **{name: f"tests/unit/collectors/test_kubelet_{name}.py" for name in ("resource", "summary")},
    **{name: f"tests/unit/lab/test_{name}.py" for name in ("parse", "time", "identity", "life_cycle", "platform", "transport")},
}


def test_every_rule_about_values_has_its_test() -> None:
    """Each row of docs/values.md that states a rule names a case or a function that is there."""
    rules = re.findall(r"^\| (?!rule|source|`/|-)(.+?) \| (.+?) \| (.+?) \|$", read("docs/values.md"), re.MULTILINE)
    missing = []
    for rule, _, tests in rules:
        named = re.findall(r"`(\w+)\[([^`]+)\]`", tests)
        if not named:
            missing.append(rule)
        for name, case in named:
            text = read(_RULES[name]) if name in _RULES else ""
            if f'"{case}"' not in text and f"def {case}(" not in text:
                missing.append(f"{rule}: {name}[{case}]")

    assert len(rules) > 35
    assert [] == missing


def test_numbers_of_the_failure_families_agree() -> None:
    """Numbers of symptoms and payloads that rules name are those of the page, which has each once."""
    page = read("docs/failure-families.md")
    rules = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests/unit/lab").glob("test_*.py")))
    for word, heading in (("symptom", "Symptoms"), ("payload", "Payloads")):
        numbers = re.findall(r"^\| (\d+):", page.partition(f"## {heading}\n")[2].partition("\n## ")[0], re.MULTILINE)
        named = {
            number
            for numbers in re.findall(rf"{word}s? ((?:\d+(?: and | to )?)+)", rules, re.IGNORECASE)
            for number in re.findall(r"\d+", numbers)
        }

        assert sorted(set(numbers), key=int) == numbers
        assert set() == named - set(numbers)


def test_every_row_of_the_benchmarks_is_described() -> None:
    """With its target; rows of more connections end in their number, which the page says of all."""
    described: dict[str, str] = {}
    for names, target in re.findall(r"^\| (`[a-z].*?`) \| ([<>]= [\d.]+)? ?\|", read("docs/benchmarks.md"), re.MULTILINE):
        described |= dict.fromkeys(re.findall(r"`(\w+)`", names), target)

    figures = [figure for figure in (*FIGURES, *hpa.FIGURES) if not re.search(r"_\d+$", figure.name)]
    bounds = {Better.LOWER: "<=", Better.HIGHER: ">="}
    assert {figure.name: f"{bounds[figure.better]} {figure.target}" if figure.target else "" for figure in figures} == described


def links() -> Iterator[tuple[Path, str]]:
    """Every link of every page that leads into the repository."""
    for page in PAGES:
        for target in _LINK.findall(_FENCE.sub("", page.read_text(encoding="utf-8"))):
            if "://" not in target and not target.startswith("mailto:"):
                yield page, target


def test_links_resolve() -> None:
    """Files exist, and so do the headings that links name."""
    broken = []
    for page, target in links():
        name, _, anchor = target.partition("#")
        path = page.parent / name if name else page
        if not path.exists() or (anchor and path.suffix == ".md" and anchor not in anchors(path)):
            broken.append(f"{page.relative_to(ROOT)}: {target}")

    assert [] == broken


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", path.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_is_reachable() -> None:
    """From README.md, by links: a page that one cannot get to is not read."""
    reached: set[Path] = set()
    found = {ROOT / "README.md"}
    while found:
        reached |= found
        found = {(page.parent / target.partition("#")[0]).resolve() for page, target in links() if page in reached} - reached

    assert [] == [str(page.relative_to(ROOT)) for page in DOCS.rglob("*.md") if page not in reached]


def test_make_targets_that_are_mentioned_exist() -> None:
    """`make X` in a page is a target of the Makefile."""
    targets = set(re.findall(r"^([a-z]+):", read("Makefile"), re.MULTILINE))
    mentioned = {target for page in PAGES for target in re.findall(r"(?:`|^)make ([a-z]+)", page.read_text(), re.MULTILINE)}

    assert set() == mentioned - targets
