"""svdf of int8 with Helium, with a state of int8 or int16: eight filters and four units at once."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import DType, Node
from aboard.ir.numerics import wrap32
from aboard.kernels.arm_mve.conv2d import reach
from aboard.kernels.arm_mve.epilogue import LANES
from aboard.kernels.arm_mve.fully_connected import BLOCK, pack
from aboard.kernels.arm_mve.loops import CHUNK
from aboard.kernels.contract import ConstantArg, InputArg, KernelCall, OutputArg, PackedConstant, Scratch, ScratchArg
from aboard.kernels.portable.svdf import SvdfKernel, constant, int8_params, unit_bias
from aboard.kernels.registry import implements
from aboard.kernels.view import Literal, View
from aboard.kernels.weights import filled
from aboard.ops.svdf import FEATURE_WEIGHTS, INPUT, STATE, TIME_WEIGHTS
from aboard.target import Target

#: Units of a block: with fewer, the scratch is smaller and loops begin more often.
_LEAST_UNITS = 32

#: Instructions of a chunk of eight filters, of a filter, of a vector of a state, and of a block of units after the
#: first; counted on Cortex-M55 in QEMU.
_PER_CHUNK, _PER_FILTER, _PER_VECTOR, _PER_BLOCK = 17, 14, 15, 150


class _MveInt8(SvdfKernel):
    keys = frozenset({"arm_mve"})
    function: str

    @override
    def formula(self, node: Node) -> float | None:
        filters, inputs = node.input(FEATURE_WEIGHTS).shape
        memory = node.input(TIME_WEIGHTS).shape[1] * self.state.bytes
        chunks = -(-filters // BLOCK) * -(-inputs // CHUNK)
        of_filter = _PER_FILTER + _PER_VECTOR * -(-memory // CHUNK)
        blocks = len(unit_bias(node)) // _units(node) - 1
        return node.outputs[0].shape[0] * (_PER_CHUNK * chunks + of_filter * filters + _PER_BLOCK * blocks)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        weights = constant(node, FEATURE_WEIGHTS)
        taps, ctype = weights.shape[1], f"{self.state.value}_t *"
        folded = -node.input(INPUT).quant.zero_point * weights.astype(np.int64).sum(1)
        feature_bias, bias = filled(folded, BLOCK), filled(unit_bias(node).astype(np.int64), LANES)
        chunks = -(-taps // CHUNK)
        units = _units(node)
        filters = units * len(weights) // len(unit_bias(node))
        sums, features = -(-units // LANES) * LANES, -(-filters // BLOCK) * BLOCK
        copy = -(-(4 * sums + 2 * features) // CHUNK) * CHUNK
        params: dict[str, Literal] = {
            "filter": int8_params(node),
            "reach": reach(1, chunks, 0),
            "units": units,
            "sums": sums,
            "copy": copy,
        }
        scratch = Scratch(copy + (CHUNK * chunks if taps % CHUNK else 0), align=CHUNK)
        return KernelCall(
            header="arm_mve/svdf.h",
            function=self.function,
            params_type="aboard_svdf_mve_t",
            params=params,
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                InputArg(STATE, f"const {ctype}"),
                OutputArg(0, "int8_t *"),
                OutputArg(1, ctype),
                ConstantArg(PackedConstant("weights", pack(weights), align=CHUNK)),
                ConstantArg(PackedConstant("time", constant(node, TIME_WEIGHTS))),
                ConstantArg(PackedConstant("feature_bias", wrap32(feature_bias).astype(np.int32), align=CHUNK)),
                ConstantArg(PackedConstant("bias", bias.astype(np.int32), align=CHUNK)),
                ScratchArg(scratch, "int32_t *"),
            ),
            rows=outputs[0].rows,
            # Parameters are immediates in instructions, so layers cannot share code.
            code_key=repr(params),
        )


def _units(node: Node) -> int:
    """Returns the units of a block: the fewest from `_LEAST_UNITS` on that make equal blocks of whole vectors."""
    units = len(unit_bias(node))
    rank = node.input(FEATURE_WEIGHTS).shape[0] // units
    step = math.lcm(LANES, BLOCK // math.gcd(BLOCK, rank))
    return next((n for n in range(_LEAST_UNITS, units, step) if units % n == 0), units)


@implements
class MveS8(_MveInt8):
    """int8 with time weights and state of int8."""

    name = "arm_mve_s8"
    state = DType.INT8
    function = "aboard_svdf_mve"


@implements
class MveS8S16(_MveInt8):
    """int8 with time weights and state of int16."""

    name = "arm_mve_s8_s16"
    state = DType.INT16
    function = "aboard_svdf_mve_s16"
