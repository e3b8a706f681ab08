"""Convolutions: from the layout [batch, channels, ...pixels] of the standard to images with channels last."""

from __future__ import annotations

import numpy as np

from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator, reads
from aboard.ir import DType, Tensor
from aboard.ops.conv2d import ConvAttributes
from aboard.ops.window import Padding


def channels_last(make: Builder, tensor: Tensor) -> Tensor:
    """Returns [batch, ...pixels, channels] for [batch, channels, ...pixels]."""
    rank = len(tensor.shape)
    return make.transpose(tensor, (0, *range(2, rank), 1))


def channels_first(make: Builder, tensor: Tensor) -> Tensor:
    """Returns [batch, channels, ...pixels] for [batch, ...pixels, channels]."""
    rank = len(tensor.shape)
    return make.transpose(tensor, (0, rank - 1, *range(1, rank - 1)))


@reads("Conv")
def conv(source: Operator, make: Builder) -> Tensor:
    """2-D so far."""
    x, weights = source.input(0), source.constant(1)
    if len(x.shape) != 4:
        raise source.unsupported(f"rank, got {len(x.shape)}, expected 4. Export 2-D convolutions")
    groups = int(source.options["group"])
    top, left, bottom, right = source.options.get("pads") or (0, 0, 0, 0)
    strides = tuple(source.options.get("strides") or (1, 1))
    dilations = tuple(source.options.get("dilations") or (1, 1))
    attrs = ConvAttributes(strides, Padding(top, left, bottom, right), dilations)
    image = channels_last(make, x)
    bias = source.optional(2)
    if groups == x.shape[1] and groups > 1:
        filters = make.array(weights.transpose(1, 2, 3, 0).reshape(1, *weights.shape[2:], -1))
        op = "depthwise_conv2d"
    else:
        filters, op = make.array(np.ascontiguousarray(weights.transpose(0, 2, 3, 1))), "conv2d"
    made = make.op(op, [image, filters, *([] if bias is None else [bias])], attrs, DType.FLOAT32)
    return channels_first(make, made)
