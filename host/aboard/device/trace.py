"""Rebuilds the tensors of a run from the pieces of rows that the device sends while it runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from aboard.base.manifest_records import NodeRecord
from aboard.device import tensor_layout
from aboard.device.tensor_io import Values
from aboard.errors import ProtocolError
from aboard.rpc.replies import TraceEvent


class TraceCollector:
    """Gathers the trace of some nodes, over as many runs of the same inputs as it takes.

    A run gives the same bytes every time, so what a later run sends fills what the line lost of an earlier one.
    """

    def __init__(self, nodes: Sequence[NodeRecord], wanted: Iterable[int]) -> None:
        """Prepares the collection.

        Args:
            nodes: All nodes of the model.
            wanted: Indices of those to collect.
        """
        self._nodes = nodes
        self._data = {
            (index, output): bytearray(tensor_layout.dense_bytes(operand))
            for index in sorted(set(wanted))
            for output, operand in enumerate(nodes[index].outputs)
        }
        self._missing = {key: np.ones(len(data), np.bool_) for key, data in self._data.items()}

    def take(self, event: TraceEvent) -> bool:
        """Puts a piece in its place.

        Returns:
            False when it was there already, or is of no node that is collected.

        Raises:
            ProtocolError: The piece does not fit the manifest.
        """
        key = (event.node, event.output)
        if key not in self._data:
            return False
        start = event.row * event.row_bytes + event.offset
        end = start + len(event.data)
        rows, cols, _ = tensor_layout.rows_of(self._nodes[event.node].outputs[event.output])
        size = len(self._data[key])
        if event.row_bytes * rows != size or end > size:
            raise ProtocolError(
                f"trace of {self._nodes[event.node].name}: does not fit the manifest, got {event.row_bytes} bytes "
                f"in row {event.row}, expected {rows} rows of {cols} pixels in {size} bytes. Build the project again"
            )
        is_new = bool(self._missing[key][start:end].any())
        self._data[key][start:end] = event.data
        self._missing[key][start:end] = False
        return is_new

    def missing(self) -> list[int]:
        """Returns the indices of the nodes that are not complete, in order."""
        return sorted({node for (node, _), missing in self._missing.items() if missing.any()})

    def results(self) -> dict[int, dict[str, Values]]:
        """Returns the tensors of every node by tensor name, in their reference shapes (`operands.widen`)."""
        results: dict[int, dict[str, Values]] = {}
        for (index, output), data in self._data.items():
            operand = self._nodes[index].outputs[output]
            results.setdefault(index, {})[operand.tensor] = tensor_layout.widen(bytes(data), operand)
        return results
