/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/depthwise_conv2d_s16.h
 * Depthwise convolution of int16 with int8 weights in portable C: one pixel at a time, with all its channels. Taps in
 * the padding are left out.
 */
#ifndef ABOARD_KERNELS_PORTABLE_DEPTHWISE_CONV2D_S16_H
#define ABOARD_KERNELS_PORTABLE_DEPTHWISE_CONV2D_S16_H

#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "depthwise_conv2d.h"
#include "epilogue_s16.h"

/** Parameters of aboard_depthwise_conv2d_s16. */
typedef struct {
    aboard_depthwise_conv2d_shape_t shape;
    aboard_epilogue_s16_t epilogue; /**< Epilogue of the result. */
} aboard_depthwise_conv2d_s16_t;

/** Taps [first, last) of a window along one axis that are within the input. */
typedef struct {
    int32_t first;
    int32_t last;
} aboard_depthwise_taps_t;

/** Returns the taps within `size` pixels of a window that begins at `start`. */
ABOARD_INLINE aboard_depthwise_taps_t aboard_depthwise_taps(int32_t start, int32_t taps, int32_t dilation,
                                                            int32_t size) {
    const int32_t before = start < 0 ? (-start + dilation - 1) / dilation : 0;
    const int32_t within = start < size ? (size - start + dilation - 1) / dilation : 0;
    const aboard_depthwise_taps_t seen = {before, ABOARD_MIN(taps, within)};
    return seen;
}

/** The part of a window within the input. */
typedef struct {
    aboard_depthwise_taps_t rows;
    aboard_depthwise_taps_t cols;
    int32_t top;  /**< Row of the first tap, relative to the input's view; may be before the image. */
    int32_t left; /**< Column of the first tap. */
} aboard_depthwise_s16_window_t;

/** The window of result pixel (r, col). */
ABOARD_INLINE aboard_depthwise_s16_window_t aboard_depthwise_s16_window(const aboard_depthwise_conv2d_shape_t *s,
                                                                        int32_t r, int32_t col) {
    const int32_t image = s->out.rows == s->out_height ? 0 : r / s->out_height;
    const int32_t top = (r - image * s->out_height) * s->stride_h - s->pad_top;
    const int32_t left = col * s->stride_w - s->pad_left;
    const aboard_depthwise_s16_window_t window = {
        aboard_depthwise_taps(top, s->window_height, s->dilation_h, s->in_height),
        aboard_depthwise_taps(left, s->window_width, s->dilation_w, s->in.cols),
        image * s->in_height + top,
        left,
    };
    return window;
}

/** Sum of the products of one channel; rows of a window fit 32 bits, which the host has proven. */
ABOARD_INLINE int64_t aboard_depthwise_s16_sum(const aboard_depthwise_conv2d_shape_t *s,
                                               const aboard_depthwise_s16_window_t *w, const int16_t *in,
                                               int32_t channel, const int8_t *weights, bool is_short) {
    const int32_t step = s->dilation_w * (s->in.pixel_stride / (int32_t)sizeof(int16_t));
    const int32_t count = w->cols.last - w->cols.first;
    const int32_t offset = w->left * (s->in.pixel_stride / (int32_t)sizeof(int16_t)) + w->cols.first * step + channel;
    int32_t sum = 0;
    int64_t total = 0;
    for (int32_t tap = w->rows.first; tap < w->rows.last; ++tap) {
        const int16_t *x = aboard_row_s16(&s->in, in, w->top + tap * s->dilation_h) + offset;
        const int8_t *weight = weights + tap * s->window_width + w->cols.first;
        if (count == s->window_width) {
            ABOARD_UNROLL(8)
            for (int32_t i = 0; i < s->window_width; ++i) {
                sum += (int32_t)weight[i] * x[i * step];
            }
        } else {
            const int8_t *const end = weight + count;
            while (weight < end) {
                sum += (int32_t)*weight++ * *x;
                x += step;
            }
        }
        if (!is_short) {
            total += sum;
            sum = 0;
        }
    }
    return is_short ? sum : total;
}

/**
 * Depthwise convolution of int16, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Any views, including rolling buffers. In different memory, or the operand starts after the result
 * by at least the minimum in-place offset (host/aboard/kernels/overlap.py).
 * @param weights     For each channel of the result its taps, row by row.
 * @param constants   Constants of each channel, see aboard_epilogue_s16.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_depthwise_conv2d_s16(const aboard_depthwise_conv2d_s16_t *p, const int16_t *in, int16_t *out,
                                               const int8_t *weights, const int32_t *constants, int32_t first,
                                               int32_t last) {
    const aboard_depthwise_conv2d_shape_t *s = &p->shape;
    const int32_t taps = s->window_height * s->window_width;
    const int32_t words = aboard_s16_words(p->epilogue.form);
    for (int32_t r = first; r < last; ++r) {
        int16_t *y = aboard_row_out_s16(&s->out, out, r);
        for (int32_t col = 0; col < s->out.cols; ++col) {
            const aboard_depthwise_s16_window_t window = aboard_depthwise_s16_window(s, r, col);
            for (int32_t n = 0; n < s->out.channels; ++n) {
                const int64_t sum = aboard_depthwise_s16_sum(s, &window, in, n / s->multiplier, weights + n * taps,
                                                             p->epilogue.form == ABOARD_S16_SHORT);
                y[n] = aboard_epilogue_s16(&p->epilogue, sum, constants + n * words);
            }
            y += s->out.pixel_stride / (int32_t)sizeof(int16_t);
        }
    }
}

#endif
