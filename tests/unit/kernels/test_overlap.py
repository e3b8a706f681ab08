from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.kernels.overlap import Reads, SlidingWindow, distance
from aboard.kernels.view import View
from aboard.ops.window import Padding, output_size, reach


@st.composite
def layers(draw: st.DrawFn) -> tuple[SlidingWindow, View, View]:
    size = (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    strides = (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    dilations = (draw(st.integers(1, 2)), draw(st.integers(1, 2)))
    spans = (reach(size[0], dilations[0]), reach(size[1], dilations[1]))
    padding = Padding(*(draw(st.integers(0, spans[axis % 2] - 1)) for axis in range(4)))
    shape = (draw(st.integers(spans[0], 7)), draw(st.integers(spans[1], 6)))
    images, before, after = draw(st.integers(1, 2)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    height, width = output_size(shape, size, strides, padding, dilations)
    x = View.whole((images, *shape, before), 1)
    y = View.whole((images, height, width, after), 1)
    return SlidingWindow(size, strides, padding, images, dilations), x, y


def read_bytes(window: SlidingWindow, x: View, y: View, row: int, col: int) -> set[int]:
    """Every byte of the operand that a pixel of the result reads."""
    out_height, in_height = y.rows // window.images, x.rows // window.images
    image, line = divmod(row, out_height)
    read: set[int] = set()
    for ky in range(window.size[0]):
        for kx in range(window.size[1]):
            iy = line * window.strides[0] - window.padding.top + ky * window.dilations[0]
            ix = col * window.strides[1] - window.padding.left + kx * window.dilations[1]
            if 0 <= iy < in_height and 0 <= ix < x.cols:
                start = (image * in_height + iy) * x.row_stride + ix * x.pixel_stride
                read.update(range(start, start + x.pixel_stride))
    return read


def spoils(window: SlidingWindow, x: View, y: View, reads: Reads, gap: int) -> bool:
    """Plays the kernel in one memory, the operand `gap` bytes after the result; True where a read comes too late."""
    order = [(row, col) for row in range(y.rows) for col in range(y.cols)]
    written_end = 0
    for number, (row, col) in enumerate(order):
        if reads in (Reads.FIRST, Reads.STAGED):
            still_read = order[number + 1 :]
        elif reads is Reads.ROW:
            still_read = [pixel for pixel in order if pixel[0] >= row]
        else:
            late_by = {Reads.PAIR: 1, Reads.FOUR: 3}.get(reads, 0)
            still_read = order[max(number - late_by, 0) :]
        if reads is Reads.STAGED:
            still_read = [pixel for pixel in still_read if pixel[0] > row]
        written_end = (row * y.cols + col + 1) * y.pixel_stride
        late: set[int] = set()
        for pixel in still_read:
            late |= read_bytes(window, x, y, *pixel)
        if reads is Reads.STAGED:
            late -= staged(window, x, y, row)
        if any(byte + gap < written_end for byte in late):
            return True
    return False


def staged(window: SlidingWindow, x: View, y: View, row: int) -> set[int]:
    """Bytes of the operand that a staging kernel has copied when it writes row `row`."""
    out_height, in_height = y.rows // window.images, x.rows // window.images
    image, line = divmod(row, out_height)
    bottom = line * window.strides[0] - window.padding.top + reach(window.size[0], window.dilations[0])
    return set(range((image * in_height + min(max(bottom, 0), in_height)) * x.row_stride))


@given(layers(), st.sampled_from(list(Reads)))
@settings(max_examples=150, deadline=None)
def test_the_distance_is_enough(layer: tuple[SlidingWindow, View, View], reads: Reads) -> None:
    gap = distance(*layer, reads)
    assert gap is not None
    assert not spoils(*layer, reads, gap)


@given(layers(), st.sampled_from([Reads.FIRST, Reads.PIXEL, Reads.ROW]))
@settings(max_examples=100, deadline=None)
def test_no_smaller_distance_would_do_for_windows_of_one_tap(
    layer: tuple[SlidingWindow, View, View], reads: Reads
) -> None:
    window, x, y = layer
    plain = SlidingWindow((1, 1), window.strides, Padding(), window.images)
    height = math.ceil(x.rows // window.images / window.strides[0])
    y = View.whole((window.images, height, math.ceil(x.cols / window.strides[1]), y.channels), 1)
    gap = distance(plain, x, y, reads)
    assert gap is not None
    assert gap == 0 or spoils(plain, x, y, reads, gap - 1)


@pytest.mark.parametrize(
    ("reads", "wanted"),
    [(Reads.STAGED, 0), (Reads.FIRST, 384), (Reads.PIXEL, 448), (Reads.PAIR, 512), (Reads.FOUR, 640), (Reads.ROW, 640)],
)
def test_a_padded_3x3_layer_of_kws(reads: Reads, wanted: int) -> None:
    view = View.whole((1, 25, 5, 64), 1)
    got = distance(SlidingWindow((3, 3), (1, 1), Padding(1, 1, 1, 1), 1), view, view, reads)
    # A row of 320 bytes and a pixel of 64, and what is read late; rounding to alignment is the planner's.
    assert got == wanted


def test_a_slice_of_a_wider_tensor_stays_apart() -> None:
    view = View.whole((1, 4, 4, 8), 1)
    narrow = View(4, 4, 4, 32, 8, 4, 1)
    assert distance(SlidingWindow((1, 1), (1, 1), Padding(), 1), narrow, view, Reads.FIRST) is None
