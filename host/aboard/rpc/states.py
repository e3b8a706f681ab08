"""The state of a model on a device: what a run leaves for the next one, value by value.

A device of a version before 1.3 of the protocol runs models with state, but does not give it to a host.
"""

from __future__ import annotations

from collections.abc import Sequence

from aboard.errors import ProtocolError
from aboard.rpc.client import Client
from aboard.rpc.messages import BUILD_AGAIN, ResetStateRequest, TensorKind

#: First minor version of the protocol with state.
_MINOR = 3


def read(client: Client, model: int, sizes: Sequence[int]) -> list[bytes]:
    """Returns the states of a model.

    Args:
        client: The line to the device.
        model: Number of the model.
        sizes: Bytes of each state, in the order of the model.

    Raises:
        ProtocolError: The device speaks a version of the protocol without state.
    """
    _require(client)
    return [client.read_tensor(model, TensorKind.STATE, index, size) for index, size in enumerate(sizes)]


def write(client: Client, model: int, values: Sequence[bytes]) -> None:
    """Writes all states of a model, in the order of the model; errors as for `read`."""
    _require(client)
    for index, data in enumerate(values):
        client.write_tensor(model, TensorKind.STATE, index, data)


def reset(client: Client, model: int) -> None:
    """Gives every state of a model its initial value; errors as for `read`."""
    _require(client)
    client.call(ResetStateRequest(model))


def _require(client: Client) -> None:
    hello = client.hello
    if hello.minor < _MINOR:
        raise ProtocolError(
            f"{client.name}: its firmware does not give state to a host, got version {hello.major}.{hello.minor} of "
            f"the protocol, expected {hello.major}.{_MINOR} or later. {BUILD_AGAIN}"
        )
