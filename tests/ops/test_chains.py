"""Chains of data-movement ops, in which tensors share memory wherever they can, against tflite-micro."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from support import one_op
from support.examples import examples
from support.tflite_builder import ModelBuilder

_LARGEST = 400
_QUANT = {"scale": 0.25, "zero_point": 3}


@dataclass
class Chain:
    """A model under construction: `tensors` are the values that later ops may take."""

    build: ModelBuilder = field(default_factory=ModelBuilder)
    tensors: dict[str, tuple[int, ...]] = field(default_factory=dict)
    constants: int = 0

    def value(self, shape: tuple[int, ...]) -> str:
        name = f"t{len(self.tensors)}"
        self.build.tensor(name, shape, np.int8, **_QUANT)
        self.tensors[name] = shape
        return name

    def constant(self, values: list[int] | list[list[int]]) -> str:
        self.constants += 1
        array = np.array(values, np.int32)
        self.build.tensor(f"c{self.constants}", array.shape, np.int32, data=array)
        return f"c{self.constants}"


def fits(other: tuple[int, ...], shape: tuple[int, ...], axis: int) -> bool:
    """True when tensors of these shapes can be joined along the axis."""
    return len(other) == len(shape) and other[:axis] + other[axis + 1 :] == shape[:axis] + shape[axis + 1 :]


def add_op(draw: st.DrawFn, chain: Chain) -> None:
    """Adds an op on tensors that are there."""
    source = draw(st.sampled_from(sorted(chain.tensors)))
    shape = chain.tensors[source]
    axis = draw(st.integers(0, len(shape) - 1))
    kind = draw(st.sampled_from(["concatenation", "split", "slice", "reshape", "transpose", "pad", "reverse", "relu"]))
    if kind == "concatenation" and math.prod(shape) * 2 <= _LARGEST:
        others = [name for name, other in chain.tensors.items() if fits(other, shape, axis)]
        parts = [source, *draw(st.lists(st.sampled_from(sorted(others)), min_size=1, max_size=2))]
        total = sum(chain.tensors[part][axis] for part in parts)
        result = chain.value((*shape[:axis], total, *shape[axis + 1 :]))
        chain.build.op("CONCATENATION", parts, [result], {"Axis": axis})
    elif kind == "split" and shape[axis] % 2 == 0:
        half = (*shape[:axis], shape[axis] // 2, *shape[axis + 1 :])
        results = [chain.value(half), chain.value(half)]
        chain.build.op("SPLIT", [chain.constant([axis]), source], results, {"NumSplits": 2})
    elif kind == "slice":
        begin = [draw(st.integers(0, extent - 1)) if a == axis else 0 for a, extent in enumerate(shape)]
        operands = [source, chain.constant(begin), chain.constant(list(shape)), chain.constant([1] * len(shape))]
        result = chain.value(tuple(extent - first for extent, first in zip(shape, begin, strict=True)))
        chain.build.op("STRIDED_SLICE", operands, [result])
    elif kind == "reverse":
        operands = [source, *(chain.constant([n] * len(shape)) for n in (-1, 0, -1))]
        chain.build.op("STRIDED_SLICE", operands, [chain.value(shape)], {"EndMask": 31})
    elif kind == "reshape":
        wanted = (math.prod(shape[: axis + 1]), math.prod(shape[axis + 1 :]))
        chain.build.op("RESHAPE", [source, chain.constant(list(wanted))], [chain.value(wanted)])
    elif kind == "transpose":
        order = list(draw(st.permutations(range(len(shape)))))
        result = chain.value(tuple(shape[a] for a in order))
        chain.build.op("TRANSPOSE", [source, chain.constant(order)], [result])
    elif kind == "pad" and math.prod(shape) * 2 <= _LARGEST:
        padding = [[int(a == axis), 0] for a in range(len(shape))]
        result = chain.value(tuple(e + p[0] for e, p in zip(shape, padding, strict=True)))
        chain.build.op("PAD", [source, chain.constant(padding)], [result])
    else:
        chain.build.op("RELU", [source], [chain.value(shape)])


@st.composite
def models(draw: st.DrawFn) -> tuple[bytes, tuple[int, ...]]:
    """Draws a model of three to eight ops whose outputs are its last tensor and perhaps another."""
    chain = Chain()
    shape = draw(st.lists(st.integers(1, 4), min_size=2, max_size=4).map(tuple))
    chain.value(shape)
    for _ in range(draw(st.integers(3, 8))):
        add_op(draw, chain)
    computed = sorted(chain.tensors, key=lambda name: int(name[1:]))[1:]
    outputs = list(dict.fromkeys([computed[-1], draw(st.sampled_from(computed))]))
    return chain.build.build(["t0"], outputs), shape


@settings(max_examples=examples(50), deadline=None)
@given(models(), st.sampled_from(["consumed", "kept"]))
def test_chain(case: tuple[bytes, tuple[int, ...]], input_mode: str) -> None:
    model, shape = case
    x = np.random.default_rng(0).integers(-128, 128, shape).astype(np.int8)
    one_op.check_equal(model, x, run=lambda m, *i: one_op.compiled(m, *i, attributes=f"-input={input_mode}"))


def test_a_part_and_its_whole_cannot_both_lie_in_a_concatenation() -> None:
    chain = Chain()
    whole = chain.value((4, 2))
    parts = [chain.value((2, 2)), chain.value((2, 2))]
    chain.build.op("SPLIT", [chain.constant([0]), whole], parts, {"NumSplits": 2})
    result = chain.value((6, 2))
    chain.build.op("CONCATENATION", [parts[1], whole], [result], {"Axis": 0})
    one_op.check_equal(chain.build.build([whole], [result]), np.arange(8, dtype=np.int8).reshape(4, 2))
