"""Convolutions: from the layout [batch, channels, ...pixels] of the standard to images with channels last."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator, reads
from aboard.importers.onnx.operators.windows import (
    Window,
    as_image,
    as_sequence,
    channels_first,
    channels_last,
    window,
)
from aboard.ir import Array, DType, Quantization, Tensor, TensorType
from aboard.ops.conv2d import ConvAttributes
from aboard.ops.registry import SourceNode
from aboard.ops.strided_slice import AxisSlice
from aboard.ops.transpose_conv import transpose_conv
from aboard.ops.window import Padding

#: Axes of an operand with one, two and three axes of pixels.
_RANKS = (3, 4, 5)


@reads("Conv")
def conv(source: Operator, make: Builder) -> Tensor:
    """A sequence is an image of one row; in three dimensions, images below each other become channels.

    Raises:
        ModelError: Ranks, groups or the window do not fit.
    """
    x, weights, bias = source.input(0), source.input(1), source.optional(2)
    rank, groups = len(x.shape), int(source.options["group"])
    fits = rank in _RANKS and len(weights.shape) == rank and groups >= 1
    if not fits or x.shape[1] != weights.shape[1] * groups or weights.shape[0] % groups:
        raise source.unsupported(
            f"shapes of input and weights, got {x.shape} and {weights.shape} with {groups} groups, expected three to "
            "five axes, and channels that the groups divide. Export the model again"
        )
    found = window(source, x.shape[2:], weights.shape[2:])
    image = channels_last(make, x)
    filters = make.transpose(weights, (0, *range(2, rank), 1))
    if rank == 5:
        return channels_first(make, _volume(make, image, filters, bias, found, groups))
    flat = filters if rank == 4 else make.reshape(filters, (filters.shape[0], 1, *filters.shape[1:]))
    result = image_conv(make, as_image(make, image), flat, bias, found, groups)
    return channels_first(make, as_sequence(make, result, rank))


def image_conv(
    make: Builder, image: Tensor, filters: Tensor, bias: Tensor | None, found: Window, groups: int
) -> Tensor:
    """Adds a convolution of [batch, height, width, channels]; depthwise where each channel is a group.

    Args:
        make: Makes the node.
        image: The operand.
        filters: Weights [outputs, height, width, channels / groups].
        bias: [outputs], or None.
        found: The window, of one or two axes.
        groups: Number of groups.
    """
    one = len(found.size) == 1
    strides, dilations = ((1, *found.strides), (1, *found.dilations)) if one else (found.strides, found.dilations)
    (top, left), (bottom, right) = ((0, *found.before), (0, *found.after)) if one else (found.before, found.after)
    attrs = ConvAttributes((strides[0], strides[1]), Padding(top, left, bottom, right), (dilations[0], dilations[1]))
    inputs = [image, filters, *([] if bias is None else [bias])]
    if groups > 1 and groups == image.shape[3]:
        inputs[1] = make.transpose(filters, (3, 1, 2, 0))
        return make.op("depthwise_conv2d", inputs, attrs, DType.FLOAT32)
    return make.op("conv2d", inputs, attrs, DType.FLOAT32)


def _volume(make: Builder, volume: Tensor, filters: Tensor, bias: Tensor | None, found: Window, groups: int) -> Tensor:
    """Adds a convolution of [batch, depth, height, width, channels].

    For each depth of the result, the images that the window covers become channels of one image.
    """
    batch, _, height, width, channels = volume.shape
    outputs, taps = filters.shape[:2]
    padded = make.pad(volume, [(0, 0), (found.before[0], found.after[0]), (0, 0), (0, 0), (0, 0)], 0)
    per_group = channels // groups
    # Channels of a group must stay side by side.
    moved = make.transpose(filters, (0, 2, 3, 1, 4))
    weights = make.reshape(moved, (outputs, *filters.shape[2:4], taps * per_group))
    count = (padded.shape[1] - (taps - 1) * found.dilations[0] - 1) // found.strides[0] + 1
    planes = []
    for first in range(0, count * found.strides[0], found.strides[0]):
        slices = [AxisSlice(0, 1, extent) for extent in padded.shape]
        slices[1] = AxisSlice(first, found.dilations[0], taps)
        taken = make.take(padded, slices)
        split = make.reshape(taken, (batch, taps, height, width, groups, per_group))
        image = make.reshape(
            make.transpose(split, (0, 2, 3, 4, 1, 5)), (batch, height, width, groups * taps * per_group)
        )
        plane = image_conv(make, image, weights, bias, found.axes(1, 3), groups)
        planes.append(make.reshape(plane, (batch, 1, *plane.shape[1:])))
    return planes[0] if len(planes) == 1 else make.join(planes, 1)


@reads("ConvTranspose")
def conv_transpose(source: Operator, make: Builder) -> Tensor:
    """A convolution of the operand with zeros between its pixels, and the window turned round.

    Raises:
        ModelError: Ranks, groups or the window do not fit, or nothing is left.
    """
    x, weights, bias = source.input(0), source.input(1), source.optional(2)
    rank, groups = len(x.shape), int(source.options["group"])
    if rank not in _RANKS or len(weights.shape) != rank or x.shape[1] != weights.shape[0] or x.shape[1] % groups:
        raise source.unsupported(
            f"shapes of input and weights, got {x.shape} and {weights.shape} with {groups} groups, expected three to "
            "five axes, and channels that the groups divide. Export the model again"
        )
    size = weights.shape[2:]
    strides, dilations, before, after = _transposed_window(source, x.shape[2:], size)
    fixed = bias is None or bias.is_constant
    if rank == 4 and groups == 1 and set(dilations) == {1} and fixed:
        result = _phases(source, make, strides, (before, after))
        if result is not None:
            return channels_first(make, result)
    image = _spread(make, channels_last(make, x), strides)
    found = Window(size, (1,) * len(size), dilations, before, after, (0,) * len(size))
    turned = make.take(
        weights,
        [AxisSlice(0, 1, n) for n in weights.shape[:2]]
        + [AxisSlice(n - 1, -1, n) if n > 1 else AxisSlice(0, 1, 1) for n in size],
    )
    per_group, outputs = weights.shape[0] // groups, weights.shape[1]
    split = make.reshape(turned, (groups, per_group, outputs, *size))
    order = (0, 2, *range(3, 3 + len(size)), 1)
    filters = make.reshape(make.transpose(split, order), (groups * outputs, *size, per_group))
    image, found = _cropped(make, image, found)
    if rank == 5:
        return channels_first(make, _volume(make, image, filters, bias, found, groups))
    flat = filters if rank == 4 else make.reshape(filters, (filters.shape[0], 1, *filters.shape[1:]))
    result = image_conv(make, as_image(make, image), flat, bias, found, groups)
    return channels_first(make, as_sequence(make, result, rank))


def _phases(
    source: Operator, make: Builder, strides: Sequence[int], padding: tuple[tuple[int, ...], tuple[int, ...]]
) -> Tensor | None:
    """Adds convolutions of the operand itself, one for each place between its pixels, and crops what they make.

    Args:
        source: The node, with an image and a constant bias or none.
        make: Makes the nodes.
        strides: Pixels of the result for each of the operand.
        padding: Of the convolution of the operand with zeros between its pixels.

    Returns:
        [batch, height, width, channels]; None where the result is larger than what the windows reach, or weights are
        computed or have zero points.
    """
    image, weights = channels_last(make, source.input(0)), source.input(1)
    stored = make.weights.get(id(weights))
    if stored is not None and stored.data is not None and _by_output(stored.quant):
        weights = make.array(stored.data)
    if weights.data is None:
        return None
    size, (before, after) = weights.shape[2:], padding
    crops = [(n - 1 - b, n - 1 - a) for n, b, a in zip(size, before, after, strict=True)]
    if min(n for crop in crops for n in crop) < 0:
        return None
    full = [(e - 1) * s + n for e, s, n in zip(image.shape[1:3], strides, size, strict=True)]
    whole = Tensor("whole", TensorType((image.shape[0], *full, weights.shape[1]), DType.FLOAT32))
    options = {"StrideH": strides[0], "StrideW": strides[1], "Padding": 1, "FusedActivationFunction": 0}
    inputs = [None, make.transpose(weights, (1, 2, 3, 0)), image, source.optional(2)]
    nodes = transpose_conv(SourceNode(source.kind, source.number, source.where, inputs, [whole], options))
    for node in nodes:
        filters = node.input(1).data if node.op == "conv2d" else None
        if filters is not None and stored is not None:
            node.inputs[1] = _dequantised(make, filters, stored.quant)
        make.nodes.append(node)
    slices = [AxisSlice(b, 1, f - b - a) for f, (b, a) in zip(full, crops, strict=True)]
    return make.take(whole, [AxisSlice(0, 1, whole.shape[0]), *slices, AxisSlice(0, 1, whole.shape[3])])


def _by_output(quant: Quantization) -> bool:
    """True for weights of a transposed convolution that have no zero points, and one scale or one for each output."""
    return not any(quant.zero_points) and quant.axis in (None, 1)


def _dequantised(make: Builder, filters: Array, quant: Quantization) -> Tensor:
    """Returns filters of whole numbers, those of several phases, as integers behind a `dequantize`."""
    if quant.per_channel:
        times = len(filters) // len(quant.scales)
        quant = Quantization(quant.scales * times, quant.zero_points * times, 0)
    kind = TensorType(filters.shape, DType.INT8, quant)
    return make.op("dequantize", [Tensor("constant", kind, filters.astype(np.int8))], dtype=DType.FLOAT32)


def _transposed_window(
    source: Operator, extents: Sequence[int], size: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Returns strides, dilations, and the padding of the convolution; padding below 0 crops."""
    count = len(extents)
    options = {name: [int(n) for n in source.options.get(name) or []] for name in _LISTS}
    strides, dilations = (options[name] or [1] * count for name in ("strides", "dilations"))
    extra, pads = options["output_padding"] or [0] * count, options["pads"] or [0] * (2 * count)
    if {len(strides), len(dilations), len(extra), len(pads) // 2} != {count} or min((*strides, *dilations)) < 1:
        raise source.unsupported(
            f"strides {strides}, dilations {dilations}, pads {pads} and output_padding {extra}, expected {count} "
            "numbers, two for each axis of pads. Export the model again"
        )
    reach = [(n - 1) * d + 1 for n, d in zip(size, dilations, strict=True)]
    full = [(e - 1) * s + r + x for e, s, r, x in zip(extents, strides, reach, extra, strict=True)]
    mode, wanted = str(source.options.get("auto_pad", "NOTSET")), options["output_shape"]
    if wanted or mode.startswith("SAME"):
        result = wanted[-count:] or [e * s for e, s in zip(extents, strides, strict=True)]
        total = [f - r for f, r in zip(full, result, strict=True)]
        low = [t // 2 if mode == "SAME_UPPER" else t - t // 2 for t in total]
        pads = low + [t - b for t, b in zip(total, low, strict=True)]
    before = tuple(r - 1 - p for r, p in zip(reach, pads[:count], strict=True))
    after = tuple(r - 1 - p + x for r, p, x in zip(reach, pads[count:], extra, strict=True))
    return tuple(strides), tuple(dilations), before, after


_LISTS = ("strides", "dilations", "output_padding", "pads", "output_shape")


def _spread(make: Builder, image: Tensor, strides: Sequence[int]) -> Tensor:
    """Puts zeros between the pixels of [batch, ...pixels, channels]."""
    for axis, stride in enumerate(strides, 1):
        if stride == 1:
            continue
        shape = image.shape
        outer, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
        split = make.reshape(image, (outer, shape[axis], 1, inner))
        padded = make.pad(split, [(0, 0), (0, 0), (0, stride - 1), (0, 0)], 0)
        joined = make.reshape(padded, (*shape[:axis], shape[axis] * stride, *shape[axis + 1 :]))
        slices = [AxisSlice(0, 1, extent) for extent in joined.shape]
        slices[axis] = AxisSlice(0, 1, (shape[axis] - 1) * stride + 1)
        image = make.take(joined, slices)
    return image


def _cropped(make: Builder, image: Tensor, found: Window) -> tuple[Tensor, Window]:
    """Crops an operand where its padding is below 0, and returns the padding that is left."""
    slices = [AxisSlice(0, 1, extent) for extent in image.shape]
    for axis, (before, after) in enumerate(zip(found.before, found.after, strict=True), 1):
        start = max(-before, 0)
        slices[axis] = AxisSlice(start, 1, image.shape[axis] - start - max(-after, 0))
    low, high = (tuple(max(n, 0) for n in each) for each in (found.before, found.after))
    left = Window(found.size, found.strides, found.dilations, low, high, found.overhang)
    return make.take(image, slices), left
