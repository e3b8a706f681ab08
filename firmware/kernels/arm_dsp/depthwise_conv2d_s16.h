/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file depthwise_conv2d_s16.h
 * Depthwise convolution of int16 with the DSP extension: two channels of several pixels of a row at once, which share
 * each load of weights. Pixels whose windows contain padding are computed one by one.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_DEPTHWISE_CONV2D_S16_H
#define ABOARD_KERNELS_ARM_DSP_DEPTHWISE_CONV2D_S16_H

#include <stdbool.h>
#include <stdint.h>

#include "../portable/depthwise_conv2d_s16.h"
#include "aboard/config.h"
#include "aboard/view.h"
#include "dot_s16.h"

/** Largest number of pixels computed at once, all without padding. */
#define ABOARD_DEPTHWISE_DSP_S16_BLOCK 4

/** Parameters of aboard_depthwise_conv2d_dsp_s16: the result has as many channels as the input, an even number. */
typedef struct {
    aboard_depthwise_conv2d_shape_t shape;
    int32_t low;  /**< Smallest result. */
    int32_t high; /**< Largest result. */
} aboard_depthwise_conv2d_dsp_s16_t;

/** acc plus the product of both low halfwords. */
ABOARD_INLINE int32_t aboard_dsp_mac_low(uint32_t x, uint32_t w, int32_t acc) {
#if ABOARD_DSP_ASM
    __asm__("smlabb %0, %1, %2, %0" : "+r"(acc) : "r"(x), "r"(w));
    return acc;
#else
    return acc + (int16_t)x * (int16_t)w;
#endif
}

/** acc plus the product of both high halfwords. */
ABOARD_INLINE int32_t aboard_dsp_mac_high(uint32_t x, uint32_t w, int32_t acc) {
#if ABOARD_DSP_ASM
    __asm__("smlatt %0, %1, %2, %0" : "+r"(acc) : "r"(x), "r"(w));
    return acc;
#else
    return acc + (int16_t)(x >> 16) * (int16_t)(w >> 16);
#endif
}

/** Adds the products of taps [first, last) of a row of a window, of two channels of `pixels` pixels (a literal). */
ABOARD_INLINE void aboard_depthwise_dsp_s16_row(const aboard_depthwise_conv2d_shape_t *s, int32_t *sums,
                                                const int16_t *x, const uint32_t *weights, int32_t first, int32_t last,
                                                int32_t pixels) {
    const int32_t pixel = s->in.pixel_stride / (int32_t)sizeof(int16_t);
    ABOARD_UNROLL(5)
    for (int32_t tap = first; tap < last; ++tap) {
        const uint32_t both = weights[tap];
        ABOARD_UNROLL(4)
        for (int32_t i = 0; i < pixels; ++i) {
            const uint32_t value = aboard_dsp_load_s16(x + (i * s->stride_w + tap * s->dilation_w) * pixel);
            sums[2 * i] = aboard_dsp_mac_low(value, both, sums[2 * i]);
            sums[2 * i + 1] = aboard_dsp_mac_high(value, both, sums[2 * i + 1]);
        }
    }
}

/**
 * Two channels of `pixels` pixels (a literal) side by side.
 *
 * @param p         Parameters.
 * @param w         The part of the first pixel's window within the input; the other windows are whole.
 * @param in        First of both channels of the input's first pixel.
 * @param weights   Words with both channels' weights per tap, row by row; then biases, then multipliers.
 * @param y         First of both results.
 */
ABOARD_INLINE void aboard_depthwise_dsp_s16_pixels(const aboard_depthwise_conv2d_dsp_s16_t *p,
                                                   const aboard_depthwise_s16_window_t *w, const int16_t *in,
                                                   const uint32_t *weights, int16_t *y, int32_t pixels) {
    const aboard_depthwise_conv2d_shape_t *s = &p->shape;
    const int32_t pixel = s->in.pixel_stride / (int32_t)sizeof(int16_t);
    const int32_t taps = s->window_height * s->window_width;
    int32_t sums[2 * ABOARD_DEPTHWISE_DSP_S16_BLOCK];
    ABOARD_UNROLL(4)
    for (int32_t i = 0; i < pixels; ++i) {
        sums[2 * i] = (int32_t)weights[taps];
        sums[2 * i + 1] = (int32_t)weights[taps + 1];
    }
    if (pixels > 1 && s->in.buffer_rows >= s->in.rows && w->rows.last - w->rows.first == s->window_height) {
        const int16_t *x = aboard_row_s16(&s->in, in, w->top) + w->left * pixel;
        const uint32_t *row_weights = weights;
        ABOARD_UNROLL(5)
        for (int32_t row = 0; row < s->window_height; ++row) {
            /* Prevents the compiler from moving a row's loads before those of another row, for which no registers are
             * free. */
            ABOARD_OPAQUE(x);
            ABOARD_OPAQUE(row_weights);
            aboard_depthwise_dsp_s16_row(s, sums, x, row_weights, 0, s->window_width, pixels);
            x += s->dilation_h * (s->in.row_stride / (int32_t)sizeof(int16_t));
            row_weights += s->window_width;
        }
    } else {
        const int32_t first = pixels > 1 ? 0 : w->cols.first;
        const int32_t last = pixels > 1 ? s->window_width : w->cols.last;
        for (int32_t row = w->rows.first; row < w->rows.last; ++row) {
            const int16_t *x = aboard_row_s16(&s->in, in, w->top + row * s->dilation_h) + w->left * pixel;
            ABOARD_OPAQUE(x);
            aboard_depthwise_dsp_s16_row(s, sums, x, weights + row * s->window_width, first, last, pixels);
        }
    }
    const int32_t first = (int32_t)weights[taps + 2];
    const int32_t second = (int32_t)weights[taps + 3];
    ABOARD_UNROLL(4)
    for (int32_t i = 0; i < pixels; ++i) {
        y[0] = aboard_clamp_s16(aboard_rounded_high_mul(sums[2 * i], first), p->low, p->high);
        y[1] = aboard_clamp_s16(aboard_rounded_high_mul(sums[2 * i + 1], second), p->low, p->high);
        y += s->out.pixel_stride / (int32_t)sizeof(int16_t);
    }
}

/**
 * Depthwise convolution of int16, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Any views, including rolling buffers. In different memory, or the operand starts after the result
 * by at least the minimum in-place offset (host/aboard/kernels/overlap.py).
 * @param weights     For every two channels, see aboard_depthwise_dsp_s16_pixels.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_depthwise_conv2d_dsp_s16(const aboard_depthwise_conv2d_dsp_s16_t *p, const int16_t *in,
                                                   int16_t *out, const uint32_t *weights, int32_t first, int32_t last) {
    const aboard_depthwise_conv2d_shape_t *s = &p->shape;
    const int32_t block = s->window_height * s->window_width + 4;
    const int32_t reach = (s->window_width - 1) * s->dilation_w + 1;
    const int32_t begin = ABOARD_MIN((s->pad_left + s->stride_w - 1) / s->stride_w, s->out.cols);
    const int32_t right = s->in.cols - reach + s->pad_left;
    const int32_t end = right < 0 ? begin : ABOARD_MIN(right / s->stride_w + 1, s->out.cols);
    const int32_t most = ABOARD_MIN(ABOARD_MAX(end - begin, 2), ABOARD_DEPTHWISE_DSP_S16_BLOCK);
    for (int32_t r = first; r < last; ++r) {
        int16_t *const row = aboard_row_out_s16(&s->out, out, r);
        for (int32_t col = 0; col < s->out.cols;) {
            const bool whole = col >= begin && col < end && end - begin >= most;
            /* The last block ends with the last pixel without padding, and may compute some pixels again. */
            const int32_t at = whole ? ABOARD_MIN(col, end - most) : col;
            const aboard_depthwise_s16_window_t window = aboard_depthwise_s16_window(s, r, at);
            int16_t *const y = row + at * (s->out.pixel_stride / (int32_t)sizeof(int16_t));
            const uint32_t *words = weights;
            for (int32_t n = 0; n < s->out.channels; n += 2) {
                if (whole) {
                    aboard_depthwise_dsp_s16_pixels(p, &window, in + n, words, y + n, most);
                } else {
                    aboard_depthwise_dsp_s16_pixels(p, &window, in + n, words, y + n, 1);
                }
                words += block;
            }
            col = at + (whole ? most : 1);
        }
    }
}

#endif
