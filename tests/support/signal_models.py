"""Models of one operator of an audio front end, run for some steps in three ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from flatbuffers import flexbuffers

import aboard
from support import oracle, streams
from support.tflite_builder import ModelBuilder

Steps = Sequence[Sequence[np.ndarray]]


def options(values: Mapping[str, Any]) -> bytes:
    """Returns the custom options of an operator."""
    return bytes(flexbuffers.Dumps(dict(values)))


def add(
    build: ModelBuilder, name: str, inputs: Sequence[str], outputs: Sequence[str], values: Mapping[str, Any]
) -> None:
    """Adds the operator Signal`name` with options."""
    build.op("CUSTOM", inputs, outputs, custom=f"Signal{name}", custom_options=options(values))


def model(
    name: str,
    operands: Sequence[tuple[Sequence[int], Any] | np.ndarray],
    results: Sequence[tuple[Sequence[int], Any]],
    values: Mapping[str, Any],
) -> bytes:
    """Returns a model of one operator.

    Args:
        name: Of the operator, without `Signal`.
        operands: Shape and type of each input; the values of a constant.
        results: Shape and type of each output.
        values: Options.
    """
    build, inputs, outputs = ModelBuilder(), [], []
    for index, operand in enumerate(operands):
        constant = isinstance(operand, np.ndarray)
        shape, dtype = (operand.shape, operand.dtype) if constant else operand
        build.tensor(f"x{index}", shape, dtype, data=operand if constant else None)
        inputs += [] if constant else [f"x{index}"]
    for index, (shape, dtype) in enumerate(results):
        build.tensor(f"y{index}", shape, dtype)
        outputs.append(f"y{index}")
    add(build, name, [f"x{i}" for i in range(len(operands))], outputs, values)
    return build.build(inputs, outputs)


def compiled(model: bytes, steps: Steps, attributes: str = "") -> list[list[np.ndarray]]:
    """Returns the outputs of each of several runs of the generated C."""
    module = aboard.compile(model, target=f"c -runtime=host {attributes}", name="model")
    found = []
    for inputs in steps:
        results = module.run({record.name: x for record, x in zip(module.manifest.inputs, inputs, strict=True)})
        found.append(list(results.values()) if isinstance(results, dict) else [results])
    return found


def reference(model: bytes, steps: Steps) -> list[list[np.ndarray]]:
    """Returns the outputs of each of several runs of the reference."""
    return oracle.tflm_steps(model, steps)


def check_steps(
    model: bytes, steps: Steps, *, valid: int | None = None, attributes: str = ""
) -> list[list[np.ndarray]]:
    """Fails unless `evaluate` and the generated C give the reference's outputs in each step, bit for bit.

    Args:
        model: A TFLite file.
        steps: For each run, the values of the model's inputs.
        valid: Which output says whether the reference has written the others.
        attributes: Attributes of the target.

    Returns:
        The outputs.
    """
    expected, own = reference(model, steps), streams.evaluated(model, steps)
    generated = compiled(model, steps, attributes)
    for number, (mine, wanted) in enumerate(zip(own, expected, strict=True)):
        for index, (a, b) in enumerate(zip(mine, wanted, strict=True)):
            assert a.dtype == b.dtype, f"output {index}"
            if valid in (None, index) or wanted[valid]:
                np.testing.assert_array_equal(a, b, err_msg=f"evaluate, step {number}, output {index}")
    for number, (mine, wanted) in enumerate(zip(generated, own, strict=True)):
        for index, (a, b) in enumerate(zip(mine, wanted, strict=True)):
            np.testing.assert_array_equal(a, b, err_msg=f"generated C, step {number}, output {index}")
    return own
