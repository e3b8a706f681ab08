"""How often each instruction of an image was executed: output and arguments of QEMU's plugin (`histogram.c`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from aboard.boards.board import Board
from aboard.boards.memory_records import Lines
from aboard.errors import ToolError

#: Functions of the firmware that delimit a timed run, by their names in the plugin.
MARKS = {"align": "aboard_port_ticks_align", "ticks": "aboard_port_ticks", "end": "aboard_port_stack_used"}
# The functions that are called before a step of a node, and behind it; the table that the second adds its time to.
_BEGIN, _HOOK, _NODES = "begin_node", "end_node", "node_ticks"
_NODE_BYTES = 8


@dataclass(frozen=True)
class Count:
    """How often an instruction was executed.

    Attributes:
        executed: Number of executions.
        left: Number of executions after which control went to another place than the next instruction.
    """

    executed: int
    left: int


#: Counts by address.
Histogram = Mapping[int, Count]


@dataclass
class CountedRun:
    """The instructions of a timed run of a model, or of one of its nodes.

    Attributes:
        counts: The counts.
        nodes: By number the nodes of a run with profiling, each with all its steps; empty without profiling.
        lines: Lines of flash that no cache held; none if the board does not state how its flash is read.
    """

    counts: dict[int, Count] = field(default_factory=dict)
    nodes: dict[int, CountedRun] = field(default_factory=dict)
    lines: Lines = field(default=Lines(0, 0))

    @property
    def instructions(self) -> int:
        """Number of executed instructions."""
        return total(self.counts)


def total(histogram: Histogram) -> int:
    """Returns the number of executed instructions."""
    return sum(count.executed for count in histogram.values())


def parse(text: str) -> list[CountedRun]:
    """Returns the runs in the output of the plugin, oldest first."""
    runs: list[CountedRun] = []
    current = CountedRun()
    for words in (line.split() for line in text.splitlines()):
        if words == ["run"]:
            current = CountedRun()
            runs.append(current)
        elif words[0] == "node":
            current = runs[-1].nodes[int(words[1])] = CountedRun()
        elif words[0] == "lines":
            current.lines = Lines(int(words[1]), int(words[2]))
        else:
            current.counts[int(words[0], 16)] = Count(int(words[1]), int(words[2]))
    return runs


def fetch_arguments(board: Board) -> list[str]:
    """Returns the arguments of the plugin that describe the reads of a board's flash; none if its file does not."""
    flash, timing = board.load_memory, board.flash_timing
    if flash is None or timing is None:
        return []
    fetch = timing.fetch
    code, data = (size // fetch.line_bytes for size in (fetch.code_cache_bytes, fetch.data_cache_bytes))
    return [f"flash={flash.address:x}:{flash.end:x}", f"line={fetch.line_bytes:x}", f"caches={code:x}:{data:x}"]


def arguments(image: Path, marks: Mapping[str, str] = MARKS) -> list[str]:
    """Returns the arguments of the plugin that name addresses of an image.

    Args:
        image: The ELF file.
        marks: Functions by their names in the plugin.

    Raises:
        ToolError: The file cannot be read, or lacks one of the functions.
    """
    try:
        with image.open("rb") as stream:
            elf = ELFFile(stream)
            code = [s for s in elf.iter_sections() if s["sh_flags"] & SH_FLAGS.SHF_EXECINSTR]
            first = min((section["sh_addr"] for section in code), default=0)
            end = max((section["sh_addr"] + section["sh_size"] for section in code), default=0)
            table: Any = elf.get_section_by_name(".symtab")
            symbols = {symbol.name: symbol for symbol in table.iter_symbols()} if table is not None else {}
    except (OSError, ELFError) as error:
        raise ToolError(f"{image}: cannot be read, got {error}, expected an ELF file. Build the image again") from error
    missing = [function for function in marks.values() if function not in symbols]
    if missing:
        raise ToolError(
            f"{image}: has no function {missing[0]}, expected the firmware of a session, with its symbols. Use the "
            "predicted cycles, or build the image again"
        )
    # Bit 0 of a function's address marks Thumb code.
    found = [f"code={first:x}:{end:x}", *(f"{mark}={symbols[name]['st_value'] & ~1:x}" for mark, name in marks.items())]
    if {_BEGIN, _HOOK, _NODES} <= symbols.keys():
        hook, nodes = symbols[_HOOK], symbols[_NODES]
        start = hook["st_value"] & ~1
        found.append(f"begin={symbols[_BEGIN]['st_value'] & ~1:x}")
        found.append(f"hook={start:x}:{start + hook['st_size']:x}")
        found.append(f"nodes={nodes['st_value']:x}:{nodes['st_size'] // _NODE_BYTES:x}")
    return found
