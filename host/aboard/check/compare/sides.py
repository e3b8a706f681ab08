"""What runs a side of a comparison: an interpreter on this machine, the compiled C, or a board.

A side is written MODEL or MODEL@RUN, where RUN is `tflm`, `litert`, `onnxruntime`, `numpy`, `host` or a board.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aboard import boards
from aboard.base.manifest import Manifest
from aboard.check.compare.real_graph import RealGraph
from aboard.check.compare.real_numbers import Reals, to_real
from aboard.check.compare.recording import Recording
from aboard.check.host_trace import TracedHostModel
from aboard.check.reference import KINDS, Reference
from aboard.check.region_check import Traced
from aboard.compiler.pipeline import compile_model
from aboard.errors import BoardError, ToolError, did_you_mean
from aboard.ir import Array, Graph
from aboard.ops.axes import inverse
from aboard.quantization.samples import Inputs

HOST = "host"


@dataclass(frozen=True)
class Side:
    """A model and what runs it.

    Attributes:
        model: Path of the model file.
        run: A kind of reference, `host` or the id of a board.
    """

    model: Path
    run: str

    @property
    def is_board(self) -> bool:
        """True if a board runs the model."""
        return self.run not in (*KINDS, HOST)

    @property
    def label(self) -> str:
        """The side as it is written."""
        return self.model.name if self.run == "auto" else f"{self.model.name}@{self.run}"


def parse(text: str, find: Callable[[str], Path] = Path) -> Side:
    """Returns a side.

    Args:
        text: MODEL or MODEL@RUN. A file whose name has an `@` is named with `@auto` behind it.
        find: Returns the path of a model by its name.

    Raises:
        ToolError: RUN is neither a kind of interpreter nor a board.
    """
    name, at, run = text.rpartition("@")
    if not at or Path(text).exists():
        return Side(find(text), "auto")
    if run in (*KINDS, HOST):
        return Side(find(name), run)
    try:
        return Side(find(name), boards.load(run).id)
    except BoardError as error:
        known = [*KINDS, HOST]
        raise ToolError(
            f"{text}: what runs the model, got {run}, expected one of {', '.join(known)}, or a board "
            f"(`aboard boards`). {did_you_mean(run, known)}"
        ) from error


def record(
    side: Side, graph: Graph, samples: Sequence[Inputs], board: tuple[Manifest, Traced] | None = None
) -> Recording:
    """Runs a side with all samples, from its initial state on.

    Args:
        side: The side.
        graph: Its model as imported.
        samples: Its inputs.
        board: The model as compiled for the board, and what runs it there; None for a side on this machine.
    """
    if board is not None:
        found, ran = _traced(graph, *board, samples), side.run
    elif side.run == HOST:
        model = TracedHostModel(compile_model(side.model, target="c -runtime=host"))
        found, ran = _traced(graph, model.manifest, model.trace, samples), side.run
    else:
        reference = Reference.open(side.model, side.run)
        found, ran = [_by_name(graph, reference.tensors(inputs)) for inputs in samples], reference.name
    network = RealGraph(graph)
    given = [network.reals({**inputs, **tensors}) for inputs, tensors in zip(samples, found, strict=True)]
    return Recording(f"{side.model.name} ({ran})", network, _with_states(network, given))


def _with_states(network: RealGraph, samples: Sequence[Mapping[str, Reals]]) -> list[Mapping[str, Reals]]:
    """Adds the states at the start of each run: the initial ones, then what the run before wrote, where it is known."""
    found = list[Mapping[str, Reals]]()
    now = {state.read.name: to_real(state.initial, state.read) for state in network.graph.states}
    for sample in samples:
        found.append({**sample, **now})
        written = ((state.read.name, network.of[state.write.name]) for state in network.graph.states)
        now = {name: found[-1][key] for name, key in written if key in found[-1]}
    return found


def _by_name(graph: Graph, tensors: Mapping[int, Array]) -> dict[str, Array]:
    """Returns the known tensors that nodes compute, as imported, by name."""
    computed = [tensor for node in graph.nodes for tensor in node.outputs if tensor.source in tensors]
    known = {tensor.name: tensors[tensor.source] for tensor in computed if tensor.source is not None}
    return {
        tensor.name: known[tensor.name].reshape(tensor.shape)
        for tensor in computed
        if known[tensor.name].dtype == tensor.dtype.numpy and known[tensor.name].size == tensor.type.elements
    }


def _traced(graph: Graph, manifest: Manifest, trace: Traced, samples: Sequence[Inputs]) -> list[dict[str, Array]]:
    """Returns the tensors of the model file that operators of a build computed, for each sample."""
    found = []
    for inputs in samples:
        tensors = dict[int, Array]()
        for number, results in trace(inputs).items():
            for operand in manifest.nodes[number].outputs:
                values = results[operand.tensor]
                if operand.source is not None and not np.ma.is_masked(values):
                    order = range(values.ndim) if operand.order is None else inverse(operand.order)
                    tensors[operand.source] = np.ma.getdata(values).transpose(order)
        found.append(_by_name(graph, tensors))
    return found
