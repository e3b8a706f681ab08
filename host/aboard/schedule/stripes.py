"""Finds the stripes of a cascade, from the last node back to the first, and the liveness of the rows between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from aboard.ir import Graph, Node, Tensor
from aboard.kernels.contract import RowWise
from aboard.ops import rows_of
from aboard.schedule.cascade import Cascade, Stripe
from aboard.schedule.receptive_field import Progress, ReceptiveFields

#: Returns how a node computes rows; None for a node that must compute all rows at once.
RowWiseOf = Callable[[Node], RowWise | None]


def build_cascade(
    graph: Graph,
    nodes: Sequence[Node],
    row_wise: RowWiseOf,
    streamed_input: Tensor | None = None,
    fields: ReceptiveFields | None = None,
    *,
    minimise_ram: bool = False,
    rows: int | None = None,
    readers: Mapping[Tensor, Sequence[Node]] | None = None,
) -> Cascade | None:
    """Returns the cascade of some neighbouring nodes, or None if they cannot be one.

    Args:
        graph: The graph.
        nodes: The nodes in the order of the schedule: at least two, or one that reads the streamed input.
        row_wise: How each node computes rows.
        streamed_input: An input of the graph whose rows the caller pushes; only these nodes read it.
        fields: Receptive fields known from earlier calls; extended.
        minimise_ram: True for stripes of one row that overwrite their operands wherever possible.
        rows: Rows of a stripe; None for those that the kernels prefer.
        readers: The nodes that read each tensor (`readers_of`), if they are known from earlier calls.
    """

    def limited(node: Node) -> RowWise | None:
        found = row_wise(node)
        height = 1 if minimise_ram else rows
        return found if found is None or height is None else replace(found, rows=height)

    known = readers_of(graph) if readers is None else readers
    builder = _Builder.of(graph, nodes, limited, streamed_input, {} if fields is None else fields, known)
    return None if builder is None else replace(builder.run(), minimise_ram=minimise_ram, rows=rows)


def readers_of(graph: Graph) -> dict[Tensor, list[Node]]:
    """Returns the nodes that read each tensor, in execution order."""
    found: dict[Tensor, list[Node]] = {}
    for node in graph.nodes:
        for tensor in node.operands:
            found.setdefault(tensor, []).append(node)
    return found


class _Builder:
    """Finds the stripes: `nodes` with their progress, and `inner`, the writers of the tensors between them."""

    def __init__(
        self,
        nodes: Sequence[Progress],
        inner: dict[Tensor, Progress],
        readers: dict[Tensor, list[Progress]],
        streamed_input: Tensor | None,
    ):
        self.nodes = nodes
        self.inner = inner
        self.streamed_input = streamed_input
        self.readers = readers
        self.stripes: list[Stripe] = []
        self.position = {progress.node: index for index, progress in enumerate(nodes)}
        if streamed_input is not None:
            self.position[inner[streamed_input].node] = len(nodes)
        self.buffer_rows = dict.fromkeys(inner, 1)
        self.transient = set(inner)
        #: Those of `transient` with rows that are written and still to be read.
        self.pending: set[Tensor] = set()
        result = nodes[-1].node.output
        outside = [t for progress in nodes for t in progress.node.operands if not t.is_constant and t not in inner]
        self.min_offsets = dict.fromkeys(outside, 0)
        self.consumed_bytes: dict[Node, dict[Tensor, int]] = {}
        self.lead_rows: dict[tuple[Tensor, Tensor], int] = {}
        self.produced_bytes: dict[Node, int] = {}
        #: For each tensor, the first row that this stripe or a later one reads.
        self.lowest = {t: self._lowest_row_left(t) for t in [*inner, *outside]}
        self.row_bytes = {t: t.type.bytes // rows_of(t.shape) for t in [*outside, result]}

    @classmethod
    def of(
        cls,
        graph: Graph,
        nodes: Sequence[Node],
        row_wise: RowWiseOf,
        streamed_input: Tensor | None,
        fields: ReceptiveFields,
        readers_of: Mapping[Tensor, Sequence[Node]],
    ) -> _Builder | None:
        """Returns the builder for some nodes, or None if they cannot be a cascade."""
        found = [row_wise(node) for node in nodes]
        progress = [Progress.of(node, way, fields) for node, way in zip(nodes, found, strict=True) if way is not None]
        if len(progress) < max(2 if streamed_input is None else 1, len(nodes)) or not all(
            is_image_node(n) for n in nodes
        ):
            return None
        if any(each.accumulates for each in progress[:-1]):
            return None
        if not all(each.accumulates or each.field_of(0, 1) for each in progress):
            return None
        members = {each.node: each for each in progress}
        between = [t for node in nodes[:-1] for t in node.outputs]
        for tensor in between if streamed_input is None else [streamed_input, *between]:
            if any(reader not in members for reader in readers_of.get(tensor, ())):
                return None
        readers: dict[Tensor, list[Progress]] = {}
        for each in progress:
            for tensor in each.node.operands:
                readers.setdefault(tensor, []).append(each)
        inner = {each.node.output: each for each in progress[:-1]}
        if streamed_input is not None:
            inner[streamed_input] = Progress.of_streamed_input(streamed_input)
        for each in progress:
            each.align_first_stripe(inner)
        dangling = any(not readers.get(t) or graph.is_result(t) for t in inner)
        return None if dangling or len(members) < len(nodes) else cls(progress, inner, readers, streamed_input)

    def run(self) -> Cascade:
        self._compute(self.nodes[-1], self.nodes[-1].rows)
        # Rows that no stripe reads: the caller pushes all of its rows, and a trace shows every tensor whole.
        caller = [] if self.streamed_input is None else [self.inner[self.streamed_input]]
        for progress in [*caller, *self.nodes]:
            self._compute(progress, progress.rows)
        heights = {tensor: min(rows, rows_of(tensor.shape)) for tensor, rows in self.buffer_rows.items()}
        return Cascade(
            tuple(progress.node for progress in self.nodes),
            tuple(self.stripes),
            heights,
            {tensor: -self._aligned_row(tensor) % height for tensor, height in heights.items()},
            frozenset(self.transient),
            self.min_offsets,
            self.consumed_bytes,
            self.lead_rows,
            self.produced_bytes,
            self.streamed_input,
        )

    def _compute(self, progress: Progress, rows: int) -> None:
        """Adds stripes of a node, after the nodes that it depends on, until a number of its rows is computed."""
        while progress.done < rows:
            for index, tensor in enumerate(progress.node.inputs):
                if tensor in self.inner:
                    self._compute(self.inner[tensor], progress.reads(index, progress.done, progress.next)[1])
            self._add_stripe(progress)

    def _add_stripe(self, progress: Progress) -> None:
        first, last = progress.done, progress.next
        if first == 0 and progress in self.nodes:
            self.consumed_bytes[progress.node] = {t: self.lowest[t] * self.row_bytes[t] for t in self.min_offsets}
        self.stripes.append(Stripe(self.position[progress.node], first, last))
        written = progress.node.output
        if written in self.inner:
            # Rows that are still to be read, before this stripe has read any. Reading does not add to them.
            self.buffer_rows[written] = max(self.buffer_rows[written], last - self.lowest[written])
        for tensor in [t for t in self.pending if t is not written and progress not in self.readers[t]]:
            self.transient.discard(tensor)
            self.pending.discard(tensor)
        self._note_lead_rows(progress, last)
        if progress is self.nodes[-1] and not progress.accumulates:
            end = last * self.row_bytes[progress.node.output]
            for tensor in self.min_offsets:
                consumed = self.lowest[tensor] * self.row_bytes[tensor]
                self.min_offsets[tensor] = max(self.min_offsets[tensor], end - consumed)
        progress.done = last
        for tensor in progress.node.operands:
            if tensor in self.lowest:
                self.lowest[tensor] = self._lowest_row_left(tensor)
        for tensor in [*progress.node.operands, written]:
            self._note_pending(tensor)
        self.produced_bytes[progress.node] = self._produced_bytes()

    def _note_pending(self, tensor: Tensor) -> None:
        if tensor in self.transient and self.lowest[tensor] < self.inner[tensor].done:
            self.pending.add(tensor)
        else:
            self.pending.discard(tensor)

    def _note_lead_rows(self, writer: Progress, last: int) -> None:
        """Records how many rows the writer is ahead of the live rows of its result and of the next result."""
        tensor = writer.node.output
        for reader in self.readers[tensor] if tensor in self.inner else ():
            result = reader.node.output
            if result in self.inner and rows_of(result.shape) == rows_of(tensor.shape):
                pair, lowest = (tensor, result), min(self.lowest[result], self.lowest[tensor])
                self.lead_rows[pair] = max(self.lead_rows.get(pair, 0), last - lowest)

    def _produced_bytes(self) -> int:
        end, result = self.nodes[-1], self.nodes[-1].node.output
        if end.accumulates:
            return result.type.bytes if end.done == end.rows else 0
        return end.done * self.row_bytes[result]

    def _aligned_row(self, tensor: Tensor) -> int:
        """Returns the row of a tensor that row 0 of its rolling buffer stores; see `Cascade.start_rows`."""
        reader, writer = self.readers[tensor][0], self.inner[tensor]
        operand = next(index for index, t in enumerate(reader.node.inputs) if t is tensor)
        first = min(reader.first_height, reader.rows - 1)
        start, end = reader.reads(operand, first, min(first + reader.stripe_height, reader.rows))
        return start if end - start > 1 else min(writer.first_height, writer.rows - 1)

    def _lowest_row_left(self, tensor: Tensor) -> int:
        return min([reader.lowest_row_left(tensor) for reader in self.readers[tensor]])


def is_image_node(node: Node) -> bool:
    """True if every tensor that a node reads or computes is one image."""
    return all(_is_image(t) for t in [*node.operands, *node.outputs] if not t.is_constant)


def _is_image(tensor: Tensor) -> bool:
    return len(tensor.shape) == 4 and tensor.shape[0] == 1
