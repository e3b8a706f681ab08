"""What sums of two products in a word need (`firmware/kernels/portable/two_pixels.h`)."""

from __future__ import annotations

import numpy as np

from aboard.ir import Array
from aboard.kernels.weights import padded

#: Most that two weights may have as sum of their absolute values: products with -128 to 127 are then below 2**15.
_MOST = 255


def refusal(matrix: Array) -> str | None:
    """Returns why the weights of a layer, [channels, taps], are not for sums of two products; None if they are."""
    pairs = np.abs(padded(matrix.T, 2).T.astype(np.int64)).reshape(len(matrix), -1, 2).sum(2)
    return None if pairs.max() <= _MOST else f"two weights are {pairs.max()} together, more than {_MOST}"
