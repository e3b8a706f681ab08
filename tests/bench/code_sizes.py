"""Measures how much code kernels take, and writes the table that the compiler predicts flash from.

python tests/bench/code_sizes.py                     all models on all cores
python tests/bench/code_sizes.py --cores m4          these only; the rows of the others stay

The models are built, not run. What a function of the generated code takes is that of an instance; what only kernels
call that layers share is taken once for each model, and the call graph of the image tells which of it an instance
needs. What is left (run function, tables, descriptor) is fitted to the number of steps and of those in cascades.

The figures are written to host/aboard/kernels/select/data, one file per core.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import aboard  # noqa: E402  found through the line above
from aboard.errors import AboardError  # noqa: E402  likewise
from aboard.kernels.contract import KernelCall  # noqa: E402  likewise
from aboard.kernels.select import code_size  # noqa: E402  likewise
from bench import core_data, measure  # noqa: E402  likewise
from bench.costs import CORES  # noqa: E402  likewise
from support import models, zoo  # noqa: E402  likewise

OPTS = ("size", "balanced")
MODELS = (*models.INT8, models.SHIPPED)

_INSTANCE = re.compile(r"^static ABOARD_NOINLINE void (k\d+_\w+)\((.*?)^}", re.MULTILINE | re.DOTALL)
_ARRAY = re.compile(r"^static const \w+ (\w+)\[", re.MULTILINE)
_CALL = re.compile(r"\t(?:bl|blx|b|b\.n|b\.w|beq\.w|bne\.w|jal|j|call|tail)\s.*<([\w.]+?)(?:\+0x[0-9a-f]+)?>")

Row = dict[str, Any]


@dataclass
class Seen:
    """What was seen of a kernel's function: bytes of its instances, and which shared functions each needs."""

    instances: list[int] = field(default_factory=list)
    needs: list[Mapping[str, int]] = field(default_factory=list)


@dataclass(frozen=True)
class Rest:
    """Code of a model that is no kernel's."""

    steps: int
    cascaded: int
    bytes: int


def base(symbol: str) -> str:
    """Returns the name of a function without what the compiler adds for its copies."""
    return re.sub(r"\.(constprop|isra|part|cold)\.\d+", "", symbol)


def kernel(body: str, parameters: Mapping[str, Sequence[str]]) -> tuple[str, str]:
    """Returns the kernel's function that an instance calls, and the variant of it.

    Args:
        body: Source of the instance.
        parameters: By function, the parameters that its kernel declares to select variants of its code.
    """
    function = re.findall(r"^    (aboard_\w+)\(", body, re.MULTILINE)[-1]
    names = parameters.get(function, ())
    found = {key: re.search(rf"^        \.{key} = (-?\d+)", body, re.MULTILINE) for key in names}
    if "static const" not in body:
        return function, code_size.SHARED
    return function, " ".join(f"{key}={match[1]}" for key, match in found.items() if match)


def graph(objdump: str, elf: Path, section: str) -> tuple[dict[str, int], dict[str, set[str]]]:
    """Returns the bytes of the symbols of a section, and whom its functions call."""

    def ran(*options: str) -> str:
        command = [objdump, *options, str(elf)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    sizes: dict[str, int] = {}
    for line in ran("-t").splitlines():
        words = line.split()
        if len(words) >= 5 and words[-3] == section and int(words[-2], 16):
            sizes[base(words[-1])] = sizes.get(base(words[-1]), 0) + int(words[-2], 16)
    calls: dict[str, set[str]] = {}
    current = ""
    for line in ran("-d", "-j", section).splitlines():
        if head := re.match(r"[0-9a-f]+ <([\w.]+)>:", line):
            current = base(head[1])
        elif call := _CALL.search(line):
            calls.setdefault(current, set()).add(base(call[1]))
    return sizes, calls


def reached(start: str, calls: Mapping[str, set[str]]) -> set[str]:
    """Returns what a function calls, itself left out, others on the way included."""
    found: set[str] = set()
    left = [start]
    while left:
        for name in calls.get(left.pop(), set()) - found:
            found.add(name)
            left.append(name)
    return found - {start}


def look(model: Path, core: str, opt: str, seen: dict[tuple[str, str], Seen]) -> Rest | None:
    """Builds a model, adds what its kernels take to `seen`; returns the rest, None where the core refuses the model."""
    with tempfile.TemporaryDirectory(prefix="aboard-bench-") as folder:
        try:
            module = aboard.compile(model, board=measure.BOARDS[core], opt=opt, name="m")
            project = aboard.create(module, board=measure.BOARDS[core], path=Path(folder) / "project")
            project.build()
            elf = project.image
        except AboardError as error:
            print(f"{model.name} on {core}: {str(error).splitlines()[0]}", file=sys.stderr, flush=True)
            return None
        objdump = "riscv64-unknown-elf-objdump" if core.startswith("rv") else "arm-none-eabi-objdump"
        sizes, calls = graph(objdump, elf, ".model.m")
    arrays = set(_ARRAY.findall(module.files["src/m_weights.h"]))
    code = {name: size for name, size in sizes.items() if name not in arrays}
    calls_of_kernels = [step.call for step in module.schedule().program.steps if isinstance(step.call, KernelCall)]
    parameters = {call.function: call.code_parameters for call in calls_of_kernels}
    for name, body in _INSTANCE.findall(module.files["src/m.c"]):
        if name not in code:
            continue  # only the function for single nodes calls it
        entry = seen.setdefault(kernel(body, parameters), Seen())
        entry.instances.append(code.pop(name))
        entry.needs.append({other: sizes[other] for other in reached(name, calls) if other.startswith("aboard_")})
    shared = {name for entry in seen.values() for needs in entry.needs for name in needs}
    steps = module.manifest.nodes
    rest = sum(size for name, size in code.items() if name not in shared)
    return Rest(len(steps), sum(node.cascade is not None for node in steps), rest)


def rows(core: str, opt: str, seen: Mapping[tuple[str, str], Seen], rests: Sequence[Rest]) -> list[Row]:
    """Returns the rows of the table for a core and a preference."""
    found: list[Row] = []
    for (function, variant), entry in sorted(seen.items()):
        names = {name for needs in entry.needs for name in needs}
        often = {n for n in names if 2 * sum(n in needs for needs in entry.needs) > len(entry.needs)}
        found.append(
            {
                "core": core,
                "opt": opt,
                "function": function,
                "variant": variant,
                "instance": round(median(entry.instances)),
                "shared": {n: max(needs.get(n, 0) for needs in entry.needs) for n in sorted(often)},
            }
        )
    terms = np.array([[1.0, rest.steps, rest.cascaded] for rest in rests])
    fitted = np.linalg.lstsq(terms, np.array([float(rest.bytes) for rest in rests]), rcond=None)[0]
    figures = dict(zip(("model", "step", "cascaded"), (round(float(v), 1) for v in fitted), strict=True))
    return [*found, {"core": core, "opt": opt, "function": "", "variant": "", "instance": 0, "shared": figures}]


def measured(cores: Iterable[str]) -> list[Row]:
    """Returns the rows of all models on some cores."""
    found: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="aboard-bench-") as folder:
        files = [path for name in models.available(MODELS) if (path := models.path(name)) is not None]
        for dtype in (np.int8, np.float32):
            files.append(Path(folder) / f"many_ops_{dtype.__name__}.tflite")
            files[-1].write_bytes(zoo.many_ops(dtype))
        for core in cores:
            for opt in OPTS:
                seen: dict[tuple[str, str], Seen] = {}
                with code_size.forced_sharing(False):
                    rests = [rest for path in files if (rest := look(path, core, opt, seen)) is not None]
                if opt == "size":
                    shared: dict[tuple[str, str], Seen] = {}
                    with code_size.forced_sharing(True):
                        for path in files:
                            look(path, core, opt, shared)
                    seen |= {key: entry for key, entry in shared.items() if key[1] == code_size.SHARED}
                found += rows(CORES[core], opt, seen, rests)
                print(f"{core} -opt={opt}: {len(seen)} kernels in {len(rests)} models", file=sys.stderr, flush=True)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and writes; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cores", nargs="+", choices=list(CORES), default=list(CORES))
    options = parser.parse_args(arguments)
    made = sorted(measured(options.cores), key=lambda row: (row["opt"], row["function"], row["variant"]))
    for core in options.cores:
        core_data.write(CORES[core], code=[row for row in made if row["core"] == CORES[core]])
    return 0


if __name__ == "__main__":
    sys.exit(main())
