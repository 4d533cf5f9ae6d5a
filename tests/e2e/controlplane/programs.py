"""The real programs that end-to-end tests run: where they are found, and how they are built from ordinary Go modules.

They are looked for as envtest does: the folder that KUBEBUILDER_ASSETS names, else the folder they are built into. Nothing here is
imported by the product.
"""

import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BUILT = ROOT / ".controlplane"
BINARIES = BUILT / "bin"
STAMPS = BUILT / "stamps"
MODULES = Path(__file__).resolve().parents[1] / "programs"

KUBERNETES = "v1.37.2"
METRICS_SERVER = "v0.9.0"
PROMETHEUS_ADAPTER = "v0.12.0"


@dataclass(frozen=True)
class Program:
    """One program: `module` is a folder under programs/ whose go.mod pins the version, `package` what is built in it ("." is our own).

    `variables` are set in the program while it is linked: kubectl refuses to talk to a server that does not know its version.
    """

    name: str
    module: str
    package: str
    variables: tuple[tuple[str, str], ...] = ()

    @property
    def flags(self) -> str:
        """The linker's flags. -s -w leave out what only a debugger reads."""
        return " ".join(["-s -w", *(f"-X {name}={value}" for name, value in self.variables)])

    @property
    def stamp(self) -> str:
        """What a build of this program depends on. Equal stamps, equal programs."""
        folder = MODULES / self.module
        # tools.go is no source: it only makes `go mod tidy` keep what is built.
        sources = [file.read_bytes() for file in sorted(folder.glob("*.go")) if file.name != "tools.go"]
        pins = (folder / "go.mod").read_bytes()
        return hashlib.sha256(b"\n".join([self.package.encode(), self.flags.encode(), pins, *sources])).hexdigest()


_major, _minor = KUBERNETES.removeprefix("v").split(".")[:2]
_VERSION = tuple(
    (f"k8s.io/component-base/version.{name}", value)
    for name, value in (("gitVersion", KUBERNETES), ("gitMajor", _major), ("gitMinor", _minor))
)

PROGRAMS = (
    Program("etcd", "etcd", "go.etcd.io/etcd/server/v3"),
    Program("kube-apiserver", "kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver", _VERSION),
    Program("kube-controller-manager", "kubernetes", "k8s.io/kubernetes/cmd/kube-controller-manager", _VERSION),
    Program("kubectl", "kubernetes", "k8s.io/kubernetes/cmd/kubectl", _VERSION),
    Program("kubelet", "kubernetes", "k8s.io/kubernetes/cmd/kubelet", _VERSION),
    Program("metrics-server", "metrics-server", "sigs.k8s.io/metrics-server/cmd/metrics-server"),
    Program("prometheus-adapter", "prometheus-adapter", "sigs.k8s.io/prometheus-adapter/cmd/adapter"),
    Program("workload", "workload", "."),
)

HOW_TO_GET_THEM = "run `make controlplane` (needs Go, about 12 minutes once), or let KUBEBUILDER_ASSETS name a folder that has them"


class BuildFailed(RuntimeError):
    """Go could not build a program. The message holds the end of what it said."""


def find(name: str) -> Path | None:
    """Where the program is, None if it is nowhere or was built from other versions than those asked for now."""
    if assets := os.environ.get("KUBEBUILDER_ASSETS"):
        asset = Path(assets) / name
        if os.access(asset, os.X_OK):
            return asset
    program = next(program for program in PROGRAMS if program.name == name)
    return BINARIES / name if _is_built(program) else None


def path(name: str) -> Path:
    """As `find`, but raises FileNotFoundError with what to do."""
    if (found := find(name)) is None:
        raise FileNotFoundError(f"{name} is missing: {HOW_TO_GET_THEM}")
    return found


def skip_reason(*names: str) -> str | None:
    """One line for a test that needs these programs and has not all of them, else None."""
    missing = [name for name in names if find(name) is None]
    return f"no {', '.join(missing)}: {HOW_TO_GET_THEM}" if missing else None


def build() -> None:
    """Build what is missing or stale; a warm machine builds nothing. Raises BuildFailed or FileNotFoundError."""
    for program in PROGRAMS:
        if find(program.name):
            print(f"{program.name}: there", flush=True)
        elif _was_built_by_hand(program):
            _write_stamp(program)
            print(f"{program.name}: there, now stamped", flush=True)
        else:
            print(f"{program.name}: building {program.package}, this takes minutes", flush=True)
            BINARIES.mkdir(parents=True, exist_ok=True)
            _go("build", "-o", str(BINARIES / program.name), "-ldflags", program.flags, program.package, module=program.module)
            _write_stamp(program)
            print(f"{program.name}: built", flush=True)
    released_manifest()


def released_manifest() -> Path:
    """metrics-server's released components.yaml.

    The release file is no part of the module; what it is made of is: the release overlay under manifests/. So it is rendered as the
    project itself does for a release, by kustomize (that of kubectl).
    """
    file = BUILT / f"metrics-server-{METRICS_SERVER}-components.yaml"
    if not file.exists():
        folder = _go("list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/metrics-server", module="metrics-server").strip()
        if not folder:
            _go("mod", "download", "sigs.k8s.io/metrics-server", module="metrics-server")
            folder = _go("list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/metrics-server", module="metrics-server").strip()
        overlay = Path(folder) / "manifests" / "overlays" / "release"
        done = subprocess.run([path("kubectl"), "kustomize", overlay], capture_output=True, text=True, check=False)
        if done.returncode:
            raise BuildFailed(f"kubectl kustomize {overlay}: {done.stderr.strip()}")
        BUILT.mkdir(parents=True, exist_ok=True)
        file.write_text(done.stdout, encoding="utf-8")
    return file


def _is_built(program: Program) -> bool:
    stamp = STAMPS / program.name
    return os.access(BINARIES / program.name, os.X_OK) and stamp.exists() and stamp.read_text(encoding="ascii") == program.stamp


def _write_stamp(program: Program) -> None:
    STAMPS.mkdir(parents=True, exist_ok=True)
    (STAMPS / program.name).write_text(program.stamp, encoding="ascii")


def _was_built_by_hand(program: Program) -> bool:
    """True if Go's own build record in the file names the package, version and flags that are asked for."""
    binary = BINARIES / program.name
    if not binary.exists() or shutil.which("go") is None:
        return False
    record = subprocess.run(["go", "version", "-m", binary], capture_output=True, text=True, check=False).stdout
    pins = (MODULES / program.module / "go.mod").read_text(encoding="utf-8")
    pinned = re.search(r"^require (\S+ v\S+)$", pins, re.MULTILINE)
    known = [re.sub(r"\s+", " ", line.strip()) for line in record.splitlines()]
    version = pinned is not None and any(line.startswith((f"mod {pinned[1]}", f"dep {pinned[1]}")) for line in known)
    return version and f"path {program.package}" in known and f'build -ldflags="{program.flags}"' in known


def _go(*args: str, module: str) -> str:
    """Run go inside one of the modules. CGO is off so that the programs need nothing of the machine."""
    if shutil.which("go") is None:
        raise FileNotFoundError("Go is not installed: https://go.dev/doc/install, or let KUBEBUILDER_ASSETS name a folder of programs")
    done = subprocess.run(
        ["go", *args], cwd=MODULES / module, env={**os.environ, "CGO_ENABLED": "0"}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        end = "\n".join(done.stderr.strip().splitlines()[-15:])
        raise BuildFailed(f"go {' '.join(args)} in {MODULES / module}:\n{end}")
    return done.stdout
