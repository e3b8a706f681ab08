"""One side of a comparison after its runs: the network, and the real numbers that its tensors had for each sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from aboard.check.compare.real_graph import RealGraph
from aboard.check.compare.real_numbers import Reals
from aboard.ops import registry


@dataclass(frozen=True)
class Recording:
    """A side after its runs.

    Attributes:
        label: The model and what ran it, for messages.
        network: The network.
        samples: For each sample the known values by key: entries, and the results that what ran the model shows.
    """

    label: str
    network: RealGraph
    samples: Sequence[Mapping[str, Reals]]

    def known(self, key: str) -> bool:
        """True if the value is known for every sample."""
        return all(key in sample for sample in self.samples)

    def completed(self, *, only_moves: bool = False) -> Recording:
        """Returns the same with values that what ran the model does not show, as its operators give them.

        Args:
            only_moves: Add no values but those of operators that move others, which compute nothing.
        """
        found = list[Mapping[str, Reals]]()
        constants = {key: value.constant for key, value in self.network.values.items() if value.constant is not None}
        for sample in self.samples:
            values = {**constants, **sample}
            for node in self.network.nodes:
                wanted = registry.get(node.op).moves_data or not only_moves
                known = wanted and all(key is None or key in values for key in node.inputs)
                if known and not all(key in values for key in node.outputs):
                    results = node.evaluate([None if key is None else values[key] for key in node.inputs])
                    values = {**dict(zip(node.outputs, results, strict=True)), **values}
            found.append({key: value for key, value in values.items() if key not in constants})
        return replace(self, samples=found)
