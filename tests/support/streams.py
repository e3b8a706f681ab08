"""Models with state, as converters write them: windows over a stream, counters, variable tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aboard.importers import load
from aboard.ops.interpreter import initial_states, next_states, run_all
from support.tflite_builder import ModelBuilder

QUANT = {"scale": 0.5, "zero_point": 3}


class Stream(ModelBuilder):
    """A builder with operators of state."""

    def quantised(self, *names: str, shape: Sequence[int] = (1, 4)) -> Stream:
        """Adds int8 tensors of one shape and quantisation."""
        for name in names:
            self.tensor(name, shape, np.int8, **QUANT)
        return self

    def handle(self, variable: str, container: str = "") -> str:
        """Adds a VAR_HANDLE; returns the name of its result."""
        name = f"handle{len(self._tensors)}"
        self.tensor(name, (), np.int32, type_number=13)
        self.op("VAR_HANDLE", [], [name], {"Container": container, "SharedName": variable})
        return name

    def read(self, variable: str, result: str) -> Stream:
        """Adds a READ_VARIABLE with a handle of its own."""
        self.op("READ_VARIABLE", [self.handle(variable)], [result])
        return self

    def assign(self, variable: str, value: str) -> Stream:
        """Adds an ASSIGN_VARIABLE with a handle of its own."""
        self.op("ASSIGN_VARIABLE", [self.handle(variable), value], [])
        return self

    def initial(self, variable: str, values: np.ndarray) -> Stream:
        """Adds a CALL_ONCE of a subgraph that assigns a constant to a variable."""
        further = Stream().tensor("c", values.shape, values.dtype, data=values, **QUANT)
        assert isinstance(further, Stream)
        self.called.append(further.assign(variable, "c"))
        self.op("CALL_ONCE", [], [], {"InitSubgraphIndex": len(self.called)})
        return self


def accumulator(initial: np.ndarray | None = None) -> bytes:
    """Returns y = state + x, which is the next state too."""
    build = Stream().quantised("x", "s", "y")
    if initial is not None:
        build.initial("sum", initial)
    build.read("sum", "s").op("ADD", ["x", "s"], ["y"], {})
    return build.assign("sum", "y").build(["x"], ["y"])


def window(rows: int = 5, fresh: int = 2, channels: int = 6, layers: int = 2, seed: int = 0) -> bytes:
    """Returns convolutions over time: each keeps the rows of its input that the next run needs too."""
    rng = np.random.default_rng(seed)
    build = Stream().quantised("x", shape=(1, fresh, 1, channels))
    last = "x"
    for layer in range(layers):
        kept = rows - 1
        build.quantised(f"old{layer}", f"new{layer}", shape=(1, kept, 1, channels))
        build.quantised(f"cat{layer}", shape=(1, kept + fresh, 1, channels))
        build.quantised(f"y{layer}", shape=(1, fresh, 1, channels))
        build.read(f"stream{layer}", f"old{layer}").op(
            "CONCATENATION", [f"old{layer}", last], [f"cat{layer}"], {"Axis": 1}
        )
        for name, values in (("begin", [0, fresh, 0, 0]), ("end", [0, 0, 0, 0]), ("strides", [1, 1, 1, 1])):
            build.tensor(f"{name}{layer}", (4,), np.int32, data=values)
        cut = [f"{name}{layer}" for name in ("cat", "begin", "end", "strides")]
        build.op("STRIDED_SLICE", cut, [f"new{layer}"], {"BeginMask": 13, "EndMask": 15})
        build.assign(f"stream{layer}", f"new{layer}")
        weights = rng.integers(-127, 128, (channels, rows, 1, channels))
        build.tensor(f"w{layer}", weights.shape, np.int8, scale=0.02, data=weights)
        build.tensor(f"b{layer}", (channels,), np.int32, data=rng.integers(-500, 500, channels), scale=0.01)
        options = {"StrideH": 1, "StrideW": 1, "Padding": "VALID"}
        build.op("CONV_2D", [f"cat{layer}", f"w{layer}", f"b{layer}"], [f"y{layer}"], options)
        last = f"y{layer}"
    return build.build(["x"], [last])


def draws(shapes: Sequence[Sequence[int]], steps: int, seed: int = 0) -> list[list[np.ndarray]]:
    """Returns random int8 inputs for some runs."""
    rng = np.random.default_rng(seed)
    return [[rng.integers(-128, 128, shape).astype(np.int8) for shape in shapes] for _ in range(steps)]


def evaluated(model: bytes, steps: Sequence[Sequence[np.ndarray]]) -> list[list[np.ndarray]]:
    """Returns the outputs of each of several runs, by the ops' `evaluate`."""
    graph = load(model)
    states, found = initial_states(graph), []
    for inputs in steps:
        feed = {tensor.name: x for tensor, x in zip(graph.inputs, inputs, strict=True)}
        values = run_all(graph, feed, states)
        states = next_states(graph, values)
        found.append([values[tensor.name] for tensor in graph.outputs])
    return found
