"""Buffer assignment: the buffer of each tensor, and the view of the tensor in it. Buffers have no address yet."""

from __future__ import annotations

from dataclasses import dataclass, field

from aboard.ir import Node, State, Tensor
from aboard.kernels.view import View
from aboard.schedule.cascade import Cascade
from aboard.schedule.rolling import RollingCall, RollingWindow

#: Number of steps after the last node for which a graph output is live.
AFTER_LAST = 1


@dataclass(eq=False)
class Buffer:
    """A block of memory that stores one or more tensors.

    Attributes:
        name: Name of its first tensor.
        bytes: Size.
        tensors: The tensors stored in it.
    """

    name: str
    bytes: int
    tensors: list[Tensor] = field(default_factory=list)


@dataclass(frozen=True)
class TensorLocation:
    """The buffer of a tensor, and its view in that buffer."""

    buffer: Buffer
    view: View


@dataclass
class BufferAssignment:
    """The buffer of every computed tensor, and the nodes that still need code.

    Attributes:
        locations: Of graph inputs, of states and of all results.
        steps: Nodes to execute, in order.
        cascades: Steps that are computed together, stripe by stripe.
        unshared: Tensors without an alias, which stay in a buffer of their own.
        streamed_input: The input whose rows the caller pushes (`-input=rows`): in a rolling buffer if a cascade reads
            it, else whole.
        states: The states of the graph. The buffer that stores the `read` of one is live from run to run and is no part
            of an arena.
        rolling: The states in rolling buffers.
    """

    locations: dict[Tensor, TensorLocation]
    steps: list[Node]
    cascades: tuple[Cascade, ...] = ()
    unshared: frozenset[Tensor] = frozenset()
    streamed_input: Tensor | None = None
    states: tuple[State, ...] = ()
    rolling: tuple[RollingWindow, ...] = ()

    def stripes_of(self, node: Node) -> int:
        """Returns the number of stripes of a node: 1 outside of cascades."""
        return next((cascade.stripes_of(node) for cascade in self.cascades if node in cascade.nodes), 1)

    def stripe_height(self, node: Node) -> int | None:
        """Returns the rows of a stripe of a node; None outside of cascades, where one call computes all rows."""
        return next((cascade.stripe_height(node) for cascade in self.cascades if node in cascade.nodes), None)

    @property
    def buffers(self) -> list[Buffer]:
        """All buffers of arenas, in the order of their first tensor."""
        kept = set(self.state_buffers)
        return [b for b in dict.fromkeys(each.buffer for each in self.locations.values()) if b not in kept]

    @property
    def state_buffers(self) -> list[Buffer]:
        """The buffer of each state, in the order of the states."""
        return [self.locations[state.read].buffer for state in self.states]

    @property
    def copied_states(self) -> list[State]:
        """The states whose next value is computed elsewhere, so that the end of a run copies it."""
        rolling = {window.state for window in self.rolling}
        return [state for state in self.states if state not in rolling and not self._is_in_place(state)]

    @property
    def position_counts(self) -> list[int]:
        """For each position that the state block contains, its number of values; rolling windows share them."""
        return list(dict.fromkeys(window.positions for window in self.rolling))

    @property
    def rolling_steps(self) -> set[Node]:
        """The steps that read or write a rolling window."""
        buffers = {self.locations[window.state.read].buffer for window in self.rolling}
        return {
            node
            for node in (self.steps if buffers else ())
            if any(t in self.locations and self.locations[t].buffer in buffers for t in [*node.operands, *node.outputs])
        }

    def rolling_call(self, node: Node) -> tuple[RollingWindow, RollingCall] | None:
        """Returns the rolling window that a step reads or extends, and how; None for any other step."""
        return next(((window, window.calls[node]) for window in self.rolling if node in window.calls), None)

    def fresh_window(self, tensor: Tensor) -> RollingWindow | None:
        """Returns the rolling window whose new rows contain a tensor; None if its address never changes."""
        return next((window for window in self.rolling if tensor in window.fresh), None)

    def _is_in_place(self, state: State) -> bool:
        read, write = self.locations[state.read], self.locations[state.write]
        return read.buffer is write.buffer and read.view.offset == write.view.offset
