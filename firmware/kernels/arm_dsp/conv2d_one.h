/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conv2d_one.h
 * int8 convolution with the DSP extension with one channel in each group: no channel is computed for nothing.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_CONV2D_ONE_H
#define ABOARD_KERNELS_ARM_DSP_CONV2D_ONE_H

#include <stdint.h>

#include "../portable/conv2d_window.h"
#include "aboard/config.h"
#include "aboard/view.h"
#include "conv2d_windows.h"
#include "large_sums.h"

/**
 * int8 convolution with as many groups as channels, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters. `lines` is 1: the rows of a window are read where they lie as far as they are within
 *                    the input. `wide` is 0 and `passes` 1.
 * @param in, out     Any views, including rolling buffers. In different memory, or the operand starts after the result
 *                    by at least the minimum in-place offset (host/aboard/kernels/overlap.py).
 * @param weights     For each channel: its bias, a word of int8 for each tap group of each row of the window, a row's
 *                    last word padded with zeros, and its constants.
 * @param column      Scratch: the taps of a window.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_conv2d_one_dsp(const aboard_conv2d_dsp_t *p, const int8_t *in, int8_t *out,
                                         const uint32_t *weights, int8_t *column, int32_t first, int32_t last) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t depth = s->in.channels / s->groups;
    const int32_t taps = s->window_width * depth;
    const int32_t words = aboard_dsp_large_words(taps);
    for (int32_t row = first; row < last; ++row) {
        int8_t *y = aboard_row_out_s8(&s->out, out, row);
        for (int32_t col = 0; col < s->out.cols; ++col) {
            const aboard_conv2d_window_t window = aboard_conv2d_window(s, row, col);
            const uint32_t *w = weights;
            for (int32_t n = 0; n < s->groups; ++n) {
                const aboard_conv2d_lines_t lines = aboard_conv2d_dsp_lines(p, in + n * depth, &window, column);
                uint32_t sum = *w++;
                for (int32_t ky = 0; ky < s->window_height; ++ky) {
                    sum = aboard_dsp_large_channel(w, lines.from + ky * lines.stride, taps, sum);
                    w += words;
                }
                y[n] = aboard_dsp_large_result(sum, w, p->single_rounding);
                w += ABOARD_DSP_LARGE_CONSTANTS(p->single_rounding);
            }
            if (p->clamped) {
                aboard_dsp_clamp(y, s->groups, p->low, p->high);
            }
            y += s->out.pixel_stride;
        }
    }
}

#endif
