"""Weights of large networks of which only the structure is kept: where they are in a file, and seeded ones."""

from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np
import tflite

_WEIGHTED = (
    tflite.BuiltinOperator.CONV_2D,
    tflite.BuiltinOperator.DEPTHWISE_CONV_2D,
    tflite.BuiltinOperator.FULLY_CONNECTED,
)


def with_weights(file: bytes, seed: int | None) -> bytes:
    """Returns a TFLite file with other int8 weights in its convolutions and dense layers; all else is kept.

    Args:
        file: A TFLite file whose weights are of int8.
        seed: Of weights uniform in -127 to 127; None makes them 0, so that the file compresses well.
    """
    data = bytearray(file)
    model = tflite.Model.GetRootAs(data, 0)
    graph = model.Subgraphs(0)
    generator = np.random.default_rng(seed)
    for index in range(graph.OperatorsLength()):
        operator = graph.Operators(index)
        if model.OperatorCodes(operator.OpcodeIndex()).BuiltinCode() in _WEIGHTED:
            weights = graph.Tensors(operator.Inputs(1))
            assert weights.Type() == tflite.TensorType.INT8, f"{weights.Name()}: not of int8"
            view = model.Buffers(weights.Buffer()).DataAsNumpy().view(np.int8)
            view[:] = 0 if seed is None else generator.integers(-127, 128, view.size)
    return bytes(data)


def pack(file: bytes) -> bytes:
    """Returns a TFLite file compressed, its weights 0."""
    return lzma.compress(with_weights(file, None), preset=9)


def unpack(path: Path, seed: int) -> bytes:
    """Returns the TFLite file that `pack` compressed, with weights of a seed."""
    return with_weights(lzma.decompress(path.read_bytes()), seed)
