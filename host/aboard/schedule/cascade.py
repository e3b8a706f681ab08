"""Cascades: nodes that are computed together, a few rows each in turn, so that what lies between never exists whole.

A cascade is a run of neighbouring steps whose only result that others read is that of its last node. It is driven from
there: rows of the last node are asked for one after another, each node first asks for the rows that it reads, and what
is computed is written into rings of as few rows as are alive at once. Nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from aboard.ir import Graph, Node, Tensor
from aboard.kernels.contract import RowWise
from aboard.ops import get, rows_of
from aboard.ops.box import Box

#: Axis of rows in an image.
_ROWS = 1


@dataclass(frozen=True)
class Turn:
    """A call within a cascade: rows [first, last) of a node.

    Attributes:
        position: Of the node in the cascade.
        first: First row: of the result, or of operand 0 where the node accumulates.
        last: One past the last row.
    """

    position: int
    first: int
    last: int


@dataclass(frozen=True)
class Cascade:
    """Nodes that take turns.

    Attributes:
        nodes: In the order of the schedule.
        turns: Which computes which rows, in order.
        depths: Rows of memory that each tensor between the nodes needs.
        phases: For each of them, the row of memory in which its row 0 lies, such that the rows of its first reader's
            second turn, and of every other one where they fit, lie together.
        fleeting: Those of them that hold nothing but while the nodes from the one that writes them to the last that
            reads them take their turns one after another.
        distances: For operands from outside, bytes that the operand must begin after the result of the last node, at
            least, where they share memory.
        spent: For each node, how many bytes of each operand from outside nobody reads any more when its first turn
            comes, counted from the operand's beginning.
    """

    nodes: tuple[Node, ...]
    turns: tuple[Turn, ...]
    depths: dict[Tensor, int]
    phases: dict[Tensor, int]
    fleeting: frozenset[Tensor]
    distances: dict[Tensor, int]
    spent: dict[Node, dict[Tensor, int]]

    def step_of(self, node: Node) -> int:
        """Returns how many rows a turn of a node takes; its last may take fewer."""
        position = self.nodes.index(node)
        return max(turn.last - turn.first for turn in self.turns if turn.position == position)

    def turns_of(self, node: Node) -> int:
        """Returns how many turns a node takes."""
        position = self.nodes.index(node)
        return sum(turn.position == position for turn in self.turns)


@dataclass
class _State:
    """A node while the turns are found.

    Attributes:
        rows: How many it computes in all.
        step: How many at once.
        accumulates: True when rows are those of operand 0.
        keeps: True when it reads each row of operand 0 once.
        first: How many at once the first time.
        done: How many it has computed.
        boxes: What some rows of the result read, as far as it was asked for.
    """

    node: Node
    rows: int
    step: int
    accumulates: bool
    keeps: bool
    first: int
    done: int = 0
    boxes: dict[tuple[int, int], list[Box | None]] = field(default_factory=dict)

    @property
    def next(self) -> int:
        return min(self.done + self.step if self.done else self.first, self.rows)

    def meets(self, rows: int) -> bool:
        """True when a turn of the node ends with so many rows done."""
        return rows == self.rows or (rows - self.first) % self.step == 0


def form(graph: Graph, nodes: Sequence[Node], row_wise: Callable[[Node], RowWise | None]) -> Cascade | None:
    """Returns the cascade of some neighbouring nodes, or None where they cannot be one.

    Args:
        graph: The graph.
        nodes: At least two, in the order of the schedule.
        row_wise: How each node computes rows.
    """
    former = _Former.of(graph, nodes, row_wise)
    return None if former is None else former.run()


class _Former:
    """Finds the turns. `states` are the nodes, `inner` the tensors between them."""

    def __init__(self, states: Sequence[_State], inner: dict[Tensor, _State], readers: dict[Tensor, list[_State]]):
        self.states = states
        self.inner = inner
        self.readers = readers
        self.turns: list[Turn] = []
        self.position = {state.node: index for index, state in enumerate(states)}
        self.depths = dict.fromkeys(inner, 1)
        self.fleeting = set(inner)
        result = states[-1].node.output
        outside = [t for state in states for t in state.node.operands if not t.is_constant and t not in inner]
        self.distances = dict.fromkeys(outside, 0)
        self.spent: dict[Node, dict[Tensor, int]] = {}
        self.row_bytes = {t: t.type.bytes // rows_of(t.shape) for t in [*outside, result]}

    @classmethod
    def of(cls, graph: Graph, nodes: Sequence[Node], row_wise: Callable[[Node], RowWise | None]) -> _Former | None:
        """Returns the former for some nodes, or None where they are no cascade."""
        ways = [row_wise(node) for node in nodes]
        states = [_state(node, way) for node, way in zip(nodes, ways, strict=True) if way is not None]
        if len(states) < max(2, len(nodes)) or not all(_is_image(t) for n in nodes for t in _computed(n)):
            return None
        if any(state.accumulates for state in states[:-1]):
            return None
        if not all(state.accumulates or _boxes(state.node, 0, 1) for state in states):
            return None
        members = set(nodes)
        readers: dict[Tensor, list[_State]] = {}
        for node in graph.nodes:
            for tensor in node.operands:
                found = next((state for state in states if state.node is node), None)
                readers.setdefault(tensor, [])
                if found is not None:
                    readers[tensor].append(found)
                elif any(tensor in member.outputs for member in nodes[:-1]):
                    return None
        inner = {state.node.output: state for state in states[:-1]}
        for state in states:
            _fall_into_step(state, inner)
        dangling = any(not readers.get(t) or graph.is_output(t) for t in inner)
        return None if dangling or len(members) < len(nodes) else cls(states, inner, readers)

    def run(self) -> Cascade:
        self._ask(self.states[-1], self.states[-1].rows)
        for state in self.states:
            # Rows that nobody reads: taps are to see the whole tensor, as in any other schedule.
            self._ask(state, state.rows)
        depths = {tensor: min(depth, rows_of(tensor.shape)) for tensor, depth in self.depths.items()}
        return Cascade(
            tuple(state.node for state in self.states),
            tuple(self.turns),
            depths,
            {tensor: -self._second(tensor) % depth for tensor, depth in depths.items()},
            frozenset(self.fleeting),
            self.distances,
            self.spent,
        )

    def _ask(self, state: _State, rows: int) -> None:
        """Lets a node compute until it has so many rows."""
        while state.done < rows:
            for index, tensor in enumerate(state.node.inputs):
                if tensor in self.inner:
                    self._ask(self.inner[tensor], _read(state, index, state.done, state.next)[1])
            self._take_turn(state)

    def _take_turn(self, state: _State) -> None:
        first, last = state.done, state.next
        if first == 0:
            self.spent[state.node] = {t: self._lowest(t) * self.row_bytes[t] for t in self.distances}
        self.turns.append(Turn(self.position[state.node], first, last))
        for tensor, writer in self.inner.items():
            # What is still to be read, before this turn has read anything.
            lowest = self._lowest(tensor)
            written = last if writer is state else writer.done
            self.depths[tensor] = max(self.depths[tensor], written - lowest)
            if writer is not state and state not in self.readers[tensor] and lowest < writer.done:
                self.fleeting.discard(tensor)
        if state is self.states[-1] and not state.accumulates:
            end = last * self.row_bytes[state.node.output]
            for tensor in self.distances:
                spent = self._lowest(tensor) * self.row_bytes[tensor]
                self.distances[tensor] = max(self.distances[tensor], end - spent)
        state.done = last

    def _second(self, tensor: Tensor) -> int:
        """Returns the first row of a tensor that its first reader needs in its second turn."""
        reader = self.readers[tensor][0]
        operand = next(index for index, t in enumerate(reader.node.inputs) if t is tensor)
        first = min(reader.first, reader.rows - 1)
        return _read(reader, operand, first, min(first + reader.step, reader.rows))[0]

    def _lowest(self, tensor: Tensor) -> int:
        """Returns the first row of a tensor that a node still has to read, in the turn that comes or later."""
        return min(_lowest(reader, tensor) for reader in self.readers[tensor])


def _computed(node: Node) -> list[Tensor]:
    return [t for t in [*node.operands, *node.outputs] if not t.is_constant]


def _is_image(tensor: Tensor) -> bool:
    return len(tensor.shape) == 4 and tensor.shape[0] == 1


def _state(node: Node, way: RowWise) -> _State:
    rows = rows_of(node.input(0).shape if way.accumulates else node.output.shape)
    step = min(way.rows, rows)
    return _State(node, rows, step, way.accumulates, way.keeps, step)


def _fall_into_step(state: _State, inner: Mapping[Tensor, _State]) -> None:
    """Makes the first turn of a node such that its turns end where those of what it reads end.

    Where they do not, a ring has to hold rows that nobody reads yet.
    """
    writers = [(index, inner[t]) for index, t in enumerate(state.node.inputs) if t is not None and t in inner]
    for first in range(state.step, 0, -1):
        if all(writer.meets(_read(state, index, 0, first)[1]) for index, writer in writers):
            state.first = first
            return


def _read(state: _State, operand: int, first: int, last: int) -> tuple[int, int]:
    """Returns the rows [first, last) of an operand that some rows of a node need."""
    if state.accumulates:
        return first, last
    boxes = state.boxes.get((first, last))
    if boxes is None:
        boxes = state.boxes[first, last] = _boxes(state.node, first, last)
    box = boxes[operand]
    return (0, 0) if box is None else (box.start[_ROWS], box.stop[_ROWS])


def _boxes(node: Node, first: int, last: int) -> list[Box | None]:
    """Returns which part of each operand some rows of a node depend on; nothing where rows are none by themselves."""
    return get(node.op).operand_boxes(node, Box.whole(node.output.shape).on(_ROWS, first, last)) or []


def _lowest(reader: _State, tensor: Tensor) -> int:
    """Returns the first row of a tensor that a node still has to read; all rows where it has read the last."""
    if reader.done >= reader.rows:
        return rows_of(tensor.shape)
    operands = [index for index, t in enumerate(reader.node.inputs) if t is tensor]
    return min(_fresh(reader, index) for index in operands)


def _fresh(reader: _State, operand: int) -> int:
    """Returns the first row of an operand that a node reads in its next turn."""
    first = _read(reader, operand, reader.done, reader.next)[0]
    if operand == 0 and reader.keeps and reader.done:
        return max(first, _read(reader, operand, 0, reader.done)[1])
    return first
