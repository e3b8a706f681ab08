"""The call of a CMSIS-NN function for a node: function, parameter structs, packed constants, scratch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from aboard.backends.cmsis_nn import exact, geometry, sizes
from aboard.backends.cmsis_nn.geometry import Size, Unit, WindowedLayer
from aboard.ir import Array, Node, Tensor
from aboard.kernels.view import Literal
from aboard.ops import arithmetic, conv2d, depthwise_conv2d, fully_connected, pool2d, softmax, weighted
from aboard.ops.activation import Activation
from aboard.ops.registry import get

#: Left shift of the operands of an addition, in bits, so that their scaling is exact.
_SUM_SHIFT = 20


@dataclass(frozen=True)
class Struct:
    """A parameter struct.

    Attributes:
        ctype: Type of the struct.
        fields: Fields of the struct; a string is the name of a variable of the generated function.
    """

    ctype: str
    fields: Mapping[str, Literal]


@dataclass(frozen=True)
class LibraryCall:
    """A call of the library.

    Attributes:
        function: C function.
        arguments: Its arguments in order: a struct (passed by address), the name of an operand (`x0`, `x1`), of the
            result (`y0`) or of a constant, NULL, or a number.
        constants: Packed constants by name.
        scratch: Bytes of scratch (`s0`); 0 for none.
        returns_status: False for a function that returns nothing.
    """

    function: str
    arguments: tuple[Struct | str | int, ...]
    constants: Mapping[str, Array]
    scratch: int = 0
    returns_status: bool = True


def call_of(node: Node, unit: Unit) -> LibraryCall:
    """Returns the call for a node that a pattern accepts."""
    return _CALLS[node.op](node, unit)


def _convolution(node: Node, unit: Unit) -> LibraryCall:
    window = geometry.of_convolution(node)
    if exact.convolve_wrapper_is_exact(window, unit):
        return _sliding(node, window, "arm_convolve_wrapper_s8", sizes.convolve_wrapper(window, unit))
    return _sliding(node, window, "arm_convolve_s8", sizes.convolve(window, unit))


def _depthwise(node: Node, unit: Unit) -> LibraryCall:
    window = geometry.of_convolution(node)
    if exact.depthwise_wrapper_is_exact(window, unit):
        return _sliding(node, window, "arm_depthwise_conv_wrapper_s8", sizes.depthwise_wrapper(window, unit))
    return _sliding(node, window, "arm_depthwise_conv_s8", 0)


def _sliding(node: Node, window: WindowedLayer, function: str, scratch: int) -> LibraryCall:
    """Returns the call of a convolution. All functions take the same arguments, apart from the ones given here."""
    is_depthwise = node.op == "depthwise_conv2d"
    axis = depthwise_conv2d.AXIS if is_depthwise else conv2d.AXIS
    multiplier, shift = weighted.multipliers(node, axis)
    offsets = _offsets(node)
    moved = {
        "stride": _tile(window.stride),
        "padding": _tile(window.padding),
        "dilation": _tile(window.dilation),
        "activation": _clamp(node, conv2d.attributes(node).activation),
    }
    if is_depthwise:
        params = Struct("cmsis_nn_dw_conv_params", {**offsets, "ch_mult": window.outputs // window.channels, **moved})
        weights = _dims(1, window.taps, window.outputs)
    else:
        params = Struct("cmsis_nn_conv_params", {**offsets, **moved})
        weights = _dims(window.outputs, window.taps, window.depth)
    upscaled = ("NULL",) if function == "arm_convolve_s8" else ()
    return LibraryCall(
        function,
        (
            _context(scratch),
            params,
            Struct("cmsis_nn_per_channel_quant_params", _MULTIPLIERS),
            _dims(window.batch, window.image, window.channels),
            "x0",
            weights,
            "weights",
            _dims(1, Size(1, 1), window.outputs),
            "bias",
            *upscaled,
            _dims(window.batch, window.result, window.outputs),
            "y0",
        ),
        {**_weights(node, window.outputs), "multipliers": _int32(multiplier), "shifts": _int32(shift)},
        scratch,
    )


def _fully_connected(node: Node, unit: Unit) -> LibraryCall:
    outputs, inputs = node.input(1).shape
    batch = node.output.type.elements // outputs
    multiplier, shift = weighted.multipliers(node, fully_connected.AXIS)
    per_channel = len(set(zip(multiplier.tolist(), shift.tolist(), strict=True))) > 1
    count = outputs if per_channel else 1
    constants = {
        **_weights(node, outputs),
        "multipliers": _int32(multiplier[:count]),
        "shifts": _int32(shift[:count]),
    }
    sums = sizes.fully_connected(outputs, unit)
    if sums:
        # With Helium the library requires bias and zero point in one sum per output, which can be stored in flash.
        zero_point = node.input(0).quant.zero_point
        of_weights = constants["weights"].reshape(outputs, inputs).astype(np.int64).sum(axis=1)
        constants["sums"] = _int32(constants["bias"] - zero_point * of_weights)
    one = Size(1, 1)
    return LibraryCall(
        "arm_fully_connected_wrapper_s8",
        (
            Struct("cmsis_nn_context", {"buf": "(void *)(uintptr_t)sums" if sums else "NULL", "size": sums}),
            Struct(
                "cmsis_nn_fc_params",
                {
                    "input_offset": -node.input(0).quant.zero_point,
                    "filter_offset": 0,
                    "output_offset": node.output.quant.zero_point,
                    "activation": _clamp(node, fully_connected.attributes(node).activation),
                },
            ),
            Struct("cmsis_nn_quant_params", {**_MULTIPLIERS, "is_per_channel": int(per_channel)}),
            _dims(batch, one, inputs),
            "x0",
            _dims(inputs, one, outputs),
            "weights",
            _dims(1, one, outputs),
            "bias",
            _dims(batch, one, outputs),
            "y0",
        ),
        constants,
    )


def _pool(node: Node, unit: Unit) -> LibraryCall:
    window = geometry.of_pool(node)
    average = node.op == "average_pool2d"
    scratch = sizes.average_pool(window, unit) if average else 0
    params = {
        "stride": _tile(window.stride),
        "padding": _tile(window.padding),
        "activation": _clamp(node, pool2d.attributes(node).activation),
    }
    return LibraryCall(
        "arm_avgpool_s8" if average else "arm_max_pool_s8",
        (
            _context(scratch),
            Struct("cmsis_nn_pool_params", params),
            _dims(window.batch, window.image, window.channels),
            "x0",
            _dims(1, window.taps, 1),
            _dims(window.batch, window.result, window.channels),
            "y0",
        ),
        {},
        scratch,
    )


def _softmax(node: Node, _unit: Unit) -> LibraryCall:
    channels = node.output.shape[-1]
    scaling = softmax.scaling(node)
    numbers = (node.output.type.elements // channels, channels, scaling.multiplier, scaling.shift, -scaling.radius)
    return LibraryCall("arm_softmax_s8", ("x0", *numbers, "y0"), {}, returns_status=False)


def _add(node: Node, _unit: Unit) -> LibraryCall:
    op = get(node.op)
    assert isinstance(op, arithmetic.Add)  # noqa: S101  an internal invariant that also narrows the type
    scaling = op.scaling(node)
    first, second = _operands(node)
    clamp = arithmetic.attributes(node).activation.range(node.output.quant)
    arguments = (
        *(first, second),
        *(-node.input(0).quant.zero_point, *scaling.first),
        *(-node.input(1).quant.zero_point, *scaling.second),
        *(_SUM_SHIFT, "y0"),
        *(node.output.quant.zero_point, *scaling.out),
        *(*clamp, node.output.type.elements),
    )
    return LibraryCall("arm_elementwise_add_s8", arguments, _constant_operands(node))


def _mul(node: Node, _unit: Unit) -> LibraryCall:
    op = get(node.op)
    assert isinstance(op, arithmetic.Mul)  # noqa: S101  an internal invariant that also narrows the type
    clamp = arithmetic.attributes(node).activation.range(node.output.quant)
    arguments = (
        *_operands(node),
        *(-node.input(0).quant.zero_point, -node.input(1).quant.zero_point, "y0"),
        *(node.output.quant.zero_point, *op.scaling(node)),
        *(*clamp, node.output.type.elements),
    )
    return LibraryCall("arm_elementwise_mul_s8", arguments, _constant_operands(node))


_CALLS: Mapping[str, Callable[[Node, Unit], LibraryCall]] = {
    "conv2d": _convolution,
    "depthwise_conv2d": _depthwise,
    "fully_connected": _fully_connected,
    "average_pool2d": _pool,
    "max_pool2d": _pool,
    "softmax": _softmax,
    "add": _add,
    "mul": _mul,
}

#: The library only reads these pointers, but declares them without const.
_MULTIPLIERS: Mapping[str, Literal] = {
    "multiplier": "(int32_t *)(uintptr_t)multipliers",
    "shift": "(int32_t *)(uintptr_t)shifts",
}


def _context(scratch: int) -> Struct:
    return Struct("cmsis_nn_context", {"buf": "s0" if scratch else "NULL", "size": scratch})


def _dims(n: int, size: Size, channels: int) -> Struct:
    return Struct("cmsis_nn_dims", {"n": n, "h": size.h, "w": size.w, "c": channels})


def _tile(size: Size) -> Mapping[str, Literal]:
    return {"w": size.w, "h": size.h}


def _offsets(node: Node) -> Mapping[str, Literal]:
    return {"input_offset": -node.input(0).quant.zero_point, "output_offset": node.output.quant.zero_point}


def _clamp(node: Node, activation: Activation) -> Mapping[str, Literal]:
    low, high = activation.range(node.output.quant)
    return {"min": low, "max": high}


def _weights(node: Node, outputs: int) -> dict[str, Array]:
    """Returns the weights of the model, and a bias, which is zero if absent."""
    bias = node.optional_input(weighted.BIAS)
    values = np.zeros(outputs, np.int32) if bias is None else _data(bias)
    return {"weights": _data(node.input(weighted.WEIGHTS)), "bias": _int32(values)}


def _operands(node: Node) -> tuple[str, str]:
    """Returns the operands of an elementwise function: a constant, or the region's input, which may be both."""
    names: list[str] = []
    inputs: list[Tensor] = []
    for index, tensor in enumerate(node.inputs):
        if tensor is None or tensor.is_constant:
            names.append(f"operand{index}")
            continue
        inputs += [tensor] if tensor not in inputs else []
        names.append(f"x{inputs.index(tensor)}")
    first, second = names
    return first, second


def _constant_operands(node: Node) -> dict[str, Array]:
    return {
        f"operand{index}": _data(tensor)
        for index, tensor in enumerate(node.inputs)
        if tensor is not None and tensor.is_constant
    }


def _data(tensor: Tensor) -> Array:
    """Returns the values of a constant.

    Raises:
        ValueError: The tensor is computed; the patterns exclude this.
    """
    if tensor.data is None:
        raise ValueError(f"{tensor.name} is no constant")
    return tensor.data


def _int32(values: Array) -> Array:
    return np.ascontiguousarray(np.asarray(values).reshape(-1), np.int32)
