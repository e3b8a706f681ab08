"""Assigns a buffer to each tensor.

Every computed tensor starts in a buffer of its own. Two steps put several tensors into one buffer. Both keep the
results exact, because a buffer is live as long as any tensor in it:

* aliasing: a node that only moves data needs no code if a view can express the move (`Op.shares`);
* in-place execution: a node overwrites an operand that no later node reads (`Implementation.runs_in_place`).

A tensor between the nodes of a cascade is stored in a rolling buffer.

The buffer that stores a state lives on from run to run. Tensors may be aliases within it, such as the window to which a
run appends its input. The next value of the state is computed in its place if nothing reads the old one by then;
otherwise the end of the run copies it there. So that these copies never meet, the buffer of a state stores no input, no
output, and the next value of no other state. A window may be a rolling buffer instead, where nothing is copied
(`aboard.schedule.rolling`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from aboard.base.manifest import label
from aboard.ir import Graph, Node, State, Tensor
from aboard.kernels.contract import Implementation
from aboard.kernels.view import View
from aboard.schedule import rolling_finder
from aboard.schedule.assigner import Assigner
from aboard.schedule.buffers import Buffer, BufferAssignment, TensorLocation
from aboard.schedule.cascade import Cascade
from aboard.schedule.rolling_finder import RollingFinder


def assign_buffers(
    graph: Graph,
    implementations: Mapping[Node, Implementation],
    *,
    keep_inputs: bool,
    cascades: Sequence[Cascade] = (),
    streamed_input: Tensor | None = None,
    roll: bool = True,
    blocks: bool = False,
) -> BufferAssignment:
    """Decides which tensors share a buffer. Buffers have no address yet.

    Args:
        graph: A verified graph in execution order.
        implementations: The implementation of every node.
        keep_inputs: True if the run must not overwrite the graph's inputs.
        cascades: Cascades of the steps of an assignment without cascades; the tensors between their nodes are
            `unshared` in it.
        streamed_input: The input whose rows the caller pushes.
        roll: True if rolling buffers may contain states.
        blocks: True if rows of tensors between the nodes of a cascade lie in blocks instead of rolling buffers.
    """
    joins = rolling_finder.joins(graph) if roll else {}
    while True:
        assignment, opened = _assigned(
            graph,
            implementations,
            joins,
            keep_inputs=keep_inputs,
            cascades=cascades,
            streamed_input=streamed_input,
            blocks=blocks,
        )
        rolling = {window.state for window in assignment.rolling}
        # A join that was opened is only right if its window rolls.
        failed = [node for node in opened if joins[node] not in rolling]
        if not failed:
            return assignment
        joins = {node: state for node, state in joins.items() if node not in failed}


def _assigned(
    graph: Graph,
    implementations: Mapping[Node, Implementation],
    joins: Mapping[Node, State],
    *,
    keep_inputs: bool,
    cascades: Sequence[Cascade],
    streamed_input: Tensor | None,
    blocks: bool,
) -> tuple[BufferAssignment, list[Node]]:
    """Returns an assignment, and the joins of rolling windows that are steps (`Assigner.open_window`)."""
    assigner, opened = Assigner(graph, implementations, keep_inputs), list[Node]()
    for node in graph.nodes:
        wraps = node in joins and rolling_finder.wraps(node)
        if not wraps and assigner.alias(node):
            continue
        if node in joins and assigner.open_window(node):
            opened.append(node)
        elif wraps and assigner.alias(node):
            continue
        assigner.steps.append(node)
    unshared = frozenset(t for t, location in assigner.locations.items() if location.buffer.tensors == [t])
    cascaded = {node for cascade in cascades for node in cascade.nodes}
    for state in graph.states:
        assigner.write_in_place(state, cascades)
    for node in assigner.steps:
        if node not in cascaded:
            assigner.run_in_place(node)
    tables = 0
    for cascade in cascades:
        if blocks:
            assigner.locations |= in_blocks(cascade, tables)
            tables += len(cascade.buffer_rows)
            continue
        assigner.locations |= {tensor: in_rolling_buffer(tensor, cascade) for tensor in cascade.buffer_rows}
        for node in reversed(cascade.nodes):
            assigner.run_stripes_in_place(node, cascade)
    finder = RollingFinder(graph, implementations, assigner.locations, assigner.steps, cascades)
    found = [finder.find(node, state) for node, state in joins.items()]
    rolling = tuple(window for window in found if window is not None)
    states = tuple(graph.states)
    return (
        BufferAssignment(
            assigner.locations, assigner.steps, tuple(cascades), unshared, streamed_input, states, rolling
        ),
        opened,
    )


def in_rolling_buffer(tensor: Tensor, cascade: Cascade) -> TensorLocation:
    """Returns the location of a tensor between the nodes of a cascade, in a buffer of its own."""
    height, start_row = cascade.buffer_rows[tensor], cascade.start_rows[tensor]
    whole = View.whole(tensor.shape, tensor.dtype.bytes)
    view = whole if height >= whole.rows else dataclasses.replace(whole, buffer_rows=height, start_row=start_row)
    return TensorLocation(Buffer(tensor.name, height * view.row_stride, [tensor]), view)


def in_blocks(cascade: Cascade, number: int) -> dict[Tensor, TensorLocation]:
    """Returns the locations of the tensors between the nodes of a cascade, with their rows in blocks.

    Args:
        cascade: The cascade.
        number: Number of the first table; the tensors have numbers from there on.
    """
    found = {}
    for index, tensor in enumerate(cascade.buffer_rows, number):
        location = in_rolling_buffer(tensor, cascade)
        if location.view.buffer_rows < location.view.rows:
            view = dataclasses.replace(location.view, start_row=0, table=f"rows_of_{index}")
            location = TensorLocation(
                dataclasses.replace(location.buffer, name=f"{label(tensor.name, 28)} (in blocks)"), view
            )
        found[tensor] = location
    return found
