"""Geometry of kernels that process operand and result element by element."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from aboard.ir import DType
from aboard.kernels.view import View

#: What names of C functions call the element types they take.
SUFFIXES = {
    DType.INT8: "s8",
    DType.UINT8: "u8",
    DType.INT16: "s16",
    DType.INT32: "s32",
    DType.UINT32: "u32",
    DType.INT64: "s64",
    DType.UINT64: "u64",
    DType.FLOAT32: "f32",
    DType.BOOL: "bool",
}


def present(views: Sequence[View | None]) -> list[View]:
    """Returns the views of operands that must all be present.

    Raises:
        ValueError: An operand is absent.
    """
    known = [view for view in views if view is not None]
    if len(known) != len(views):
        raise ValueError("an operand is absent")
    return known


def is_run(view: View) -> bool:
    """True if the pixels of a row are contiguous."""
    return view.cols == 1 or view.pixel_stride == view.channels * view.element_bytes


def joined(*views: View) -> list[View]:
    """Returns views of the same rows, with all pixels of a row joined to one if no view has gaps between pixels.

    One loop over many elements is cheaper than many loops over few.

    Args:
        views: Views with the same rows, cols and channels; element types may differ.
    """
    if not all(is_run(view) for view in views):
        return list(views)
    return [join(view) for view in views]


def join(view: View) -> View:
    """Returns a view without gaps between its pixels with all pixels of a row joined to one."""
    channels = view.cols * view.channels
    return dataclasses.replace(view, cols=1, channels=channels, pixel_stride=channels * view.element_bytes)
