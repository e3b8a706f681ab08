"""What memory a schedule needs, and when: a request for each buffer, then for each scratch."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aboard.base.manifest import label
from aboard.ir import Graph, Node, Tensor
from aboard.kernels.contract import Implementation, Scratch, View
from aboard.memory.problem import Overlap, Request
from aboard.schedule.cascade import Cascade
from aboard.schedule.storage import AFTER_LAST, Buffer, Storage


@dataclass(frozen=True)
class Needs:
    """A memory problem.

    Attributes:
        requests: One for each buffer, then scratch.
        buffers: For each buffer, its index in `requests`.
        scratch: For each step, the indices of its scratch in `requests`.
        overlaps: Pairs of requests that may share bytes though a step needs both.
        state: Index in `requests` of what a run knows between two rows of its input; None where it is not fed.
    """

    requests: tuple[Request, ...]
    buffers: Mapping[Buffer, int]
    scratch: tuple[tuple[int, ...], ...]
    overlaps: tuple[Overlap, ...]
    state: int | None = None


def state_words(storage: Storage) -> int:
    """Returns the 32-bit numbers that a run keeps between two rows of its input.

    The rows that were brought and the turn that comes next; then the rows that each node of the fed cascade has
    computed, and those that it was fed.
    """
    fed = next((cascade for cascade in storage.cascades if cascade.fed is not None), None)
    return 2 + (0 if fed is None else len(fed.nodes) + 1)


def views(node: Node, storage: Storage) -> tuple[tuple[View | None, ...], tuple[View, ...]]:
    """Returns the views of a node's operands, None where one is absent, and of its results."""
    outputs = tuple(storage.places[tensor].view for tensor in node.outputs)
    for cascade in storage.cascades:
        if node in cascade.nodes:
            outputs = (dataclasses.replace(outputs[0], step=cascade.step_of(node)),)
    return tuple(_view(tensor, storage) for tensor in node.inputs), outputs


def _view(tensor: Tensor | None, storage: Storage) -> View | None:
    if tensor is None:
        return None
    if tensor.is_constant:
        return View.whole(tensor.shape, tensor.dtype.bytes)
    return storage.places[tensor].view


def collect(
    graph: Graph,
    storage: Storage,
    implementations: Mapping[Node, Implementation],
    scratch: Sequence[Sequence[Scratch]],
    *,
    keep_inputs: bool,
) -> Needs:
    """Returns what a schedule needs.

    Args:
        graph: The graph.
        storage: Its storage.
        implementations: For every node.
        scratch: For each step, its scratch buffers.
        keep_inputs: True when a run leaves the inputs as they were.
    """
    collector = _Collector(graph, storage, implementations)
    collector.add_buffers(keep_inputs=keep_inputs)
    collector.add_scratch(scratch)
    collector.add_overlaps()
    state = collector.add_state()
    requests, overlaps = tuple(collector.requests), tuple(collector.overlaps)
    return Needs(requests, collector.buffers, tuple(collector.scratch), overlaps, state)


class _Collector:
    def __init__(self, graph: Graph, storage: Storage, implementations: Mapping[Node, Implementation]) -> None:
        self.graph = graph
        self.storage = storage
        self.implementations = implementations
        self.requests: list[Request] = []
        self.buffers = {buffer: index for index, buffer in enumerate(storage.buffers)}
        self.scratch: list[tuple[int, ...]] = []
        self.overlaps: list[Overlap] = []
        self.cascades: list[tuple[Cascade, range]] = []
        for cascade in storage.cascades:
            start = storage.steps.index(cascade.nodes[0])
            self.cascades.append((cascade, range(start, start + len(cascade.nodes))))

    def add_buffers(self, *, keep_inputs: bool) -> None:
        """Adds a request for each buffer: alive as long as any tensor in it."""
        first: dict[Buffer, int] = {}
        last: dict[Buffer, int] = {}
        align: dict[Buffer, int] = {}
        end = len(self.storage.steps) - 1 + AFTER_LAST

        def alive(tensor: Tensor, step: int, alignment: int = 4) -> None:
            buffer = self.storage.places[tensor].buffer
            first[buffer] = min(first.get(buffer, step), step)
            last[buffer] = max(last.get(buffer, step), step)
            align[buffer] = max(align.get(buffer, 1), alignment, tensor.dtype.bytes)

        for tensor in self.graph.inputs:
            alive(tensor, 0)
            alive(tensor, end if keep_inputs else 0)
        for step, node in enumerate(self.storage.steps):
            for tensor in self._stored(node):
                alive(tensor, step, self.implementations[node].align)
        for cascade, span in self.cascades:
            for tensor in dict.fromkeys(t for node in cascade.nodes for t in self._stored(node)):
                if tensor not in cascade.fleeting:
                    alive(tensor, span[0])
                    alive(tensor, span[-1])
        for tensor in self.graph.outputs:
            if tensor in self.storage.places:
                alive(tensor, end)
        for buffer in self.buffers:
            request = Request(buffer.name, buffer.bytes, first.get(buffer, 0), last.get(buffer, 0), align[buffer])
            self.requests.append(request)

    def _stored(self, node: Node) -> list[Tensor]:
        return [tensor for tensor in [*node.operands, *node.outputs] if tensor in self.storage.places]

    def add_scratch(self, scratch: Sequence[Sequence[Scratch]]) -> None:
        """Adds a request for each scratch: alive during its step, or during its whole cascade where it persists."""
        spans = [range(index, index + 1) for index in range(len(scratch))]
        for _, span in self.cascades:
            spans[span[0] : span[-1] + 1] = [span] * len(span)
        for index, wanted in enumerate(scratch):
            name = label(self.storage.steps[index].name, 27)
            self.scratch.append(tuple(range(len(self.requests), len(self.requests) + len(wanted))))
            for number, each in enumerate(wanted):
                alive = spans[index] if each.persistent else range(index, index + 1)
                request = Request(f"scratch {number} of {name}", each.bytes, alive[0], alive[-1], each.align)
                self.requests.append(request)

    def add_state(self) -> int | None:
        """Adds what a run knows between two rows of its input, and after the last until the next run begins."""
        if self.storage.fed is None:
            return None
        end = len(self.storage.steps) - 1 + AFTER_LAST
        self.requests.append(Request("rows of the input", 4 * state_words(self.storage), 0, end, 4))
        return len(self.requests) - 1

    def add_overlaps(self) -> None:
        """Adds the pairs that may share bytes: in single steps, then in cascades."""
        cascaded = {node for cascade, _ in self.cascades for node in cascade.nodes}
        for step, node in enumerate(self.storage.steps):
            if node not in cascaded and len(node.outputs) == 1:
                self._add_single(step, node)
        for cascade, span in self.cascades:
            dying = [t for t in cascade.distances if self._dies(t, span)]
            for operand in sorted(dying, key=lambda t: -t.type.bytes)[:1]:
                self._add_cascade(operand, cascade, span)
            if not dying:
                # Beside an operand that dies this would claim bytes twice, and bounds would be worth little.
                self._add_late_result(cascade, span)

    def _add_single(self, step: int, node: Node) -> None:
        operand = node.optional_input(0)
        if operand is None or not self._dies(operand, range(step, step + 1)):
            return
        read_again = any(self._index(t) == self._index(operand) for t in node.operands[1:])
        if read_again or not self._is_born(node.output, range(step, step + 1)):
            return
        distance = self.implementations[node].overlap(node, *views(node, self.storage))
        self._add(operand, self._index(node.output), distance)

    def _add_cascade(self, operand: Tensor, cascade: Cascade, span: range) -> None:
        """Adds the result of the last node, and what is first used when a part of the operand has been read."""
        if self._is_born(cascade.nodes[-1].output, span):
            self._add(operand, self._index(cascade.nodes[-1].output), cascade.distances[operand])
        seen: set[int] = set()
        for step, node in zip(span, cascade.nodes, strict=True):
            spent = cascade.spent[node][operand]
            ring = self._index(node.output) if node.output in cascade.depths else None
            born = [*self.scratch[step], *([] if ring is None or ring in seen else [ring])]
            seen |= set(born)
            for index in born if spent else ():
                self._add(operand, index, self.requests[index].bytes - spent)

    def _add_late_result(self, cascade: Cascade, span: range) -> None:
        """Adds what is needed no more when the last rows of the result are written."""
        result, written = cascade.nodes[-1].output, dict[int, int]()
        if not self._is_born(result, span):
            return
        index, bytes_ = self._index(result), result.type.bytes
        for step, node in zip(span, cascade.nodes, strict=True):
            # Rows that nobody reads are written when the result is there: a ring is needed by its writer too.
            rings = [self._index(t) for t in [*node.operands, node.output] if t in cascade.depths]
            needed = [*self.scratch[step], *rings]
            for request in needed:
                if request is not None and self.requests[request].last in span:
                    written[request] = max(written.get(request, 0), cascade.written[node])
        if cascade.fed is not None:
            fed = self.buffers[self.storage.places[cascade.fed].buffer]
            brought = max(bytes_ for node, bytes_ in cascade.written.items() if cascade.fed in node.outputs)
            written[fed] = max(written.get(fed, 0), brought)
        for request, bytes_written in written.items():
            if index is not None and request != index and bytes_written < bytes_:
                self.overlaps.append(Overlap(request, index, bytes_written))

    def _add(self, operand: Tensor, result: int | None, distance: int | None) -> None:
        index = self._index(operand)
        if index is not None and result is not None and distance is not None and index != result:
            self.overlaps.append(Overlap(index, result, distance))

    def _index(self, tensor: Tensor) -> int | None:
        place = self.storage.places.get(tensor)
        return None if place is None else self.buffers[place.buffer]

    def _fills(self, tensor: Tensor) -> bool:
        place = self.storage.places[tensor]
        return place.view.offset == 0 and place.view.span == place.buffer.bytes

    def _dies(self, tensor: Tensor, span: range) -> bool:
        """True when a tensor fills its buffer, which is needed no longer than for some steps."""
        index = self._index(tensor)
        return index is not None and self._fills(tensor) and self.requests[index].last in span

    def _is_born(self, tensor: Tensor, span: range) -> bool:
        index = self._index(tensor)
        return index is not None and self._fills(tensor) and self.requests[index].first in span
