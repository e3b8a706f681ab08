"""svdf in portable C: int8 with a state of int8 or int16, and float32."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Array, DType, Node
from aboard.ir.numerics import wrap32
from aboard.kernels import weights as packing
from aboard.kernels.contract import ConstantArg, Implementation, InputArg, KernelCall, OutputArg, PackedConstant
from aboard.kernels.registry import implements
from aboard.kernels.view import Literal, View
from aboard.ops.svdf import BIAS, FEATURE_WEIGHTS, INPUT, STATE, TIME_WEIGHTS, attributes, memory, rescaling
from aboard.target import Target

#: Filters whose features the int8 kernels compute at once.
_BLOCK = 4

#: Instructions of a product of int8 or float32, and of an element of the state; read off the loops for Cortex-M4.
_PER_PRODUCT, _PER_STATE = 3, 6


class SvdfKernel(Implementation):
    """What the kernels of svdf have in common.

    Attributes:
        state: Element type of the state.
    """

    op = "svdf"
    in_place = ((1, STATE),)
    state: DType

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        if node.input(STATE).dtype is not self.state:
            return f"is for a state of {self.state.value}"
        given = [node.optional_input(index) for index in (FEATURE_WEIGHTS, TIME_WEIGHTS, BIAS)]
        varying = next((tensor for tensor in given if tensor is not None and not tensor.is_constant), None)
        if varying is None:
            return None
        return f"{varying.name} is computed at run time, weights and bias must be constants"

    @override
    def formula(self, node: Node) -> float | None:
        batch = node.input(INPUT).shape[0]
        products = batch * node.input(FEATURE_WEIGHTS).type.elements
        return _PER_PRODUCT * products + _PER_STATE * node.input(STATE).type.elements


def constant(node: Node, index: int) -> Array:
    """Returns the values of a constant operand."""
    values = node.input(index).data
    if values is None:
        raise ValueError(f"operand {index} of {node.name} is not constant")
    return values


def _bias(node: Node) -> Array:
    """Returns the bias of each unit; zeros where there is none."""
    given = node.optional_input(BIAS)
    if given is None or given.data is None:
        return np.zeros(node.outputs[0].shape[1], node.input(INPUT).dtype.numpy)
    return given.data


def geometry(node: Node) -> dict[str, Literal]:
    """Returns the first fields of the parameters of all kernels."""
    filters, inputs = node.input(FEATURE_WEIGHTS).shape
    return {"inputs": inputs, "filters": filters, "memory": memory(node), "rank": attributes(node).rank}


def unit_bias(node: Node) -> Array:
    """Returns where the sums of the units of an int8 node begin, the zero point of the state folded in."""
    of_units = constant(node, TIME_WEIGHTS).astype(np.int64).reshape(node.outputs[0].shape[1], -1).sum(1)
    return wrap32(_bias(node).astype(np.int64) - node.input(STATE).quant.zero_point * of_units).astype(np.int32)


def int8_params(node: Node) -> dict[str, Literal]:
    """Returns the fields of `aboard_svdf_s8_t`."""
    scales = rescaling(node)
    return {
        **geometry(node),
        "feature_multiplier": scales.feature[0],
        "feature_shift": scales.feature[1],
        "state_zero_point": node.input(STATE).quant.zero_point,
        "result_multiplier": scales.result[0],
        "result_shift": scales.result[1],
        "result_zero_point": node.outputs[0].quant.zero_point,
    }


class _PortableInt8(SvdfKernel):
    function: str

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        weights, time = constant(node, FEATURE_WEIGHTS), constant(node, TIME_WEIGHTS)
        folded = wrap32(-node.input(INPUT).quant.zero_point * weights.astype(np.int64).sum(1))
        ctype = f"{self.state.value}_t *"
        return KernelCall(
            header="portable/svdf.h",
            function=self.function,
            params_type="aboard_svdf_s8_t",
            params=int8_params(node),
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                InputArg(STATE, f"const {ctype}"),
                OutputArg(0, "int8_t *"),
                OutputArg(1, ctype),
                ConstantArg(PackedConstant("weights", packing.blocks(weights, _BLOCK))),
                ConstantArg(PackedConstant("time", time)),
                ConstantArg(PackedConstant("feature_bias", folded.astype(np.int32))),
                ConstantArg(PackedConstant("bias", np.append(unit_bias(node), np.int32(0)))),
            ),
            rows=outputs[0].rows,
        )


@implements
class PortableS8(_PortableInt8):
    """int8 with time weights and state of int8."""

    name = "portable_s8"
    state = DType.INT8
    function = "aboard_svdf_s8"


@implements
class PortableS8S16(_PortableInt8):
    """int8 with time weights and state of int16."""

    name = "portable_s8_s16"
    state = DType.INT16
    function = "aboard_svdf_s8_s16"


@implements
class PortableF32(SvdfKernel):
    """float32."""

    name = "portable_f32"
    state = DType.FLOAT32

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        return KernelCall(
            header="portable/svdf.h",
            function="aboard_svdf_f32",
            params_type="aboard_svdf_f32_t",
            params={**geometry(node), **packing.float_clamp(attributes(node).activation)},
            arguments=(
                InputArg(INPUT, "const float *"),
                InputArg(STATE, "const float *"),
                OutputArg(0, "float *"),
                OutputArg(1, "float *"),
                ConstantArg(PackedConstant("weights", constant(node, FEATURE_WEIGHTS))),
                ConstantArg(PackedConstant("time", constant(node, TIME_WEIGHTS))),
                ConstantArg(PackedConstant("bias", _bias(node).astype(np.float32))),
            ),
            rows=outputs[0].rows,
        )
