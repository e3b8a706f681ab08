"""Measures models on emulated boards through the command line, as a user would, and returns plain records."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from aboard import boards
from aboard.api import Project, Session
from aboard.boards import cpu
from aboard.check import verify
from aboard.check.reference import Reference
from aboard.cycles import core_times
from aboard.cycles.histogram import total
from bench import histogram
from support import keras_weights, models, qdq

#: Short name of a core, as in the anchors, and the board it is measured on.
BOARDS = {
    "m0": "bbc/microbit",
    "m3": "arm/mps2_an385",
    "m4": "arm/mps2_an386",
    "m7": "arm/mps2_an500",
    "m33": "arm/mps2_an505",
    "m55": "arm/mps3_an547",
    "rv32": "riscv/qemu_virt32",
    "rv32v": "riscv/qemu_virt32v",
}
#: Models whose operators are measured one by one, on the cores of `PROFILED`.
BY_LAYER = (*models.INT8, models.SHIPPED)
#: A model of the repository, not of the folder of models.
MOBILENET = "mobilenet_v2_0.35"
MODELS = (*BY_LAYER, "person", "mcunet_vww", "wake_jarvis", "lstm", "keras_mnist", MOBILENET)

#: Cores whose operators are measured one by one.
PROFILED = ("m4", "m55")

#: Models that `--check` holds to what is recorded: those of MLPerf Tiny's kind.
CHECKED = ("kws", "vww", "ic", "ad", "sww")

#: Inputs drawn by chance that each image is compared with the reference for, beside two extremes.
RANDOM_INPUTS = 3

_FIGURES = (
    "instructions", "flash_bytes", "ram_bytes", "ram_lower_bound_bytes", "stack_bytes", "image_flash_bytes",
    "image_ram_bytes", "weights_bytes", "macs", "macs_run",
)  # fmt: skip
#: Cores on which `-opt` is compared, and the figures that are recorded for values other than the default.
BY_OPTION = ("m4", "m55")
_BY_OPTION = ("instructions", "cycles", "flash_bytes", "ram_bytes", "stack_bytes")
#: Those that two files of one network are compared by.
BY_FORMAT = ("instructions", "ram_bytes", "flash_bytes")

#: Models that are also measured as ONNX files.
AS_ONNX = ("kws", "vww", "ic", "ad")
_TIMEOUT_S = 600
_MOBILENET_FILE = Path(__file__).parents[1] / "data" / "keras" / "mobilenet_v2.tflite.xz"


def command(*arguments: str) -> tuple[int, dict[str, Any]]:
    """Runs `aboard ... --json` and returns its exit code and its object."""
    program = [_program(), *arguments, "--json"]
    done = subprocess.run(program, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    if not done.stdout.strip():
        raise RuntimeError(f"{' '.join(arguments)}: no JSON, exit code {done.returncode}: {done.stderr.strip()[-500:]}")
    result: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, result


def figures(
    name: str, core: str, folder: Path, options: Sequence[str] = (), file: Path | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Deploys a model and returns the record of what that told, and all that it told.

    Args:
        name: Name of a model, such as `kws`.
        core: Key of `BOARDS`.
        folder: Where the project shall be.
        options: More options of `aboard deploy`.
        file: The model file, if it is another than the zoo's.

    Returns:
        The figures of `aboard deploy --json`, with `toolchain` and `runner`; or `refused` with the message, and
        nothing, where the model does not fit the board.

    Raises:
        RuntimeError: `aboard deploy` failed for another reason.
    """
    model = str(file or models.path(name))
    code, result = command("deploy", model, "--board", BOARDS[core], "-o", str(folder), *options)
    if code != 0:
        error = result["error"]
        if error["kind"] != "CapacityError":
            raise RuntimeError(f"{name} on {BOARDS[core]}: {error['message']}")
        return {"refused": error["message"].split(". ")[0]}, {}
    record = {figure: result[figure] for figure in _FIGURES}
    record["toolchain"] = f"{result['toolchain']['name']} {result['toolchain']['version']}"
    record["runner"] = result["runner"]
    return record, result


def measure(name: str, core: str) -> dict[str, Any]:
    """Returns the whole record of a model on a core: `figures`, and what its image is found to do.

    That is `instructions` to the digit and `cycles`, where a plugin of QEMU counts them, `verified`, and for `PROFILED`
    cores `layers`.
    """
    with tempfile.TemporaryDirectory(prefix="aboard-bench-") as temporary:
        folder, file = Path(temporary) / "project", _file(name, Path(temporary))
        record, result = figures(name, core, folder, ["--profile"], file)
        if "refused" in record:
            return record
        project = Project.open(folder)
        executed = histogram.run(project)
        if executed is not None:
            record |= _counted(executed)
        record["verified"] = _verified(project, file)
        if core in PROFILED and name in BY_LAYER:
            record["layers"] = layers(project, result["profile"], executed)
    return record


def quickly(name: str, core: str) -> dict[str, Any]:
    """Returns what `figures` does of a model of `CHECKED` or the package on a core, and nothing that takes longer."""
    with tempfile.TemporaryDirectory(prefix="aboard-bench-") as temporary:
        return figures(name, core, Path(temporary) / "project")[0]


def by_options(name: str, core: str) -> dict[str, dict[str, Any]]:
    """Returns records of a model on a core for each value of `-opt` that is not the default."""
    found = {}
    for opt in ("size", "speed"):
        with tempfile.TemporaryDirectory(prefix="aboard-bench-") as temporary:
            folder = Path(temporary) / "project"
            record, _ = figures(name, core, folder, ["--opt", opt])
            executed = histogram.run(Project.open(folder))
            if executed is not None:
                record |= _counted(executed)
        found[opt] = {key: record[key] for key in _BY_OPTION if key in record}
    return found


def as_onnx(name: str) -> dict[str, Any]:
    """Returns figures on m4 of the ONNX file of the same network with QuantizeLinear and DequantizeLinear."""
    with tempfile.TemporaryDirectory(prefix="aboard-bench-") as temporary:
        file = Path(temporary) / f"{name}.onnx"
        file.write_bytes(qdq.convert(name))
        record, _ = figures(name, "m4", Path(temporary) / "project", file=file)
    return {key: record[key] for key in (*BY_FORMAT, "toolchain")}


def timing() -> dict[str, dict[str, Any]]:
    """Returns for each core what its cycles are taken from, and its bound in instructions of a multiply-accumulate."""
    found: dict[str, dict[str, Any]] = {}
    for core, board in BOARDS.items():
        name = boards.load(board).core().mcpu
        times, best = core_times.timing(name), cpu.find(name).mac_instruction("int8")
        found[core] = {"basis": times.basis, "source": times.source}
        if best is not None:
            found[core] |= {"mac_instruction": best.name, "instructions_per_mac": 1 / best.macs}
    return found


def layers(
    project: Project, profile: Sequence[Mapping[str, Any]], executed: histogram.Executed | None
) -> list[dict[str, Any]]:
    """Returns a record for each node, with the numbers of the operators in the model file it stands for.

    Args:
        project: The project.
        profile: Rows of `aboard deploy --profile`.
        executed: What its image executed; with it instructions are exact, and there are cycles and kinds.
    """
    (manifest,) = project.models
    times = core_times.timing(project.board.core().mcpu)
    found = []
    for row in profile:
        node = manifest.nodes[row["node"]]
        counted = None if executed is None else executed.nodes.get(row["node"], {})
        record: dict[str, Any] = {
            "op": node.op,
            "implementation": node.implementation,
            "sources": list(node.sources),
            "macs": node.macs,
            "instructions": row["instructions"] if counted is None else total(counted),
        }
        if executed is not None and counted is not None:
            record["cycles"] = times.cycles(counted, executed.listing)
            record |= times.mix(counted, executed.listing)
        found.append(record)
    return found


def _counted(executed: histogram.Executed) -> dict[str, int]:
    estimated = core_times.timing(executed.core).cycles(executed.run, executed.listing)
    return {"instructions": executed.instructions, "cycles": estimated}


def _verified(project: Project, file: Path) -> dict[str, Any]:
    """Compares an image with the reference, for random inputs and those that are all smallest and all largest."""
    reference = Reference.open(file)
    with Session.open(project) as session:
        found = verify.compare(session, reference, verify.samples(project.models[0], RANDOM_INPUTS))
    return {"reference": reference.name, "samples": found.samples, "differing_bytes": found.differing_bytes}


def compilation(name: str) -> dict[str, float]:
    """Returns `compilation_of` for a model of the zoo by its name."""
    return compilation_of(_path(name))


def compilation_of(path: Path) -> dict[str, float]:
    """Returns what compiling a file takes of this machine: `seconds` of its processor, and `peak_bytes` of memory."""
    with tempfile.TemporaryDirectory(prefix="aboard-bench-") as folder:
        arguments = ["compile", str(path), "--board", BOARDS["m4"], "-o", str(Path(folder) / "bundle")]
        program = [sys.executable, str(Path(__file__).with_name("compile_cost.py")), *arguments]
        done = subprocess.run(program, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)}: exit code {done.returncode}: {done.stderr.strip()[-500:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def available() -> list[str]:
    """Returns the names of the models that can be measured here."""
    return [name for name in MODELS if name == MOBILENET or models.path(name) is not None]


def _file(name: str, folder: Path) -> Path:
    """Returns the file of a model; MobileNetV2 is written into a folder."""
    if name != MOBILENET:
        return _path(name)
    file = folder / "mobilenet.tflite"
    file.write_bytes(keras_weights.unpack(_MOBILENET_FILE, 1))
    return file


def _path(name: str) -> Path:
    path = models.path(name)
    if path is None:
        raise FileNotFoundError(f"model {name}: not found, expected it in ABOARD_MODELS or ../shared/models")
    return path


def _program() -> str:
    return str(Path(sys.executable).with_name("aboard"))


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
