"""Pictures in C equal those in numpy; both are near those of scipy."""

from __future__ import annotations

import re
from typing import Any

import cffi
import numpy as np
import pytest

from aboard.errors import InputError
from aboard.frontend import PictureFit
from support import front_end as c_code
from support import markdown

GOLDENS = markdown.CHECKOUT / "tests" / "data" / "frontend" / "picture.npz"
_DRIVER = """
#include "frontend/picture.h"
void bilinear(const aboard_picture_t *p, const uint8_t *in, uint8_t *out);
void bilinear(const aboard_picture_t *p, const uint8_t *in, uint8_t *out) { aboard_picture_bilinear(p, in, out); }
void nearest(const aboard_picture_t *p, const uint8_t *in, uint8_t *out);
void nearest(const aboard_picture_t *p, const uint8_t *in, uint8_t *out) { aboard_picture_nearest(p, in, out); }
"""
_DECLARED = """
void bilinear(const void *p, const void *in, void *out);
void nearest(const void *p, const void *in, void *out);
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with c_code.library(tmp_path_factory.mktemp("picture"), _DRIVER, _DECLARED) as loaded:
        yield loaded


def in_c(function: Any, fit: PictureFit, picture: np.ndarray) -> np.ndarray:
    rows, columns, channels = picture.shape
    assert rows >= fit.top + fit.height
    fields = [channels, columns * channels, fit.left, fit.top, fit.width, fit.height, fit.out_width, fit.out_height]
    parameters, ffi = np.asarray(fields, np.int32), cffi.FFI()
    out = np.full((fit.out_height, fit.out_width, channels), 0xA5, np.uint8)
    function(ffi.from_buffer(parameters), ffi.from_buffer(np.ascontiguousarray(picture)), ffi.from_buffer(out))
    return out


def test_c_equals_numpy(library: Any) -> None:
    rng = np.random.default_rng(0)
    for number in range(300):
        rows, columns, channels = (int(n) for n in (*rng.integers(1, 70, 2), rng.choice([1, 3])))
        picture = rng.integers(0, 256, (rows, columns, channels)).astype(np.uint8)
        picture[...] = picture if number % 3 else 255
        left, top = int(rng.integers(0, columns)), int(rng.integers(0, rows))
        width, height = (int(rng.integers(1, size + 1)) for size in (columns - left, rows - top))
        fit = PictureFit(left, top, width, height, *(int(n) for n in rng.integers(1, 90, 2)))
        np.testing.assert_array_equal(in_c(library.bilinear, fit, picture), fit.bilinear(picture), err_msg=str(fit))
        np.testing.assert_array_equal(in_c(library.nearest, fit, picture), fit.nearest(picture), err_msg=str(fit))


@pytest.mark.parametrize("size", [(4096, 3), (3, 4096), (4096, 4096), (4095, 4096), (4096, 4095)])
def test_the_largest_sizes(library: Any, size: tuple[int, int]) -> None:
    columns, out_columns = size
    picture = np.random.default_rng(1).integers(0, 256, (1, columns, 1)).astype(np.uint8)
    fit = PictureFit(0, 0, columns, 1, out_columns, 2)
    np.testing.assert_array_equal(in_c(library.bilinear, fit, picture), fit.bilinear(picture))
    np.testing.assert_array_equal(in_c(library.nearest, fit, picture), fit.nearest(picture))


@pytest.mark.parametrize(("name", "size"), [("smaller", (20, 16)), ("larger", (60, 80))])
def test_results_are_near_those_of_scipy(name: str, size: tuple[int, int]) -> None:
    with np.load(GOLDENS) as golden:
        picture, fit = golden["picture"], PictureFit(0, 0, 53, 37, *size)
        assert np.abs(fit.bilinear(picture) - golden[f"{name}_bilinear"]).max() < 0.75
        np.testing.assert_array_equal(fit.nearest(picture), golden[f"{name}_nearest"])


def test_what_does_not_fit_is_refused() -> None:
    message = "picture, got a crop of 0 x 4 at (0, 0) for 4 x 4, expected sizes of 1 to 4096 and a place from 0. Change"
    with pytest.raises(InputError, match=re.escape(message)):
        PictureFit(0, 0, 0, 4, 4, 4)
    fit = PictureFit(2, 0, 4, 4, 2, 2)
    message = "pictures, got uint8[4, 5, 1], expected uint8 [..., rows, columns, channels] with at least 4 rows and 6"
    with pytest.raises(InputError, match=re.escape(message)):
        fit.bilinear(np.zeros((4, 5, 1), np.uint8))
