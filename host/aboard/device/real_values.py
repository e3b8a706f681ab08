"""Between real numbers and the integers of a model's inputs and outputs: real = scale * (integer - zero point).

`aboard.ops.quantize` is the same for the graph; a test compares them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from aboard.base.manifest_records import TensorRecord

#: Beyond this many steps every integer of 16 bits has saturated.
_MOST_STEPS = 2.0**20


def is_quantised(record: TensorRecord) -> bool:
    """True if integers with a scale are stored."""
    return record.scale is not None and np.dtype(record.dtype).kind in "iu"


def quantised(values: npt.NDArray[np.generic], record: TensorRecord) -> npt.NDArray[np.generic]:
    """Returns the integers nearest to real numbers, as `<model>_quantize_input()` of the C header does.

    Values out of range become the ends of the range, and NaN its lowest value. Ties go away from the zero point, or to
    even for a model compiled with `-arithmetic=exact`.

    Args:
        values: Numbers, of any shape.
        record: A tensor with a scale.
    """
    info = np.iinfo(record.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        steps = values.astype(np.float32) / np.float32(record.scale or 1.0)
    steps = np.clip(np.nan_to_num(steps, nan=-_MOST_STEPS), -_MOST_STEPS, _MOST_STEPS).astype(np.float64)
    away = np.trunc(steps) + np.sign(steps) * (np.abs(steps - np.trunc(steps)) >= 0.5)
    nearest = np.rint(steps) if record.rounding == "exact" else away
    return np.asarray(np.clip(nearest + (record.zero_point or 0), info.min, info.max).astype(record.dtype))


def real(values: npt.NDArray[np.generic], record: TensorRecord) -> npt.NDArray[np.float32]:
    """Returns what the integers of a tensor with a scale stand for."""
    centred = values.astype(np.int64) - (record.zero_point or 0)
    return np.asarray(np.float32(record.scale or 1.0) * centred.astype(np.float32), np.float32)
