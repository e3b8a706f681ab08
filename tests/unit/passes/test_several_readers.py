"""Random graphs in which most tensors have several readers: no pass changes a value, and every pass stays applicable.

A pass that merges two nodes may do so only where nobody else reads what lies between them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from aboard.passes import HOST, NEUTRAL, Pass
from aboard.passes.fuse_activations import FuseActivations
from aboard.passes.fuse_padding import FusePadding
from aboard.passes.merge_reshapes import MergeReshapes
from aboard.passes.remove_dead_code import RemoveDeadCode
from aboard.passes.remove_no_ops import RemoveNoOps
from support.rewrites import check_rewrite
from support.tflite_builder import ModelBuilder

CHANNELS = 2
SETS: dict[str, Sequence[Pass]] = {
    "fuse_activations": (RemoveDeadCode(), FuseActivations()),
    "fuse_padding": (RemoveDeadCode(), FusePadding()),
    "merge_reshapes": (RemoveDeadCode(), MergeReshapes()),
    "remove_no_ops": (RemoveDeadCode(), RemoveNoOps()),
    "all": (*NEUTRAL, *HOST),
}


class Drawer:
    """Grows a graph of images, all of one quantisation; every operator reads one of the last few results."""

    def __init__(self, draw: st.DrawFn, dtype: type) -> None:
        self.draw, self.dtype = draw, dtype
        self.builder = ModelBuilder()
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.read: set[str | int] = set()
        self.count = 0
        self.result((1, 4, 3, CHANNELS))

    def result(self, shape: tuple[int, ...]) -> str:
        name = f"t{len(self.shapes)}"
        quantised = {} if self.dtype is np.float32 else {"scale": 0.05, "zero_point": -7}
        self.builder.tensor(name, shape, self.dtype, **quantised)
        self.shapes[name] = shape
        return name

    def op(self, kind: str, operands: list[str | int], results: list[str], options: dict[str, object]) -> None:
        self.builder.op(kind, operands, results, options)
        self.read.update(operands)

    def constant(self, values: Sequence[object]) -> str:
        self.count += 1
        data = np.array(values, np.int32)
        self.builder.tensor(f"c{self.count}", data.shape, np.int32, data=data)
        return f"c{self.count}"

    def grow(self) -> None:
        # Of the last three, so that a tensor has two readers as often as one.
        x = self.draw(st.sampled_from(list(self.shapes)[-3:]))
        kinds = [self.clamp, self.clamp, self.add, self.convolve, self.reshape, self.same]
        if len(self.shapes[x]) == 4 and max(self.shapes[x]) < 9:
            kinds.append(self.pad)
        self.draw(st.sampled_from(kinds))(x)

    def clamp(self, x: str) -> None:
        self.op(self.draw(st.sampled_from(["RELU", "RELU6"])), [x], [self.result(self.shapes[x])], {})

    def add(self, x: str) -> None:
        fitting = [name for name, shape in self.shapes.items() if shape == self.shapes[x]]
        operands = [x, self.draw(st.sampled_from(fitting))]
        self.op("ADD", operands, [self.result(self.shapes[x])], self.activation())

    def convolve(self, x: str) -> None:
        self.count += 1
        weights = np.arange(-9, 9 * CHANNELS * CHANNELS - 9).reshape(CHANNELS, 3, 3, CHANNELS)
        quantised = {} if self.dtype is np.float32 else {"scale": 0.02}
        self.builder.tensor(f"w{self.count}", weights.shape, self.dtype, data=weights.astype(self.dtype), **quantised)
        options = {"StrideH": 1, "StrideW": 1, "Padding": "SAME", **self.activation()}
        if len(self.shapes[x]) == 4:
            self.op("CONV_2D", [x, f"w{self.count}", -1], [self.result(self.shapes[x])], options)

    def pad(self, x: str) -> None:
        n, h, w, c = self.shapes[x]
        amounts = self.constant([[0, 0], [1, 0], [0, 1], [0, 0]])
        self.op("PAD", [x, amounts], [self.result((n, h + 1, w + 1, c))], {})

    def reshape(self, x: str) -> None:
        shape = self.shapes[x]
        other = (shape[0], shape[2], shape[1], shape[3]) if len(shape) == 4 else shape
        self.op("RESHAPE", [x, self.constant(other)], [self.result(other)], {})

    def same(self, x: str) -> None:
        """A reshape to the same shape: nothing."""
        self.op("RESHAPE", [x, self.constant(self.shapes[x])], [self.result(self.shapes[x])], {})

    def activation(self) -> dict[str, object]:
        return {"FusedActivationFunction": self.draw(st.sampled_from(["NONE", "NONE", "RELU"]))}


@st.composite
def graphs(draw: st.DrawFn, dtype: type) -> bytes:
    drawer = Drawer(draw, dtype)
    for _ in range(draw(st.integers(3, 10))):
        drawer.grow()
    computed = list(drawer.shapes)[1:]
    if not computed:
        drawer.clamp("t0")
        computed = ["t1"]
    unread = [name for name in computed if name not in drawer.read]
    outputs = {*unread, *draw(st.lists(st.sampled_from(computed), max_size=1))}
    return drawer.builder.build(["t0"], sorted(outputs))


@pytest.mark.parametrize("dtype", [np.int8, np.float32])
@pytest.mark.parametrize("passes", SETS)
def test_random_graphs(passes: str, dtype: type) -> None:
    @given(graphs(dtype))
    @settings(max_examples=25, deadline=None, phases=[Phase.explicit, Phase.generate])
    def unchanged(model: bytes) -> None:
        check_rewrite(model, *SETS[passes], seeds=1)

    unchanged()
