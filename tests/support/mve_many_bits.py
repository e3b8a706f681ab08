"""Depthwise layers for Helium whose sums have up to 30 bits."""

from __future__ import annotations

import itertools
import math

import numpy as np
from typing_extensions import override

from support.mve_layers import depthwise
from support.weighted_models import Layer


class ManyBits(Layer):
    """A layer with two roundings, a first channel that has one of them, and a last channel with sums of 30 bits."""

    @property
    @override
    def _positive_scales(self) -> np.ndarray:
        scales = super()._positive_scales
        scales[0], scales[-1] = 7 * scales[1:-1].mean(), 2.0**-21 * scales[-1]
        return scales


def layers() -> list[Layer]:
    """Returns depthwise layers of packed words, of each form."""
    sizes = [
        ((9, 8), (3, 3), "SAME"),
        ((9, 12), (4, 4), "SAME"),
        ((30, 3), (5, 1), "VALID"),
        ((13, 12), (7, 6), "SAME"),
    ]
    layers = [depthwise(size, window, 20, padding) for size, window, padding in sizes]
    return [
        ManyBits(**{**vars(layer), "outlier": outlier, "spread": 0.15 / math.sqrt(math.prod(layer.shape_weights[1:3]))})
        for layer, outlier in itertools.product(layers, [-(1 << 29) + 77, (1 << 29) + 12345])
    ]
