"""fully_connected of int8 with Helium."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Node
from aboard.ir.numerics import Int64
from aboard.kernels import weights as packing
from aboard.kernels.arm_mve.conv2d import CHUNK, reach
from aboard.kernels.arm_mve.epilogue import (
    HIGH,
    LANES,
    LOW,
    EpilogueForm,
    EpilogueMve,
    UniformMve,
    epilogue,
    refusal,
    uniform,
)
from aboard.kernels.contract import (
    ConstantArg,
    Implementation,
    InputArg,
    KernelCall,
    OutputArg,
    PackedConstant,
    Scratch,
    ScratchArg,
)
from aboard.kernels.portable.fully_connected import shape_params
from aboard.kernels.registry import implements
from aboard.kernels.view import Literal, View
from aboard.kernels.weights import padded
from aboard.ops import fully_connected as op
from aboard.ops.weighted import INPUT, Precision
from aboard.target import Target

HEADER = "arm_mve/fully_connected.h"
UNIFORM_HEADER = "arm_mve/fully_connected_uniform.h"

#: Number of channels computed at once.
BLOCK = 8

#: Order of a block's channels in the two vectors of sums.
_EVEN_FIRST = (0, 2, 4, 6, 1, 3, 5, 7)

#: Chunks of a sample that stay in registers: all of them, or with others in memory.
_KEPT_ALONE, _KEPT = 5, 4

#: Largest negative address step of an instruction, in bytes.
_MAX_BACK = 4095


def pack(matrix: Array) -> Array:
    """Returns weights [channels, inputs] flat: [blocks of eight channels, chunks, 8, 16], padded with zeros.

    A last block of at most four channels is [chunks, 4, 16].
    """
    whole = len(matrix) // BLOCK * BLOCK
    if len(matrix) - whole > LANES:
        whole = len(matrix)
    parts = [_blocks(part, size) for part, size in ((matrix[:whole], BLOCK), (matrix[whole:], LANES))]
    return np.concatenate([part.reshape(-1) for part in parts])


def pack_eights(matrix: Array, result: EpilogueMve) -> Array:
    """Returns weights [channels, inputs] and constants as a stream; of every eight channels, the even ones first.

    Biases come before the weights, other constants after them.
    """
    return _stream(matrix, result.rows)


def _stream(matrix: Array, constants: Int64) -> Array:
    """Returns weights [channels, inputs], after the first and before the other kinds of constants [kinds, channels]."""
    blocks = len(matrix) // BLOCK
    order = (np.arange(len(matrix)).reshape(blocks, BLOCK)[:, _EVEN_FIRST]).reshape(-1)
    weights = _blocks(matrix[order], BLOCK).reshape(blocks, -1).view(np.int8)
    ordered = constants[:, order].reshape(len(constants), blocks, BLOCK).swapaxes(0, 1).astype("<i4")
    words = np.ascontiguousarray(ordered).reshape(blocks, -1).view(np.int8)
    biases = words.shape[1] // len(constants)
    return np.concatenate([words[:, :biases], weights, words[:, biases:]], 1)


def _steps(matrix: Array) -> bool:
    """True if one loop can compute all channels in blocks of eight."""
    return math.ceil(matrix.shape[1] / CHUNK) * CHUNK <= _MAX_BACK and len(matrix) % BLOCK == 0


def _in_eights(matrix: Array, result: EpilogueMve) -> bool:
    """True if one loop computes all channels in blocks of eight: no limits, no left shift."""
    limited = (result.params["low"], result.params["high"]) != (LOW, HIGH)
    return _steps(matrix) and not limited and result.form is not EpilogueForm.DOUBLE


def _blocks(matrix: Array, channels: int) -> Array:
    full = padded(padded(matrix, channels).T, CHUNK).T
    return np.ascontiguousarray(full.reshape(-1, channels, full.shape[1] // CHUNK, CHUNK).swapaxes(1, 2))


@implements
class MveS8(Implementation):
    """int8: eight output channels at once, sixteen inputs per instruction."""

    op = "fully_connected"
    name = "arm_mve_s8"
    exact = True
    keys = frozenset({"arm_mve"})

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = packing.refusal(node, Precision.INT8, op.AXIS)
        return reason or refusal(node, op.attributes(node).activation, op.AXIS)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        matrix = packing.matrix(node, op.AXIS)
        alike = uniform(node, matrix, packing.bias(node), op.attributes(node).activation, op.AXIS)
        if alike is not None and _steps(matrix):
            return _uniform(node, outputs[0], matrix, alike)
        result = epilogue(node, matrix, packing.bias(node), op.attributes(node).activation, op.AXIS)
        chunks, eights = -(-matrix.shape[1] // CHUNK), _in_eights(matrix, result)
        weights = pack_eights(matrix, result) if eights else pack(matrix)
        constants = [] if eights else [PackedConstant("constants", padded(result.blocks(), 2), align=CHUNK)]
        params: dict[str, Literal] = {
            **shape_params(node, outputs[0]),
            "reach": reach(1, chunks, 0),
            "epilogue": result.params,
        }
        return KernelCall(
            header=HEADER,
            function="aboard_fully_connected_mve_blocks" if eights else "aboard_fully_connected_mve",
            params_type="aboard_fully_connected_mve_t",
            params=params,
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("weights", weights, align=CHUNK)),
                *(ConstantArg(constant) for constant in constants),
                _sample(matrix),
            ),
            rows=outputs[0].rows,
            slow_epilogue=not result.is_single,
            # Parameters are immediates in instructions, so layers cannot share code.
            code_key=repr(params),
        )


def _sample(matrix: Array) -> ScratchArg:
    """Returns the scratch for a sample that is no whole number of chunks."""
    inputs = matrix.shape[1]
    return ScratchArg(Scratch(math.ceil(inputs / CHUNK) * CHUNK if inputs % CHUNK else 0, align=CHUNK), "int8_t *")


def _uniform(node: Node, y: View, matrix: Array, result: UniformMve) -> KernelCall:
    """Returns the call for results that are all scaled alike."""
    chunks = math.ceil(matrix.shape[1] / CHUNK)
    kept = chunks if chunks <= _KEPT_ALONE else _KEPT
    params: dict[str, Literal] = {
        **shape_params(node, y),
        "kept": kept,
        "reach": reach(1, chunks - kept, 0),
        "multiplier": result.multiplier,
        "epilogue": result.params,
    }
    return KernelCall(
        header=UNIFORM_HEADER,
        function="aboard_fully_connected_mve_uniform",
        params_type="aboard_fully_connected_uniform_mve_t",
        params=params,
        arguments=(
            InputArg(INPUT, "const int8_t *"),
            OutputArg(0, "int8_t *"),
            ConstantArg(PackedConstant("weights", _stream(matrix, result.biases[None]), align=CHUNK)),
            _sample(matrix),
        ),
        rows=y.rows,
        slow_epilogue=node.output.quant.zero_point > LOW,
        # Parameters are immediates in instructions, so layers cannot share code.
        code_key=repr(params),
    )
