"""Cascades: nodes that are computed together, a few rows each in turn, so that what lies between never exists whole.

A cascade is a run of neighbouring steps whose only result that others read is that of its last node. It is driven from
there: rows of the last node are asked for one after another, each node first asks for the rows that it reads, and what
is computed is written into rings of as few rows as are alive at once. Nothing is computed twice.

With `-input=rows` the input of the model is such a ring too: the cascade is fed, and waits for the caller's next row
whenever it is the turn of the feed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from aboard.ir import Graph, Node, Tensor
from aboard.kernels.contract import RowWise
from aboard.ops import get, rows_of
from aboard.ops.box import Box

#: Axis of rows in an image.
_ROWS = 1

#: For rows [first, last) of a node, the rows of each operand that they depend on.
Windows = dict[tuple[Node, int, int], list[tuple[int, int]]]


@dataclass(frozen=True)
class Turn:
    """A call within a cascade: rows [first, last) of a node.

    Attributes:
        position: Of the node in the cascade; the number of nodes where the caller brings a row of the input.
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
            second turn, and of every other one where they fit, lie together; or those of its writer, where the reader
            takes one row at a time.
        fleeting: Those of them that hold nothing but while the nodes from the one that writes them to the last that
            reads them take their turns one after another.
        distances: For operands from outside, bytes that the operand must begin after the result of the last node, at
            least, where they share memory.
        spent: For each node, how many bytes of each operand from outside nobody reads any more when its first turn
            comes, counted from the operand's beginning.
        ahead: For pairs of a tensor and what is computed from it row for row, both between the nodes: how many rows of
            memory would do for both, where a row of the one lies where that of the other comes.
        written: For each node, how many bytes of the last one's result are there when its last turn is over: what
            nobody needs from then on may share memory with the rest of the result.
        fed: The input of the model, where the caller brings its rows; it is among `depths`.
        sparing: True where nodes take a row at a time and write over what they read wherever they can, though that
            takes more instructions.
    """

    nodes: tuple[Node, ...]
    turns: tuple[Turn, ...]
    depths: dict[Tensor, int]
    phases: dict[Tensor, int]
    fleeting: frozenset[Tensor]
    distances: dict[Tensor, int]
    spent: dict[Node, dict[Tensor, int]]
    ahead: dict[tuple[Tensor, Tensor], int]
    written: dict[Node, int]
    fed: Tensor | None = None
    sparing: bool = False

    @property
    def feeds(self) -> int:
        """How many turns wait for a row of the input."""
        return sum(turn.position == len(self.nodes) for turn in self.turns)

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
        windows: What rows read, as far as it was asked for.
    """

    node: Node
    rows: int
    step: int
    accumulates: bool
    keeps: bool
    first: int
    done: int = 0
    windows: Windows = field(default_factory=dict)

    @property
    def next(self) -> int:
        return min(self.done + self.step if self.done else self.first, self.rows)

    def meets(self, rows: int) -> bool:
        """True when a turn of the node ends with so many rows done."""
        return rows == self.rows or (rows - self.first) % self.step == 0


def form(
    graph: Graph,
    nodes: Sequence[Node],
    row_wise: Callable[[Node], RowWise | None],
    fed: Tensor | None = None,
    windows: Windows | None = None,
    *,
    sparing: bool = False,
) -> Cascade | None:
    """Returns the cascade of some neighbouring nodes, or None where they cannot be one.

    Args:
        graph: The graph.
        nodes: At least two, or one that is fed, in the order of the schedule.
        row_wise: How each node computes rows.
        fed: An input of the graph whose rows the caller brings, one by one; nobody reads it but these nodes.
        windows: Remembers what rows depend on, from one call to the next.
        sparing: Nodes take a row at a time, and write over what they read wherever they can.
    """

    def ways(node: Node) -> RowWise | None:
        way = row_wise(node)
        return replace(way, rows=1) if way is not None and sparing else way

    former = _Former.of(graph, nodes, ways, fed, {} if windows is None else windows)
    return None if former is None else replace(former.run(), sparing=sparing)


class _Former:
    """Finds the turns. `states` are the nodes, `inner` the tensors between them."""

    def __init__(
        self,
        states: Sequence[_State],
        inner: dict[Tensor, _State],
        readers: dict[Tensor, list[_State]],
        fed: Tensor | None,
    ):
        self.states = states
        self.inner = inner
        self.fed = fed
        self.readers = readers
        self.turns: list[Turn] = []
        self.position = {state.node: index for index, state in enumerate(states)}
        if fed is not None:
            self.position[inner[fed].node] = len(states)
        self.depths = dict.fromkeys(inner, 1)
        self.fleeting = set(inner)
        result = states[-1].node.output
        outside = [t for state in states for t in state.node.operands if not t.is_constant and t not in inner]
        self.distances = dict.fromkeys(outside, 0)
        self.spent: dict[Node, dict[Tensor, int]] = {}
        self.ahead: dict[tuple[Tensor, Tensor], int] = {}
        self.written: dict[Node, int] = {}
        #: Of each tensor, the first row that a node still has to read, in the turn that comes or later.
        self.lowest = {t: self._lowest_of(t) for t in [*inner, *outside]}
        self.row_bytes = {t: t.type.bytes // rows_of(t.shape) for t in [*outside, result]}

    @classmethod
    def of(
        cls,
        graph: Graph,
        nodes: Sequence[Node],
        row_wise: Callable[[Node], RowWise | None],
        fed: Tensor | None,
        windows: Windows,
    ) -> _Former | None:
        """Returns the former for some nodes, or None where they are no cascade."""
        ways = [row_wise(node) for node in nodes]
        states = [_state(node, way, windows) for node, way in zip(nodes, ways, strict=True) if way is not None]
        if len(states) < max(2 if fed is None else 1, len(nodes)) or not all(
            _is_image(t) for n in nodes for t in _computed(n)
        ):
            return None
        if any(state.accumulates for state in states[:-1]):
            return None
        if not all(state.accumulates or _window(state, 0, 1) for state in states):
            return None
        members = set(nodes)
        readers: dict[Tensor, list[_State]] = {}
        for node in graph.nodes:
            for tensor in node.operands:
                found = next((state for state in states if state.node is node), None)
                readers.setdefault(tensor, [])
                if found is not None:
                    readers[tensor].append(found)
                elif tensor is fed or any(tensor in member.outputs for member in nodes[:-1]):
                    return None
        inner = {state.node.output: state for state in states[:-1]}
        if fed is not None:
            inner[fed] = _feed(fed)
        for state in states:
            _fall_into_step(state, inner)
        dangling = any(not readers.get(t) or graph.is_output(t) for t in inner)
        return None if dangling or len(members) < len(nodes) else cls(states, inner, readers, fed)

    def run(self) -> Cascade:
        self._ask(self.states[-1], self.states[-1].rows)
        # Rows that nobody reads: the caller brings them all, and taps are to see the whole of any tensor.
        for state in [*([] if self.fed is None else [self.inner[self.fed]]), *self.states]:
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
            self.ahead,
            self.written,
            self.fed,
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
        if first == 0 and state in self.states:
            self.spent[state.node] = {t: self.lowest[t] * self.row_bytes[t] for t in self.distances}
        self.turns.append(Turn(self.position[state.node], first, last))
        for tensor, writer in self.inner.items():
            # What is still to be read, before this turn has read anything.
            lowest = self.lowest[tensor]
            written = last if writer is state else writer.done
            self.depths[tensor] = max(self.depths[tensor], written - lowest)
            if writer is not state and state not in self.readers[tensor] and lowest < writer.done:
                self.fleeting.discard(tensor)
        self._note_ahead(state, last)
        if state is self.states[-1] and not state.accumulates:
            end = last * self.row_bytes[state.node.output]
            for tensor in self.distances:
                spent = self.lowest[tensor] * self.row_bytes[tensor]
                self.distances[tensor] = max(self.distances[tensor], end - spent)
        state.done = last
        for tensor in state.node.operands:
            if tensor in self.lowest:
                self.lowest[tensor] = self._lowest_of(tensor)
        self.written[state.node] = self._written()

    def _note_ahead(self, writer: _State, last: int) -> None:
        """Notes what is still to be read of the rows that a node writes now, and of what is computed from them."""
        tensor = writer.node.output
        for reader in self.readers[tensor] if tensor in self.inner else ():
            result = reader.node.output
            if result in self.inner and rows_of(result.shape) == rows_of(tensor.shape):
                pair = tensor, result
                self.ahead[pair] = max(self.ahead.get(pair, 0), last - min(self.lowest[result], self.lowest[tensor]))

    def _written(self) -> int:
        """Returns the bytes of the result that are there."""
        end, result = self.states[-1], self.states[-1].node.output
        if end.accumulates:
            return result.type.bytes if end.done == end.rows else 0
        return end.done * self.row_bytes[result]

    def _second(self, tensor: Tensor) -> int:
        """Returns the first row of a tensor that its first reader needs in its second turn.

        Where that is one row, it lies together anyway: then the first that is computed in the second turn.
        """
        reader, writer = self.readers[tensor][0], self.inner[tensor]
        operand = next(index for index, t in enumerate(reader.node.inputs) if t is tensor)
        first = min(reader.first, reader.rows - 1)
        start, end = _read(reader, operand, first, min(first + reader.step, reader.rows))
        return start if end - start > 1 else min(writer.first, writer.rows - 1)

    def _lowest_of(self, tensor: Tensor) -> int:
        return min(_lowest(reader, tensor) for reader in self.readers[tensor])


def _feed(fed: Tensor) -> _State:
    """Returns the state of the caller, who computes nothing and brings row after row."""
    return _State(Node("feed", fed.name, [], [fed]), rows_of(fed.shape), 1, accumulates=False, keeps=False, first=1)


def _computed(node: Node) -> list[Tensor]:
    return [t for t in [*node.operands, *node.outputs] if not t.is_constant]


def _is_image(tensor: Tensor) -> bool:
    return len(tensor.shape) == 4 and tensor.shape[0] == 1


def _state(node: Node, way: RowWise, windows: Windows) -> _State:
    rows = rows_of(node.input(0).shape if way.accumulates else node.output.shape)
    step = min(way.rows, rows)
    return _State(node, rows, step, way.accumulates, way.keeps, step, windows=windows)


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
    return _window(state, first, last)[operand]


def _window(state: _State, first: int, last: int) -> list[tuple[int, int]]:
    """Returns which rows of each operand some rows of a node depend on; nothing where rows are none by themselves."""
    key = state.node, first, last
    if key not in state.windows:
        box = Box.whole(state.node.output.shape).on(_ROWS, first, last)
        boxes = get(state.node.op).operand_boxes(state.node, box) or []
        state.windows[key] = [_rows_in(box) for box in boxes]
    return state.windows[key]


def _rows_in(box: Box | None) -> tuple[int, int]:
    """Returns the rows of an image; of what is none, no cascade asks."""
    return (0, 0) if box is None or len(box.start) < 4 else (box.start[_ROWS], box.stop[_ROWS])


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
