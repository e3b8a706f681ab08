"""Models of depthwise and 1x1 layers, whose results on Cortex-M55 lie over the rows or pixels that they read."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from support.channel_models import ChannelModel
from support.image_models import global_average


class _Plain(ChannelModel):
    """Layers all of whose channels count, without limits."""

    @override
    def planted(self, outputs: int, taps: int, inputs: int) -> tuple[np.ndarray, np.ndarray]:
        weights = self.rng.integers(-127, 128, (outputs, taps, inputs))
        return weights.astype(np.int8), self.rng.integers(-4000, 4001, outputs).astype(np.int32)

    @override
    def _activation(self) -> dict[str, str]:
        return {"FusedActivationFunction": "NONE"}


def chain(seed: int, size: tuple[int, int], channels: int, window: tuple[int, int] = (3, 3)) -> bytes:
    """Returns a model of a convolution, depthwise and 1x1 layers, and an average.

    Args:
        seed: Of weights and scales.
        size: Rows and columns of all images.
        channels: Of all but the first image.
        window: Of depthwise layers.
    """
    model = _Plain(seed, (1, *size, 1))
    model.conv(channels, (5, 3), 1)
    for _ in range(3):
        model.depthwise(1, window)
        model.conv(channels, (1, 1))
    global_average(model)
    return model.build()


def column(seed: int) -> bytes:
    """Returns a model of depthwise and 1x1 layers of an image of one column, which shrinks.

    Args:
        seed: Of weights and scales.
    """
    model = _Plain(seed, (1, 30, 1, 40))
    for window, channels in ((3, 128), (5, 128), (10, 64)):
        model.depthwise(1, (window, 1), padding="VALID")
        model.conv(channels, (1, 1))
    global_average(model)
    return model.build()
