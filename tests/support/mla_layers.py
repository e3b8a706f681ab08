"""Random layers that kernels with MLA take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from aboard.target import Target
from support import dsp_layers
from support.kernel_layers import KernelLayers
from support.weighted_models import Layer


def _drawn(kind: str) -> st.SearchStrategy[Layer]:
    """Draws strides, paddings, batches, groups, dilations, any number of channels, any finish.

    Without groups of one channel, which become depthwise layers where these are cheaper.
    """
    return dsp_layers.drawn(kind).filter(lambda layer: layer.shape_weights[-1] > 1 or layer.shape_in[-1] == 1)


_TARGET = Target("c -mcpu=cortex-m3 -runtime=standalone")
KERNELS = KernelLayers("mla_s8", _TARGET, ("CONV_2D", "FULLY_CONNECTED"), _drawn)

#: Matrices whose loop over channels is in assembly.
ROWS = KernelLayers("mla_rows_s8", _TARGET, ("FULLY_CONNECTED",), _drawn)


@dataclass
class _Extreme(Layer):
    """A convolution of 1x1 whose weights repeat a pattern, and whose inputs are the smallest and the largest int8.

    Attributes:
        pattern: Weights of neighbouring taps.
    """

    pattern: tuple[int, ...] = (127,)

    @property
    def weights(self) -> np.ndarray:
        return np.resize(np.array(self.pattern, np.int8), self.shape_weights)

    def input(self) -> np.ndarray:
        x = np.full(self.shape_in, -128, np.int8)
        x[:, ::2] = 127
        return x


def extreme(taps: int, sign: int) -> _Extreme:
    """Returns a layer of which pairs of products are as large as they get, of the same or of alternating sign.

    Args:
        taps: Input channels.
        sign: 1 if all weights are 127, -1 if they are all -127.
    """
    shapes, options = ((1, 4, 1, taps), (4, 1, 1, taps), (1, 4, 1, 4)), {"Padding": "VALID"}
    options = {**options, "StrideH": 1, "StrideW": 1}
    return _Extreme("CONV_2D", *shapes, 0, options, bias=False, zero_point_in=0, pattern=(127 * sign,))
