"""Products of matrices."""

from __future__ import annotations

import numpy as np

from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator, reads
from aboard.ir import DType, Tensor


@reads("Gemm")
def gemm(source: Operator, make: Builder) -> Tensor:
    """Alpha * A * B + beta * C with constant B and C."""
    a, b, c = source.input(0), source.constant(1), source.optional(2)
    if source.options["transA"]:
        a = make.transpose(a, (1, 0))
    weights = np.ascontiguousarray(b if source.options["transB"] else b.T) * np.float32(source.options["alpha"])
    inputs = [a, make.array(weights)]
    if c is not None:
        bias = np.broadcast_to(source.constant(2), (1, weights.shape[0])).reshape(-1)
        inputs.append(make.array(bias * np.float32(source.options["beta"])))
    return make.op("fully_connected", inputs, None, DType.FLOAT32)
