"""What a pass is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from aboard.ir import Graph


class Pass(ABC):
    """A rewrite of the graph. It holds no state.

    Outputs of the model keep their values to the last bit. A tensor that survives keeps its name, type, value and
    `source`; of one that has a `channel_map`, the channels that it names are those that survive. A node that takes over
    the work of others takes over their `sources`.

    Attributes:
        name: Name for `--dump-ir`, lower case with underscores.
        requires: Passes that must have nothing left to do when this one starts.
    """

    name: ClassVar[str]
    requires: ClassVar[tuple[type[Pass], ...]] = ()

    @abstractmethod
    def run(self, graph: Graph) -> None:
        """Rewrites a graph in place and leaves it valid, with nothing left to do for this pass."""

    @abstractmethod
    def pending(self, graph: Graph) -> str | None:
        """Returns a node that the pass would still change, in words, or None: this is what the pass ensures."""
