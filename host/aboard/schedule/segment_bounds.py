"""What cascades need at least, in closed form: the search makes the stripes of those cascades alone that may be taken.

A cascade from step a to step b has whole tensors at its border, and rolling buffers inside. A rolling buffer has at
least the rows that one stripe of a reader reads. It exists as long as the cascade if rows stay in it between two
stripes of the reader, or if other steps lie between writer and reader; otherwise it exists at least when the reader
runs. The largest operand that dies in the cascade may share its bytes with all that the cascade writes. If no operand
dies, the result may share its bytes.

The number of stripes is exact: their heights depend on the steps before alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from aboard.ir import Graph, Node, Tensor
from aboard.ir.fingerprint import once_for_equal_nodes
from aboard.kernels.contract import RowWise
from aboard.memory.problem import LiveRange
from aboard.ops import get, rows_of
from aboard.schedule.receptive_field import Progress, ReceptiveFields
from aboard.schedule.stripes import is_image_node

#: Multiply-accumulates of a node that are computed again for as many instructions as a further call takes.
_MACS_OF_A_CALL = 40

#: Windows that a tensor must be higher than, so that other steps certainly run between two stripes of its reader.
_MANY = 3


@dataclass(frozen=True)
class CascadeBound:
    """Steps that may be a cascade.

    Attributes:
        first: Index of the first step.
        end: One past the index of the last step.
        minimise_ram: As in `Cascade`.
        least_bytes: A lower bound of its peak.
        extra_stripes: Kernel calls beyond one for each step, and as many more as what stripes compute again is worth.
    """

    first: int
    end: int
    minimise_ram: bool
    least_bytes: int
    extra_stripes: int


@dataclass(frozen=True)
class _Inner:
    """A tensor between the steps of a cascade.

    Attributes:
        last_reader: Index of the last step that reads it.
        bytes: Of its rolling buffer, at least.
        rest: Bytes that stay between two stripes of its reader, at least.
        stays: True if it exists as long as any cascade of three steps and more that contains it.
    """

    last_reader: int
    bytes: int
    rest: int
    stays: bool


class SegmentBounds:
    """The candidates of a graph."""

    def __init__(
        self,
        graph: Graph,
        steps: Sequence[Node],
        row_wise: Callable[[Node], RowWise | None],
        ranges: Mapping[Tensor, LiveRange],
        readers: Mapping[Tensor, Sequence[Node]],
        fields: ReceptiveFields,
        streamed_input: Tensor | None,
        *,
        in_blocks: bool = False,
    ) -> None:
        """Keeps what is given.

        Args:
            graph: The graph.
            steps: The steps of the schedule; those that `row_wise` has no rows for are in no cascade.
            row_wise: How each step computes rows.
            ranges: For each tensor that the steps read or write, the live range of its buffer outside of cascades.
            readers: The nodes that read each tensor.
            fields: Receptive fields known from earlier calls; extended.
            streamed_input: The input whose rows the caller pushes.
            in_blocks: True if rows lie in blocks: then a tensor needs memory for the rows alone that are live.
        """
        self.in_blocks = in_blocks
        self.steps = steps
        self.row_wise = row_wise
        self.ranges = ranges
        self.fields = fields
        self.streamed = None if streamed_input is None else ranges[streamed_input]
        self.entering = _entering(len(steps), ranges, graph.inputs)
        place = {node: index for index, node in enumerate(steps)}
        never = len(steps)
        #: For each tensor, the last step that reads it; `never` if it may not be between the steps of a cascade.
        self.last_reader = {
            tensor: max((place.get(node, never) for node in nodes), default=never) for tensor, nodes in readers.items()
        }
        self.last_reader |= dict.fromkeys(graph.results, never)
        self.readers = {t: [place[node] for node in nodes if node in place] for t, nodes in readers.items()}
        self.never = never

    def candidates(self, unshared: frozenset[Tensor], limit: int, *, minimise_ram: bool) -> Iterator[CascadeBound]:
        """Yields the cascades whose lower bound is at most a limit, by their first step and then by their last.

        Args:
            unshared: The tensors that may have a rolling buffer.
            limit: Bytes.
            minimise_ram: As in `Cascade`.
        """
        ways = [self._way(node, minimise_ram=minimise_ram) for node in self.steps]
        inner = [self._inner(index, ways, unshared) for index in range(len(self.steps))]
        for first in range(len(self.steps)):
            yield from self._from(first, ways, inner, limit, minimise_ram=minimise_ram)

    def _way(self, node: Node, *, minimise_ram: bool) -> Progress | None:
        """Returns a node before its first stripe; None if no cascade may contain it."""
        found = self.row_wise(node)
        if found is None or not is_image_node(node):
            return None
        made = Progress.of(node, replace(found, rows=1) if minimise_ram else found, self.fields)
        return made if made.accumulates or made.field_of(0, 1) else None

    def _inner(self, step: int, ways: Sequence[Progress | None], unshared: frozenset[Tensor]) -> _Inner | None:
        """Returns the result of a step as a tensor inside a cascade; None if it cannot be one."""
        way, tensor = ways[step], self.steps[step].outputs[0]
        last = self.last_reader.get(tensor, self.never)
        if way is None or way.accumulates or last == self.never or tensor not in unshared:
            return None
        rows, rest, row_bytes = 1, 0, tensor.type.bytes // rows_of(tensor.shape)
        stays = last > step + 1
        for index in self.readers[tensor]:
            reader = ways[index]
            if reader is None:
                return None
            height, again = _window(reader, tensor)
            rows, rest, stays = max(rows, height), max(rest, again), stays or again > 0
        return _Inner(last, rows * row_bytes, rest * row_bytes, stays)

    def _from(
        self,
        first: int,
        ways: Sequence[Progress | None],
        inner: Sequence[_Inner | None],
        limit: int,
        *,
        minimise_ram: bool,
    ) -> Iterator[CascadeBound]:
        """Yields the cascades from one step on."""
        border = _Border(first, [each for each in self.entering[first] if each is not self.streamed])
        writers: dict[Tensor, Progress] = {}
        extra, staying, passing, open_until = 0, 0, 0, first
        most = 0
        closing: dict[int, list[_Inner]] = {}
        for last in range(first, len(self.steps)):
            way = ways[last]
            if way is None:
                return
            here = replace(way)
            here.align_first_stripe(writers)
            writers[here.node.outputs[0]] = here
            extra += -(-(here.rows - here.first_height) // here.stripe_height) + _stripes_worth(here)
            border.add(last)
            for each in closing.pop(last, ()):
                kept = each.rest if self.in_blocks else each.bytes
                staying += kept if each.stays else 0
                passing = max(passing, 0 if each.stays else each.bytes)
                most = max(most, each.bytes - kept if each.stays else each.bytes)
            if staying > limit:
                return
            if open_until <= last and (last > first or (first == 0 and self.streamed is not None)):
                inside = max(staying, passing) if minimise_ram else staying + passing
                if self.in_blocks:
                    inside = staying + most
                least = border.least_bytes(inside, self.ranges[self.steps[last].outputs[0]])
                if least <= limit:
                    yield CascadeBound(first, last + 1, minimise_ram, least, extra)
            result = inner[last]
            if result is None:
                return
            open_until = max(open_until, result.last_reader)
            closing.setdefault(result.last_reader, []).append(result)


def _entering(count: int, ranges: Mapping[Tensor, LiveRange], inputs: Sequence[Tensor]) -> list[list[LiveRange]]:
    """Returns for each step the live ranges that begin before it, and end with it or later."""
    found: list[list[LiveRange]] = [[] for _ in range(count)]
    given = {id(ranges[tensor]) for tensor in inputs}
    for each in {id(each): each for each in ranges.values()}.values():
        for step in range(each.first + (0 if id(each) in given else 1), min(each.last + 1, count)):
            found[step].append(each)
    return found


class _Border:
    """The tensors at the border of a cascade that grows at its end, and the tensors that live through it."""

    def __init__(self, first: int, entering: Sequence[LiveRange]) -> None:
        """Starts a cascade.

        Args:
            first: Index of the first step.
            entering: The live ranges that begin before this step, and end with it or later.
        """
        self.first = first
        self.through = sum(each.bytes for each in entering)
        self.dying, self.largest = 0, 0
        self.ends: dict[int, list[int]] = {}
        for each in entering:
            self.ends.setdefault(each.last, []).append(each.bytes)

    def add(self, last: int) -> None:
        """Takes one more step into the cascade."""
        for size in self.ends.pop(last, ()):
            self.through -= size
            self.dying += size
            self.largest = max(self.largest, size)

    def least_bytes(self, inside: int, result: LiveRange) -> int:
        """Returns a lower bound of the peak.

        Args:
            inside: Bytes inside the cascade that are live at once, at least.
            result: Of the result of its last step.
        """
        written = result.bytes if result.first >= self.first else 0
        shared = max(min(self.largest, written + inside), min(written, inside))
        return self.through + self.dying + written + inside - shared


def _stripes_worth(way: Progress) -> int:
    """Returns the kernel calls that take as long as what the stripes of a node compute again."""
    if not get(way.node.op).recomputes:
        return 0
    return _again(way.node, way.first_height, way.stripe_height) // _MACS_OF_A_CALL


@once_for_equal_nodes(1 << 12)
def _again(node: Node, first: int, height: int) -> int:
    op, rows = get(node.op), rows_of(node.output.shape)
    stripes = list(pairwise([0, *range(first, rows, height), rows]))
    return max(op.macs_in_stripes(node, stripes) - op.macs(node), 0)


def _window(reader: Progress, tensor: Tensor) -> tuple[int, int]:
    """Returns the rows of a tensor that a stripe inside the image reads, and those that the next stripe reads again.

    They are read again by later steps too, if there are enough rows for other steps to run between two stripes.
    """
    height = reader.stripe_height
    first = reader.rows // 2 // height * height
    last = min(first + height, reader.rows)
    if reader.accumulates:
        return last - first, 0
    spans = [
        (reader.reads(index, first, last), reader.reads(index, last, min(last + height, reader.rows)))
        for index, operand in enumerate(reader.node.inputs)
        if operand is tensor and last < reader.rows
    ]
    if reader.keeps or not spans:
        return 1, 0
    rows = min(here[1] - here[0] for here, _ in spans)
    again = min(here[1] - after[0] for here, after in spans)
    return rows, max(again, 0) if rows_of(tensor.shape) > _MANY * rows else 0
