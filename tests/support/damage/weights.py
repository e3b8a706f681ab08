"""Faults in arrays of weights."""

from __future__ import annotations

import itertools

import numpy as np


def transposed(array: np.ndarray, rng: np.random.Generator) -> tuple[tuple[int, ...], np.ndarray] | None:
    """Returns the array as if its values had been stored in another order of axes, and that order.

    The shape stays, as a reader has it that takes `HWIO` for `OHWI`. None if the drawn order changes no value.
    """
    orders = list(itertools.permutations(range(array.ndim)))[1:]
    order = orders[int(rng.integers(len(orders)))]
    values = np.ascontiguousarray(array.transpose(order)).reshape(array.shape)
    return None if np.array_equal(values, array) else (order, values)


def scaled(
    array: np.ndarray, axis: int | None, rng: np.random.Generator, factor: float
) -> tuple[int | None, np.ndarray]:
    """Returns floats multiplied by a factor, and the only channel that was multiplied or None for all.

    Args:
        array: Weights, or scales of weights.
        axis: Axis of output channels; None to multiply all.
        rng: Draws between all channels and one.
        factor: The factor.
    """
    values = array.copy()
    if axis is None or array.shape[axis] == 1 or rng.random() < 0.5:
        values *= np.float32(factor)
        return None, values
    channel = int(rng.integers(array.shape[axis]))
    values[(slice(None),) * axis + (channel,)] *= np.float32(factor)
    return channel, values


def of_channels(channel: int | None) -> str:
    """Returns the end of a form's name."""
    return "of all channels" if channel is None else "of one channel"
