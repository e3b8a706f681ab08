"""One side of a comparison after its runs: the network, and the real numbers that its tensors had for each sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aboard.check.compare.real_graph import RealGraph, Reals


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
