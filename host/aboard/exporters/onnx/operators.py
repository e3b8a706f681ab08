"""The operators of ONNX that compute one number from few, and those that move numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from aboard.exporters.onnx.layers import activated
from aboard.exporters.onnx.writing import FROM_IMAGE, TO_IMAGE, NoFormError, Writing
from aboard.ir import Node, Tensor

Form = Callable[[Node, Writing], None]

#: Functions of one number, or of two without an activation.
_PLAIN = {
    "abs": "Abs",
    "acos": "Acos",
    "asin": "Asin",
    "atan": "Atan",
    "ceil": "Ceil",
    "cos": "Cos",
    "cosh": "Cosh",
    "elu": "Elu",
    "equal": "Equal",
    "erf": "Erf",
    "exp": "Exp",
    "floor": "Floor",
    "gelu": "Gelu",
    "greater": "Greater",
    "greater_equal": "GreaterOrEqual",
    "hard_swish": "HardSwish",
    "less": "Less",
    "less_equal": "LessOrEqual",
    "log": "Log",
    "logical_and": "And",
    "logical_not": "Not",
    "logical_or": "Or",
    "logistic": "Sigmoid",
    "maximum": "Max",
    "minimum": "Min",
    "mish": "Mish",
    "neg": "Neg",
    "pow": "Pow",
    "prelu": "PRelu",
    "relu": "Relu",
    "round": "Round",
    "select": "Where",
    "sign": "Sign",
    "sin": "Sin",
    "sinh": "Sinh",
    "softplus": "Softplus",
    "sqrt": "Sqrt",
    "tan": "Tan",
    "tanh": "Tanh",
}

_ARITHMETIC = {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div"}

_REDUCTIONS = {
    "mean": "ReduceMean",
    "sum": "ReduceSum",
    "reduce_max": "ReduceMax",
    "reduce_min": "ReduceMin",
    "reduce_prod": "ReduceProd",
}


def _operands(node: Node, writing: Writing) -> tuple[list[str], bool]:
    """Returns the names of the operands of an elementwise node, and whether these are images.

    They are where an operand is known as one and all have the same shape.
    """
    shapes = {tensor.shape for tensor in node.operands}
    image = len(shapes) == 1 and any(writing.is_image(tensor) for tensor in node.operands)
    return [(writing.image if image else writing.name)(tensor) for tensor in node.operands], image


def _plain(node: Node, writing: Writing) -> None:
    names, image = _operands(node, writing)
    writing.add(_PLAIN[node.op], names, [writing.result(node.output, image=image)])


def _arithmetic(node: Node, writing: Writing) -> None:
    names, image = _operands(node, writing)
    activated(node, writing, _ARITHMETIC[node.op], names, image=image)


def _clip(node: Node, writing: Writing) -> None:
    low, high = (0.0, 6.0) if node.op == "relu6" else (-1.0, 1.0)
    names, image = _operands(node, writing)
    limits = [writing.constant(limit, np.float32, "limit") for limit in (low, high)]
    writing.add("Clip", [*names, *limits], [writing.result(node.output, image=image)])


def _rsqrt(node: Node, writing: Writing) -> None:
    names, image = _operands(node, writing)
    root = writing.make("Sqrt", names, f"{node.output.name}/root")
    writing.add("Reciprocal", [root], [writing.result(node.output, image=image)])


def _square(node: Node, writing: Writing) -> None:
    names, image = _operands(node, writing)
    writing.add("Mul", [*names, *names], [writing.result(node.output, image=image)])


def _squared_difference(node: Node, writing: Writing) -> None:
    names, image = _operands(node, writing)
    difference = writing.make("Sub", names, f"{node.output.name}/difference")
    writing.add("Mul", [difference, difference], [writing.result(node.output, image=image)])


def _gelu_tanh(node: Node, writing: Writing) -> None:
    names, image = _operands(node, writing)
    writing.add("Gelu", names, [writing.result(node.output, image=image)], approximate="tanh")


def _leaky_relu(node: Node, writing: Writing) -> None:
    attrs: Any = node.attrs
    names, image = _operands(node, writing)
    writing.add("LeakyRelu", names, [writing.result(node.output, image=image)], alpha=attrs.alpha)


def _softmax(node: Node, writing: Writing) -> None:
    operand = writing.name(node.input(0))
    beta = getattr(node.attrs, "beta", 1.0)
    if beta != 1.0:
        operand = writing.make(
            "Mul", [operand, writing.constant(beta, np.float32, "beta")], f"{node.output.name}/scaled"
        )
    kind = "Softmax" if node.op == "softmax" else "LogSoftmax"
    writing.add(kind, [operand], [writing.result(node.output)], axis=-1)


def _reduction(node: Node, writing: Writing) -> None:
    attrs: Any = node.attrs
    axes = writing.integers(attrs.axes, f"{node.output.name}/axes")
    inputs = [writing.name(node.input(0)), axes]
    writing.add(_REDUCTIONS[node.op], inputs, [writing.result(node.output)], keepdims=int(attrs.keep_dims))


def _place(node: Node, writing: Writing) -> None:
    attrs: Any = node.attrs
    kind = "ArgMax" if node.op == "arg_max" else "ArgMin"
    found = writing.make(kind, [writing.name(node.input(0))], f"{node.output.name}/place", axis=attrs.axis, keepdims=0)
    writing.add("Cast", [found], [writing.result(node.output)], to=writing.number_of(node.output.dtype))


def _cast(node: Node, writing: Writing) -> None:
    names, image = _operands(node, writing)
    result = writing.result(node.output, image=image)
    writing.add("Cast", names, [result], to=writing.number_of(node.output.dtype))


def _quantize(node: Node, writing: Writing) -> None:
    stored = node.output if node.op == "quantize" else node.input(0)
    other = node.input(0) if node.op == "quantize" else node.output
    if other.type.quant is not None or stored.quant.per_channel:
        raise NoFormError("quantize from integers to integers is not written to ONNX")
    if node.op == "dequantize" and stored.is_constant:
        writing.keep(node.output, stored)
        return
    names, image = _operands(node, writing)
    scale = writing.constant(stored.quant.scale, np.float32, f"{stored.name}/scale")
    zero = writing.constant(stored.quant.zero_point, stored.dtype.numpy.type, f"{stored.name}/zero")
    kind = "QuantizeLinear" if node.op == "quantize" else "DequantizeLinear"
    writing.add(kind, [*names, scale, zero], [writing.result(node.output, image=image)])


def _constant_dequantized(node: Node, writing: Writing) -> None:
    """Weights with a scale for each channel are constants; other tensors have one scale."""
    if node.input(0).is_constant:
        writing.keep(node.output, node.input(0))
    else:
        _quantize(node, writing)


def _reshape(node: Node, writing: Writing) -> None:
    shape = writing.integers(node.output.shape, f"{node.output.name}/shape")
    writing.add("Reshape", [writing.name(node.input(0)), shape], [writing.result(node.output)])


def _broadcast_to(node: Node, writing: Writing) -> None:
    shape = writing.integers(node.output.shape, f"{node.output.name}/shape")
    writing.add("Expand", [writing.name(node.input(0)), shape], [writing.result(node.output)])


def _transpose(node: Node, writing: Writing) -> None:
    """A transpose between an image and the same with its channels last is a second name, and no operator."""
    attrs: Any = node.attrs
    operand, order = node.input(0), tuple(attrs.order)
    if order == FROM_IMAGE:
        writing.give(node.output, writing.name(operand), image=True)
    elif order == TO_IMAGE and writing.is_image(operand):
        writing.give(node.output, writing.image(operand))
    else:
        writing.add("Transpose", [writing.name(operand)], [writing.result(node.output)], perm=order)


def _concatenation(node: Node, writing: Writing) -> None:
    attrs: Any = node.attrs
    image = len(node.output.shape) == len(TO_IMAGE) and any(writing.is_image(tensor) for tensor in node.operands)
    names = [(writing.image if image else writing.name)(tensor) for tensor in node.operands]
    axis = TO_IMAGE.index(attrs.axis) if image else attrs.axis
    writing.add("Concat", names, [writing.result(node.output, image=image)], axis=axis)


def _pad(node: Node, writing: Writing) -> None:
    attrs: Any = node.attrs
    operand = node.input(0)
    image = writing.is_image(operand)
    order: Sequence[int] = TO_IMAGE if image else range(len(operand.shape))
    amounts = [attrs.padding[axis][side] for side in (0, 1) for axis in order]
    pads = writing.integers(amounts, f"{node.output.name}/amounts")
    inputs = [(writing.image if image else writing.name)(operand), pads]
    value = writing.constant(attrs.value, operand.dtype.numpy.type, f"{node.output.name}/value")
    writing.add("Pad", [*inputs, value], [writing.result(node.output, image=image)])


def _strided_slice(node: Node, writing: Writing) -> None:
    attrs: Any = node.attrs
    name, slices = node.output.name, attrs.slices
    # The end of a slice that runs backwards to the first element is before that: the least number there is.
    ends = [each.indices.stop if each.stride > 0 or each.indices.stop >= 0 else -(2**31) for each in slices]
    vectors = ([each.start for each in slices], ends, range(len(slices)), [each.stride for each in slices])
    operands = [writing.integers(vector, f"{name}/slice") for vector in vectors]
    inputs = [writing.name(node.input(0)), *operands]
    if tuple(each.count for each in slices) == node.output.shape:
        writing.add("Slice", inputs, [writing.result(node.output)])
        return
    cut = writing.make("Slice", inputs, f"{name}/cut")
    shape = writing.integers(node.output.shape, f"{name}/shape")
    writing.add("Reshape", [cut, shape], [writing.result(node.output)])


def _split(node: Node, writing: Writing) -> None:
    attrs: Any = node.attrs
    sizes = writing.integers(attrs.sizes, f"{node.output.name}/sizes")
    results = [writing.result(tensor) for tensor in node.outputs]
    writing.add("Split", [writing.name(node.input(0)), sizes], results, axis=attrs.axis)


def _gather(node: Node, writing: Writing) -> None:
    attrs: Any = node.attrs
    if attrs.batch_dims:
        raise NoFormError("gather with common axes is not written to ONNX")
    names = [writing.name(tensor) for tensor in node.operands]
    writing.add("Gather", names, [writing.result(node.output)], axis=attrs.axis)


def _resize(node: Node, writing: Writing) -> None:
    attrs: Any = node.attrs
    operand: Tensor = node.input(0)
    batch, _, _, channels = operand.shape
    sizes = writing.integers((batch, channels, *attrs.size), f"{node.output.name}/sizes")
    mode = "half_pixel" if attrs.half_pixel_centers else "asymmetric"
    options = {"coordinate_transformation_mode": "align_corners" if attrs.align_corners else mode, "mode": "linear"}
    if node.op == "resize_nearest_neighbor":
        rounding = "round_prefer_ceil" if attrs.align_corners else "floor"
        if attrs.half_pixel_centers:
            raise NoFormError("resize_nearest_neighbor at the centres of pixels is not written to ONNX")
        options |= {"mode": "nearest", "nearest_mode": rounding}
    result = writing.result(node.output, image=True)
    writing.add("Resize", [writing.image(operand), "", "", sizes], [result], **options)


FORMS: dict[str, Form] = {
    **dict.fromkeys(_PLAIN, _plain),
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
    **dict.fromkeys(_REDUCTIONS, _reduction),
    "arg_max": _place,
    "arg_min": _place,
    "broadcast_to": _broadcast_to,
    "cast": _cast,
    "concatenation": _concatenation,
    "dequantize": _constant_dequantized,
    "gather": _gather,
    "gelu_tanh": _gelu_tanh,
    "leaky_relu": _leaky_relu,
    "log_softmax": _softmax,
    "pad": _pad,
    "quantize": _quantize,
    "relu6": _clip,
    "relu_n1_to_1": _clip,
    "reshape": _reshape,
    "resize_bilinear": _resize,
    "resize_nearest_neighbor": _resize,
    "rsqrt": _rsqrt,
    "softmax": _softmax,
    "split": _split,
    "square": _square,
    "squared_difference": _squared_difference,
    "strided_slice": _strided_slice,
    "transpose": _transpose,
}
