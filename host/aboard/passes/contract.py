"""The contract of a pass."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from aboard.ir import Graph


@dataclass(frozen=True)
class Pass(ABC):
    """A rewrite of the graph: a frozen dataclass whose fields are the options of the pass, each with a default.

    The outputs of the model keep their values to the last bit. A tensor that survives keeps its name, type, value and
    `source`; of a tensor with a `channel_map`, the channels that the map names survive. A node that takes over the
    work of others takes over their `sources`.

    Attributes:
        name: Name in a pipeline's text, lower case with hyphens.
        summary: One line for `aboard passes`: the rewrite, without a full stop.
        changes_borders: True if inputs and outputs of the model get other types. Such a pass runs on the model only:
            the graphs inside nodes have the borders that their node gives them.
        choices: The values that an option may have, by its name; options that are not named may have any.
        enters_graphs: True if the pass changes graphs inside nodes for what the nodes' operands are: it runs before
            these graphs get their passes.
        requires: Passes that must have run before, and must have nothing left to do when this pass starts.
    """

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    changes_borders: ClassVar[bool] = False
    enters_graphs: ClassVar[bool] = False
    requires: ClassVar[tuple[type[Pass], ...]] = ()

    @abstractmethod
    def run(self, graph: Graph) -> None:
        """Rewrites a graph in place and leaves it valid, with nothing left to do for this pass."""

    @classmethod
    def unlowerable(cls, graph: Graph) -> str | None:  # noqa: ARG003 - for overrides
        """Returns a node that no kernel computes until the pass has run, as `<op> <name>`; None without such a node.

        A pass that only makes code smaller or faster returns None for every graph.
        """
        return None

    @abstractmethod
    def pending(self, graph: Graph) -> str | None:
        """Returns a node that the pass would still change, as `<op> <name>`; None if nothing is left to do."""
