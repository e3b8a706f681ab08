"""Dilation fusion: a convolution between SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND is one dilated convolution.

The importer writes these two operators as chains of nodes that move data: pads, reshapes and a transpose before the
convolution, reshapes, a transpose and a slice behind it. Which nodes a chain has depends on the shapes, so the pass
compares no forms: it follows the chains with the number of each element instead of its value, and so knows which pixel
of the image each tap of each window reads. It merges if these are the pixels of a dilated convolution.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from aboard.ir import Graph, Node, Tensor, TensorType
from aboard.ir.rewriting import free_name, merged_sources, only_reader
from aboard.ops.conv2d import attributes as conv_attributes
from aboard.ops.conv2d import window
from aboard.ops.pad import attributes as pad_attributes
from aboard.ops.registry import get
from aboard.ops.reshape import ReshapeAttributes
from aboard.ops.window import Padding, reach
from aboard.passes.contract import Pass
from aboard.passes.registry import register
from aboard.passes.remove_dead_code import RemoveDeadCode
from aboard.passes.rewriting import describe

_CONVOLUTIONS = ("conv2d", "depthwise_conv2d")

_Numbers = npt.NDArray[np.int64]
_Image = tuple[int, int, int, int]


@register
@dataclass(frozen=True)
class FuseDilation(Pass):
    """Makes a convolution of blocks of an image a dilated convolution of the image.

    Paddings and crops become padding of the convolution. Where a crop would drop pixels of the image, or a window
    would see nothing but padding, the nodes stay.
    """

    name: ClassVar[str] = "fuse-dilation"
    summary: ClassVar[str] = "makes a convolution between space-to-batch and batch-to-space a dilated one"
    requires: ClassVar[tuple[type[Pass], ...]] = (RemoveDeadCode,)

    @override
    def run(self, graph: Graph) -> None:
        for node in list(graph.nodes):
            found = _match(graph, node)
            if found is not None:
                _merge(graph, node, found)

    @override
    def pending(self, graph: Graph) -> str | None:
        return describe(node for node in graph.nodes if _match(graph, node) is not None)


@dataclass(frozen=True)
class _Chains:
    """The nodes before and behind a convolution, in execution order."""

    before: list[Node]
    behind: list[Node]

    @property
    def source(self) -> Tensor:
        return self.before[0].input(0)

    @property
    def result(self) -> Tensor:
        return self.behind[-1].output


@dataclass(frozen=True)
class _Fused:
    """What a convolution becomes."""

    chains: _Chains
    image: _Image
    result: _Image
    dilations: tuple[int, int]
    padding: Padding


def _match(graph: Graph, conv: Node) -> _Fused | None:
    if conv.op not in _CONVOLUTIONS or conv_attributes(conv).strides != (1, 1):
        return None
    chains = _chains(graph, conv)
    if chains is None or chains.source.shape[:1] == (0,):
        return None
    sizes = (chains.source.type.quant, chains.result.type.quant)
    if sizes != (conv.input(0).type.quant, conv.output.type.quant) or len(chains.source.shape) not in (3, 4):
        return None
    image = _as_image(chains.source.shape, conv.input(0).shape)
    blocks, rest = divmod(conv.input(0).shape[0], image[0])
    if rest or blocks == 1:
        return None
    pairs = ((height, blocks // height) for height in range(1, blocks + 1) if blocks % height == 0)
    return next((found for pair in pairs if (found := _fused(conv, chains, image, pair)) is not None), None)


def _chains(graph: Graph, conv: Node) -> _Chains | None:
    """Returns the movements around a convolution that nothing else reads; None without a transpose on both sides."""
    before, behind = list(_up(graph, conv)), list(_down(graph, conv))
    moved = [any(node.op == "transpose" for node in nodes) for nodes in (before, behind)]
    return _Chains(before[::-1], behind) if all(moved) else None


def _up(graph: Graph, conv: Node) -> Iterator[Node]:
    """Yields reshapes, one transpose, reshapes and pads before a convolution, the last one first."""
    stages, stage, reader = (("reshape", "transpose"), ("reshape", "pad"), ("pad",)), 0, conv
    while (node := graph.producer(reader.input(0))) is not None:
        if node.op not in stages[stage] or only_reader(graph, node.output) is not reader or not _pads_zero(node, conv):
            return
        stage += node.op == stages[stage][-1] and stage < len(stages) - 1
        yield node
        reader = node


def _down(graph: Graph, conv: Node) -> Iterator[Node]:
    """Yields reshapes, one transpose, reshapes and one slice behind a convolution."""
    stages, stage, node = (("reshape", "transpose"), ("reshape", "strided_slice")), 0, conv
    while stage < len(stages) and (reader := only_reader(graph, node.output)) is not None:
        if reader.op not in stages[stage]:
            return
        stage += reader.op == stages[stage][-1]
        yield reader
        node = reader


def _pads_zero(node: Node, conv: Node) -> bool:
    """True for a node that pads with the convolution's zero, or does not pad."""
    if node.op != "pad":
        return True
    quant = conv.input(0).type.quant
    return node.output.type.quant == quant and pad_attributes(node).value == (0 if quant is None else quant.zero_point)


def _as_image(shape: Sequence[int], block: Sequence[int]) -> _Image:
    """Returns the shape of an image or a line, which lies along the axis along which its blocks lie."""
    if len(shape) == 4:
        return shape[0], shape[1], shape[2], shape[3]
    batch, length, channels = shape
    return (batch, 1, length, channels) if block[1] == 1 else (batch, length, 1, channels)


def _fused(conv: Node, chains: _Chains, image: _Image, blocks: tuple[int, int]) -> _Fused | None:
    """Returns the dilated convolution if every tap of every window reads the pixel that it reads now."""
    result = _result(conv, chains, image[0], blocks)
    if result is None:
        return None
    read = _read(conv, chains, image, result)
    if read is None:
        return None
    attrs, size = conv_attributes(conv), window(conv)
    steps = [own * block for own, block in zip(attrs.dilations, blocks, strict=True)]
    start = _first(read, steps, image)
    if start is None or not np.array_equal(read, _expected(result, image, size, steps, start)):
        return None
    spans = [reach(taps, step) for taps, step in zip(size, steps, strict=True)]
    ends = [result[1 + a] + spans[a] - 1 - image[1 + a] - start[a] for a in (0, 1)]
    if any(min(start[a], ends[a]) < 0 or max(start[a], ends[a]) >= spans[a] for a in (0, 1)):
        return None
    dilations = tuple(1 if taps == 1 else step for taps, step in zip(size, steps, strict=True))
    return _Fused(chains, image, result, (dilations[0], dilations[1]), Padding(*start, *ends))


def _result(conv: Node, chains: _Chains, batch: int, blocks: tuple[int, int]) -> _Image | None:
    """Returns the shape of the dilated convolution's result, which a slice crops."""
    _, height, width, channels = conv.output.shape
    if chains.behind[-1].op != "strided_slice":
        found = (batch, height * blocks[0], width * blocks[1], channels)
    elif len(chains.result.shape) in (3, 4):
        found = _as_image(chains.result.shape, conv.output.shape)
    else:
        return None
    fits = found[0] == batch and found[3] == channels
    return found if fits and int(np.prod(found)) == chains.result.type.elements else None


def _read(conv: Node, chains: _Chains, image: _Image, result: _Image) -> _Numbers | None:
    """Returns which pixel of the image each tap reads for each pixel of the result, -1 for padding.

    Returns:
        An array [window height, window width, batch, height, width]; None if a chain tears the channels of a pixel
        apart.
    """
    pixels = _pixels(_followed(chains.before, chains.source.shape), image[3])
    places = _pixels(_followed(chains.behind, conv.output.shape).reshape(result), result[3])
    if pixels is None or places is None:
        return None
    attrs, (rows, columns) = conv_attributes(conv), window(conv)
    pad = attrs.padding
    padded = np.pad(pixels, ((0, 0), (pad.top, pad.bottom), (pad.left, pad.right)), constant_values=-1)
    batch, y, x = np.unravel_index(places, conv.output.shape[:3])
    down, right = attrs.dilations
    taps = [padded[batch, y + k * down, x + n * right] for k in range(rows) for n in range(columns)]
    return np.stack(taps).reshape(rows, columns, *result[:3])


def _followed(nodes: Sequence[Node], shape: Sequence[int]) -> _Numbers:
    """Returns the number, from 1, of the element that each place holds behind some nodes; 0 for padding."""
    values: _Numbers = np.arange(1, 1 + int(np.prod(shape)), dtype=np.int64).reshape(tuple(shape))
    for node in nodes:
        padded = node.op == "pad"
        moved = np.pad(values, pad_attributes(node).padding) if padded else get(node.op).evaluate(node, [values])[0]
        values = moved.astype(np.int64)
    return values


def _pixels(elements: _Numbers, channels: int) -> _Numbers | None:
    """Returns the number of the pixel at each place, -1 for padding; None unless its channels are in their places."""
    if elements.shape[-1] != channels:
        return None
    first = elements[..., 0]
    whole = np.where(first[..., None] == 0, 0, first[..., None] + np.arange(channels))
    if not np.array_equal(elements, whole) or np.any((first - 1)[first > 0] % channels):
        return None
    pixels: _Numbers = np.where(first == 0, -1, (first - 1) // channels)
    return pixels


def _first(read: _Numbers, steps: Sequence[int], image: _Image) -> tuple[int, int] | None:
    """Returns the padding above and to the left of the image, from the first tap that reads a pixel."""
    known = np.argwhere(read >= 0)
    if not len(known):
        return None
    k, n, _, y, x = (int(index) for index in known[0])
    row, column = divmod(int(read[tuple(known[0])]) % (image[1] * image[2]), image[2])
    return y + k * steps[0] - row, x + n * steps[1] - column


def _expected(
    result: _Image, image: _Image, size: tuple[int, int], steps: Sequence[int], start: tuple[int, int]
) -> _Numbers:
    """Returns `_read` of a dilated convolution."""
    along = [
        np.arange(taps)[:, None] * step + np.arange(result[1 + a])[None] - start[a]
        for a, (taps, step) in enumerate(zip(size, steps, strict=True))
    ]
    rows, columns = along[0][:, None, None, :, None], along[1][None, :, None, None, :]
    inside = (rows >= 0) & (rows < image[1]) & (columns >= 0) & (columns < image[2])
    pixels = (np.arange(image[0])[None, None, :, None, None] * image[1] + rows) * image[2] + columns
    return np.where(inside, pixels, -1)


def _merge(graph: Graph, conv: Node, fused: _Fused) -> None:
    """Makes the convolution read the image, and removes the chains; reshapes make lines images and images lines."""
    source, result = fused.chains.source, fused.chains.result
    nodes = [*fused.chains.before, *fused.chains.behind]
    conv.attrs = dataclasses.replace(conv_attributes(conv), dilations=fused.dilations, padding=fused.padding)
    conv.sources = merged_sources(conv, *nodes)
    graph.remove(nodes)
    place = graph.nodes.index(conv)
    image = _tensor(graph, source, fused.image, f"{result.name}/image")
    made = _tensor(graph, result, fused.result, f"{result.name}/pixels")
    conv.inputs[0], conv.outputs, conv.name = image, [made], made.name
    whole = [conv]
    if image is not source:
        whole.insert(0, Node("reshape", image.name, [source], [image], ReshapeAttributes(image.shape)))
    if made is not result:
        whole.append(Node("reshape", result.name, [made], [result], ReshapeAttributes(result.shape)))
    graph.nodes[place : place + 1] = whole


def _tensor(graph: Graph, like: Tensor, shape: _Image, name: str) -> Tensor:
    """Returns a tensor, or a new one with its elements in another shape."""
    if like.shape == shape:
        return like
    return Tensor(free_name(graph, name), TensorType(shape, like.dtype, like.type.quant))
