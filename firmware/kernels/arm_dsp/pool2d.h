/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_dsp/pool2d.h
 * Averages and maxima over a window with the DSP extension: four channels at once, sums in 16 bits.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_POOL2D_H
#define ABOARD_KERNELS_ARM_DSP_POOL2D_H

#include <stdint.h>
#include <string.h>

#include "../portable/pool2d.h"
#include "aboard/config.h"
#include "aboard/view.h"
#include "dot.h"

/** Sums of four channels as signed halfwords: channels 0 and 2, then 1 and 3. */
typedef struct {
    uint32_t even;
    uint32_t odd;
} aboard_dsp_sums_t;

/** Separate sums of both halfwords. */
ABOARD_INLINE uint32_t aboard_dsp_add_halves(uint32_t a, uint32_t b) {
    return ((a + b) & 0xffffu) | ((a & 0xffff0000u) + (b & 0xffff0000u));
}

/** Adds a pixel of four channels. */
ABOARD_INLINE void aboard_dsp_sums_add(aboard_dsp_sums_t *sums, uint32_t pixel) {
#if ABOARD_DSP_ASM
    __asm__("sxtab16 %0, %0, %1" : "+r"(sums->even) : "r"(pixel));
    __asm__("sxtab16 %0, %0, %1, ror #8" : "+r"(sums->odd) : "r"(pixel));
#else
    sums->even = aboard_dsp_add_halves(sums->even, aboard_dsp_even(pixel));
    sums->odd = aboard_dsp_add_halves(sums->odd, aboard_dsp_odd(pixel));
#endif
}

/** Adds pixels `stride` bytes apart. */
ABOARD_INLINE void aboard_dsp_sums_row(aboard_dsp_sums_t *sums, const int8_t *x, int32_t cols, int32_t stride) {
    ABOARD_UNROLL(8)
    for (int32_t col = 0; col < cols; ++col) {
        aboard_dsp_sums_add(sums, aboard_dsp_load(x + col * stride));
    }
}

/**
 * Average over each window, rounded to nearest with ties away from zero.
 *
 * @param p            Parameters; a multiple of four channels, windows of at most 256 pixels.
 * @param in, out      As for aboard_average_pool2d_s8.
 * @param first, last  Rows [first, last) of the result are written.
 */
ABOARD_INLINE void aboard_average_pool2d_dsp(const aboard_pool2d_s8_t *p, const int8_t *in, int8_t *out, int32_t first,
                                             int32_t last) {
    const aboard_pool2d_t *pool = &p->pool;
    for (int32_t r = first; r < last; ++r) {
        int8_t *y = aboard_row_out_s8(&pool->out, out, r);
        for (int32_t x = 0; x < pool->out.cols; ++x) {
            const aboard_pool2d_window_t w = aboard_pool2d_window(pool, r, x);
            for (int32_t c = 0; c < pool->out.channels; c += ABOARD_DSP_TAP_GROUP) {
                aboard_dsp_sums_t sums = {0, 0};
                for (int32_t line = 0; line < w.rows; ++line) {
                    const int8_t *const from = aboard_row_s8(&pool->in, in, w.row + line) + w.offset + c;
                    aboard_dsp_sums_row(&sums, from, w.cols, pool->in.pixel_stride);
                }
                const int32_t count = w.rows * w.cols;
                y[c] = aboard_average_s8(p, (int16_t)sums.even, count);
                y[c + 1] = aboard_average_s8(p, (int16_t)sums.odd, count);
                y[c + 2] = aboard_average_s8(p, (int16_t)(sums.even >> 16), count);
                y[c + 3] = aboard_average_s8(p, (int16_t)(sums.odd >> 16), count);
            }
            y += pool->out.pixel_stride;
        }
    }
}

/**
 * Average over an image of at most 256 pixels that arrives row by row: like aboard_average_pool2d_rows_s8.
 *
 * @param p            Parameters; a multiple of four channels, the result is one pixel.
 * @param in, out      As for aboard_average_pool2d_rows_s8.
 * @param sums         Scratch of a halfword per channel; keeps its content between calls.
 * @param first, last  Rows [first, last) of the operand are accumulated, in order; row 0 begins an image.
 */
ABOARD_INLINE void aboard_average_pool2d_rows_dsp(const aboard_pool2d_s8_t *p, const int8_t *in, int8_t *out,
                                                  aboard_dsp_sums_t *sums, int32_t first, int32_t last) {
    const aboard_view_t *from = &p->pool.in;
    if (first == 0) {
        memset(sums, 0, (size_t)(from->channels / ABOARD_DSP_TAP_GROUP) * sizeof(*sums));
    }
    for (int32_t r = first; r < last; ++r) {
        const int8_t *const row = aboard_row_s8(from, in, r);
        aboard_dsp_sums_t *to = sums;
        for (const int8_t *x = row; x != row + from->channels; x += ABOARD_DSP_TAP_GROUP) {
            aboard_dsp_sums_t more = *to;
            aboard_dsp_sums_row(&more, x, from->cols, from->pixel_stride);
            *to++ = more;
        }
    }
    for (int32_t c = 0; last == from->rows && c < from->channels; ++c) {
        const aboard_dsp_sums_t *const tap_group = &sums[c / ABOARD_DSP_TAP_GROUP];
        const uint32_t halves = (c % 2 != 0 ? tap_group->odd : tap_group->even) >> (c / 2 % 2 * 16);
        out[c] = aboard_average_s8(p, (int16_t)halves, from->rows * from->cols);
    }
}

/** The larger, or the smaller, of each pair of signed bytes. */
ABOARD_INLINE uint32_t aboard_dsp_larger(uint32_t a, uint32_t b) {
#if ABOARD_DSP_ASM
    uint32_t result;
    __asm__("ssub8 %0, %1, %2\n sel %0, %1, %2" : "=&r"(result) : "r"(a), "r"(b));
    return result;
#else
    uint32_t result = 0;
    for (uint32_t i = 0; i < 32; i += 8) {
        result |= ((int8_t)(a >> i) >= (int8_t)(b >> i) ? a : b) & (0xffu << i);
    }
    return result;
#endif
}
ABOARD_INLINE uint32_t aboard_dsp_smaller(uint32_t a, uint32_t b) {
    /* The larger of both complements, which never overflow. */
    return ~aboard_dsp_larger(~a, ~b);
}

/** Maximum over each window; parameters as aboard_average_pool2d_dsp, windows of any size. */
ABOARD_INLINE void aboard_max_pool2d_dsp(const aboard_pool2d_s8_t *p, const int8_t *in, int8_t *out, int32_t first,
                                         int32_t last) {
    const aboard_pool2d_t *pool = &p->pool;
    for (int32_t r = first; r < last; ++r) {
        int8_t *y = aboard_row_out_s8(&pool->out, out, r);
        for (int32_t x = 0; x < pool->out.cols; ++x) {
            const aboard_pool2d_window_t w = aboard_pool2d_window(pool, r, x);
            for (int32_t c = 0; c < pool->out.channels; c += ABOARD_DSP_TAP_GROUP) {
                uint32_t largest = 0x01010101u * (uint8_t)p->low;
                for (int32_t line = 0; line < w.rows; ++line) {
                    const int8_t *const from = aboard_row_s8(&pool->in, in, w.row + line) + w.offset + c;
                    ABOARD_UNROLL(4)
                    for (int32_t col = 0; col < w.cols; ++col) {
                        largest = aboard_dsp_larger(largest, aboard_dsp_load(from + col * pool->in.pixel_stride));
                    }
                }
                if (p->high < INT8_MAX) {
                    largest = aboard_dsp_smaller(largest, 0x01010101u * (uint8_t)p->high);
                }
                memcpy(y + c, &largest, sizeof(largest));
            }
            y += pool->out.pixel_stride;
        }
    }
}

#endif
