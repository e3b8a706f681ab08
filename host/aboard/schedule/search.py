"""Searches the steps to compute as cascades: as few cascades as a low peak of RAM allows.

The RAM of a step depends only on the cascade that contains the step, not on the rest of the schedule. So the best
partition of the schedule into segments (single steps and cascades) is a shortest path, found by dynamic programming:
first the path with the least peak, then, of all paths that need hardly more RAM, the one with the fewest stripes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from aboard.errors import CapacityError
from aboard.ir import Graph, Node, Tensor
from aboard.kernels.contract import RowWise, Scratch
from aboard.kernels.view import View
from aboard.memory.problem import LiveRange, live_bytes
from aboard.schedule.aims import SLACK, Aim, aim
from aboard.schedule.buffer_assigner import assign_buffers
from aboard.schedule.buffers import BufferAssignment
from aboard.schedule.cascade import Cascade
from aboard.schedule.live_ranges import allocation_problem, buffer_ranges, state_block, views
from aboard.schedule.lowering import Calls
from aboard.schedule.receptive_field import ReceptiveFields
from aboard.schedule.segment_bounds import CascadeBound, SegmentBounds
from aboard.schedule.segment_peaks import SegmentPeaks
from aboard.schedule.shortest_path import SegmentTable
from aboard.schedule.spans import text_of
from aboard.schedule.streamed_input import find_streamed_input
from aboard.schedule.stripes import build_cascade, readers_of

#: Limits for the peak of the steps, as parts of `-ram-max`, tried one after another: fragmentation may need the rest.
_PARTS_OF_LIMIT = (1.0, 0.95, 0.9, 0.0)


@dataclass(frozen=True)
class Segment:
    """A single step, or neighbouring steps that are computed as a cascade.

    Attributes:
        first: Index of the first step.
        cascade: The cascade; None for a single step.
        peak_bytes: Lower bound of the RAM while it is computed.
    """

    first: int
    cascade: Cascade | None
    peak_bytes: int

    @property
    def end(self) -> int:
        """One past the index of the last step."""
        return self.first + (1 if self.cascade is None else len(self.cascade.nodes))

    @property
    def extra_stripes(self) -> int:
        """Kernel calls beyond one for each step."""
        if self.cascade is None:
            return 0
        return len(self.cascade.stripes) - self.cascade.input_stripes - len(self.cascade.nodes)


def choose(graph: Graph, calls: Calls) -> BufferAssignment:
    """Returns the buffer assignment of the schedule for the target: the first of `schedules`."""
    return next(schedules(graph, calls, aim(calls.target)))


@dataclass(frozen=True)
class RowPlacement:
    """What a search assumes about the rows of cascades.

    Attributes:
        in_blocks: True if they lie in blocks (`aboard.schedule.blocks`). Assignments have rolling buffers all the same.
        slacks: As `SLACK`, for `Aim.NEAR_LEAST`; one schedule for each.
        low: True if `Aim.NEAR_LEAST` tries stripes of one row too (`Cascade.minimise_ram`).
    """

    in_blocks: bool = False
    slacks: tuple[float, ...] = (SLACK,)
    low: bool = False


IN_RINGS, IN_BLOCKS, LEAST_IN_BLOCKS, LOW_IN_BLOCKS = (
    RowPlacement(),
    RowPlacement(in_blocks=True),
    RowPlacement(in_blocks=True, slacks=(1.0,)),
    RowPlacement(in_blocks=True, slacks=(1.0, SLACK), low=True),
)


#: Segments of cascades that were traced; None for steps that cannot be one.
Traced = dict[CascadeBound, Segment | None]


def schedules(
    graph: Graph, calls: Calls, wanted: Aim, memory: RowPlacement = IN_RINGS, traced: Traced | None = None
) -> Iterator[BufferAssignment]:
    """Yields the buffer assignment of the schedule with some objective.

    `Aim.WITHIN` yields several: first the schedule with the fewest stripes whose steps keep to `-ram-max`, then
    schedules with lower limits, because a memory plan may need more than its largest step. `Aim.NEAR_LEAST` yields one
    for each slack.

    Args:
        graph: A verified graph in execution order.
        calls: Calls of its nodes.
        wanted: The objective. `Aim.WITHIN` needs a target with `-ram-max`.
        memory: What it assumes about the rows of cascades.
        traced: Segments known from searches with rows in the same memory; extended.
    """
    minimise_ram = wanted in (Aim.LEAST, Aim.WITHIN) or calls.target.input_mode == "rows" or memory.low
    search = _CascadeSearch(graph, calls, minimise_ram=minimise_ram, in_blocks=memory.in_blocks, traced=traced)
    limit = calls.target.ram_max
    given = search.given()
    if given is not None:
        yield given
        return
    if limit is not None:
        limit -= state_block(search.plain, calls.implementations).bytes
    if wanted is Aim.PLAIN or not search.plain.steps:
        yield search.plain
    elif wanted is Aim.WITHIN and limit is not None:
        for part in _PARTS_OF_LIMIT:
            yield search.assignment(search.partition(int(limit * part), 1.0))
    else:
        for slack in memory.slacks if wanted is Aim.NEAR_LEAST else (1.0,):
            yield search.assignment(search.partition(0, slack))


def least_peak(graph: Graph, calls: Calls, enough: int, memory: RowPlacement = IN_BLOCKS) -> int:
    """Returns a lower bound of the RAM of the schedule with the least RAM.

    Args:
        graph: A verified graph in execution order, without states.
        calls: Calls of its nodes.
        enough: Bytes that the schedule may need; returned if it needs less.
        memory: As for `schedules`.
    """
    search = _CascadeSearch(graph, calls, minimise_ram=True, in_blocks=memory.in_blocks)
    return search.table.least_peak(enough, search.peak)


def pareto_front(graph: Graph, calls: Calls) -> Iterator[BufferAssignment]:
    """Yields the buffer assignments of the Pareto front of RAM and stripes: the fewest stripes for each limit of RAM.

    The first has no cascades; each further one needs less RAM and more stripes.

    Args:
        graph: A verified graph in execution order.
        calls: Calls of its nodes.
    """
    search = _CascadeSearch(graph, calls, minimise_ram=True)
    if not search.plain.steps:
        yield search.plain
        return
    limit = sum(segment.peak_bytes for segment in search.singles)
    partition = search.partition(limit, 1.0)
    while (peak := max(segment.peak_bytes for segment in partition)) <= limit:
        yield search.assignment(partition)
        limit = peak - 1
        partition = search.partition(limit, 1.0)


class _CascadeSearch:
    """The segments of a graph, made when the search first needs them."""

    def __init__(
        self,
        graph: Graph,
        calls: Calls,
        *,
        minimise_ram: bool,
        in_blocks: bool = False,
        traced: Traced | None = None,
    ) -> None:
        """Makes the segments of single steps.

        Args:
            graph: A verified graph in execution order.
            calls: Calls of its nodes.
            minimise_ram: True to try cascades with `Cascade.minimise_ram` too.
            in_blocks: True if rows lie in blocks; not for a graph with states.
            traced: As for `schedules`.
        """
        self.in_blocks = in_blocks
        self.graph = graph
        self.calls = calls
        self.implementations = calls.implementations
        self.keep_inputs = calls.target.input_mode == "kept"
        self.streamed_input = find_streamed_input(graph, calls.target)
        self.plain = self._assign([])
        self._scratch: dict[tuple[Node, tuple[bool, ...], int], Sequence[Scratch]] = {}
        self._fields: ReceptiveFields = {}
        self._ways: dict[Node, RowWise | None] = {}
        #: Steps of rolling windows, which no cascade may contain.
        self._rolling = self.plain.rolling_steps
        self._traced: Traced = {} if traced is None else traced
        #: Values of `minimise_ram`; with False, stripes have the height that kernels prefer.
        self.minimise_ram = (False, True) if minimise_ram else (False,)

    @cached_property
    def readers(self) -> dict[Tensor, list[Node]]:
        """The nodes that read each tensor."""
        return readers_of(self.graph)

    @cached_property
    def singles(self) -> list[Segment]:
        """The segments of single steps."""
        peaks = self._peaks(self.plain)
        return [Segment(index, None, peaks[index]) for index in range(len(self.plain.steps))]

    @cached_property
    def table(self) -> SegmentTable:
        """All segments that a schedule may have."""
        return SegmentTable([segment.peak_bytes for segment in self.singles], list(self._candidates()))

    @cached_property
    def segment_peaks(self) -> SegmentPeaks | None:
        """Peaks of cascades; None for a graph with states, whose places depend on the whole schedule."""
        if self.graph.states:
            return None
        return SegmentPeaks(self.graph, self.implementations, self._scratch_of, keep_inputs=self.keep_inputs)

    def partition(self, enough: int, slack: float) -> list[Segment]:
        """Returns the partition of the schedule into segments with the fewest stripes.

        Args:
            enough: Bytes that the schedule may need.
            slack: Factor of the least peak that the schedule may need, if this is more.
        """
        peak = self.table.least_peak(enough, self.peak)
        path = self.table.fewest_stripes(max(int(peak * slack), enough), self.peak)
        segments = [self.singles[step] if each is None else self._traced[each] for step, each in path]
        return [segment for segment in segments if segment is not None]

    def assignment(self, partition: Sequence[Segment]) -> BufferAssignment:
        """Returns the buffer assignment of a partition."""
        return self._assign([segment.cascade for segment in partition if segment.cascade is not None])

    def given(self) -> BufferAssignment | None:
        """Returns the schedule with the cascades that are given; None if none are, or if they cannot be.

        Raises:
            CapacityError: They cannot be cascades, and must.
        """
        wanted = self.calls.cascades
        if wanted is None:
            return None
        place = {node: index for index, node in enumerate(self.plain.steps)}
        built = []
        for first, last, span in wanted.spans:
            # A node that is another name of its operand is no step, and begins and ends no cascade.
            ends = [place[node] for node in (first, last) if node in place]
            nodes = self.plain.steps[ends[0] : ends[1] + 1] if len(ends) == 2 else []
            allowed = len(nodes) > 0 and self._rolling.isdisjoint(nodes)
            built.append(self._build(nodes, minimise_ram=span.minimise_ram, rows=span.rows) if allowed else None)
        cascades = [each for each in built if each is not None]
        if len(cascades) == len(built) and all(self.plain.unshared.issuperset(c.buffer_rows) for c in cascades):
            return self._assign(cascades)
        if not wanted.is_binding:
            return None
        spans = text_of([span for _, _, span in wanted.spans])
        raise CapacityError(
            f"{self.graph.name}: cascades, got {spans}, expected nodes that kernels compute row by row. "
            "Name others, or tune again"
        )

    def _assign(self, cascades: Sequence[Cascade]) -> BufferAssignment:
        return assign_buffers(
            self.graph,
            self.implementations,
            keep_inputs=self.keep_inputs,
            cascades=cascades,
            streamed_input=self.streamed_input,
            roll=self.calls.roll,
        )

    def _candidates(self) -> Iterator[CascadeBound]:
        """Yields the cascades that may be better than single steps."""
        plain, most = self.plain, max(segment.peak_bytes for segment in self.singles)
        peaks = self.segment_peaks
        if peaks is None:
            of_buffer = buffer_ranges(self.graph, plain, self.implementations, keep_inputs=self.keep_inputs)
            of_buffer |= {buffer: LiveRange(buffer.name, 0, 0, 0) for buffer in plain.state_buffers}
            ranges = {t: of_buffer[location.buffer] for t, location in plain.locations.items()}
        else:
            ranges = {t: peaks.ranges[location.buffer] for t, location in peaks.assigner.locations.items()}
        bounds = SegmentBounds(
            self.graph,
            plain.steps,
            self._row_wise,
            ranges,
            self.readers,
            self._fields,
            self.streamed_input,
            in_blocks=self.in_blocks,
        )
        allowed = frozenset(plain.unshared)
        for minimise_ram in self.minimise_ram:
            yield from bounds.candidates(allowed, int(most * SLACK), minimise_ram=minimise_ram)

    def _row_wise(self, node: Node) -> RowWise | None:
        return None if node in self._rolling else self._way(node)

    def _way(self, node: Node) -> RowWise | None:
        """Returns how a node computes rows: as many at once as its neighbours, if it follows them."""
        if node not in self._ways:
            self._ways[node] = self._found_way(node)
        return self._ways[node]

    def _found_way(self, node: Node) -> RowWise | None:
        found = self.implementations[node].row_wise(node)
        if found is not None and found.overwrites:
            # Slices of wider tensors have pixels at any distance.
            places = [self.plain.locations.get(tensor) for tensor in (node.input(0), node.output)]
            return found if all(place is None or place.view.contiguous for place in places) else None
        if found is None or not found.follows:
            return found
        writer = self._writers.get(node.input(0))
        if found.accumulates:
            ways = [] if writer is None else [self._way(writer)]
        else:
            around = [*self.readers.get(node.output, ()), *([] if writer is None else [writer])]
            known = [self.implementations[each].row_wise(each) for each in around]
            ways = [way for way in known if way is not None and way.overwrites]
        return replace(found, rows=max(way.rows for way in (found, *ways) if way is not None))

    @cached_property
    def _writers(self) -> dict[Tensor, Node]:
        return {tensor: node for node in self.graph.nodes for tensor in node.outputs}

    def peak(self, candidate: CascadeBound) -> int | None:
        """Returns the peak of a cascade; None if the steps cannot be one."""
        if candidate not in self._traced:
            self._traced[candidate] = self._trace(candidate)
        segment = self._traced[candidate]
        return None if segment is None else segment.peak_bytes

    def _trace(self, candidate: CascadeBound) -> Segment | None:
        """Returns a cascade with its stripes and its exact peak; None if the steps cannot be one."""
        first = candidate.first
        nodes = self.plain.steps[first : candidate.end]
        cascade = self._build(nodes, minimise_ram=candidate.minimise_ram)
        if cascade is None or not self.plain.unshared.issuperset(cascade.buffer_rows):
            return None
        if self.segment_peaks is not None:
            peak = self.segment_peaks.peak_in_blocks if self.in_blocks else self.segment_peaks.peak
            return Segment(first, cascade, peak(first, cascade, self.streamed_input))
        peaks = self._peaks(self._assign([cascade]))
        return Segment(first, cascade, max(peaks[first : candidate.end]))

    def _build(self, nodes: Sequence[Node], *, minimise_ram: bool, rows: int | None = None) -> Cascade | None:
        """Returns the cascade of some steps, with a streamed input if no other step reads that input."""

        def build(streamed_input: Tensor | None) -> Cascade | None:
            return build_cascade(
                self.graph,
                nodes,
                self._way,
                streamed_input,
                self._fields,
                minimise_ram=minimise_ram,
                rows=rows,
                readers=self.readers,
            )

        streamed = self.streamed_input
        if streamed is not None and any(streamed in node.operands for node in nodes):
            cascade = build(streamed)
            if cascade is not None or len(nodes) < 2:
                return cascade
        return build(None)

    def _peaks(self, assignment: BufferAssignment) -> list[int]:
        """Returns a lower bound of the RAM during each step."""
        scratch = [self._scratch_of(node, *views(node, assignment)) for node in assignment.steps]
        problem = allocation_problem(
            self.graph, assignment, self.implementations, scratch, keep_inputs=self.keep_inputs
        )
        return [live_bytes(problem.live_ranges, problem.overlaps, step) for step in range(len(assignment.steps))]

    def _scratch_of(self, node: Node, inputs: tuple[View | None, ...], outputs: tuple[View, ...]) -> Sequence[Scratch]:
        """Returns the scratch of a node. It depends on whether views are rolling buffers, not on their height."""
        rolling = tuple(view is not None and view.buffer_rows < view.rows for view in (*inputs, *outputs))
        key = node, rolling, outputs[0].stripe_height
        if key not in self._scratch:
            self._scratch[key] = self.calls.of(node, inputs, outputs).scratch
        return self._scratch[key]
