"""Counts every instruction that an image executes while it runs a model, by a plugin of QEMU (`histogram.c`).

The very image is counted that `aboard deploy` built and timed: once as a whole, and once node by node.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from aboard.api import Project, Session
from aboard.boards import cpu
from aboard.boards.board import Board
from aboard.device import input_files
from aboard.device.tensor_io import Inputs
from aboard.device.timing import Profile
from aboard.errors import ToolError
from aboard.runners.qemu import QemuRunner
from bench.cycles import Count, Histogram
from bench.listing import Instruction
from bench.listing import read as read_listing

_SOURCE = Path(__file__).with_suffix(".c")
_COMPILERS = ("cc", "gcc", "clang")
_FLAGS = ("-O2", "-fPIC", "-shared", "-fvisibility=hidden")

#: What stands where in an image: the mark's name in the plugin, and the function.
_MARKS = {"align": "aboard_port_ticks_align", "ticks": "aboard_port_ticks", "end": "aboard_port_stack_used"}


@dataclass(frozen=True)
class Executed:
    """What an image executed.

    Attributes:
        core: Name of the core, as in `-mcpu`.
        profile: What its own counter told of the same runs.
        run: The run of the model, as long as the counter timed it.
        nodes: All steps of each node, by its number, in a run with profiling.
        listing: The instructions of the image.
    """

    core: str
    profile: Profile
    run: Histogram
    nodes: Mapping[int, Histogram]
    listing: Sequence[Instruction]

    @property
    def instructions(self) -> int:
        """Instructions of the run."""
        return total(self.run)


def total(histogram: Histogram) -> int:
    """Returns how many instructions were executed."""
    return sum(count.executed for count in histogram.values())


@functools.cache
def plugin() -> Path | None:
    """Builds the plugin; returns None where this machine has no compiler for itself or QEMU takes no plugins."""
    compiler = next((path for name in _COMPILERS if (path := shutil.which(name))), None)
    qemu = shutil.which("qemu-system-arm")
    if compiler is None or qemu is None:
        return None
    folder = tempfile.TemporaryDirectory(prefix="aboard-bench-")
    _KEPT.append(folder)
    built = Path(folder.name) / "histogram.so"
    subprocess.run([compiler, *_FLAGS, "-o", str(built), str(_SOURCE)], check=True, capture_output=True, text=True)
    options = subprocess.run([qemu, "-help"], capture_output=True, text=True, check=True).stdout
    return built if "-plugin" in options else None


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


def run(project: Project, feed: str = "random:0") -> Executed | None:
    """Runs a built project with the plugin; None where there is no plugin or no objdump for its core.

    Args:
        project: A project with one model, built with profiling.
        feed: The inputs, as `--input` names them.
    """
    core, library = project.board.core().mcpu, plugin()
    if library is None or _objdump(core) is None:
        return None
    (manifest,) = project.models
    with tempfile.TemporaryDirectory(prefix="aboard-bench-") as folder:
        written = Path(folder) / "counts"
        marks = places(project.image, _MARKS, len(manifest.nodes))
        argument = ",".join([str(library), f"out={written}", *marks])
        with Session.open(project, QemuRunner(_with_plugin(project.board, argument))) as session:
            profile = session.profile(input_files.load(feed, manifest.inputs))
        alone, profiled = parse(written.read_text(encoding="ascii"))
    nodes = {number: node.counts for number, node in profiled.nodes.items()}
    return Executed(core, profile, alone.counts, nodes, listed(project.image, core))


def run_sequence(project: Project, feeds: Iterable[tuple[str, Inputs]]) -> list[int] | None:
    """Returns the instructions of each of several runs, which keep the state of their models; None as for `run`.

    Args:
        project: A built project.
        feeds: For each run the name of a model, and its inputs.
    """
    library = plugin()
    if library is None:
        return None
    with tempfile.TemporaryDirectory(prefix="aboard-bench-") as folder:
        written = Path(folder) / "counts"
        argument = ",".join([str(library), f"out={written}", *places(project.image, _MARKS)])
        with Session.open(project, QemuRunner(_with_plugin(project.board, argument))) as session:
            for model, feed in feeds:
                session.infer(feed, model=model)
        return [total(each.counts) for each in parse(written.read_text(encoding="ascii"))]


def listed(image: Path, core: str) -> list[Instruction]:
    """Returns the instructions of an image for a core.

    Raises:
        ToolError: There is no objdump for it.
    """
    found = cpu.find(core)
    objdump = _objdump(core)
    if objdump is None:
        raise ToolError(f"{image}: no objdump for {core} on PATH, expected that of {found.cross_compiler}. Install it")
    # Without it objdump takes Helium for coprocessors.
    options = ("-m", found.arch) if "mve" in found.features else ()
    return read_listing(image, objdump, options)


def _objdump(core: str) -> str | None:
    return shutil.which(cpu.find(core).cross_compiler.replace("gcc", "objdump"))


@dataclass
class Counted:
    """What the plugin wrote of a run, or of a node in it.

    Attributes:
        counts: Of the instructions.
        nodes: Those of the run.
    """

    counts: dict[int, Count] = field(default_factory=dict)
    nodes: dict[int, Counted] = field(default_factory=dict)


def parse(text: str) -> list[Counted]:
    """Returns the runs of what the plugin wrote."""
    runs: list[Counted] = []
    current = Counted()
    for words in (line.split() for line in text.splitlines()):
        if words == ["run"]:
            current = Counted()
            runs.append(current)
        elif words[0] == "node":
            current = runs[-1].nodes[int(words[1])] = Counted()
        else:
            current.counts[int(words[0], 16)] = Count(int(words[1]), int(words[2]))
    return runs


def places(image: Path, marks: Mapping[str, str], nodes: int = 0) -> list[str]:
    """Returns the plugin's arguments that say where things lie in an image.

    Args:
        image: The ELF file.
        marks: Functions by the plugin's names of marks.
        nodes: Nodes of the model, whose times the image keeps; 0 where it keeps none.
    """
    with image.open("rb") as stream:
        elf = ELFFile(stream)
        code = [s for s in elf.iter_sections() if s["sh_flags"] & SH_FLAGS.SHF_EXECINSTR]
        first = min(section["sh_addr"] for section in code)
        end = max(section["sh_addr"] + section["sh_size"] for section in code)
        table: Any = elf.get_section_by_name(".symtab")
        symbols = {symbol.name: symbol for symbol in table.iter_symbols()}
    # Bit 0 of an address is Thumb's.
    addresses = {name: symbol["st_value"] & ~1 for name, symbol in symbols.items()}
    found = [f"code={first:x}:{end:x}", *(f"{mark}={addresses[function]:x}" for mark, function in marks.items())]
    if nodes:
        hook = addresses["end_node"]
        found.append(f"hook={hook:x}:{hook + symbols['end_node']['st_size']:x}")
        found.append(f"nodes={addresses['node_ticks']:x}:{nodes:x}")
    return found


def _with_plugin(board: Board, argument: str) -> Board:
    """Returns a board whose QEMU loads the plugin."""
    qemu = board.emulator.qemu
    if qemu is None:
        raise ValueError(f"{board.id}: QEMU cannot be it")
    changed = qemu.model_copy(update={"arguments": (*qemu.arguments, "-plugin", argument)})
    return board.model_copy(update={"emulator": board.emulator.model_copy(update={"qemu": changed})})
