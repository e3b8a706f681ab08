/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/conv2d.h
 * Convolution of int8 in portable C, for cores without SIMD: the windows of two pixels are copied side by side into a
 * pair of im2col columns, then blocks of four channels of both are computed, so that six loads feed eight products.
 */
#ifndef ABOARD_KERNELS_PORTABLE_CONV2D_H
#define ABOARD_KERNELS_PORTABLE_CONV2D_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "conv2d_window.h"
#include "epilogue.h"
#include "im2col.h"

/** Parameters of aboard_conv2d_s8. */
typedef struct {
    aboard_conv2d_shape_t shape;
    int32_t direct;             /**< 1: a window of 1x1 without padding, read in place. */
    int32_t zero_point;         /**< Zero point of the input, and value of padding. */
    aboard_epilogue_t epilogue; /**< Epilogue of the result. */
} aboard_conv2d_s8_t;

/** Taps computed per iteration of the inner loop, and contiguous taps of one pixel in a pair of im2col columns. */
#define ABOARD_CONV2D_TAPS 8

/** Number of taps that are unrolled. */
#ifdef __OPTIMIZE_SIZE__
#define ABOARD_CONV2D_UNROLL 2
#else
#define ABOARD_CONV2D_UNROLL 8
#endif

/** Makes the compiler finish a value before the following loads. Not on Arm with -Os, where gcc would spill. */
#if defined(__OPTIMIZE_SIZE__) && defined(__arm__)
#define ABOARD_CONV2D_DONE(value) (void)(value)
#else
#define ABOARD_CONV2D_DONE(value) ABOARD_OPAQUE(value)
#endif

/** Taps of a window, padded to a multiple of ABOARD_CONV2D_TAPS. */
ABOARD_INLINE int32_t aboard_conv2d_padded_taps(const aboard_conv2d_shape_t *s) {
    return (aboard_conv2d_taps(s) + ABOARD_CONV2D_TAPS - 1) / ABOARD_CONV2D_TAPS * ABOARD_CONV2D_TAPS;
}

/** Copies one row of a window: `left` is the column of its first tap, which may be outside the input. */
ABOARD_INLINE int8_t *aboard_conv2d_s8_im2col_row(const aboard_conv2d_s8_t *p, const int8_t *row, int32_t left,
                                                  int8_t *column) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t depth = s->in.channels / s->groups;
    if (s->dilation_w == 1 && s->in.pixel_stride == depth) {
        if (left >= 0 && left + s->window_width <= s->in.cols) {
            return aboard_im2col_copy(column, row + left * depth, s->window_width * depth);
        }
        const int32_t before = ABOARD_MIN(ABOARD_MAX(-left, 0), s->window_width);
        const int32_t after = ABOARD_MIN(ABOARD_MAX(left + s->window_width - s->in.cols, 0), s->window_width);
        column = aboard_im2col_fill_shared(column, p->zero_point, before * depth);
        column = aboard_im2col_copy_shared(column, row + (left + before) * depth,
                                           (s->window_width - before - after) * depth);
        return aboard_im2col_fill_shared(column, p->zero_point, after * depth);
    }
    for (int32_t tap = 0; tap < s->window_width; ++tap) {
        const int32_t x = left + tap * s->dilation_w;
        if (x >= 0 && x < s->in.cols) {
            column = aboard_im2col_copy_shared(column, row + x * s->in.pixel_stride, depth);
        } else {
            column = aboard_im2col_fill_shared(column, p->zero_point, depth);
        }
    }
    return column;
}

/** Copies the window of result pixel (row, col); `x` points to the group's first channel. */
ABOARD_INLINE void aboard_conv2d_s8_im2col(const aboard_conv2d_s8_t *p, const int8_t *x, int32_t row, int32_t col,
                                           int8_t *column) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const aboard_conv2d_window_t w = aboard_conv2d_window(s, row, col);
    for (int32_t tap = 0; tap < s->window_height; ++tap) {
        const int32_t y = w.top + tap * s->dilation_h;
        if (y >= 0 && y < s->in_height) {
            const int8_t *from = aboard_row_s8(&s->in, x, w.base + y);
            column = aboard_conv2d_s8_im2col_row(p, from, w.left, column);
        } else {
            column = aboard_im2col_fill_shared(column, p->zero_point, s->window_width * (s->in.channels / s->groups));
        }
    }
}

/** Address of the input pixel of result pixel (row, col) for a window of 1x1. */
ABOARD_INLINE const int8_t *aboard_conv2d_s8_pixel(const aboard_conv2d_shape_t *s, const int8_t *x, int32_t row,
                                                   int32_t col) {
    const int32_t image = aboard_conv2d_image(&s->out, s->out_height, row);
    const int32_t y = image * s->in_height + (row - image * s->out_height) * s->stride_h;
    return aboard_row_s8(&s->in, x, y) + col * s->stride_w * s->in.pixel_stride;
}

/**
 * Copies the window of result pixel (row, col) into one half of a pair of im2col columns.
 *
 * @param pair  Address of the half's first eight taps; eight taps of the other half are between them and the next
 * eight. Elements after the last tap stay unchanged: their weights are 0.
 * @param column Scratch of one im2col column; unused if `direct` is set.
 */
ABOARD_INLINE void aboard_conv2d_s8_half(const aboard_conv2d_s8_t *p, const int8_t *x, int32_t row, int32_t col,
                                         int8_t *pair, int8_t *column) {
    const int8_t *from = column;
    if (p->direct) {
        from = aboard_conv2d_s8_pixel(&p->shape, x, row, col);
    } else {
        aboard_conv2d_s8_im2col(p, x, row, col, column);
    }
    int32_t left = aboard_conv2d_taps(&p->shape);
    for (; left >= ABOARD_CONV2D_TAPS; left -= ABOARD_CONV2D_TAPS) {
        memcpy(pair, from, ABOARD_CONV2D_TAPS);
        pair += 2 * ABOARD_CONV2D_TAPS;
        from += ABOARD_CONV2D_TAPS;
    }
    aboard_im2col_copy(pair, from, left);
}

#if ABOARD_THUMB1

/** Sums of four channels for two pixels, one after the other: there are registers for the sums of one. */
ABOARD_INLINE const int8_t *aboard_conv2d_s8_sums(int32_t taps, const int8_t *pair, const int8_t *weights,
                                                  int32_t *sums) {
    const int8_t *w = weights;
    for (int32_t half = 0; half < 2; ++half) {
        const int8_t *x = pair + half * ABOARD_CONV2D_TAPS;
        int32_t own[4] = {0, 0, 0, 0};
        w = weights;
        for (int32_t left = taps; left > 0; left -= ABOARD_CONV2D_TAPS) {
            ABOARD_UNROLL(ABOARD_CONV2D_UNROLL)
            for (int32_t k = 0; k < ABOARD_CONV2D_TAPS; ++k) {
                const int32_t a = x[k];
                ABOARD_UNROLL(4)
                for (int32_t i = 0; i < 4; ++i) {
                    own[i] += w[i] * a;
                    ABOARD_OPAQUE(own[i]);
                }
                w += 4;
                ABOARD_OPAQUE(w);
            }
            x += 2 * ABOARD_CONV2D_TAPS;
            ABOARD_OPAQUE(x);
        }
        memcpy(sums + 4 * half, own, sizeof(own));
    }
    return w;
}

#else

/** Adds the products of one tap of four channels with two pixels. Each sum is finished before the next tap is loaded,
 * because no registers are free. */
ABOARD_INLINE void aboard_conv2d_s8_tap(int32_t *sums, int32_t a, int32_t b, const int8_t *weights) {
    ABOARD_UNROLL(4)
    for (int32_t i = 0; i < 4; ++i) {
        sums[i] += weights[i] * a;
        sums[4 + i] += weights[i] * b;
        ABOARD_CONV2D_DONE(sums[i]);
        ABOARD_CONV2D_DONE(sums[4 + i]);
    }
}

/**
 * Sums of products of four channels with two pixels.
 *
 * @param taps    Taps of a window, padded to a multiple of ABOARD_CONV2D_TAPS.
 * @param pair    Eight taps of the first pixel, the same taps of the second, the next eight of the first, and so on.
 * @param weights Four weights per tap.
 * @param sums    Sums of the first pixel, then of the second; initially 0.
 * @return End of the weights.
 */
ABOARD_INLINE const int8_t *aboard_conv2d_s8_sums(int32_t taps, const int8_t *pair, const int8_t *weights,
                                                  int32_t *sums) {
    const int8_t *const end = weights + 4 * taps;
    const int8_t *x = pair;
    do {
        ABOARD_UNROLL(ABOARD_CONV2D_UNROLL)
        for (int32_t k = 0; k < ABOARD_CONV2D_TAPS; ++k) {
            aboard_conv2d_s8_tap(sums, x[k], x[ABOARD_CONV2D_TAPS + k], weights + 4 * k);
            ABOARD_CONV2D_DONE(x);
            ABOARD_CONV2D_DONE(weights);
        }
        x += 2 * ABOARD_CONV2D_TAPS;
        weights += 4 * ABOARD_CONV2D_TAPS;
        ABOARD_OPAQUE(x);
        ABOARD_OPAQUE(weights);
    } while (weights != end);
    return weights;
}

#endif

/**
 * Computes all channels of a group for two pixels.
 *
 * @param epilogue    Constants of the layer.
 * @param taps      Taps of a window, padded to a multiple of ABOARD_CONV2D_TAPS.
 * @param channels  Channels of the group.
 * @param pair      Eight taps of the first pixel, the same taps of the second, the next eight of the first, and so on.
 * @param weights   [channels / 4][padded taps][4], padded with zeros.
 * @param constants ABOARD_EPILOGUE_BLOCK words per block of four channels.
 * @param y0, y1    Results; y1 is written before y0 and may be the same.
 */
ABOARD_INLINE void aboard_conv2d_s8_pair(const aboard_epilogue_t *epilogue, int32_t taps, int32_t channels,
                                         const int8_t *pair, const int8_t *weights, const int32_t *constants,
                                         int8_t *y0, int8_t *y1) {
    for (int32_t left = channels; left > 0; left -= 4) {
        int32_t sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        weights = aboard_conv2d_s8_sums(taps, pair, weights, sums);
        aboard_epilogue_block(epilogue, sums + 4, constants, y1, left);
        aboard_epilogue_block(epilogue, sums, constants, y0, left);
        y0 += 4;
        y1 += 4;
        constants += ABOARD_EPILOGUE_BLOCK;
    }
}

/** As aboard_conv2d_s8_pair, not inlined. */
ABOARD_SHARED ABOARD_HOT void aboard_conv2d_s8_pair_shared(const aboard_epilogue_t *epilogue, int32_t taps,
                                                           int32_t channels, const int8_t *pair, const int8_t *weights,
                                                           const int32_t *constants, int8_t *y0, int8_t *y1) {
    aboard_conv2d_s8_pair(epilogue, taps, channels, pair, weights, constants, y0, y1);
}

/**
 * int8 convolution, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Any views, including rolling buffers. In different memory, or the operand starts after the result
 * by at least the minimum in-place offset (host/aboard/kernels/overlap.py).
 * @param weights     Packed, see aboard_conv2d_s8_pair; one group after another.
 * @param constants   Likewise.
 * @param columns     Scratch of twice the padded taps of a window and, unless `direct` is set, its taps.
 * @param first, last Rows [first, last) of the result are computed.
 * @param own         True: the code for products is inlined, so that literal parameters fold into it;
 *                    false: one copy serves all layers of a model.
 */
ABOARD_INLINE void aboard_conv2d_s8_any(const aboard_conv2d_s8_t *p, const int8_t *in, int8_t *out,
                                        const int8_t *weights, const int32_t *constants, int8_t *columns, int32_t first,
                                        int32_t last, bool own) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t channels = s->out.channels / s->groups;
    const int32_t blocks = (channels + 3) / 4;
    const int32_t padded = aboard_conv2d_padded_taps(s);
    for (int32_t group = 0; group < s->groups; ++group) {
        const int8_t *const x = in + group * (s->in.channels / s->groups);
        int8_t *const y = out + group * channels;
        int32_t row = first;
        int32_t col = 0;
        while (row < last) {
            int8_t *results[2] = {NULL, NULL};
            for (int32_t half = 0; half < 2 && row < last; ++half) {
                aboard_conv2d_s8_half(p, x, row, col, columns + half * ABOARD_CONV2D_TAPS, columns + 2 * padded);
                results[half] = aboard_row_out_s8(&s->out, y, row) + col * s->out.pixel_stride;
                if (++col == s->out.cols) {
                    col = 0;
                    ++row;
                }
            }
            /* A single last pixel: the other half contains an earlier pixel, whose results are overwritten at once. */
            int8_t *const second = results[1] ? results[1] : results[0];
            if (own) {
                aboard_conv2d_s8_pair(&p->epilogue, padded, channels, columns, weights, constants, results[0], second);
            } else {
                aboard_conv2d_s8_pair_shared(&p->epilogue, padded, channels, columns, weights, constants, results[0],
                                             second);
            }
        }
        weights += blocks * padded * 4;
        constants += blocks * ABOARD_EPILOGUE_BLOCK;
    }
}

/** int8 convolution, see aboard_conv2d_s8_any: all code is the layer's own. The fastest and largest. */
ABOARD_INLINE void aboard_conv2d_s8_own(const aboard_conv2d_s8_t *p, const int8_t *in, int8_t *out,
                                        const int8_t *weights, const int32_t *constants, int8_t *columns, int32_t first,
                                        int32_t last) {
    aboard_conv2d_s8_any(p, in, out, weights, constants, columns, first, last, true);
}

/** int8 convolution, see aboard_conv2d_s8_any: the layer's own code finds the pixels, shared code computes products. */
ABOARD_INLINE void aboard_conv2d_s8(const aboard_conv2d_s8_t *p, const int8_t *in, int8_t *out, const int8_t *weights,
                                    const int32_t *constants, int8_t *columns, int32_t first, int32_t last) {
    aboard_conv2d_s8_any(p, in, out, weights, constants, columns, first, last, false);
}

/** int8 convolution, see aboard_conv2d_s8_any: one copy of everything for all layers of a model. The smallest. */
ABOARD_SHARED void aboard_conv2d_s8_shared(const aboard_conv2d_s8_t *p, const int8_t *in, int8_t *out,
                                           const int8_t *weights, const int32_t *constants, int8_t *columns,
                                           int32_t first, int32_t last) {
    aboard_conv2d_s8_any(p, in, out, weights, constants, columns, first, last, false);
}

#endif
