"""Random graphs of ops that share memory (views, in place): the generated C must give what the reference gives."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aboard
from support import oracle
from support.examples import examples
from support.one_op import compiled
from support.tflite_builder import ModelBuilder

SCALE, ZERO = 0.05, -7


class GraphDrawer:
    """Grows a model op by op; every tensor has the same quantisation, so that everything may be joined."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.builder = ModelBuilder()
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.used: set[str] = set()
        self.constants = 0

    def tensor(self, shape: tuple[int, ...]) -> str:
        name = f"t{len(self.shapes)}"
        self.builder.tensor(name, shape, np.int8, scale=SCALE, zero_point=ZERO)
        self.shapes[name] = shape
        return name

    def constant(self, values: list[int] | list[list[int]]) -> str:
        self.constants += 1
        name = f"c{self.constants}"
        data = np.array(values, np.int32)
        self.builder.tensor(name, data.shape, np.int32, data=data)
        return name

    def op(self, kind: str, inputs: list[str], outputs: list[str], options: dict[str, object] | None = None) -> None:
        self.builder.op(kind, inputs, outputs, options or {})
        self.used.update(inputs)

    def pick(self) -> str:
        names = sorted(self.shapes)
        fresh = [name for name in names if name not in self.used]
        return self.draw(st.sampled_from(fresh if fresh and self.draw(st.booleans()) else names))

    def grow(self) -> None:
        kinds = ["relu", "same", "add", "reshape", "concat", "split", "slice", "pad"]
        getattr(self, self.draw(st.sampled_from(kinds)))()

    def relu(self) -> None:
        x = self.pick()
        self.op(self.draw(st.sampled_from(["RELU", "RELU6"])), [x], [self.tensor(self.shapes[x])])

    def same(self) -> None:
        """A requantisation that changes nothing."""
        x = self.pick()
        self.op("QUANTIZE", [x], [self.tensor(self.shapes[x])])

    def add(self) -> None:
        x = self.pick()
        same = [name for name in sorted(self.shapes) if self.shapes[name] == self.shapes[x]]
        options = {"FusedActivationFunction": self.draw(st.sampled_from(["NONE", "RELU", "RELU6"]))}
        self.op("ADD", [x, self.draw(st.sampled_from(same))], [self.tensor(self.shapes[x])], options)

    def reshape(self) -> None:
        x = self.pick()
        n, h, w, c = self.shapes[x]
        shape = self.draw(st.sampled_from([(n, w, h, c), (n, 1, h * w, c), (n, h, w * c, 1), (n, h * w, 1, c)]))
        self.op("RESHAPE", [x, self.constant(list(shape))], [self.tensor(shape)])

    def concat(self) -> None:
        x = self.pick()
        axis = self.draw(st.sampled_from([1, 2, 3]))
        fits = [
            name
            for name, shape in sorted(self.shapes.items())
            if all(shape[a] == self.shapes[x][a] for a in range(4) if a != axis)
        ]
        parts = [x, *self.draw(st.lists(st.sampled_from(fits), min_size=1, max_size=2))]
        shape = list(self.shapes[x])
        shape[axis] = sum(self.shapes[part][axis] for part in parts)
        if math.prod(shape) <= 600:
            self.op("CONCATENATION", parts, [self.tensor(tuple(shape))], {"Axis": axis})

    def split(self) -> None:
        x = self.pick()
        axes = [a for a in (1, 2, 3) if self.shapes[x][a] % 2 == 0]
        if not axes:
            return
        axis = self.draw(st.sampled_from(axes))
        shape = list(self.shapes[x])
        shape[axis] //= 2
        halves = [self.tensor(tuple(shape)), self.tensor(tuple(shape))]
        name = self.constant([0])
        self.builder.tensor(f"{name}_axis", (), np.int32, data=np.array(axis, np.int32))
        self.op("SPLIT", [f"{name}_axis", x], halves, {"NumSplits": 2})

    def slice(self) -> None:
        x = self.pick()
        shape = self.shapes[x]
        begin = [self.draw(st.integers(0, size - 1)) for size in shape]
        end = [self.draw(st.integers(b + 1, size)) for b, size in zip(begin, shape, strict=True)]
        out = self.tensor(tuple(e - b for b, e in zip(begin, end, strict=True)))
        operands = [x, self.constant(begin), self.constant(end), self.constant([1, 1, 1, 1])]
        self.op("STRIDED_SLICE", operands, [out])

    def pad(self) -> None:
        x = self.pick()
        n, h, w, c = self.shapes[x]
        self.op("PAD", [x, self.constant([[0, 0], [1, 0], [0, 1], [0, 0]])], [self.tensor((n, h + 1, w + 1, c))])


@st.composite
def models(draw: st.DrawFn) -> tuple[bytes, list[tuple[int, ...]]]:
    graph = GraphDrawer(draw)
    inputs = [graph.tensor((1, draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(st.sampled_from([1, 2, 4, 6]))))]
    if draw(st.booleans()):
        inputs.append(graph.tensor(graph.shapes[inputs[0]]))
    for _ in range(draw(st.integers(2, 9))):
        graph.grow()
    computed = [name for name in sorted(graph.shapes) if name not in inputs]
    loose = [name for name in computed if name not in graph.used]
    extra = draw(st.lists(st.sampled_from(computed), max_size=1)) if computed else []
    outputs = sorted({*loose, *extra})
    if not outputs:
        graph.relu()
        outputs = [sorted(graph.shapes)[-1]]
    return graph.builder.build(inputs, outputs), [graph.shapes[name] for name in inputs]


@pytest.mark.parametrize("mode", ["consumed", "kept"])
@given(models(), st.integers(0, 1 << 30))
@settings(max_examples=examples(40), deadline=None)
def test_shared_memory_never_changes_a_result(mode: str, model: tuple[bytes, list[tuple[int, ...]]], seed: int) -> None:
    data, shapes = model
    rng = np.random.default_rng(seed)
    inputs = [rng.integers(-128, 128, shape).astype(np.int8) for shape in shapes]
    expected = oracle.tflm(data, *inputs)
    for got, wanted in zip(compiled(data, *inputs, attributes=f"-input={mode}"), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_split_and_concatenation_along_channels_need_no_code() -> None:
    builder = ModelBuilder()
    for name, channels in (("x", 4), ("a", 2), ("b", 2), ("c", 2), ("d", 2), ("y", 4)):
        builder.tensor(name, (1, 3, 3, channels), np.int8, scale=SCALE, zero_point=ZERO)
    builder.tensor("axis", (), np.int32, data=np.array(3, np.int32))
    builder.op("SPLIT", ["axis", "x"], ["a", "b"], {"NumSplits": 2})
    builder.op("RELU", ["a"], ["c"])
    builder.op("RELU6", ["b"], ["d"])
    builder.op("CONCATENATION", ["c", "d"], ["y"], {"Axis": 3})
    data = builder.build(["x"], ["y"])
    module = aboard.compile(data, target="c -runtime=host", name="m")
    assert [node.op for node in module.manifest.nodes] == ["relu", "relu6"]
    x = np.arange(36, dtype=np.int8).reshape(1, 3, 3, 4) - 18
    np.testing.assert_array_equal(module.run(x), oracle.tflm(data, x)[0])


@given(models(), st.integers(0, 1 << 30))
@settings(max_examples=examples(25), deadline=None)
def test_a_core_that_computes_a_part_never_changes_a_result(
    model: tuple[bytes, list[tuple[int, ...]]], seed: int
) -> None:
    data, shapes = model
    rng = np.random.default_rng(seed)
    inputs = [rng.integers(-128, 128, shape).astype(np.int8) for shape in shapes]
    wanted = oracle.tflm(data, *inputs)
    numbers = sorted({int(number) for number in rng.integers(0, 10, 6)})
    claims = f"+ arm/mps2_an521:cpu1 -claim-nodes={','.join(map(str, numbers))}"
    for got, expected in zip(compiled(data, *inputs, attributes=claims), wanted, strict=True):
        np.testing.assert_array_equal(got, expected)


def test_regions_keep_the_names_at_their_borders() -> None:
    # Clamps behind the first do nothing; some are read by a node that another core computes, or follow one.
    builder = ModelBuilder()
    for name in ("x", "a", "b", "c", "y"):
        builder.tensor(name, (1, 3, 3, 4), np.int8, scale=SCALE, zero_point=ZERO)
    for kind, before, after in (("RELU", "x", "a"), ("RELU", "a", "b"), ("RELU", "b", "c"), ("RELU", "c", "y")):
        builder.op(kind, [before], [after])
    data = builder.build(["x"], ["y"])
    x = np.arange(36, dtype=np.int8).reshape(1, 3, 3, 4) - 18
    for claimed in ("0", "1", "2", "1,2", "0,2"):
        attributes = f"+ arm/mps2_an521:cpu1 -claim-nodes={claimed}"
        np.testing.assert_array_equal(compiled(data, x, attributes=attributes)[0], oracle.tflm(data, x)[0])
