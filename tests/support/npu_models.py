"""Small models of which the NPU Ethos-U55 computes every node."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from support.channel_models import ChannelModel


def layers() -> bytes:
    """Returns a model of layers: convolutions, poolings, softmax with its table of 32 bits."""
    model = ChannelModel(3, (1, 11, 9, 3)).conv(17, (3, 3), 2).depthwise().conv(9, (1, 1))
    model.pool("MAX").pool("AVERAGE", (3, 3), 1).reshape((1, 81)).dense(10)
    return model.op("SOFTMAX", [model.last], (1, 10), {"Beta": 1.0}).build()


def elements() -> bytes:
    """Returns a model of operators on elements: sums, products, tables, a concatenation, padding."""
    model = ChannelModel(4, (1, 6, 5, 16)).conv(16)
    first = model.last
    model.unary("LEAKY_RELU").binary("ADD", first).binary("MUL", first).binary("SUB", first)
    model.pad()
    padded = model.last
    model.unary("HARD_SWISH").binary("ADD", padded)
    return model.pool("MAX", (2, 2), 2, "VALID").build()


def product() -> bytes:
    """Returns a model of one fully connected layer."""
    return ChannelModel(5, (1, 37)).dense(21).build()


#: Models by name: together they have every operation that Vela makes of what is claimed.
EVERY_OPERATION: Mapping[str, Callable[[], bytes]] = {"layers": layers, "elements": elements, "product": product}
