"""Geometry of kernels that go through operand and result element by element."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from aboard.kernels.contract import View


def present(views: Sequence[View | None]) -> list[View]:
    """Returns views of operands that must all be present.

    Raises:
        ValueError: One is absent.
    """
    known = [view for view in views if view is not None]
    if len(known) != len(views):
        raise ValueError("an operand is absent")
    return known


def is_run(view: View) -> bool:
    """True when the pixels of a row follow one another without gaps."""
    return view.cols == 1 or view.pixel_stride == view.channels * view.element_bytes


def joined(*views: View) -> list[View]:
    """Returns views of the same rows with all pixels of a row joined to one, where no view has gaps between them.

    One loop over many elements is cheaper than many loops over few.

    Args:
        views: Of the same rows, cols and channels; element types may differ.
    """
    if not all(is_run(view) for view in views):
        return list(views)
    return [join(view) for view in views]


def join(view: View) -> View:
    """Returns a view without gaps between its pixels with all pixels of a row joined to one."""
    channels = view.cols * view.channels
    return dataclasses.replace(view, cols=1, channels=channels, pixel_stride=channels * view.element_bytes)
