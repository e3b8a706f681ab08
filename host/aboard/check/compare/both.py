"""Runs both sides of a comparison with the same samples, and compares them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from aboard import boards
from aboard.api import Session, create
from aboard.base.scratch import Scratch
from aboard.check.compare import comparer, samples
from aboard.check.compare.recording import Recording
from aboard.check.compare.sides import Side, parse, record
from aboard.check.compare.types import Comparison
from aboard.compiler.pipeline import compile_model
from aboard.importers import load
from aboard.ir import Graph
from aboard.quantization.samples import Data, Inputs

#: How many samples count if nobody says otherwise.
SAMPLES = 16


def compare(
    a: str | Path,
    b: str | Path,
    data: Data,
    *,
    most: int = SAMPLES,
    find: Callable[[str], Path] = Path,
    on_step: Callable[[str], None] = lambda _: None,
) -> Comparison:
    """Compares two models, or two ways of running one, layer by layer.

    Args:
        a: The side that is right: a model file, or `FILE@RUN` with `tflm`, `litert` (reference kernels),
            `onnxruntime`, `numpy`, `host` (the compiled C on this machine) or a board. Without RUN the interpreter of
            the file's format runs it: tflite-micro or onnxruntime, or numpy where that is not installed.
        b: The side that is judged, likewise.
        data: Samples: a file `.npz` or arrays, as for `aboard.quantize`. An input of integers with a scale takes these
            integers or real numbers.
        most: How many samples count, of those given; they are spread over all.
        find: Returns the path of a model by its name.
        on_step: Called with each step, in words.

    Returns:
        How outputs and layers differ; the first layer that is wrong, with its channels and the likely cause.

    Raises:
        ModelError: A file cannot be read, or what is asked to run it refuses it.
        InputError: The samples do not fit the models, or the models not each other.
        ToolError: What is asked to run a file is not installed, or unknown.
    """
    sides = [parse(str(side), find) for side in (a, b)]
    graphs = [load(side.model) for side in sides]
    ours = samples.read(data, graphs[0], most)
    given = [ours, samples.for_other(ours, *graphs)]
    recordings = []
    for side, graph, inputs in zip(sides, graphs, given, strict=True):
        on_step(f"running {side.label}")
        recordings.append(_recorded(side, graph, inputs))
    on_step("comparing the layers")
    return comparer.compare(*recordings)


def _recorded(side: Side, graph: Graph, inputs: Sequence[Inputs]) -> Recording:
    if not side.is_board:
        return record(side, graph, inputs)
    module = compile_model(side.model, target=boards.load(side.run).target)
    with Scratch() as folder:
        project = create(module, side.run, path=folder / "project", options={"trace": "on"})
        project.build()
        with Session.open(project) as traced:
            return record(side, graph, inputs, (module.manifest, traced.trace))
