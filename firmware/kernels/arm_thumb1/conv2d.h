/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_thumb1/conv2d.h
 * Convolution of int8 on cores with MULS alone: the windows of two pixels share words, then all channels of both are
 * computed, four at a time.
 */
#ifndef ABOARD_KERNELS_ARM_THUMB1_CONV2D_H
#define ABOARD_KERNELS_ARM_THUMB1_CONV2D_H

#include <stddef.h>
#include <stdint.h>

#include "../portable/conv2d.h"
#include "../portable/two_pixels.h"
#include "aboard/config.h"
#include "aboard/view.h"
#include "results.h"
#include "sums.h"

/** Words of a window of two pixels: its taps, in whole iterations. */
ABOARD_INLINE int32_t aboard_conv2d_thumb1_words(const aboard_conv2d_shape_t *s) {
    return (aboard_conv2d_taps(s) + ABOARD_THUMB1_TAPS - 1) / ABOARD_THUMB1_TAPS * ABOARD_THUMB1_TAPS;
}

/** The window of result pixel (row, col): in place for windows of 1x1, else copied to `column`. */
ABOARD_INLINE const int8_t *aboard_conv2d_thumb1_window(const aboard_conv2d_s8_t *p, const int8_t *x, int32_t row,
                                                        int32_t col, int8_t *column) {
    if (p->direct) {
        return aboard_conv2d_s8_pixel(&p->shape, x, row, col);
    }
    aboard_conv2d_s8_im2col(p, x, row, col, column);
    return column;
}

/**
 * Computes all channels of a group for two pixels. Not inlined: one copy serves all layers of a model.
 *
 * @param words     Inputs of both, see aboard_two_pixels_word.
 * @param count     Number of words.
 * @param weights   [channels][count], channels in whole blocks of four, padded with zeros.
 * @param constants ABOARD_EPILOGUE_BLOCK words per block of four channels.
 * @param y0, y1    Results; y1 is written before y0 and may be the same.
 */
ABOARD_SHARED void aboard_conv2d_thumb1_pair(const aboard_epilogue_t *epilogue, int32_t channels, const int32_t *words,
                                             int32_t count, const int8_t *weights, const int32_t *constants, int8_t *y0,
                                             int8_t *y1) {
    for (int32_t left = channels; left > 0; left -= 4) {
        int32_t sums[8];
        weights = aboard_thumb1_sums(words, words + count, weights, sums);
        aboard_thumb1_results(epilogue, sums + 4, constants, y1, left);
        aboard_thumb1_results(epilogue, sums, constants, y0, left);
        y0 += 4;
        y1 += 4;
        constants += ABOARD_EPILOGUE_BLOCK;
    }
}

/**
 * int8 convolution, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Any views, including rolling buffers. In different memory, or the operand starts after the result
 * by at least the minimum in-place offset (host/aboard/kernels/overlap.py).
 * @param weights     See aboard_conv2d_thumb1_pair; one group after another. Two weights of successive taps, the first
 * at an even place, have at most 255 as sum of their absolute values.
 * @param constants   Likewise.
 * @param words       Scratch of a word per tap, in whole iterations, and behind them, unless `direct` is set, a window.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_conv2d_thumb1(const aboard_conv2d_s8_t *p, const int8_t *in, int8_t *out,
                                        const int8_t *weights, const int32_t *constants, int32_t *words, int32_t first,
                                        int32_t last) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t channels = s->out.channels / s->groups;
    const int32_t blocks = (channels + 3) / 4;
    const int32_t taps = aboard_conv2d_taps(s);
    const int32_t count = aboard_conv2d_thumb1_words(s);
    /* Words are written from their first on, and do not reach the second window before it is read. */
    int8_t *const columns = (int8_t *)words + 3 * taps;
    for (int32_t group = 0; group < s->groups; ++group) {
        const int8_t *const x = in + group * (s->in.channels / s->groups);
        int8_t *const y = out + group * channels;
        const int32_t pixels = (last - first) * s->out.cols;
        int32_t row = first;
        int32_t col = 0;
        for (int32_t pixel = 0; pixel < pixels; pixel += 2) {
            const int8_t *windows[2] = {NULL, NULL};
            int8_t *results[2] = {NULL, NULL};
            for (int32_t half = 0; half < 2; ++half) {
                if (half > 0 && pixel + 1 == pixels) {
                    windows[1] = windows[0];
                    results[1] = results[0];
                    break;
                }
                windows[half] = aboard_conv2d_thumb1_window(p, x, row, col, columns + half * taps);
                results[half] = aboard_row_out_s8(&s->out, y, row) + col * s->out.pixel_stride;
                if (++col == s->out.cols) {
                    col = 0;
                    ++row;
                }
            }
            aboard_two_pixels_words(words, windows[0], windows[1], taps);
            aboard_conv2d_thumb1_pair(&p->epilogue, channels, words, count, weights, constants, results[0], results[1]);
        }
        weights += 4 * blocks * count;
        constants += blocks * ABOARD_EPILOGUE_BLOCK;
    }
}

#endif
