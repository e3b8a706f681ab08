"""Measures models on emulated boards through the command line, as a user would, and returns plain records."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support import models

#: Short name of a core, as in the anchors, and the board it is measured on.
BOARDS = {
    "m0": "bbc/microbit",
    "m3": "arm/mps2_an385",
    "m4": "arm/mps2_an386",
    "m7": "arm/mps2_an500",
    "m33": "arm/mps2_an505",
    "m55": "arm/mps3_an547",
    "rv32": "riscv/qemu_virt32",
}
MODELS = (*models.INT8, models.SHIPPED)

#: Cores whose operators are measured one by one.
PROFILED = ("m4", "m55")

_FIGURES = (
    "instructions", "flash_bytes", "ram_bytes", "ram_lower_bound_bytes", "stack_bytes", "image_flash_bytes",
    "image_ram_bytes", "weights_bytes", "macs", "macs_run",
)  # fmt: skip
_TIMEOUT_S = 600


def command(*arguments: str) -> tuple[int, dict[str, Any]]:
    """Runs `aboard ... --json` and returns its exit code and its object."""
    program = [str(Path(sys.executable).with_name("aboard")), *arguments, "--json"]
    done = subprocess.run(program, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    if not done.stdout.strip():
        raise RuntimeError(f"{' '.join(arguments)}: no JSON, exit code {done.returncode}: {done.stderr.strip()[-500:]}")
    result: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, result


def measure(name: str, core: str, options: Sequence[str] = ()) -> dict[str, Any]:
    """Returns the record of a model on a core.

    Args:
        name: Name of a model, such as `kws`.
        core: Key of `BOARDS`.
        options: More options of `aboard deploy`.

    Returns:
        The figures of `aboard deploy --json`, `toolchain` and (for `PROFILED` cores) `layers`; or `refused` with the
        message where the model does not fit the board.

    Raises:
        RuntimeError: `aboard deploy` failed for another reason.
    """
    profile = ["--profile"] if core in PROFILED else []
    with tempfile.TemporaryDirectory(prefix="aboard-bench-") as folder:
        project = Path(folder) / "project"
        code, result = command(
            "deploy", str(models.path(name)), "--board", BOARDS[core], "-o", str(project), *profile, *options
        )
        if code != 0:
            error = result["error"]
            if error["kind"] != "CapacityError":
                raise RuntimeError(f"{name} on {BOARDS[core]}: {error['message']}")
            return {"refused": error["message"].split(". ")[0]}
        record = {figure: result[figure] for figure in _FIGURES}
        record["toolchain"] = f"{result['toolchain']['name']} {result['toolchain']['version']}"
        record["runner"] = result["runner"]
        if profile:
            record["layers"] = _layers(result, project)
    return record


def _layers(result: dict[str, Any], project: Path) -> list[dict[str, Any]]:
    """Returns instructions by operator, with the numbers of the operators in the model file each stands for."""
    manifest = json.loads(next(project.glob("models/*/manifest.json")).read_text(encoding="utf-8"))
    nodes = manifest["nodes"]
    return [
        {
            "op": row["op"],
            "implementation": nodes[row["node"]]["implementation"],
            "sources": nodes[row["node"]]["sources"],
            "macs": nodes[row["node"]]["macs"],
            "instructions": row["instructions"],
        }
        for row in result["profile"]
    ]


def qemu_version() -> str:
    """Returns the version of the QEMU on the path, or "not found"."""
    path = shutil.which("qemu-system-arm")
    if path is None:
        return "not found"
    text = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"version (\S+)", text)
    return found[1] if found else "unknown"


def anchors() -> dict[str, Any] | None:
    """Returns what other systems need: the file ABOARD_ANCHORS names, or the one beside the checkout; None without."""
    default = Path(__file__).resolve().parents[3] / "shared" / "bench" / "anchors.json"
    path = Path(os.environ.get("ABOARD_ANCHORS") or default)
    if not path.is_file():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found
