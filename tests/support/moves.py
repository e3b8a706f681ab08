"""Models of operators that move data or reduce it, several in a file, in any element type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from support import one_op, oracle
from support.tflite_builder import ModelBuilder


@dataclass
class Case:
    """One operator.

    Attributes:
        kind: Name of the operator.
        operands: A tuple is the shape of an input of the model; an array or a list is a constant.
        results: Shapes.
        options: Fields of the options table.
        dtype: Element type of inputs and results.
        result_dtype: Element type of results, where it is another.
        quant: Keywords of `ModelBuilder.tensor` for each input and result in turn; empty for one quantisation of all.
        values: Values of the inputs; empty for random ones.
        version: Version of the operator.
    """

    kind: str
    operands: Sequence[Any]
    results: Sequence[Sequence[int]]
    options: Mapping[str, Any] = field(default_factory=dict)
    dtype: Any = np.int8
    result_dtype: Any = None
    quant: Sequence[Mapping[str, Any]] = ()
    values: Sequence[np.ndarray] = ()

    def feed(self) -> list[np.ndarray]:
        """Returns the values of the inputs."""
        drawn = [values(operand, self.dtype) for operand in self.operands if isinstance(operand, tuple)]
        return list(self.values) or drawn


def quant(dtype: Any) -> dict[str, float]:
    """Returns a scale, and for bytes a zero point, where the type needs them."""
    if dtype == np.int16:
        return {"scale": 0.25}
    return {"scale": 0.25, "zero_point": 3} if dtype in (np.int8, np.uint8) else {}


def values(shape: Sequence[int], dtype: Any) -> np.ndarray:
    """Returns random values of the whole range of a type."""
    rng = np.random.default_rng(0)
    if dtype == np.bool_:
        return rng.integers(0, 2, tuple(shape)).astype(np.bool_)
    if dtype == np.float32:
        return rng.normal(0, 100, tuple(shape)).astype(np.float32)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, tuple(shape), dtype, endpoint=True)


def model(*cases: Case) -> bytes:
    """Returns a file with these operators, each with inputs and outputs of its own."""
    build, inputs, outputs = ModelBuilder(), list[str](), list[str]()
    for number, case in enumerate(cases):
        names, quants = [], iter(case.quant)
        for index, operand in enumerate(case.operands):
            names.append(f"x{number}_{index}")
            if isinstance(operand, tuple):
                given = case.values[index] if case.values else None
                dtype = case.dtype if given is None else given.dtype.type
                build.tensor(names[-1], operand, dtype, **next(quants, quant(dtype)))
                inputs.append(names[-1])
            else:
                constant = np.asarray(operand)
                constant = constant.astype(np.int32) if isinstance(operand, list | int) else constant
                build.tensor(names[-1], constant.shape, constant.dtype, data=constant)
        results = [f"y{number}_{index}" for index in range(len(case.results))]
        for name, shape in zip(results, case.results, strict=True):
            dtype = case.result_dtype or case.dtype
            build.tensor(name, shape, dtype, **next(quants, quant(dtype)))
        build.op(case.kind, names, results, case.options)
        outputs += results
    return build.build(inputs, outputs)


def check(*cases: Case, **named: Callable[..., list[np.ndarray]]) -> None:
    """Fails unless `evaluate` and the generated C give the reference's results; `named` as for `one_op.check_equal`."""
    one_op.check_equal(model(*cases), *(values for case in cases for values in case.feed()), **named)


def check_meaning(case: Case) -> None:
    """Fails unless `evaluate` gives the results of tflite-micro; many times quicker than `check`, which builds C."""
    feed = case.feed()
    expected = oracle.tflm(model(case), *feed)
    for got, wanted in zip(one_op.evaluate(model(case), *feed), expected, strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)
