"""Frames of a stream that overlap, as `firmware/frontend/frames.h` cuts them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from aboard.errors import InputError


def frames(stream: npt.NDArray[Any], size: int, hop: int) -> npt.NDArray[Any]:
    """Returns all complete frames of streams, as a view without copies: [..., frames, size].

    Args:
        stream: Values [..., count]; each row is one stream.
        size: Values of a frame, from 1.
        hop: Values from the start of a frame to the start of the next, from 1 to `size`.

    Raises:
        InputError: Size or hop is out of range.
    """
    if size < 1 or not 1 <= hop <= size:
        raise InputError(f"frames, got size {size} and hop {hop}, expected 1 <= hop <= size. Change them")
    if stream.shape[-1] < size:
        return np.zeros((*stream.shape[:-1], 0, size), stream.dtype)
    return np.lib.stride_tricks.sliding_window_view(stream, size, axis=-1)[..., ::hop, :]
