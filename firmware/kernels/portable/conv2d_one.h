/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/conv2d_one.h
 * int8 convolution in portable C with one channel in each group: no channel is computed for nothing.
 */
#ifndef ABOARD_KERNELS_PORTABLE_CONV2D_ONE_H
#define ABOARD_KERNELS_PORTABLE_CONV2D_ONE_H

#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "conv2d.h"
#include "conv2d_window.h"
#include "epilogue.h"
#include "fully_connected_few.h"

/** Rows of a window: where they lie if the whole window is within the input, else copied to `column`. */
ABOARD_INLINE aboard_conv2d_lines_t aboard_conv2d_one_lines(const aboard_conv2d_s8_t *p, const int8_t *x, int32_t row,
                                                            int32_t col, int8_t *column) {
    const aboard_conv2d_shape_t *s = &p->shape;
    if (p->direct) {
        const aboard_conv2d_lines_t pixel = {aboard_conv2d_s8_pixel(s, x, row, col), 0};
        return pixel;
    }
    const aboard_conv2d_window_t window = aboard_conv2d_window(s, row, col);
    aboard_conv2d_lines_t lines = aboard_conv2d_lines(s, x, &window);
    if (!lines.from) {
        aboard_conv2d_s8_im2col(p, x, row, col, column);
        lines.from = column;
        lines.stride = s->window_width * (s->in.channels / s->groups);
    }
    return lines;
}

/** Sum of a window. */
ABOARD_INLINE int32_t aboard_conv2d_one_sum(const aboard_conv2d_s8_t *p, const int8_t *x, int32_t row, int32_t col,
                                            const int8_t *weights, int8_t *column) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const aboard_conv2d_lines_t lines = aboard_conv2d_one_lines(p, x, row, col, column);
    const int32_t taps = s->window_width * (s->in.channels / s->groups);
    int32_t sum = 0;
    ABOARD_UNROLL(1)
    for (int32_t ky = 0; ky < s->window_height; ++ky) {
        aboard_fully_connected_few_sums(&sum, lines.from + ky * lines.stride, weights + ky * taps, taps, 1);
    }
    return sum;
}

/**
 * int8 convolution with as many groups as channels, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters; `direct` is 1 for a window of 1x1 without padding.
 * @param in, out     Any views, including rolling buffers. In different memory, or the operand starts after the result
 *                    by at least the minimum in-place offset (host/aboard/kernels/overlap.py).
 * @param weights     [channels][taps].
 * @param constants   ABOARD_EPILOGUE_BLOCK words per block of four channels.
 * @param column      Scratch: the taps of a window; none if `direct` is 1.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_conv2d_one_s8(const aboard_conv2d_s8_t *p, const int8_t *in, int8_t *out,
                                        const int8_t *weights, const int32_t *constants, int8_t *column, int32_t first,
                                        int32_t last) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t depth = s->in.channels / s->groups;
    for (int32_t row = first; row < last; ++row) {
        int8_t *y = aboard_row_out_s8(&s->out, out, row);
        for (int32_t col = 0; col < s->out.cols; ++col) {
            for (int32_t n = 0; n < s->groups; ++n) {
                const int8_t *const own = weights + n * aboard_conv2d_taps(s);
                const int32_t sum = aboard_conv2d_one_sum(p, in + n * depth, row, col, own, column);
                const int32_t *const block = constants + n / 4 * ABOARD_EPILOGUE_BLOCK;
                y[n] = aboard_epilogue_in_block(&p->epilogue, sum, block, n % 4);
            }
            y += s->out.pixel_stride;
        }
    }
}

#endif
