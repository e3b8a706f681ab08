"""Measures how much code kernels take, and writes the table that the compiler predicts flash from.

python tests/bench/code_sizes.py                      all models on all cores
python tests/bench/code_sizes.py --cores m4          these only; the rows of the others stay, as do those of functions
                                                     that no model of this run has
python tests/bench/code_sizes.py --models deep_shapes adds the functions of these that the table does not have yet

The models are linked, not run, once with each of the kernels that the cost model may choose for a node: so the
figures do not depend on what was chosen by the figures before. With -opt=size the schedule is that of the least
memory and the code that of -Os, also where the compiler would take those of -opt=balanced; with -opt=balanced models
that have kernels of less scratch are linked once more, in the schedule of the least memory. What a function of the
generated code takes, with the parameters that it reads, is that of an instance; what only kernels call that layers
share, the compiler's own library included, is taken once for each model, and the call graph of the image tells which
of it an instance needs. Variants of a function (`KernelCall.code_variant`) have a row each. What is left (run
function, tables, descriptor) is fitted to the number of steps and of those in cascades.

The models are those of the benchmarks. The models of `samples.toml` add the functions that no benchmark calls.

With that table the models are compiled and linked again, to see how much flash -opt=size saves beside -opt=balanced.
The doubt of a core is the largest error of what was predicted to be saved, beyond half of that.

The figures are written to host/aboard/kernels/select/data, one file per core.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import aboard  # noqa: E402  found through the line above
from aboard.emit.instances import Instance, Instances  # noqa: E402  likewise
from aboard.errors import AboardError  # noqa: E402  likewise
from aboard.kernels.contract import Implementation  # noqa: E402  likewise
from aboard.kernels.select import code_size, strategy  # noqa: E402  likewise
from aboard.kernels.select import measured as measured_figures  # noqa: E402  likewise
from bench import code_rows, core_data, sample_models, schedules  # noqa: E402  likewise
from bench.code_rows import Row  # noqa: E402  likewise
from bench.costs import CORES  # noqa: E402  likewise
from support import layer_shapes, linked, models  # noqa: E402  likewise

OPTS = ("size", "balanced")
MODELS = (*models.available([*models.INT8, models.SHIPPED]), "many_ops_int8", "many_ops_float32")

_ARRAY = re.compile(r"^static const \w+ (\w+)\[", re.MULTILINE)
_CALL = re.compile(r"\t(?:bl|blx|b|b\.n|b\.w|beq\.w|bne\.w|jal|j|call|tail)\s.*<([\w.]+?)(?:\+0x[0-9a-f]+)?>")

_STRUCT = re.compile(r"\.s?rodata\.(p\.\d+)$")


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


class Ranks:
    """How many kernels the nodes of models have whose costs decide, at most, as seen while each was taken."""

    def __init__(self) -> None:
        """Has seen no node yet."""
        self.most = 1

    @contextmanager
    def taken(self, rank: int) -> Iterator[None]:
        """Lets every node be computed by a kernel of a rank among those whose costs decide, specific ones first."""

        def rule(explained: strategy.Explanation) -> Implementation | None:
            if explained.chosen is None:
                return None
            able = [c for c in explained.candidates if c is explained.chosen or c.more_bytes is not None]
            self.most = max(self.most, len(able))
            return able[min(rank, len(able) - 1)].implementation

        with strategy.forced(rule):
            yield


@contextmanager
def undecided(always: bool) -> Iterator[None]:
    """Takes what rests on earlier measurements from the compiler.

    Args:
        always: Whether functions of several parameters become one instance with -opt=size: always or never.
    """
    with code_size.forced_sharing(always), schedules.least_memory():
        yield


def base(symbol: str) -> str:
    """Returns the name of a function without what the compiler adds for its copies."""
    return re.sub(r"\.(constprop|isra|part|cold)\.\d+", "", symbol)


def kernel(instance: Instance) -> tuple[str, str]:
    """Returns the kernel's function that an instance calls, and the variant of it."""
    return instance.call.function, code_size.SHARED if instance.parameters else instance.call.code_variant


def graph(objdump: str, elf: Path) -> tuple[dict[str, int], dict[str, set[str]]]:
    """Returns the bytes of a model's symbols, and whom its functions and those of the library call."""

    def ran(*options: str) -> str:
        command = [objdump, *options, str(elf)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    sizes: dict[str, int] = {}
    for line in ran("-t").splitlines():
        words = line.split()
        if len(words) >= 5 and words[-3] == linked.MODEL and int(words[-2], 16):
            sizes[base(words[-1])] = sizes.get(base(words[-1]), 0) + int(words[-2], 16)
    calls: dict[str, set[str]] = {}
    current = ""
    for line in ran("-d", "-j", linked.MODEL, "-j", linked.LIBRARY).splitlines():
        if head := re.match(r"[0-9a-f]+ <([\w.]+)>:", line):
            current = base(head[1])
        elif call := _CALL.search(line):
            calls.setdefault(current, set()).add(base(call[1]))
    return sizes, calls


def library(objdump: str, elf: Path) -> dict[str, int]:
    """Returns the bytes of the functions of the compiler's own library; its tables count with the function before."""

    def ran(option: str) -> str:
        done = subprocess.run(
            [objdump, option, "-j", linked.LIBRARY, str(elf)], check=False, capture_output=True, text=True
        )
        return done.stdout  # empty where the model needs none of it

    tables = set(re.findall(r"^[0-9a-f]+ .....?.O .*?([\w.]+)$", ran("-t"), re.MULTILINE))
    listed = re.findall(r"^([0-9a-f]+) <([\w.]+)>:", ran("-d"), re.MULTILINE)
    starts = [(int(at, 16), name) for at, name in listed if name not in tables]
    with elf.open("rb") as stream:
        section = ELFFile(stream).get_section_by_name(linked.LIBRARY)
        end = 0 if section is None else section["sh_addr"] + section["sh_size"]
    ends = [*(at for at, _ in starts), end][1:]
    return {name: after - at for (at, name), after in zip(starts, ends, strict=True)}


def reached(start: str, calls: Mapping[str, set[str]]) -> set[str]:
    """Returns what a function calls, itself left out, others on the way included."""
    found: set[str] = set()
    left = [start]
    while left:
        for name in calls.get(left.pop(), set()) - found:
            found.add(name)
            left.append(name)
    return found - {start}


def linked_model(model: Path, core: str, opt: str, folder: Path) -> tuple[aboard.Module, Path] | None:
    """Compiles and links a model; returns None where the core refuses it."""
    try:
        module = aboard.compile(model, target=f"c -mcpu={CORES[core]} -opt={opt}", name="m")
    except AboardError as error:
        print(f"{model.name} on {core}: {str(error).splitlines()[0]}", file=sys.stderr, flush=True)
        return None
    return module, linked.link(module, folder)


def structs(folder: Path) -> dict[str, set[str]]:
    """Returns which parameters, by their symbols, the functions of a model read, from the relocations of its object."""
    found: dict[str, set[str]] = {}
    with (folder / "m.o").open("rb") as stream:
        file = ELFFile(stream)
        for part in file.iter_sections():
            if isinstance(part, RelocationSection):
                table: Any = file.get_section(part["sh_link"])
                places = (table.get_symbol(r["r_info_sym"])["st_shndx"] for r in part.iter_relocations())
                names = {file.get_section(place).name for place in places if isinstance(place, int)}
                read = {match[1] for name in names if (match := _STRUCT.search(name))}
                found[base(file.get_section(part["sh_info"]).name.removeprefix(".text."))] = read
    return found


def look(model: Path, core: str, opt: str, seen: dict[tuple[str, str], Seen]) -> Rest | None:
    """Links a model, adds what its kernels take to `seen`; returns the rest, None where the core refuses the model."""
    objdump = "riscv64-unknown-elf-objdump" if core.startswith("rv") else "arm-none-eabi-objdump"
    with tempfile.TemporaryDirectory(prefix="aboard-bench-") as folder:
        made = linked_model(model, core, opt, Path(folder))
        if made is None:
            return None
        module, elf = made
        sizes, calls = graph(objdump, elf)
        others = library(objdump, elf)
        read = structs(Path(folder))
    scheduled = module.schedule()
    arrays = set(_ARRAY.findall(module.files["src/m_weights.h"]))
    code = {name: size for name, size in sizes.items() if name not in arrays}
    for instance in Instances(scheduled.program, scheduled.calls.target, standalone=False).instances:
        name = instance.name
        if name not in code:
            continue  # the compiler merged it with one of the same code
        entry = seen.setdefault(kernel(instance), Seen())
        entry.instances.append(code.pop(name) + sum(code.pop(struct, 0) for struct in read.get(name, ())))
        needed = reached(name, calls)
        own = {other: sizes[other] for other in needed if other.startswith("aboard_")}
        entry.needs.append(own | {other: others[other] for other in needed & others.keys()})
    shared = {name for entry in seen.values() for needs in entry.needs for name in needs}
    steps = module.manifest.nodes
    rest = sum(size for name, size in code.items() if name not in shared)
    return Rest(len(steps), sum(node.cascade is not None for node in steps), rest)


def frame(rests: Sequence[Rest]) -> dict[str, float]:
    """Returns the figures that fit what is no kernel's best, relatively; none is less than 0."""
    terms = np.array([[1.0, rest.steps, rest.cascaded] for rest in rests])
    sizes = np.array([float(rest.bytes) for rest in rests])
    best, least = np.zeros(3), np.inf
    for chosen in ([0, 1, 2], [1, 2], [0, 1], [0, 2], [1], [0]):
        found = np.linalg.lstsq(terms[:, chosen] / sizes[:, None], np.ones(len(rests)), rcond=None)[0]
        error = float(np.sum((terms[:, chosen] @ found / sizes - 1) ** 2))
        if min(found) >= 0 and error < least:
            best, least = np.zeros(3), error
            best[chosen] = found
    return dict(zip(("model", "step", "cascaded"), (round(float(v), 1) for v in best), strict=True))


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
    return [*found, {"core": core, "opt": opt, "function": "", "variant": "", "instance": 0, "shared": frame(rests)}]


def looked(core: str, opt: str, files: Sequence[Path]) -> tuple[dict[tuple[str, str], Seen], list[Rest]]:
    """Returns what was seen of all models, each with every kernel that the cost model may choose."""
    seen: dict[tuple[str, str], Seen] = {}
    rests = []
    for path in files:
        ranks, rank = Ranks(), 0
        while rank < ranks.most:
            with ranks.taken(rank):
                rests.append(look(path, core, opt, seen))
            rank += 1
    return seen, [rest for rest in rests if rest is not None]


def measured(core: str, files: Sequence[Path]) -> list[Row]:
    """Returns the rows of all models on a core."""
    found: list[Row] = []
    for opt in OPTS:
        with undecided(False):
            seen, rests = looked(core, opt, files)
        if opt == "size":
            with undecided(True):
                shared, _ = looked(core, opt, files)
            seen |= {key: entry for key, entry in shared.items() if key[1] == code_size.SHARED}
        else:
            with schedules.least_scratch():
                further, _ = looked(core, opt, files)
            seen = further | seen
        found += rows(CORES[core], opt, seen, rests)
        print(f"{core} -opt={opt}: {len(seen)} kernels in {len(rests)} models", file=sys.stderr, flush=True)
    return found


def flash(model: Path, core: str, opt: str) -> tuple[int, int, int] | None:
    """Returns the flash of a model: predicted, linked, and linked without profiling; None where the core refuses it."""
    with tempfile.TemporaryDirectory(prefix="aboard-bench-") as folder:
        made = linked_model(model, core, opt, Path(folder))
        if made is None:
            return None
        module, elf = made
        plain = linked.link(module, Path(folder) / "plain", switches=())
        return module.schedule().flash, linked.flash_bytes(elf), linked.flash_bytes(plain)


def doubt(core: str, files: Sequence[Path]) -> int:
    """Returns the largest error of what -opt=size was predicted to save, beyond half of that."""
    found = [0]
    for path in files:
        with schedules.least_memory():
            size = flash(path, core, "size")
        balanced = flash(path, core, "balanced")
        if size is None or balanced is None:
            continue
        predicted, *linked_less = (b - s for b, s in zip(balanced, size, strict=True))
        saved = min(linked_less)  # with and without profiling
        found.append(predicted - saved - abs(predicted) // 2)
        print(
            f"{path.stem} on {core}: -opt=size saves {saved} bytes, predicted {predicted}", file=sys.stderr, flush=True
        )
    return max(found)


def write(core: str, made: Sequence[Row]) -> None:
    """Writes the rows of a core, and has the compiler read them."""
    core_data.write(CORES[core], code=sorted(made, key=lambda row: (row["opt"], row["function"], row["variant"])))
    measured_figures.read_again()
    code_size.read_again()


def add(cores: Sequence[str], names: Sequence[str]) -> None:
    """Adds the functions of some models that the table does not have, and prints their rows.

    Raises:
        ValueError: A name is that of no model.
    """
    with sample_models.files(names) as files:
        for core in cores:
            known = core_data.read(CORES[core])["code"]
            code = code_rows.with_new_functions(known, measured(core, files))
            write(core, code)
            for row in code[len(known) :]:
                print(f"{CORES[core]}: {row['function']} with -opt={row['opt']}, {row['instance']} bytes an instance")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and writes; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cores", nargs="+", choices=list(CORES), default=list(CORES))
    parser.add_argument("--models", nargs="+", metavar="MODEL", help="add new functions of these only")
    parser.add_argument("--doubt", action="store_true", help="measure only the doubt, with the table as it is")
    options = parser.parse_args(arguments)
    if options.models:
        try:
            add(options.cores, options.models)
        except ValueError as error:
            parser.error(str(error))
        return 0
    with sample_models.files(MODELS) as files, sample_models.files(list(layer_shapes.read())) as others:
        for core in options.cores:
            if options.doubt:
                code = core_data.read(CORES[core])["code"]
            else:
                made = code_rows.with_new_functions(measured(core, files), measured(core, others))
                code = code_rows.kept(made, core_data.read(CORES[core])["code"])
            write(core, code)
            found = doubt(core, files)
            for row in code:
                if not row["function"]:
                    row["shared"]["doubt"] = found
            write(core, code)
    return 0


if __name__ == "__main__":
    sys.exit(main())
