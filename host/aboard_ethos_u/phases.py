"""Transposed convolutions: found again in the convolutions that aboard's importer makes of them, for Vela.

The importer writes a transposed convolution of strides 2x2 as one convolution for each phase of the result, or one for
all, and interleaves their pixels (`aboard.ops.transpose_conv`). The NPU computes it in one operation, with zeros
between the pixels of the operand: without copies, and without a buffer for the phases. Seen from a phase p of result
row 2 * y + p, tap i of a window that begins `top` above y reads row r = y + i - top; the transposed window has the tap
at p + 2 * (y - r). Taps of 0 fill the window up to one that padding SAME or VALID describes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from aboard.exporters.tflite import operators
from aboard.importers.free_names import FreeNames
from aboard.ir import Array, Attributes, DType, Graph, Node, Quantization, Tensor, TensorType
from aboard.ops.activation import Activation
from aboard.ops.conv2d import ConvAttributes, attributes
from aboard.ops.strided_slice import StridedSliceAttributes
from aboard.ops.transpose import TransposeAttributes
from aboard_ethos_u import conditions

#: The op by which this package names transposed convolutions in regions, and its strides.
OP, _STRIDE = "transpose_conv", 2
#: Order of axes by which pixels of phases are interleaved: of (1, height, width, rows, columns, channels).
_INTERLEAVED = (0, 1, 3, 2, 4, 5)
_PRODUCT = 65536


def interleaving(node: Node) -> str | None:
    """Takes the transposition that makes pixels of channels, or channels of pixels."""
    order, shape = cast(TransposeAttributes, node.attrs).order, node.input(0).shape
    if order != _INTERLEAVED or shape[0] != 1:
        return f"order {order} of {shape}, expected {_INTERLEAVED} of one sample"
    extents = (shape[1], shape[2], shape[3], shape[4] * shape[5])
    largest = sorted(extents)[2] * sorted(extents)[3]
    return f"axes, got {extents}, expected products of at most {_PRODUCT}" if largest > _PRODUCT else None


@dataclass(frozen=True)
class TransposeConvAttributes(Attributes):
    """Attributes of a transposed convolution.

    Attributes:
        padding: `SAME` (0) or `VALID` (1), as in TFLite.
    """

    padding: int = 0


@operators.form(OP)
def _written(node: Node, making: operators.Making) -> list[operators.Operator]:
    shape = making.constant(f"{node.output.name}/shape", node.output.shape)
    weights, *bias = operators.parameters(node, making)
    options = {"Padding": cast(TransposeConvAttributes, node.attrs).padding, "StrideH": _STRIDE, "StrideW": _STRIDE}
    return [operators.Operator("TRANSPOSE_CONV", [shape, weights, node.input(0), *bias], node.outputs, options)]


def restored(graph: Graph, names: FreeNames) -> list[Node]:
    """Returns the nodes of a region with a transposed convolution where its phases are interleaved."""
    view = _View(graph)
    made: dict[int, Node] = {}
    gone: set[int] = set()
    for node in graph.nodes:
        group = _group(node, view) if node.op == "transpose" else None
        found = None if group is None else _transposed(group, names)
        if group is not None and found is not None:
            last, node_made, is_cropped = group.after, found[0], found[1]
            last = cast(Node, group.crop) if is_cropped else last
            made[id(last)] = node_made
            gone |= {id(each) for each in (*group.inner, last)}
    kept = [made.get(id(node), node) for node in graph.nodes if id(node) in made or id(node) not in gone]
    return _used(kept, graph)


def _used(nodes: list[Node], graph: Graph) -> list[Node]:
    """Returns nodes without slices that nothing reads any more."""
    read = {id(tensor) for node in nodes for tensor in node.operands} | {id(tensor) for tensor in graph.outputs}
    return [node for node in nodes if any(id(tensor) in read for tensor in node.outputs)]


class _View:
    """Who makes and who reads the tensors of a region."""

    def __init__(self, graph: Graph) -> None:
        self._makers = {id(tensor): node for node in graph.nodes for tensor in node.outputs}
        self._readers: dict[int, list[Node]] = {}
        for node in graph.nodes:
            for tensor in node.operands:
                self._readers.setdefault(id(tensor), []).append(node)
        self._outputs = {id(tensor) for tensor in graph.outputs}

    def maker(self, tensor: Tensor, *kinds: str) -> Node | None:
        """Returns the node of one of these ops that makes a tensor."""
        node = self._makers.get(id(tensor))
        return node if node is not None and node.op in kinds else None

    def only(self, tensor: Tensor, *kinds: str) -> Node | None:
        """Returns the only reader of a tensor, if it is of one of these ops and the tensor stays in the region."""
        readers = self._readers.get(id(tensor), [])
        fits = len(readers) == 1 and readers[0].op in kinds and id(tensor) not in self._outputs
        return readers[0] if fits else None


@dataclass(frozen=True)
class _Image:
    """What a convolution reads: rows and columns of an image, from an origin on."""

    whole: Tensor
    origin: tuple[int, int]
    size: tuple[int, int]


@dataclass(frozen=True)
class _Group:
    """The nodes of a transposed convolution.

    Attributes:
        convolutions: With the phases' channels one after the other.
        images: What each reads.
        inner: Nodes that are no more needed, without the last.
        after: The reshape to the pixels of the result.
        crop: The slice behind it that takes the first rows and columns, if there is one.
    """

    convolutions: tuple[Node, ...]
    images: tuple[_Image, ...]
    inner: tuple[Node, ...]
    after: Node
    crop: Node | None


def _group(turn: Node, view: _View) -> _Group | None:
    before, after = view.maker(turn.input(0), "reshape"), view.only(turn.output, "reshape")
    if before is None or after is None or turn.input(0).shape[3:5] != (_STRIDE, _STRIDE):
        return None
    if interleaving(turn) is not None or view.only(turn.input(0), "transpose") is None:
        return None
    joined = view.maker(before.input(0), "conv2d", "concatenation")
    if joined is None or view.only(joined.output, "reshape") is None:
        return None
    parts = [joined.output] if joined.op == "conv2d" else joined.operands
    found = [view.maker(part, "conv2d") for part in parts]
    convolutions = tuple(node for node in found if node is not None)
    shared = joined.op == "concatenation" and any(view.only(part, "concatenation") is None for part in parts)
    if len(convolutions) != len(found) or shared:
        return None
    images = _images(convolutions, view)
    crop = view.only(after.output, "strided_slice")
    is_crop = crop is not None and all(part.start == 0 and part.stride == 1 for part in _slices(crop))
    inner = (*convolutions, *([joined] if joined.op == "concatenation" else []), before, turn)
    return None if images is None else _Group(convolutions, images, inner, after, crop if is_crop else None)


def _images(convolutions: tuple[Node, ...], view: _View) -> tuple[_Image, ...] | None:
    """Returns what convolutions read of one image, or None if they read several."""
    read = [node.input(0) for node in convolutions]
    if all(tensor is read[0] for tensor in read):
        return tuple(_Image(tensor, (0, 0), (tensor.shape[1], tensor.shape[2])) for tensor in read)
    found = []
    for tensor in read:
        cut = view.maker(tensor, "strided_slice")
        starts = (0, 0) if cut is None else (_slices(cut)[1].start, _slices(cut)[2].start)
        found.append(_Image(tensor if cut is None else cut.input(0), starts, (tensor.shape[1], tensor.shape[2])))
    return tuple(found) if all(image.whole is found[0].whole for image in found) else None


def _slices(node: Node) -> tuple[Any, ...]:
    return tuple(cast(StridedSliceAttributes, node.attrs).slices)


#: Weights of a transposed window, [outputs, inputs], by row and column from the pixel that is read.
_Taps = Mapping[tuple[int, int], Array]


def _transposed(group: _Group, names: FreeNames) -> tuple[Node, bool] | None:
    """Returns the transposed convolution, and whether its result is the cropped one; None if there is none."""
    first, channels = group.convolutions[0], group.after.output.shape[3]
    taps, parameters = _taps(group, channels), _parameters(group, channels)
    if taps is None or not taps or parameters is None:
        return None
    quant, bias = parameters
    operand, whole = group.images[0].whole, group.after.output
    results = [(whole, False)] if group.crop is None else [(whole, False), (group.crop.output, True)]
    for result, is_cropped in results:
        for padding in (0, 1):
            window = _window(taps, operand.shape, result.shape, padding)
            if window is None or result.shape[3] != channels:
                continue
            values = _filled(taps, window)
            if np.abs(values.astype(np.int64)).reshape(channels, -1).sum(axis=1).max() > conditions.WEIGHTS:
                return None
            kind = TensorType(values.shape, DType.INT8, quant)
            weights = Tensor(names.take(f"{first.input(1).name}/transposed"), kind, values)
            inputs: list[Tensor | None] = [operand, weights]
            if bias is not None:
                inputs.append(Tensor(names.take(f"{result.name}/bias"), TensorType(bias.shape, DType.INT32), bias))
            return Node(OP, first.name, inputs, [result], TransposeConvAttributes(padding), first.sources), is_cropped
    return None


def _taps(group: _Group, channels: int) -> _Taps | None:
    """Returns the taps of the transposed window that are not 0; None if the convolutions are no phases of one."""
    found: dict[tuple[int, int], Array] = {}
    phase = 0
    for node, image in zip(group.convolutions, group.images, strict=True):
        if not _is_phase(node, image):
            return None
        for weights in np.split(np.asarray(node.input(1).data), node.output.shape[3] // channels):
            found.update(_phase_taps(weights, node, image, divmod(phase, _STRIDE)))
            phase += 1
    return found


def _phase_taps(
    weights: Array, node: Node, image: _Image, phase: tuple[int, int]
) -> Iterator[tuple[tuple[int, int], Array]]:
    padding = attributes(node).padding
    for row in range(weights.shape[1]):
        for column in range(weights.shape[2]):
            if weights[:, row, column].any():
                above = phase[0] + _STRIDE * (padding.top - row - image.origin[0])
                before = phase[1] + _STRIDE * (padding.left - column - image.origin[1])
                yield (above, before), weights[:, row, column]


def _is_phase(node: Node, image: _Image) -> bool:
    """True for a plain convolution that pads its part of the image only where the image ends."""
    attrs = attributes(node)
    low = (attrs.padding.top, attrs.padding.left)
    high = (attrs.padding.bottom, attrs.padding.right)
    ends = all(
        (origin == 0 or not below) and (origin + size == extent or not above)
        for origin, size, extent, below, above in zip(
            image.origin, image.size, image.whole.shape[1:3], low, high, strict=True
        )
    )
    plain = replace(attrs, padding=ConvAttributes().padding) == ConvAttributes(activation=Activation.NONE)
    return ends and plain and image.whole.shape[3] == node.input(1).shape[3]


def _parameters(group: _Group, channels: int) -> tuple[Quantization, Array | None] | None:
    """Returns the quantisation of the weights and the bias that all phases have; None if they differ."""
    quants, biases = set(), set()
    for node in group.convolutions:
        quant, bias = node.input(1).quant, node.optional_input(2)
        count = node.output.shape[3] // channels
        scales = quant.scales if quant.per_channel else quant.scales[:1]
        step = channels if quant.per_channel else 1
        quants |= {scales[at : at + step] for at in range(0, len(scales), step)}
        parts = [None] * count if bias is None else np.split(np.asarray(bias.data).reshape(-1), count)
        biases |= {None if part is None else tuple(int(value) for value in part) for part in parts}
    if len(quants) != 1 or len(biases) != 1:
        return None
    (scales,), (bias_values,) = quants, biases
    taken = Quantization(scales, (0,) * len(scales), 0 if len(scales) > 1 else None)
    return taken, None if bias_values is None else np.array(bias_values, np.int32)


@dataclass(frozen=True)
class _Window:
    """A transposed window: its size, and its first row and column from the pixel that is read."""

    size: tuple[int, int]
    first: tuple[int, int]


def _window(taps: _Taps, operand: tuple[int, ...], result: tuple[int, ...], padding: int) -> _Window | None:
    """Returns the smallest window with these taps that a padding gives a result of this shape."""
    sizes, firsts = [], []
    for axis in range(2):
        least, most = min(place[axis] for place in taps), max(place[axis] for place in taps)
        pixels, wanted = operand[1 + axis], result[1 + axis]
        only = wanted - _STRIDE * (pixels - 1)
        candidates = range(_STRIDE, conditions.WINDOW + 1) if padding == 0 else range(only, only + 1)
        before = {size: (size - _STRIDE) // 2 if padding == 0 else 0 for size in candidates}
        fits = [size for size in candidates if least >= -before[size] and most < size - before[size]]
        if not fits or not _STRIDE <= fits[0] <= conditions.WINDOW or (padding == 0 and wanted != _STRIDE * pixels):
            return None
        sizes.append(fits[0])
        firsts.append(-before[fits[0]])
    return _Window((sizes[0], sizes[1]), (firsts[0], firsts[1]))


def _filled(taps: _Taps, window: _Window) -> Array:
    """Returns the weights of a window, [outputs, rows, columns, inputs], with 0 where there is no tap."""
    outputs, inputs = next(iter(taps.values())).shape
    values = np.zeros((outputs, *window.size, inputs), np.int8)
    for (row, column), weights in taps.items():
        values[:, row - window.first[0], column - window.first[1]] = weights
    return values
