"""fully_connected: product of samples with a matrix of constant weights.

Operands: input of any rank, weights [outputs, inputs], optional bias [outputs]. The input is read as samples of
`inputs` values each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from typing_extensions import override

from aboard.ir import Array, Attributes, Node, TensorType
from aboard.ops import weighted
from aboard.ops.activation import Activation
from aboard.ops.box import Box
from aboard.ops.registry import SourceNode, register
from aboard.ops.weighted_op import WeightedOp

#: Axis of the output channels in the weights.
AXIS = 0

_DEFAULT_FORMAT = 0


@dataclass(frozen=True)
class FullyConnectedAttributes(Attributes):
    """The options of the product.

    Attributes:
        activation: The activation of the result.
        keep_dims: True if the result keeps the input's shape except for the last dimension; False for [samples,
            outputs].
    """

    activation: Activation = Activation.NONE
    keep_dims: bool = False


def attributes(node: Node) -> FullyConnectedAttributes:
    """Returns the attributes of a fully_connected."""
    return cast(FullyConnectedAttributes, node.attrs)


@register
class FullyConnected(WeightedOp):
    """Matrix product with a bias and an activation."""

    name = "fully_connected"
    attributes = FullyConnectedAttributes
    tflite = ("FULLY_CONNECTED",)
    weights_axis = AXIS

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        weights_format = int(source.options["WeightsFormat"])
        if weights_format != _DEFAULT_FORMAT:
            raise source.unsupported(
                f"weights format, got {weights_format}, expected {_DEFAULT_FORMAT} (DEFAULT). "
                "Convert the model without shuffled weights"
            )
        attrs = FullyConnectedAttributes(Activation.from_tflite(source), bool(source.options["KeepNumDims"]))
        for operand in (0, 1):
            source.input(operand)
        return weighted.with_bias_type(source, self.imported(source, attrs))

    @override
    def infer(self, node: Node) -> list[TensorType]:
        x, (outputs, inputs) = node.input(0), node.input(1).shape
        keep = attributes(node).keep_dims
        shape = (*x.shape[:-1], outputs) if keep else (x.type.elements // inputs, outputs)
        return [TensorType(shape, node.output.dtype, node.output.type.quant)]

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        """Computes the product in doubles (exact for integers)."""
        x, weights, bias = weighted.values(operands)
        samples = weighted.centered(node, x).reshape(-1, weights.shape[1])
        sums = samples @ weighted.real_weights(node, weights, AXIS).T
        result = weighted.finish(node, sums, bias, attributes(node).activation, AXIS)
        return [result.reshape(self.infer(node)[0].shape)]

    @override
    def operand_boxes(self, node: Node, box: Box) -> list[Box | None] | None:
        """Returns the samples and the weights of the outputs; None if the samples are not a box of the input."""
        samples = self._samples(node, box)
        return None if samples is None else [samples, *weighted.boxes_by_channel(node, AXIS, box)]

    def _samples(self, node: Node, box: Box) -> Box | None:
        shape, whole = node.input(0).shape, Box.whole(node.input(0).shape)
        if attributes(node).keep_dims:
            return Box((*box.start[:-1], 0), (*box.stop[:-1], shape[-1]))
        if box.start[0] == 0 and box.stop[0] == node.output.shape[0]:
            return whole
        return whole.on(0, box.start[0], box.stop[0]) if shape[0] == node.output.shape[0] else None

    @override
    def macs(self, node: Node) -> int:
        return node.output.type.elements * node.input(1).shape[1]

    @override
    def problem(self, node: Node) -> str | None:
        x, weights = node.input(0), node.input(1).shape
        if len(weights) != 2:
            return f"rank of weights, got {len(weights)}, expected 2"
        last = x.shape[-1] if x.shape else 1
        if x.type.elements % weights[1] or (attributes(node).keep_dims and last != weights[1]):
            return f"input, got shape {x.shape}, expected samples of {weights[1]} values as the weights have"
        return weighted.problem(node, AXIS)
