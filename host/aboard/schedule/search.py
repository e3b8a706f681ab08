"""Searches the steps to compute as cascades: as few cascades as a low peak of RAM allows.

The RAM of a step depends only on the cascade that contains the step, not on the rest of the schedule. So the best
partition of the schedule into segments (single steps and cascades) is a shortest path, found by dynamic programming:
first the path with the least peak, then, of all paths that need hardly more RAM, the one with the fewest stripes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from aboard.errors import CapacityError
from aboard.ir import Graph, Node, Tensor
from aboard.kernels.contract import RowWise, Scratch, View
from aboard.memory.problem import live_bytes
from aboard.schedule.buffer_assigner import assign_buffers
from aboard.schedule.buffers import BufferAssignment
from aboard.schedule.cascade import Cascade
from aboard.schedule.live_ranges import allocation_problem, state_block, views
from aboard.schedule.lowering import Calls
from aboard.schedule.receptive_field import ReceptiveFields
from aboard.schedule.spans import text_of
from aboard.schedule.streamed_input import find_streamed_input
from aboard.schedule.stripes import build_cascade
from aboard.target import Target

#: Largest RAM of a schedule with fewer stripes, as a factor of the least RAM.
SLACK = 1.05

#: Limits for the peak of the steps, as parts of `-ram-max`, tried one after another: fragmentation may need the rest.
_PARTS_OF_LIMIT = (1.0, 0.95, 0.9, 0.0)


class Aim(Enum):
    """The objective of a schedule.

    Attributes:
        LEAST: The least RAM found, whatever the number of stripes.
        NEAR_LEAST: The fewest stripes among schedules with hardly more RAM than the least (`SLACK`).
        WITHIN: The fewest stripes within `-ram-max`.
        PLAIN: No cascades, which is fastest.
        TUNED: The cascades that a tuning names.
    """

    LEAST = auto()
    NEAR_LEAST = auto()
    WITHIN = auto()
    PLAIN = auto()
    TUNED = auto()


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


def aim(target: Target) -> Aim:
    """Returns the objective of schedules for a target; with `-opt=size` the one tried first."""
    if target.opt == "size":
        return Aim.LEAST
    if target.ram_max is not None:
        return Aim.WITHIN
    if target.opt == "speed":
        return Aim.PLAIN
    if target.input_mode == "rows":
        return Aim.LEAST
    return Aim.PLAIN if "arm_mve" in target.keys else Aim.NEAR_LEAST


def choose(graph: Graph, calls: Calls) -> BufferAssignment:
    """Returns the buffer assignment of the schedule for the target: the first of `schedules`."""
    return next(schedules(graph, calls, aim(calls.target)))


def schedules(graph: Graph, calls: Calls, wanted: Aim) -> Iterator[BufferAssignment]:
    """Yields the buffer assignment of the schedule with some objective.

    `Aim.WITHIN` yields several: first the schedule with the fewest stripes whose steps keep to `-ram-max`, then
    schedules with lower limits, because a memory plan may need more than its largest step.

    Args:
        graph: A verified graph in execution order.
        calls: Calls of its nodes.
        wanted: The objective. `Aim.WITHIN` needs a target with `-ram-max`.
    """
    minimise_ram = wanted in (Aim.LEAST, Aim.WITHIN) or calls.target.input_mode == "rows"
    search = _CascadeSearch(graph, calls, minimise_ram=minimise_ram)
    limit = calls.target.ram_max
    given = search.given()
    if given is not None:
        yield given
        return
    if limit is not None:
        limit -= state_block(search.plain, calls.implementations).bytes
    if wanted is Aim.PLAIN or not search.singles:
        yield search.plain
    elif wanted is Aim.WITHIN and limit is not None:
        for part in _PARTS_OF_LIMIT:
            yield search.assignment(search.partition(int(limit * part), 1.0))
    else:
        yield search.assignment(search.partition(0, SLACK if wanted is Aim.NEAR_LEAST else 1.0))


def taken(wanted: Aim, calls: Calls, assignment: BufferAssignment) -> Aim:
    """Returns the objective of a schedule: `Aim.TUNED` if its cascades were given, else the wanted one."""
    if calls.cascades is None:
        return wanted
    ends = [(cascade.nodes[0], cascade.nodes[-1]) for cascade in assignment.cascades]
    given = [(first, last) for first, last, _ in calls.cascades.spans]
    return Aim.TUNED if set(ends) == set(given) else wanted


def rule(target: Target, taken: Aim | None = None) -> str:
    """Returns the rule by which a schedule was chosen, in words.

    Args:
        target: The target of the code.
        taken: Its objective; None for the first objective of the target.
    """
    first = aim(target)
    taken = taken or first
    words = {
        Aim.LEAST: "the least RAM found",
        Aim.NEAR_LEAST: f"the fewest stripes within {100 * (SLACK - 1):.0f} % of the least RAM found",
        Aim.WITHIN: f"the fewest stripes within -ram-max={target.ram_max}",
        Aim.PLAIN: "no cascades, which is fastest",
        Aim.TUNED: "the cascades that aboard tune found",
    }[taken]
    if taken is Aim.TUNED:
        return words
    if taken is not first:
        return f"{words} (as with -opt=balanced, since less RAM would take more flash)"
    if taken is Aim.WITHIN:
        return words
    why = "-input=rows" if taken is Aim.LEAST and target.opt != "size" else f"-opt={target.opt}"
    helium = " on a core with Helium" if taken is Aim.PLAIN and target.opt == "balanced" else ""
    return f"{words} ({why}{helium})"


def pareto_front(graph: Graph, calls: Calls) -> Iterator[BufferAssignment]:
    """Yields the buffer assignments of the Pareto front of RAM and stripes: the fewest stripes for each limit of RAM.

    The first has no cascades; each further one needs less RAM and more stripes.

    Args:
        graph: A verified graph in execution order.
        calls: Calls of its nodes.
    """
    search = _CascadeSearch(graph, calls, minimise_ram=True)
    if not search.singles:
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

    def __init__(self, graph: Graph, calls: Calls, *, minimise_ram: bool) -> None:
        """Makes the segments of single steps.

        Args:
            graph: A verified graph in execution order.
            calls: Calls of its nodes.
            minimise_ram: True to try cascades with `Cascade.minimise_ram` too.
        """
        self.graph = graph
        self.calls = calls
        self.implementations = calls.implementations
        self.keep_inputs = calls.target.input_mode == "kept"
        self.streamed_input = find_streamed_input(graph, calls.target)
        self.plain = self._assign([])
        self._scratch: dict[tuple[Node, tuple[bool, ...], int], Sequence[Scratch]] = {}
        self._fields: ReceptiveFields = {}
        #: Steps of rolling windows, which no cascade may contain.
        self._rolling = self.plain.rolling_steps
        peaks = self._peaks(self.plain)
        self.singles = [Segment(index, None, peaks[index]) for index in range(len(self.plain.steps))]
        self.cascades: dict[tuple[int, int, bool], Segment] = {}
        #: Values of `minimise_ram`; with False, stripes have the height that kernels prefer.
        self.minimise_ram = (False, True) if minimise_ram else (False,)

    def partition(self, enough: int, slack: float) -> list[Segment]:
        """Returns the partition of the schedule into segments with the fewest stripes.

        Args:
            enough: Bytes that the schedule may need.
            slack: Factor of the least peak that the schedule may need, if this is more.
        """
        peak_steps: set[int] = set()
        while True:
            least = _shortest_path(self._segments(), lambda so_far, segment: max(so_far, segment.peak_bytes))
            peak = max(segment.peak_bytes for segment in least)
            limit = max(int(peak * slack), enough)
            wanted = {s.first for s in least if s.cascade is None and s.peak_bytes == peak > enough}
            wanted |= {s.first for s in self.singles if s.peak_bytes > limit} if limit > peak else set()
            if wanted <= peak_steps:
                break
            peak_steps |= wanted
            self._add_cascades(peak_steps)
        within = [segment for segment in self._segments() if segment.peak_bytes <= limit]
        return _shortest_path(within, lambda so_far, segment: so_far + segment.extra_stripes)

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

    def _segments(self) -> list[Segment]:
        return [*self.singles, *self.cascades.values()]

    def _assign(self, cascades: Sequence[Cascade]) -> BufferAssignment:
        return assign_buffers(
            self.graph,
            self.implementations,
            keep_inputs=self.keep_inputs,
            cascades=cascades,
            streamed_input=self.streamed_input,
            roll=self.calls.roll,
        )

    def _add_cascades(self, steps: set[int]) -> None:
        """Adds all cascades that contain one of some steps."""
        for step in sorted(steps):
            for first in range(step, -1, -1):
                if not self._is_row_wise(first):
                    break
                shortest = first if self.streamed_input is not None and first == 0 else first + 1
                for last in range(max(step, shortest), len(self.plain.steps)):
                    if not self._is_row_wise(last):
                        break
                    for minimise_ram in self.minimise_ram:
                        self._add_cascade(first, last, minimise_ram=minimise_ram)

    def _is_row_wise(self, step: int) -> bool:
        node = self.plain.steps[step]
        return self.implementations[node].row_wise(node) is not None

    def _add_cascade(self, first: int, last: int, *, minimise_ram: bool) -> None:
        if (first, last, minimise_ram) in self.cascades:
            return
        nodes = self.plain.steps[first : last + 1]
        if not self._rolling.isdisjoint(nodes):
            return
        cascade = self._build(nodes, minimise_ram=minimise_ram)
        if cascade is not None and self.plain.unshared.issuperset(cascade.buffer_rows):
            peaks = self._peaks(self._assign([cascade]))
            self.cascades[first, last, minimise_ram] = Segment(first, cascade, max(peaks[first : last + 1]))

    def _build(self, nodes: Sequence[Node], *, minimise_ram: bool, rows: int | None = None) -> Cascade | None:
        """Returns the cascade of some steps, with a streamed input if no other step reads that input."""

        def row_wise(node: Node) -> RowWise | None:
            return self.implementations[node].row_wise(node)

        def build(streamed_input: Tensor | None) -> Cascade | None:
            return build_cascade(
                self.graph, nodes, row_wise, streamed_input, self._fields, minimise_ram=minimise_ram, rows=rows
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


def _shortest_path(segments: Sequence[Segment], longer: Callable[[int, Segment], int]) -> list[Segment]:
    """Returns the path from the first step to the last, each step in one segment, whose length is least.

    Args:
        segments: Segments that allow at least one path.
        longer: Returns the length of a path from the length without its last segment, and that segment.
    """
    best: dict[int, tuple[int, list[Segment]]] = {0: (0, [])}
    for segment in sorted(segments, key=lambda s: (s.end, s.end - s.first)):
        if segment.first not in best:
            continue
        length, path = best[segment.first]
        length = longer(length, segment)
        if segment.end not in best or length < best[segment.end][0]:
            best[segment.end] = length, [*path, segment]
    return best[max(best)][1]
