"""Rows in blocks: the tensors of cascades without rolling buffers of their own.

A rolling buffer is as high as its tensor ever gets, and the rolling buffers of a cascade are full at different times.
So the unit of memory is the block, the rows that one stripe writes: each block has an address, and lives from the
stripe that writes it to the last that reads it. Kernels find a row by a table (`View.table`). The same order of stripes
needs less RAM, and the table needs flash, two bytes a row.

Whole tensors at the border of a cascade stay in one piece, but their rows are born and die one by one, so that blocks
may lie over rows that nothing reads any more, or that are still to be written. Scratch is live only while its node is
computed. A stripe may overwrite rows that it is the last to read, where its kernel allows that
(`Implementation.overwrites_rows`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from aboard.errors import VerifyError
from aboard.ir import Node, Tensor
from aboard.kernels.contract import RowWise
from aboard.kernels.view import View
from aboard.memory import blocks
from aboard.memory.arenas import Layout
from aboard.memory.blocks import Block, BlockPlan, MinOffsets, Part
from aboard.schedule.buffers import Buffer
from aboard.schedule.lowering import Program, Step
from aboard.schedule.moments import Moments, Written, moments
from aboard.schedule.receptive_field import Progress

#: Largest distance of two rows of a tensor, in units: entries of a table have 16 bits.
MOST_UNITS = (1 << 16) - 1


class Overwriting(Enum):
    """The rows that stripes overwrite. None is best for all schedules.

    Attributes:
        ALL: Rows that are at least as large as those of the result.
        EQUAL: Rows that are as large.
        NONE: No rows.
    """

    ALL = auto()
    EQUAL = auto()
    NONE = auto()


@dataclass(frozen=True)
class BlockProblem:
    """The blocks of a schedule.

    Attributes:
        blocks: The blocks.
        of_range: For each of `Program.live_ranges`, its block; None for rows in blocks.
        of_rows: For each tensor whose rows lie in blocks, the block of each row, and where it begins in the block.
        min_offsets: Pairs of blocks of single steps that may share bytes.
    """

    blocks: tuple[Block, ...]
    of_range: tuple[int | None, ...]
    of_rows: Mapping[Tensor, Sequence[tuple[int, int]]]
    min_offsets: MinOffsets


def layout(
    program: Program, region: str | None = None, limit: int | None = None, most: int | None = None
) -> Layout | None:
    """Returns the layout of a schedule whose cascades have rows in blocks.

    Args:
        program: The schedule; its views have tables (`aboard.schedule.buffer_assigner`).
        region: The memory region of the arena, if it has a name.
        limit: Bytes of the arena for which a longer search is worth it; None for none.
        most: Bytes of the arena above which a layout is of no use; None for none.

    Returns:
        The layout; None if a table cannot address the rows, or above `most`.
    """
    problems = _problems(program)
    bounds = [blocks.live_bound(each.blocks, each.min_offsets) for each in problems]
    if most is not None and min(bounds) > most:
        return None
    plans = [(each, blocks.place(each.blocks, each.min_offsets, budget=0)) for each in problems]
    made, plan = min(plans, key=lambda each: each[1].peak)
    if plan.peak > min(bounds):
        plan = blocks.place(made.blocks, made.min_offsets, limit=limit)
    if most is not None and plan.peak > most:
        return None
    return _layout(program, made, dataclasses.replace(plan, bound=min(bounds)), region)


def bound(program: Program) -> int:
    """Returns the most bytes that are live at once in a schedule with rows in blocks."""
    return min(blocks.live_bound(each.blocks, each.min_offsets) for each in _problems(program))


def _problems(program: Program) -> list[BlockProblem]:
    """Returns the different problems that the policies of overwriting make of a schedule."""
    problems: list[BlockProblem] = []
    for policy in Overwriting:
        made = problem(program, policy)
        if made not in problems:
            problems.append(made)
    return problems


def problem(program: Program, policy: Overwriting) -> BlockProblem:
    """Returns the blocks of a schedule.

    Args:
        program: The schedule.
        policy: The rows that stripes overwrite, if they are the last to read them and their kernels allow it.
    """
    builder = _Builder(program, moments(program))
    builder.add_rows(policy)
    builder.add_whole()
    builder.add_scratch()
    made = tuple(Block(name, tuple(sorted(parts)), align) for name, parts, align in builder.blocks)
    return BlockProblem(made, tuple(builder.of_range), builder.of_rows, builder.min_offsets())


def step_bytes(program: Program) -> list[int]:
    """Returns a lower bound of the bytes of an arena during each step: the most in any moment of its node."""
    found = moments(program)
    each = [problem(program, policy) for policy in Overwriting]
    live = min((blocks.live_bytes(made.blocks, made.min_offsets) for made in each), key=max)
    return [
        max(live[moment] for moment in found.of_node.get(step.node, [found.of_step[step.index][0]]))
        for step in program.steps
    ]


def _layout(program: Program, made: BlockProblem, plan: BlockPlan, region: str | None) -> Layout | None:
    offsets = [0 if block is None else plan.offsets[block] for block in made.of_range]
    tables = []
    for tensor, rows in made.of_rows.items():
        location = program.assignment.locations[tensor]
        at = [plan.offsets[block] + begin for block, begin in rows]
        entries = tuple((each - min(at)) // location.view.table_unit for each in at)
        if max(entries) > MOST_UNITS:
            return None
        if any((each - min(at)) % location.view.table_unit for each in at):
            raise VerifyError(f"memory plan: rows of {tensor.name} lie between the units of their table")
        offsets[program.buffers[location.buffer]] = min(at)
        tables.append((location.view.table, entries))
    return Layout(
        homes=(0,) * len(offsets),
        offsets=tuple(offsets),
        peaks=(plan.peak,),
        bounds=(min(plan.bound, plan.peak),),
        regions=() if region is None else (region,),
        tables=tuple(tables),
    )


class _Builder:
    """Makes the blocks of a schedule.

    Attributes:
        blocks: Name, parts and alignment of each block.
        of_range, of_rows: As in `BlockProblem`.
    """

    def __init__(self, program: Program, found: Moments) -> None:
        self.program = program
        self.moments = found
        self.locations = program.assignment.locations
        self.blocks: list[tuple[str, list[Part], int]] = []
        self.of_range: list[int | None] = [None] * len(program.live_ranges)
        self.of_rows: dict[Tensor, list[tuple[int, int]]] = {}
        self.overwritten: dict[tuple[Node, int], tuple[int, ...]] = {}
        #: Least distances from operand 0 to the result, by the number of rows.
        self.distances: dict[tuple[Node, int], int | None] = {}
        self.cascaded = {node for cascade in program.assignment.cascades for node in cascade.nodes}

    def add_rows(self, policy: Overwriting) -> None:
        """Adds a block for each stripe that writes a tensor within a cascade, in the order of the stripes."""
        inside = [
            (written, tensor)
            for tensor, stripes in self.moments.written.items()
            if tensor in self.locations and self.locations[tensor].view.table
            for written in stripes
        ]
        writers = {step.node.output: step for step in self.program.steps if step.node in self.cascaded}
        for written, tensor in sorted(inside, key=lambda each: each[0].moment):
            writer = writers.get(tensor)
            places = [] if writer is None else self._dying(writer, written, policy)
            self._add_stripe(tensor, written, *(places[0] if places else self._new(tensor)))

    def _new(self, tensor: Tensor) -> tuple[int, int]:
        self.blocks.append((f"rows of {tensor.name}", [], self._align(tensor)))
        return len(self.blocks) - 1, 0

    def _align(self, tensor: Tensor) -> int:
        """Returns the alignment of rows: what kernels ask, and a unit of the table."""
        location = self.locations[tensor]
        return max(self.program.live_ranges[self.program.buffers[location.buffer]].align, location.view.table_unit)

    def _add_stripe(self, tensor: Tensor, written: Written, block: int, begin: int) -> None:
        size = self.locations[tensor].view.row_stride
        rows = self.of_rows.setdefault(tensor, [])
        parts = self.blocks[block][1]
        for row in range(written.first, written.last):
            low = begin + (row - written.first) * size
            rows.append((block, low))
            last = max(written.moment, self.moments.last_read[tensor][row])
            _append(parts, Part(written.moment, last, low, low + size))

    def _dying(self, writer: Step, written: Written, policy: Overwriting) -> list[tuple[int, int]]:
        """Returns the places of rows that a stripe may overwrite: it is the last to read them."""
        if policy is Overwriting.NONE:
            return []
        found = []
        node, wanted = writer.node, written.last - written.first
        result = self.locations[node.output].view
        align, allowed = self._align(node.output), self._overwritten(writer, wanted)
        for index, operand in enumerate(node.inputs):
            rows = None if operand is None else self.of_rows.get(operand)
            if operand is None or rows is None:
                continue
            view, last_read = self.locations[operand].view, self.moments.last_read[operand]
            same = _same_rows(view, result)
            if not (same if policy is not Overwriting.ALL else view.row_stride >= result.row_stride):
                continue
            dying = [row for row in range(len(rows)) if last_read[row] == written.moment][:wanted]
            if len(dying) < wanted:
                continue
            block, begin = rows[dying[0]]
            if begin % align or self.blocks[block][2] % align:
                continue
            together = [rows[row] for row in dying] == [(block, begin + n * view.row_stride) for n in range(wanted)]
            if together and ((same and index in allowed) or (index == 0 and self._trails(writer, dying, written))):
                found.append((block, begin))
        return found

    def _overwritten(self, writer: Step, rows: int) -> tuple[int, ...]:
        """Returns the operands that a stripe of so many rows may overwrite; of more rows than preferred, none.

        A kernel that follows others overwrites rows in stripes of more rows than preferred.
        """
        if (writer.node, rows) not in self.overwritten:
            way = writer.implementation.row_wise(writer.node)
            height = self.program.assignment.stripe_height(writer.node) or 0
            few = way is not None and (height > way.rows if way.follows else rows <= way.rows)
            self.overwritten[writer.node, rows] = writer.implementation.overwrites_rows(writer.node) if few else ()
        return self.overwritten[writer.node, rows]

    def _trails(self, writer: Step, dying: Sequence[int], written: Written) -> bool:
        """True if a stripe reads the rows that it writes, and each of their bytes before it writes there.

        Rows of its result and of operand 0 begin at the same byte.
        """
        node, count = writer.node, written.last - written.first
        if list(dying) != list(range(written.first, written.last)) or node.input(0).shape[1] != node.output.shape[1]:
            return False
        if Progress.of(node, RowWise(), {}).reads(0, written.first, written.last) != (written.first, written.last):
            return False
        if (node, count) not in self.distances:
            views = [
                dataclasses.replace(View.whole(t.shape, t.dtype.bytes), rows=count, buffer_rows=count)
                for t in (node.input(0), node.output)
            ]
            inputs = (views[0], *[None] * (len(node.inputs) - 1))
            self.distances[node, count] = writer.implementation.overlap(node, inputs, (views[1],))
        least = self.distances[node, count]
        return least is not None and least <= 0

    def add_whole(self) -> None:
        """Adds the blocks of buffers whose tensors lie in one piece."""
        for buffer, index in self.program.buffers.items():
            inside = [self.locations[t].view for t in buffer.tensors if t in self.locations]
            if not any(view.table for view in inside):
                live = self.program.live_ranges[index]
                self.of_range[index] = len(self.blocks)
                self.blocks.append((live.name, self._parts_of(buffer, index), live.align))

    def _parts_of(self, buffer: Buffer, index: int) -> list[Part]:
        """Returns the parts of a buffer: its rows where a cascade writes or reads it row by row for the last time."""
        live, end = self.program.live_ranges[index], len(self.moments.of_step) - 1
        begin, until = self.moments.of_step[max(live.first, 0)]
        # In a part of a schedule, a buffer may be live before and behind it.
        first, last = (begin if live.first >= 0 else 0), self.moments.of_step[min(live.last, end)][1]
        inside = [t for t in buffer.tensors if t in self.moments.written or t in self.moments.last_read]
        view = self.locations[inside[0]].view if len(inside) == 1 else None
        if view is None or not view.contiguous or view.span != buffer.bytes or view.offset:
            return [Part(first, last, 0, buffer.bytes)]
        born = self._births(inside[0], first, until if live.first >= 0 else -1, view.rows)
        dies = self._deaths(inside[0], last, live.last, view.rows)
        parts: list[Part] = []
        for row in range(view.rows):
            low = row * view.row_stride
            _append(parts, Part(born[row], max(born[row], dies[row]), low, low + view.row_stride))
        return parts

    def _births(self, tensor: Tensor, first: int, until: int, rows: int) -> list[int]:
        """Returns the first moment of each row, if the buffer is first needed from moment `first` to `until`."""
        born = [first] * rows
        for written in self.moments.written.get(tensor, ()):
            if first <= written.moment <= until:
                born[written.first : written.last] = [written.moment] * (written.last - written.first)
        return born

    def _deaths(self, tensor: Tensor, last: int, step: int, rows: int) -> list[int]:
        """Returns the last moment of each row of a tensor whose buffer `step` needs last, until moment `last`."""
        nodes = self.program.assignment.steps
        read = self.moments.last_read.get(tensor)
        if read is None or step >= len(nodes) or nodes[step] not in self.cascaded:
            return [last] * rows
        start = self.moments.of_step[step][0]
        return [moment if moment >= start else start for moment in read]

    def add_scratch(self) -> None:
        """Adds scratch, which is live in the moments of its node, and the state of a streamed input."""
        for step in self.program.steps:
            mine = self.moments.of_node.get(step.node, [self.moments.of_step[step.index][0]])
            for index, scratch in zip(step.scratch, step.call.scratch, strict=True):
                spans = [(mine[0], mine[-1])] if scratch.persistent else [(moment, moment) for moment in mine]
                self._add_range(index, [Part(first, last, 0, scratch.bytes) for first, last in spans])
        state = self.program.stream_state
        if state is not None:
            self._add_range(state, [Part(0, self.moments.end, 0, self.program.live_ranges[state].bytes)])

    def _add_range(self, index: int, parts: list[Part]) -> None:
        live = self.program.live_ranges[index]
        self.of_range[index] = len(self.blocks)
        self.blocks.append((live.name, parts, live.align))

    def min_offsets(self) -> dict[tuple[int, int], int]:
        """Returns the pairs that one step outside of cascades reads and writes, and that may share bytes."""
        found: dict[tuple[int, int], int] = {}
        nodes = self.program.assignment.steps
        for pair in self.program.overlaps:
            step = self.program.live_ranges[pair.operand].last
            operand, result = self.of_range[pair.operand], self.of_range[pair.result]
            single = step < len(nodes) and nodes[step] not in self.cascaded
            if single and operand is not None and result is not None:
                found[operand, result] = pair.min_offset
        return found


def _append(parts: list[Part], part: Part) -> None:
    """Appends a part, or extends the last one if both live equally long and follow each other."""
    if parts and parts[-1][:2] == part[:2] and parts[-1].high == part.low:
        parts[-1] = parts[-1]._replace(high=part.high)
    else:
        parts.append(part)


def _same_rows(one: View, other: View) -> bool:
    return (one.row_stride, one.pixel_stride, one.cols, one.element_bytes) == (
        other.row_stride,
        other.pixel_stride,
        other.cols,
        other.element_bytes,
    )
