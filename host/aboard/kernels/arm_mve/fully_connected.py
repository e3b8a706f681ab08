"""fully_connected of int8 with Helium."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Node
from aboard.ir.numerics import Int64
from aboard.kernels import weights as packing
from aboard.kernels.arm_mve import loops
from aboard.kernels.arm_mve.conv2d import reach
from aboard.kernels.arm_mve.epilogue import (
    LANES,
    LOW,
    EpilogueForm,
    EpilogueMve,
    UniformMve,
    epilogue,
    refusal,
    uniform,
)
from aboard.kernels.arm_mve.loops import CHUNK, UNROLLED
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
from aboard.ops.weighted import INPUT, WEIGHTS, Precision
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

#: Most chunks whose addresses are offsets of loads, ABOARD_MVE_UNIFORM_NEAR.
_NEAR = 7

#: Instructions of a block of eight channels beside its sums, those of its loop included.
EIGHT_RESULTS = {EpilogueForm.SINGLE: 19, EpilogueForm.DOUBLE_RIGHT: 27, EpilogueForm.PRODUCTS: 21}

#: Instructions around a sample, and around a block in C.
_SAMPLE, _BLOCK = 10, 8


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
    return stream(matrix, result.rows)


def stream(matrix: Array, constants: Int64) -> Array:
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
    """True if one loop computes all channels in blocks of eight."""
    return _steps(matrix) and loops.short_refusal(result) is None


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
            loops=loops.UNIT * _samples(node) * _of_sample(node, result, eights=eights),
            # Parameters are immediates in instructions, so layers cannot share code.
            code_key=repr(params),
        )


def _samples(node: Node) -> int:
    """Returns the samples of a batch."""
    return math.prod(node.output.shape) // node.input(WEIGHTS).shape[0]


def _of_sample(node: Node, result: EpilogueMve, *, eights: bool) -> int:
    """Returns the instructions of a sample: its copy, and blocks of eight channels and of up to four."""
    channels, inputs = node.input(WEIGHTS).shape
    chunks = math.ceil(inputs / CHUNK)
    copied = _SAMPLE + (loops.copied_looped(inputs) if inputs % CHUNK else 0)
    sums = 17 * chunks + (3 * _runs(chunks) if chunks > UNROLLED else 0)
    if eights:
        return copied + channels // BLOCK * (sums + 1 + EIGHT_RESULTS[result.form])
    whole, rest = divmod(channels, BLOCK)
    block = 2 * loops.of_block(0, 1, result) + sums + LANES + (BLOCK if chunks > UNROLLED else 0) + _BLOCK
    last = loops.of_block(loops.pair_sums(1, chunks), 1, result) + _BLOCK
    return copied + whole * block + (block if rest > LANES else last if rest else 0)


def _of_uniform_sample(node: Node, kept: int) -> int:
    """Returns the instructions of a sample whose results are all scaled alike, `kept` of its chunks in registers."""
    channels, inputs = node.input(WEIGHTS).shape
    chunks = math.ceil(inputs / CHUNK)
    loop = 3 * _runs(chunks - kept) if chunks - kept > UNROLLED else 0
    copied = _SAMPLE + (loops.copied_looped(inputs) if inputs % CHUNK else 0)
    ends = (13 if node.output.quant.zero_point == LOW else 18) + (1 if chunks - kept > _NEAR else 0)
    return copied + 5 * kept + channels // BLOCK * (17 * chunks - kept + loop + ends)


def _runs(chunks: int) -> int:
    """Returns the iterations of a loop over chunks."""
    return reach(1, chunks, 0)["rows"]


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
            ConstantArg(PackedConstant("weights", stream(matrix, result.biases[None]), align=CHUNK)),
            _sample(matrix),
        ),
        rows=y.rows,
        slow_epilogue=node.output.quant.zero_point > LOW,
        loops=loops.UNIT * _samples(node) * _of_uniform_sample(node, kept),
        # Parameters are immediates in instructions, so layers cannot share code.
        code_key=repr(params),
    )
