"""The memory that a transfer reads or writes: runs of bytes, in groups that a DMA engine copies at once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

from aboard.tiling.tiles import Transfer


class RunGroup(NamedTuple):
    """Runs of equal length at equal distances.

    Attributes:
        offset: Bytes from the start of the tensor, or of its packed parameters, to the first run.
        bytes: Bytes of a run.
        repeats: Number of runs.
        stride: Bytes from the start of a run to the start of the next; 0 for a single run.
    """

    offset: int
    bytes: int
    repeats: int
    stride: int


def runs(transfer: Transfer) -> list[RunGroup]:
    """Returns the memory of the part of a tensor that a tile transfers, in the order of the part in the scratchpad.

    The tensor is stored whole and without gaps, as at the border of a region. Of packed parameters, each output channel
    has as many bytes as the next.
    """
    if transfer.parameters:
        ((start,), (stop,)) = transfer.box.start, transfer.box.stop
        return [RunGroup(start * (transfer.bytes // (stop - start)), transfer.bytes, 1, 0)]
    groups: list[RunGroup] = []
    size = transfer.bytes // math.prod(_outer(transfer))
    for offset in _offsets(transfer):
        last = groups[-1] if groups else None
        if last is not None and (last.repeats == 1 or offset == last.offset + last.repeats * last.stride):
            stride = offset - last.offset if last.repeats == 1 else last.stride
            groups[-1] = RunGroup(last.offset, size, last.repeats + 1, stride)
        else:
            groups.append(RunGroup(offset, size, 1, 0))
    return groups


def _outer(transfer: Transfer) -> tuple[int, ...]:
    """Returns the sizes of the axes outside of a run, which ends at the last axis that is not whole."""
    sizes, extents = transfer.box.shape, transfer.tensor.shape
    axis = len(sizes)
    while axis > 0:
        axis -= 1
        if sizes[axis] != extents[axis]:
            break
    return sizes[:axis]


def _offsets(transfer: Transfer) -> Iterator[int]:
    """Yields the bytes from the start of the tensor to each run."""
    shape, element = transfer.tensor.shape, transfer.tensor.dtype.bytes
    strides = [element * math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    first = sum(start * stride for start, stride in zip(transfer.box.start, strides, strict=True))
    for index in itertools.product(*map(range, _outer(transfer))):
        yield first + sum(place * stride for place, stride in zip(index, strides, strict=False))
