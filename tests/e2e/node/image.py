"""An image of one static program, as a tar in OCI layout (https://github.com/opencontainers/image-spec/blob/main/image-layout.md)."""

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

NAME = "kubeglance.test/workload:1"
PROGRAM = "/workload"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def write(program: Path, archive: Path) -> None:
    """Write the image NAME, whose only file and entry point is `program`, for `ctr images import`."""
    layer = _tar({PROGRAM.lstrip("/"): program.read_bytes()}, mode=0o755)
    machine = platform.machine()
    config = {
        "architecture": _ARCHITECTURES.get(machine, machine),
        "os": "linux",
        "config": {"Entrypoint": [PROGRAM]},
        "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]},
    }
    blobs: dict[str, bytes] = {}

    def blob(kind: str, content: bytes) -> dict[str, Any]:
        blobs[f"blobs/sha256/{_digest(content).removeprefix('sha256:')}"] = content
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": _digest(content), "size": len(content)}

    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": blob("config.v1+json", _json(config)),
        "layers": [blob("layer.v1.tar", layer)],
    }
    entry = {**blob("manifest.v1+json", _json(manifest)), "annotations": {"io.containerd.image.name": NAME}}
    index = {"schemaVersion": 2, "manifests": [entry]}
    archive.write_bytes(_tar({"oci-layout": _json({"imageLayoutVersion": "1.0.0"}), "index.json": _json(index), **blobs}))


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value).encode()


def _tar(files: Mapping[str, bytes], mode: int = 0o644) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            tar.addfile(entry, io.BytesIO(content))
    return made.getvalue()
