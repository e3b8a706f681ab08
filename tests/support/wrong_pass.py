"""A pass that changes results, for tests of the search for such a pass."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from aboard.ir import Graph, Tensor
from aboard.ops.weighted import BIAS
from aboard.passes import Pass, registry


@dataclass(frozen=True)
class WrongBias(Pass):
    """Adds to every bias of the last layer with constant biases.

    Attributes:
        by: How much.
    """

    name: ClassVar[str] = "wrong-bias"
    summary: ClassVar[str] = "is wrong"

    by: int = 1000

    def run(self, graph: Graph) -> None:
        bias = _biases(graph)[-1]
        assert bias.data is not None
        bias.data = (bias.data + self.by).astype(bias.dtype.numpy)

    def pending(self, graph: Graph) -> str | None:
        return None


def _biases(graph: Graph) -> list[Tensor]:
    layers = [node for node in graph.nodes if node.op in ("conv2d", "depthwise_conv2d", "fully_connected")]
    biases = [node.optional_input(BIAS) for node in layers]
    return [tensor for tensor in biases if tensor is not None and tensor.is_constant]


@contextmanager
def wrong_pass() -> Iterator[None]:
    """Registers the pass."""
    registry.registered()
    registry._PASSES[WrongBias.name] = WrongBias
    try:
        yield
    finally:
        del registry._PASSES[WrongBias.name]
