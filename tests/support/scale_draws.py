"""Many independent operators in one model: one run of the reference and one build check them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aboard.errors import ModelError
from aboard.importers import load
from aboard.kernels import View
from aboard.kernels.select.strategy import choose
from aboard.target import Target
from support import kernel_call, one_op, oracle
from support.element_models import Value
from support.kernel_call import Placed
from support.tflite_builder import ModelBuilder

Run = Callable[..., list[np.ndarray]]

_HOST = Target(one_op.HOST)


@dataclass(frozen=True)
class Draw:
    """An operator with its quantisation.

    Attributes:
        kind: Name in the schema's `BuiltinOperator`.
        operands: Its operands.
        result: Its result.
        options: Fields of its options table.
    """

    kind: str
    operands: tuple[Value, ...]
    result: Value
    options: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        values = [f"{np.dtype(v.dtype)} q({v.scale!r}, {v.zero_point})" for v in (*self.operands, self.result)]
        return f"{self.kind} {dict(self.options)} of {', '.join(values[:-1])} to {values[-1]}"


def model(draws: Sequence[Draw]) -> bytes:
    """Returns a model of independent operators: inputs in the order of their operands, one output each."""
    builder, inputs = ModelBuilder(), []
    for number, draw in enumerate(draws):
        names = [f"x{number}_{index}" for index in range(len(draw.operands))]
        for name, value in zip([*names, f"y{number}"], [*draw.operands, draw.result], strict=True):
            builder.tensor(
                name, value.shape, value.dtype, scale=value.scale, zero_point=value.zero_point, data=value.data
            )
        builder.op(draw.kind, names, [f"y{number}"], draw.options)
        inputs += [name for name, value in zip(names, draw.operands, strict=True) if value.data is None]
    return builder.build(inputs, [f"y{number}" for number in range(len(draws))])


def refusals(draws: Sequence[Draw]) -> dict[int, str]:
    """Returns why the importer refuses draws, by their number."""
    if _refusal(draws) is None:
        return {}
    alone = {number: _refusal([draw]) for number, draw in enumerate(draws)}
    return {number: text for number, text in alone.items() if text is not None}


def _refusal(draws: Sequence[Draw]) -> str | None:
    try:
        load(model(draws), name="model")
    except ModelError as error:
        return str(error)
    return None


def accepted(draw: Callable[[np.random.Generator], Draw], rng: np.random.Generator, count: int) -> list[Draw]:
    """Draws until a number of operators is accepted; fails where one is refused without words, or most are."""
    kept: list[Draw] = []
    tried = 0
    while len(kept) < count:
        drawn = [draw(rng) for _ in range(count)]
        refused = refusals(drawn)
        for number, text in refused.items():
            assert "expected" in text, f"{drawn[number]}: {text}"
        kept += [each for number, each in enumerate(drawn) if number not in refused]
        tried += count
        assert len(kept) > tried // 4, f"{tried - len(kept)} of {tried} are refused, the last with {refused}"
    return kept[:count]


def check(
    draws: Sequence[Draw],
    values: Sequence[Sequence[np.ndarray]],
    reference: Run = oracle.tflm,
    run: Run | None = None,
) -> int:
    """Fails unless `evaluate` and the generated C give the reference's results, bit for bit; returns their number.

    Args:
        draws: Operators that are accepted.
        values: Of the operands of each that are inputs.
        reference: `oracle.tflm` or `oracle.litert_ref`.
        run: How the model is run beside `evaluate`; None for the kernels alone.
    """
    data, feed = model(draws), [x for each in values for x in each]
    expected = reference(data, *feed)
    for name, results in (("evaluate", one_op.evaluate(data, *feed)), ("C", (run or kernels)(data, *feed))):
        for draw, given, got, wanted in zip(draws, values, results, expected, strict=True):
            assert got.dtype == wanted.dtype, f"{name}: {draw}"
            wrong = np.flatnonzero(got.ravel() != wanted.ravel())
            if wrong.size:
                raise AssertionError(f"{name}: {draw}: {_difference(given, got, wanted, wrong)}")
    return sum(result.size for result in expected)


def _difference(given: Sequence[np.ndarray], got: np.ndarray, wanted: np.ndarray, wrong: np.ndarray) -> str:
    at, of = wrong[0], ""
    if np.broadcast_shapes(*(x.shape for x in given)) == wanted.shape:
        of = f" of {[np.broadcast_to(x, wanted.shape).ravel()[at] for x in given]}"
    return f"{wrong.size} of {wanted.size} results differ; got {got.ravel()[at]}{of}, expected {wanted.ravel()[at]}"


def kernels(data: bytes, *inputs: np.ndarray, flags: Sequence[str] = ("-O0",)) -> list[np.ndarray]:
    """Returns the results of a model of independent operators by their C kernels alone, all compiled at once.

    That is how a thousand draws are checked in the time that the compiler, which plans memory for a whole model, takes
    for some dozens.

    Args:
        data: The model.
        inputs: Values of its inputs.
        flags: More of the compiler's; it takes half the time where it does not optimise.
    """
    graph = load(data, name="model")
    values = {tensor.name: x for tensor, x in zip(graph.inputs, inputs, strict=True)}
    calls, placed = [], []
    for node in graph.nodes:
        operands = [View.whole(tensor.shape, tensor.dtype.bytes) for tensor in node.operands]
        result = View.whole(node.output.shape, node.output.dtype.bytes)
        calls.append(choose(node, _HOST).implementation.lower(node, operands, [result], _HOST))
        arrays = [values[tensor.name] if tensor.data is None else tensor.data for tensor in node.operands]
        empty = np.zeros(node.output.shape, node.output.dtype.numpy)
        sources = [Placed.of(np.ascontiguousarray(x), view) for x, view in zip(arrays, operands, strict=True)]
        placed.append((sources, Placed.of(empty, result)))
    with kernel_call.library(calls, flags) as run:
        for number, (call, (operands, result)) in enumerate(zip(calls, placed, strict=True)):
            run(number, operands, [result], 0, call.rows)
    return [
        result.values(node.output.shape, node.output.dtype.numpy)
        for node, (_, result) in zip(graph.nodes, placed, strict=True)
    ]
