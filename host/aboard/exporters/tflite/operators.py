"""The operators of a TFLite file that compute a node: the reverse of `Op.from_tflite`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import numpy as np

from aboard import ops
from aboard.exporters.tflite.versions import version
from aboard.importers.free_names import FreeNames
from aboard.ir import Array, Attributes, DType, Graph, Node, Quantization, Tensor, TensorType
from aboard.ops import lstm
from aboard.ops.weighted import BIAS, INPUT, WEIGHTS
from aboard.ops.window import Padding, same

_SAME, _VALID = 0, 1

#: Axes that TRANSPOSE can have.
_MOST_AXES = 5


@dataclass(frozen=True)
class Operator:
    """One operator of a file.

    Attributes:
        kind: Its name in the schema.
        inputs: Operands; None for an absent one.
        outputs: Results.
        options: Fields of its options table by name; others have the schema's defaults.
        version: Its version.
    """

    kind: str
    inputs: Sequence[Tensor | None]
    outputs: Sequence[Tensor]
    options: Mapping[str, Any] = field(default_factory=dict)
    version: int = 1


class NoFormError(Exception):
    """Why no operators of TFLite compute a node."""


class Making:
    """Makes the tensors that operators need beside those of a node."""

    def __init__(self, graph: Graph) -> None:
        self._names = FreeNames(tensor.name for tensor in graph.tensors())

    def constant(self, name: str, values: Iterable[int], dtype: DType = DType.INT32) -> Tensor:
        """Returns a constant of whole numbers, such as a shape."""
        data = np.array(list(values), dtype.numpy)
        return Tensor(self._names.take(name), TensorType(data.shape, dtype), data)

    def tensor(self, name: str, kind: TensorType, data: Array | None = None) -> Tensor:
        """Returns a tensor with a free name like the given one."""
        return Tensor(self._names.take(name), kind, data)


_Form: TypeAlias = Callable[[Node, Making], list[Operator]]
_FORMS: dict[str, _Form] = {}


def form(*names: str) -> Callable[[_Form], _Form]:
    """Registers a function as the form of ops (decorator)."""

    def registered(function: _Form) -> _Form:
        _FORMS.update(dict.fromkeys(names, function))
        return function

    return registered


def of_graph(graph: Graph) -> tuple[list[Operator], list[str]]:
    """Returns the operators of a graph in order, and why nodes have none, each reason once."""
    making, found, problems = Making(graph), list[Operator](), dict[str, list[str]]()
    for node in graph.nodes:
        try:
            made = _FORMS.get(node.op, _plain)(node, making)
        except NoFormError as error:
            problems.setdefault(str(error), []).append(node.name)
            continue
        found += [dataclasses.replace(each, version=_version(each)) for each in made]
    reasons = [
        f"{', '.join(names[:3])}{' and others' if len(names) > 3 else ''}: {why}" for why, names in problems.items()
    ]
    return found, reasons


def _version(operator: Operator) -> int:
    numbers = [t for t in (*operator.inputs, *operator.outputs) if t is not None]
    typed = next((t.dtype for t in numbers if t.dtype in (DType.INT8, DType.INT16)), numbers[0].dtype)
    found = version(operator.kind, typed)
    if operator.kind == "FULLY_CONNECTED" and len(operator.inputs) > 1:
        weights = operator.inputs[WEIGHTS]
        if weights is not None and weights.type.quant is not None and weights.quant.per_channel:
            return 12
    return found


def _plain(node: Node, _making: Making) -> list[Operator]:
    """The form of ops that are one operator of TFLite without options."""
    op = ops.get(node.op)
    if op.holds_graphs:
        raise NoFormError(f"{node.op} is not written to TFLite")
    if len(op.tflite) != 1 or op.tflite[0].startswith("CUSTOM"):
        raise NoFormError(f"{node.op} has no operator in TFLite")
    if op.attributes is not Attributes or op.tflite_updates:
        raise NoFormError(f"{node.op} is not written to TFLite")
    return [Operator(op.tflite[0], node.inputs, node.outputs)]


@form("cast")
def _cast(node: Node, making: Making) -> list[Operator]:
    if DType.INT64 in (node.input(0).dtype, node.output.dtype):
        raise NoFormError("cast of int64, which TensorFlow Lite Micro does not compute, is not written to TFLite")
    return _plain(node, making)


def _activation(node: Node) -> dict[str, Any]:
    attrs: Any = node.attrs
    return {"FusedActivationFunction": attrs.activation.value}


@form("add", "sub", "mul", "div")
def _arithmetic(node: Node, _making: Making) -> list[Operator]:
    return [Operator(ops.get(node.op).tflite[0], node.inputs, node.outputs, _activation(node))]


@form("conv2d", "depthwise_conv2d")
def _convolution(node: Node, making: Making) -> list[Operator]:
    attrs: Any = node.attrs
    _, height, width, _ = node.input(WEIGHTS).shape
    quant = node.input(INPUT).type.quant
    zero = 0 if quant is None else quant.zero_point
    before, operand, padding = _padded(node, making, (height, width), attrs.strides, attrs.dilations, zero)
    options = {
        "Padding": padding,
        "StrideH": attrs.strides[0],
        "StrideW": attrs.strides[1],
        "DilationHFactor": attrs.dilations[0],
        "DilationWFactor": attrs.dilations[1],
        **_activation(node),
    }
    kind = "CONV_2D"
    if node.op == "depthwise_conv2d":
        kind = "DEPTHWISE_CONV_2D"
        options["DepthMultiplier"] = node.output.shape[-1] // node.input(INPUT).shape[-1]
    return [*before, Operator(kind, [operand, *parameters(node, making)], node.outputs, options)]


def _padded(
    node: Node,
    making: Making,
    window: tuple[int, int],
    strides: tuple[int, int],
    dilations: tuple[int, int],
    value: float | None,
) -> tuple[list[Operator], Tensor, int]:
    """Returns the pad that a windowed operator needs in front, its operand, and its option `Padding`.

    Args:
        node: A node with padding.
        making: Makes tensors.
        window: Height and width.
        strides: Of the window.
        dilations: Of the window.
        value: Of the padding, as it is stored; None if padding cannot be an operator of its own.
    """
    attrs: Any = node.attrs
    padding, operand = cast(Padding, attrs.padding), node.input(INPUT)
    size = operand.shape[1], operand.shape[2]
    if padding == same(size, window, strides, dilations):
        return [], operand, _SAME
    if not padding.any:
        return [], operand, _VALID
    if value is None:
        raise NoFormError(
            f"{node.op} with padding {padding.sides} has no operator in TFLite, which knows SAME and VALID"
        )
    amounts = [(0, 0), (padding.top, padding.bottom), (padding.left, padding.right), (0, 0)]
    shape = tuple(extent + sum(amount) for extent, amount in zip(operand.shape, amounts, strict=True))
    padded = making.tensor(f"{operand.name}/padded", TensorType(shape, operand.dtype, operand.type.quant))
    return [_pad(operand, padded, amounts, value, making)], padded, _VALID


def _pad(operand: Tensor, result: Tensor, amounts: Iterable[tuple[int, int]], value: float, making: Making) -> Operator:
    """Returns PAD, or PADV2 for another value than real 0; `value` is the stored one."""
    pairs = np.array(list(amounts), np.int32)
    constant = making.tensor(f"{result.name}/amounts", TensorType(pairs.shape, DType.INT32), pairs)
    quant = operand.type.quant
    if value == (0 if quant is None else quant.zero_point):
        return Operator("PAD", [operand, constant], [result])
    data = np.array([value], operand.dtype.numpy)
    filled = making.tensor(f"{result.name}/value", TensorType((1,), operand.dtype, quant), data)
    return Operator("PADV2", [operand, constant, filled], [result])


def parameters(node: Node, making: Making) -> list[Tensor | None]:
    """Returns weights, and bias if there is one; a bias of integers has the scales that its sums have.

    An absent bias is left out: tflite-micro ends the process for one that is named absent.
    """
    weights, bias = node.input(WEIGHTS), node.optional_input(BIAS)
    if bias is None:
        return [weights]
    if bias.dtype not in (DType.INT32, DType.INT64) or bias.type.quant is not None:
        return [weights, bias]
    scales = tuple(float(np.float32(node.input(INPUT).quant.scale * scale)) for scale in weights.quant.scales)
    quant = Quantization(scales, (0,) * len(scales), 0 if len(scales) > 1 else None)
    return [weights, making.tensor(bias.name, dataclasses.replace(bias.type, quant=quant), bias.data)]


@form("fully_connected")
def _fully_connected(node: Node, making: Making) -> list[Operator]:
    attrs: Any = node.attrs
    options = {"KeepNumDims": attrs.keep_dims, **_activation(node)}
    return [Operator("FULLY_CONNECTED", [node.input(INPUT), *parameters(node, making)], node.outputs, options)]


@form("average_pool2d", "max_pool2d", "l2_pool2d")
def _pool(node: Node, making: Making) -> list[Operator]:
    attrs: Any = node.attrs
    quant = node.input(INPUT).type.quant
    lowest = -np.inf if quant is None else float(np.iinfo(node.input(INPUT).dtype.value).min)
    value = lowest if node.op == "max_pool2d" else None
    before, operand, padding = _padded(node, making, attrs.window, attrs.strides, (1, 1), value)
    options = {
        "Padding": padding,
        "StrideH": attrs.strides[0],
        "StrideW": attrs.strides[1],
        "FilterHeight": attrs.window[0],
        "FilterWidth": attrs.window[1],
        **_activation(node),
    }
    return [*before, Operator(ops.get(node.op).tflite[0], [operand], node.outputs, options)]


@form("pad")
def _padding(node: Node, making: Making) -> list[Operator]:
    attrs: Any = node.attrs
    return [_pad(node.input(0), node.output, attrs.padding, attrs.value, making)]


@form("concatenation")
def _concatenation(node: Node, _making: Making) -> list[Operator]:
    attrs: Any = node.attrs
    return [Operator("CONCATENATION", node.inputs, node.outputs, {"Axis": attrs.axis})]


@form("reshape")
def _reshape(node: Node, making: Making) -> list[Operator]:
    shape = making.constant(f"{node.output.name}/shape", node.output.shape)
    return [Operator("RESHAPE", [node.input(0), shape], node.outputs)]


@form("broadcast_to")
def _broadcast_to(node: Node, making: Making) -> list[Operator]:
    shape = making.constant(f"{node.output.name}/shape", node.output.shape)
    return [Operator("BROADCAST_TO", [node.input(0), shape], node.outputs)]


@form("transpose")
def _transpose(node: Node, making: Making) -> list[Operator]:
    attrs: Any = node.attrs
    operand, result = node.input(0), node.output
    if len(operand.shape) <= _MOST_AXES:
        return [Operator("TRANSPOSE", [operand, making.constant(f"{result.name}/order", attrs.order)], node.outputs)]
    extents, order = _joined_axes(operand.shape, attrs.order)
    if len(extents) < 2:
        return _reshape(node, making)
    if len(extents) > _MOST_AXES:
        raise NoFormError(
            f"transpose of {len(operand.shape)} axes, of which TFLite moves {_MOST_AXES}, has no operator in it"
        )
    flat = making.tensor(f"{operand.name}/flat", dataclasses.replace(operand.type, shape=extents))
    turned = tuple(extents[axis] for axis in order)
    moved = making.tensor(f"{result.name}/flat", dataclasses.replace(result.type, shape=turned))
    return [
        Operator("RESHAPE", [operand, making.constant(f"{flat.name}/shape", extents)], [flat]),
        Operator("TRANSPOSE", [flat, making.constant(f"{result.name}/order", order)], [moved]),
        Operator("RESHAPE", [moved, making.constant(f"{result.name}/shape", result.shape)], [result]),
    ]


def _joined_axes(shape: Sequence[int], order: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns shape and order of a transpose in which axes that stay neighbours are one, and those of extent 1 gone."""
    runs: list[list[int]] = []
    for axis in (axis for axis in order if shape[axis] != 1):
        between = [shape[each] for each in range(runs[-1][-1] + 1, axis)] if runs and runs[-1][-1] < axis else [0]
        if all(extent == 1 for extent in between):
            runs[-1].append(axis)
        else:
            runs.append([axis])
    ranked = sorted(range(len(runs)), key=lambda number: runs[number][0])
    extents = tuple(math.prod(shape[axis] for axis in runs[number]) for number in ranked)
    return extents, tuple(ranked.index(number) for number in range(len(runs)))


@form("softmax")
def _softmax(node: Node, _making: Making) -> list[Operator]:
    attrs: Any = node.attrs
    return [Operator("SOFTMAX", node.inputs, node.outputs, {"Beta": attrs.beta})]


@form("leaky_relu")
def _leaky_relu(node: Node, _making: Making) -> list[Operator]:
    attrs: Any = node.attrs
    return [Operator("LEAKY_RELU", node.inputs, node.outputs, {"Alpha": attrs.alpha})]


@form("mean", "sum", "reduce_max", "reduce_min", "reduce_all")
def _reduction(node: Node, making: Making) -> list[Operator]:
    attrs: Any = node.attrs
    axes = making.constant(f"{node.output.name}/axes", attrs.axes)
    return [Operator(ops.get(node.op).tflite[0], [node.input(0), axes], node.outputs, {"KeepDims": attrs.keep_dims})]


@form("arg_max", "arg_min")
def _place(node: Node, making: Making) -> list[Operator]:
    attrs: Any = node.attrs
    axis = making.tensor(f"{node.output.name}/axis", TensorType((), DType.INT32), np.array(attrs.axis, np.int32))
    return [Operator(ops.get(node.op).tflite[0], [node.input(0), axis], node.outputs)]


@form("strided_slice")
def _strided_slice(node: Node, making: Making) -> list[Operator]:
    attrs: Any = node.attrs
    name, slices = node.output.name, attrs.slices
    backwards = sum(1 << axis for axis, each in enumerate(slices) if each.stride < 0 and each.indices.stop < 0)
    ends = [max(each.indices.stop, 0) for each in slices]
    vectors = [[each.start for each in slices], ends, [each.stride for each in slices]]
    operands = [
        making.constant(f"{name}/{what}", each) for what, each in zip(("begin", "end", "stride"), vectors, strict=True)
    ]
    counts = tuple(each.count for each in slices)
    if counts == node.output.shape:
        return [Operator("STRIDED_SLICE", [node.input(0), *operands], node.outputs, {"EndMask": backwards})]
    cut = making.tensor(f"{name}/cut", TensorType(counts, node.output.dtype, node.output.type.quant))
    shape = making.constant(f"{name}/shape", node.output.shape)
    return [
        Operator("STRIDED_SLICE", [node.input(0), *operands], [cut], {"EndMask": backwards}),
        Operator("RESHAPE", [cut, shape], node.outputs),
    ]


@form("split")
def _split(node: Node, making: Making) -> list[Operator]:
    attrs: Any = node.attrs
    sizes = making.constant(f"{node.output.name}/sizes", attrs.sizes)
    axis = making.tensor(f"{node.output.name}/axis", TensorType((), DType.INT32), np.array(attrs.axis, np.int32))
    return [Operator("SPLIT_V", [node.input(0), sizes, axis], node.outputs, {"NumSplits": len(attrs.sizes)})]


@form("lstm")
def _lstm(node: Node, _making: Making) -> list[Operator]:
    attrs = lstm.attributes(node)
    if not node.input(INPUT).dtype.is_float:
        raise NoFormError("lstm of integers is not written to TFLite")
    operands: list[Tensor | None] = [None] * lstm.TFLITE_OPERANDS
    for place, tensor in zip(lstm.TAKEN, node.inputs, strict=True):
        operands[place] = tensor
    options = {"FusedActivationFunction": lstm.TANH, "TimeMajor": attrs.time_major, "CellClip": attrs.cell_clip}
    return [Operator("UNIDIRECTIONAL_SEQUENCE_LSTM", operands, node.outputs[:1], options)]


@form("gather")
def _gather(node: Node, _making: Making) -> list[Operator]:
    attrs: Any = node.attrs
    return [Operator("GATHER", node.inputs, node.outputs, {"Axis": attrs.axis, "BatchDims": attrs.batch_dims})]


@form("resize_bilinear", "resize_nearest_neighbor")
def _resize(node: Node, making: Making) -> list[Operator]:
    attrs: Any = node.attrs
    size = making.constant(f"{node.output.name}/size", attrs.size)
    options = {"AlignCorners": attrs.align_corners, "HalfPixelCenters": attrs.half_pixel_centers}
    return [Operator(ops.get(node.op).tflite[0], [node.input(0), size], node.outputs, options)]


@form("batch_matmul")
def _batch_matmul(node: Node, _making: Making) -> list[Operator]:
    attrs: Any = node.attrs
    return [Operator("BATCH_MATMUL", node.inputs, node.outputs, {"AdjX": attrs.adj_x, "AdjY": attrs.adj_y})]
