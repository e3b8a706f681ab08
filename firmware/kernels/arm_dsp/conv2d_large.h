/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conv2d_large.h
 * int8 convolution with the DSP extension for sums of any size: four channels of a pixel at once, from int8 inputs.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_CONV2D_LARGE_H
#define ABOARD_KERNELS_ARM_DSP_CONV2D_LARGE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../portable/conv2d_window.h"
#include "aboard/config.h"
#include "aboard/view.h"
#include "conv2d_windows.h"
#include "dot.h"
#include "large_sums.h"

/** A window as runs of taps at equal distances: the rows of a window in the input, or one run in `column`. */
ABOARD_INLINE aboard_conv2d_lines_t aboard_conv2d_large_dsp_window(const aboard_conv2d_dsp_t *p, const int8_t *x,
                                                                   int32_t row, int32_t col, int8_t *column) {
    const aboard_conv2d_window_t window = aboard_conv2d_window(&p->shape, row, col);
    if (p->lines) {
        return aboard_conv2d_dsp_lines(p, x, &window, column);
    }
    aboard_conv2d_dsp_gather(p, x, &window, column);
    const aboard_conv2d_lines_t copied = {column, 0};
    return copied;
}

/** Results of `channels` channels of a pixel; returns the end of their weights. */
ABOARD_INLINE const uint32_t *aboard_conv2d_large_dsp_pixel(const aboard_conv2d_dsp_t *p, const uint32_t *weights,
                                                            const aboard_conv2d_lines_t *window, int8_t *y,
                                                            int32_t channels) {
    const int32_t runs = p->lines ? p->shape.window_height : 1;
    const int32_t taps = aboard_conv2d_taps(&p->shape) / runs;
    const int32_t constants = ABOARD_DSP_LARGE_CONSTANTS(p->single_rounding);
    for (int32_t n = 0; n < channels; n += ABOARD_DSP_LARGE_CHANNELS) {
        uint32_t sums[ABOARD_DSP_LARGE_CHANNELS];
        memcpy(sums, weights, sizeof(sums));
        weights += ABOARD_DSP_LARGE_CHANNELS;
        for (int32_t run = 0; run < runs; ++run) {
            weights = aboard_dsp_large_taps(weights, window->from + run * window->stride, taps, sums);
        }
        for (int32_t i = 0; i < ABOARD_MIN(ABOARD_DSP_LARGE_CHANNELS, channels - n); ++i) {
            y[n + i] = aboard_dsp_large_result(sums[i], weights + i * constants, p->single_rounding);
        }
        weights += ABOARD_DSP_LARGE_CHANNELS * constants;
    }
    if (p->clamped) {
        aboard_dsp_clamp(y, channels, p->low, p->high);
    }
    return weights;
}

/**
 * int8 convolution, results equal to TFLite's reference kernel, whose sums may be of any size that fits 32 bits.
 *
 * @param p           Parameters. `lines` is 1 if the rows of a window, whole tap groups, are read where they lie as far
 *                    as they are within the input; 0 if every window is copied. `wide` is 0 and `passes` 1.
 * @param in, out     Any views, including rolling buffers. In different memory, or the operand starts after the result
 *                    by at least the minimum in-place offset (host/aboard/kernels/overlap.py).
 * @param weights     For each group, for every four channels: four biases, four SWAR-packed words for each tap group,
 *                    and the constants of each channel; the last block of a group padded with zeros.
 * @param column      Scratch: the taps of a window.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_conv2d_large_dsp(const aboard_conv2d_dsp_t *p, const int8_t *in, int8_t *out,
                                           const uint32_t *weights, int8_t *column, int32_t first, int32_t last) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t depth = s->in.channels / s->groups;
    const int32_t channels = s->out.channels / s->groups;
    for (int32_t row = first; row < last; ++row) {
        int8_t *y = aboard_row_out_s8(&s->out, out, row);
        for (int32_t col = 0; col < s->out.cols; ++col) {
            const uint32_t *w = weights;
            for (int32_t group = 0; group < s->groups; ++group) {
                const aboard_conv2d_lines_t window =
                    aboard_conv2d_large_dsp_window(p, in + group * depth, row, col, column);
                w = aboard_conv2d_large_dsp_pixel(p, w, &window, y + group * channels, channels);
            }
            y += s->out.pixel_stride;
        }
    }
}

#endif
