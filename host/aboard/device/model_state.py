"""The state of a model on a device: what a run leaves for the next one, as arrays by name."""

from __future__ import annotations

from collections.abc import Mapping

import numpy.typing as npt

from aboard.base.manifest import Manifest
from aboard.device import tensor_io
from aboard.device.connection import Connection
from aboard.device.tensor_io import Values
from aboard.rpc import states


class ModelState:
    """The state of one model of a device. A model without state has an empty one, which needs no request."""

    def __init__(self, connection: Connection, number: int, manifest: Manifest) -> None:
        """Takes the model's number on the device, and its manifest."""
        self._connection = connection
        self._number = number
        self._manifest = manifest

    def read(self) -> dict[str, Values]:
        """Returns the values by name."""
        return tensor_io.decode(self.save(), self._manifest.states)

    def write(self, values: Mapping[str, npt.ArrayLike]) -> None:
        """Replaces all values.

        Raises:
            InputError: A name, shape or type is wrong. Nothing has been written then.
        """
        self.restore(tensor_io.encode_states(values, self._manifest.states, self._manifest.name))

    def reset(self) -> None:
        """Gives every value its initial one."""
        if self._manifest.states:
            with self._connection.guard():
                states.reset(self._connection.client, self._number)

    def save(self) -> list[bytes]:
        """Returns the bytes of the values, for `restore`."""
        records = self._manifest.states
        if not records:
            return []
        with self._connection.guard():
            return states.read(self._connection.client, self._number, [record.bytes for record in records])

    def restore(self, saved: list[bytes]) -> None:
        """Writes what `save` returned."""
        if saved:
            with self._connection.guard():
                states.write(self._connection.client, self._number, saved)
