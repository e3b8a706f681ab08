/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/conv2d_s16.h
 * Convolution of int16 with int8 weights in portable C.
 *
 * The windows of two pixels are copied into im2col columns, unless windows are single pixels, then blocks of four
 * channels of both are computed, so that six loads feed eight products. Sums have 32 bits; if a window has too many
 * taps for such a sum, its parts are summed in 64 bits.
 */
#ifndef ABOARD_KERNELS_PORTABLE_CONV2D_S16_H
#define ABOARD_KERNELS_PORTABLE_CONV2D_S16_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "conv2d_window.h"
#include "epilogue_s16.h"
#include "im2col.h"

/** Parameters of aboard_conv2d_s16. */
typedef struct {
    aboard_conv2d_shape_t shape;
    int32_t direct; /**< 1: a window of 1x1 without padding, read in place. */
    int32_t chunk;  /**< Number of taps whose products fit a 32-bit sum; at most the taps of a window. */
    aboard_epilogue_s16_t epilogue; /**< Epilogue of the result. */
} aboard_conv2d_s16_t;

/** Copies one row of a window; the part outside the input is 0. */
ABOARD_INLINE int16_t *aboard_conv2d_s16_gather_row(const aboard_conv2d_shape_t *s, const int16_t *row, int32_t left,
                                                    int16_t *column) {
    const int32_t depth = s->in.channels / s->groups;
    const int32_t pixel = s->in.pixel_stride / (int32_t)sizeof(int16_t);
    const int32_t bytes = depth * (int32_t)sizeof(int16_t);
    if (s->dilation_w == 1 && pixel == depth) {
        const int32_t before = ABOARD_MIN(ABOARD_MAX(-left, 0), s->window_width);
        const int32_t behind = ABOARD_MAX(left + s->window_width - s->in.cols, 0);
        const int32_t after = ABOARD_MIN(behind, s->window_width - before);
        int8_t *to = aboard_im2col_fill_shared((int8_t *)column, 0, before * bytes);
        to = aboard_im2col_copy_shared(to, (const int8_t *)(row + (left + before) * depth),
                                       (s->window_width - before - after) * bytes);
        aboard_im2col_fill_shared(to, 0, after * bytes);
        return column + s->window_width * depth;
    }
    for (int32_t tap = 0; tap < s->window_width; ++tap) {
        const int32_t x = left + tap * s->dilation_w;
        if (x >= 0 && x < s->in.cols) {
            aboard_im2col_copy_shared((int8_t *)column, (const int8_t *)(row + x * pixel), bytes);
        } else {
            aboard_im2col_fill_shared((int8_t *)column, 0, bytes);
        }
        column += depth;
    }
    return column;
}

/** Copies the window of result pixel (row, col); `x` points to the group's first channel. */
ABOARD_INLINE void aboard_conv2d_s16_gather(const aboard_conv2d_shape_t *s, const int16_t *x, int32_t row, int32_t col,
                                            int16_t *column) {
    const aboard_conv2d_window_t w = aboard_conv2d_window(s, row, col);
    const int32_t width = s->window_width * (s->in.channels / s->groups);
    for (int32_t tap = 0; tap < s->window_height; ++tap) {
        const int32_t y = w.top + tap * s->dilation_h;
        if (y >= 0 && y < s->in_height) {
            const int16_t *from = aboard_row_s16(&s->in, x, w.base + y);
            column = aboard_conv2d_s16_gather_row(s, from, w.left, column);
        } else {
            aboard_im2col_fill_shared((int8_t *)column, 0, width * (int32_t)sizeof(int16_t));
            column += width;
        }
    }
}

/** Address of the input pixel of result pixel (row, col) for a window of 1x1. */
ABOARD_INLINE const int16_t *aboard_conv2d_s16_pixel(const aboard_conv2d_shape_t *s, const int16_t *x, int32_t row,
                                                     int32_t col) {
    const int32_t image = aboard_conv2d_image(&s->out, s->out_height, row);
    const int32_t y = image * s->in_height + (row - image * s->out_height) * s->stride_h;
    return aboard_row_s16(&s->in, x, y) + col * s->stride_w * (s->in.pixel_stride / (int32_t)sizeof(int16_t));
}

/** Adds the products of one tap of four channels with two pixels. */
ABOARD_INLINE void aboard_conv2d_s16_tap(int32_t *sums, int32_t a, int32_t b, const int8_t *weights) {
    ABOARD_UNROLL(4)
    for (int32_t i = 0; i < 4; ++i) {
        sums[i] += weights[i] * a;
        sums[4 + i] += weights[i] * b;
    }
}

/** Adds the products of `taps` taps of four channels with two pixels to eight sums. */
ABOARD_INLINE void aboard_conv2d_s16_sums(int32_t *sums, const int16_t *a, const int16_t *b, const int8_t *weights,
                                          int32_t taps) {
    const int8_t *const end = weights + 4 * (taps & ~3);
    while (weights != end) {
        ABOARD_UNROLL(4)
        for (int32_t k = 0; k < 4; ++k) {
            aboard_conv2d_s16_tap(sums, a[k], b[k], weights + 4 * k);
        }
        a += 4;
        b += 4;
        weights += 16;
        ABOARD_OPAQUE(a);
        ABOARD_OPAQUE(b);
        ABOARD_OPAQUE(weights);
    }
    for (int32_t k = 0; k < (taps & 3); ++k) {
        aboard_conv2d_s16_tap(sums, a[k], b[k], weights + 4 * k);
    }
}

/**
 * Computes all channels of a group for two pixels. Not inlined: one copy serves all layers of a model.
 *
 * @param p         Parameters.
 * @param a, b      Taps of the windows of both pixels.
 * @param weights   [channels / 4][taps][4], padded with zeros.
 * @param constants Constants of each channel, see aboard_epilogue_s16.
 * @param y0, y1    Results; y1 is written before y0 and may be the same.
 */
ABOARD_SHARED ABOARD_HOT void aboard_conv2d_s16_pair(const aboard_conv2d_s16_t *p, const int16_t *a, const int16_t *b,
                                                     const int8_t *weights, const int32_t *constants, int16_t *y0,
                                                     int16_t *y1) {
    const int32_t taps = aboard_conv2d_taps(&p->shape);
    const int32_t words = aboard_s16_words(p->epilogue.form);
    for (int32_t left = p->shape.out.channels / p->shape.groups; left > 0; left -= 4) {
        int64_t totals[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        for (int32_t done = 0; done < taps; done += p->chunk) {
            int32_t sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
            const int32_t now = ABOARD_MIN(p->chunk, taps - done);
            aboard_conv2d_s16_sums(sums, a + done, b + done, weights, now);
            weights += 4 * now;
            for (int32_t i = 0; i < 8; ++i) {
                totals[i] += sums[i];
            }
        }
        for (int32_t i = 0; i < ABOARD_MIN(left, 4); ++i) {
            *y1++ = aboard_epilogue_s16(&p->epilogue, totals[4 + i], constants + i * words);
            *y0++ = aboard_epilogue_s16(&p->epilogue, totals[i], constants + i * words);
        }
        constants += 4 * words;
    }
}

/**
 * Convolution of int16, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Any views, including rolling buffers. In different memory, or the operand starts after the result
 * by at least the minimum in-place offset (host/aboard/kernels/overlap.py).
 * @param weights     Packed, see aboard_conv2d_s16_pair; one group after another.
 * @param constants   Likewise, for whole blocks of four channels.
 * @param columns     Scratch of twice the taps of a window; unused if `direct` is set.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_conv2d_s16(const aboard_conv2d_s16_t *p, const int16_t *in, int16_t *out,
                                     const int8_t *weights, const int32_t *constants, int16_t *columns, int32_t first,
                                     int32_t last) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t channels = s->out.channels / s->groups;
    const int32_t taps = aboard_conv2d_taps(s);
    for (int32_t group = 0; group < s->groups; ++group) {
        const int16_t *const x = in + group * (s->in.channels / s->groups);
        int16_t *const y = out + group * channels;
        int32_t row = first;
        int32_t col = 0;
        while (row < last) {
            const int16_t *windows[2] = {columns, columns};
            int16_t *results[2] = {NULL, NULL};
            for (int32_t half = 0; half < 2 && row < last; ++half) {
                if (p->direct) {
                    windows[half] = aboard_conv2d_s16_pixel(s, x, row, col);
                } else {
                    windows[half] = columns + half * taps;
                    aboard_conv2d_s16_gather(s, x, row, col, columns + half * taps);
                }
                results[half] = aboard_row_out_s16(&s->out, y, row) + col * (s->out.pixel_stride / 2);
                if (++col == s->out.cols) {
                    col = 0;
                    ++row;
                }
            }
            /* A last single pixel is computed twice. */
            const bool single = results[1] == NULL;
            aboard_conv2d_s16_pair(p, windows[0], single ? windows[0] : windows[1], weights, constants, results[0],
                                   single ? results[0] : results[1]);
        }
        weights += (channels + 3) / 4 * taps * 4;
        constants += (channels + 3) / 4 * 4 * aboard_s16_words(p->epilogue.form);
    }
}

#endif
