"""Models of 1x1 expansions, depthwise layers and 1x1 projections, as in MobileNetV2, and how little RAM they need."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import aboard
from aboard.errors import CapacityError
from support.channel_models import ChannelModel
from support.image_models import global_average


class Live(ChannelModel):
    """A model without channels that are dead, constant or equal."""

    def planted(self, outputs: int, taps: int, inputs: int) -> tuple[np.ndarray, np.ndarray]:
        weights = self.rng.integers(-20, 21, (outputs, taps, inputs)).astype(np.int8)
        return weights, self.rng.integers(-500, 500, outputs).astype(np.int32)


def inverted(seed: int, window: int = 3, size: int = 20) -> ChannelModel:
    """Returns a model of two inverted residual blocks over an image of [size, size, 3]."""
    model = Live(seed, (1, size, size, 3))
    model.conv(8, (3, 3), 2)
    for stride in (1, 2):
        model.conv(48, (1, 1))
        model.depthwise(1, (window, window), stride)
        model.conv(8, (1, 1))
    global_average(model)
    return model


@cache
def least(data: bytes, target: str) -> int:
    """Returns the smallest `-ram-max` of a model, as its error states it."""
    with pytest.raises(CapacityError) as caught:
        aboard.compile(data, target=f"{target} -ram-max=16", name="model")
    assert caught.value.least_bytes is not None
    return caught.value.least_bytes
