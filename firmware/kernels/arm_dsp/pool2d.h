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

/** First channel of a block of four that begins at `c`: the last four, if fewer are left. */
ABOARD_INLINE int32_t aboard_dsp_pool_block(const aboard_view_t *view, int32_t c) {
    return view->channels % ABOARD_DSP_TAP_GROUP == 0 ? c : ABOARD_MIN(c, view->channels - ABOARD_DSP_TAP_GROUP);
}

/** Averages of a block of four channels over `count` pixels, without the first `known`, which another block wrote. */
ABOARD_INLINE void aboard_dsp_averages(const aboard_pool2d_s8_t *p, const aboard_dsp_sums_t *sums, int32_t count,
                                       int32_t known, int8_t *y) {
    if (known < 1) {
        y[0] = aboard_average_s8(p, (int16_t)sums->even, count);
    }
    if (known < 2) {
        y[1] = aboard_average_s8(p, (int16_t)sums->odd, count);
    }
    if (known < 3) {
        y[2] = aboard_average_s8(p, (int16_t)(sums->even >> 16), count);
    }
    y[3] = aboard_average_s8(p, (int16_t)(sums->odd >> 16), count);
}

/** Averages of a pixel, see ABOARD_POOL2D. */
ABOARD_INLINE void aboard_average_pixel_dsp(const aboard_pool2d_s8_t *p, const aboard_pool2d_window_t *w,
                                            const int8_t *in, int8_t *y) {
    const aboard_view_t *from = &p->pool.in;
    for (int32_t c = 0; c < from->channels; c += ABOARD_DSP_TAP_GROUP) {
        const int32_t at = aboard_dsp_pool_block(from, c);
        aboard_dsp_sums_t sums = {0, 0};
        for (int32_t line = 0; line < w->rows; ++line) {
            const int8_t *const x = aboard_row_s8(from, in, w->row + line) + w->offset + at;
            aboard_dsp_sums_row(&sums, x, w->cols, from->pixel_stride);
        }
        aboard_dsp_averages(p, &sums, w->rows * w->cols, c - at, y + at);
    }
}

/** Average over each window of at most 256 pixels and four channels or more, rounded to nearest with ties away from
 * zero. */
ABOARD_POOL2D(aboard_average_pool2d_dsp, aboard_average_pixel_dsp, s8, int8_t)

/**
 * Average over an image of at most 256 pixels that arrives row by row: like aboard_average_pool2d_rows_s8.
 *
 * @param p            Parameters; four channels or more, the result is one pixel.
 * @param in, out      As for aboard_average_pool2d_rows_s8.
 * @param sums         Scratch of a halfword per channel, in blocks of four; keeps its content between calls.
 * @param first, last  Rows [first, last) of the operand are accumulated, in order; row 0 begins an image.
 */
ABOARD_INLINE void aboard_average_pool2d_rows_dsp(const aboard_pool2d_s8_t *p, const int8_t *in, int8_t *out,
                                                  aboard_dsp_sums_t *sums, int32_t first, int32_t last) {
    const aboard_view_t *from = &p->pool.in;
    for (int32_t c = 0; c < from->channels; c += ABOARD_DSP_TAP_GROUP) {
        const int32_t at = aboard_dsp_pool_block(from, c);
        aboard_dsp_sums_t *const kept = &sums[c / ABOARD_DSP_TAP_GROUP];
        aboard_dsp_sums_t more = {0, 0};
        if (first > 0) {
            more = *kept;
        }
        for (int32_t r = first; r < last; ++r) {
            aboard_dsp_sums_row(&more, aboard_row_s8(from, in, r) + at, from->cols, from->pixel_stride);
        }
        *kept = more;
        if (last == from->rows) {
            aboard_dsp_averages(p, &more, from->rows * from->cols, c - at, out + at);
        }
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

/** Maxima of a pixel, see ABOARD_POOL2D. */
ABOARD_INLINE void aboard_max_pixel_dsp(const aboard_pool2d_s8_t *p, const aboard_pool2d_window_t *w, const int8_t *in,
                                        int8_t *y) {
    const aboard_view_t *from = &p->pool.in;
    for (int32_t c = 0; c < from->channels; c += ABOARD_DSP_TAP_GROUP) {
        const int32_t at = aboard_dsp_pool_block(from, c);
        uint32_t largest = 0x01010101u * (uint8_t)p->low;
        for (int32_t line = 0; line < w->rows; ++line) {
            const int8_t *const x = aboard_row_s8(from, in, w->row + line) + w->offset + at;
            ABOARD_UNROLL(4)
            for (int32_t col = 0; col < w->cols; ++col) {
                largest = aboard_dsp_larger(largest, aboard_dsp_load(x + col * from->pixel_stride));
            }
        }
        if (p->high < INT8_MAX) {
            largest = aboard_dsp_smaller(largest, 0x01010101u * (uint8_t)p->high);
        }
        memcpy(y + at, &largest, sizeof(largest));
    }
}

/** Maximum over each window of four channels or more. */
ABOARD_POOL2D(aboard_max_pool2d_dsp, aboard_max_pixel_dsp, s8, int8_t)

#endif
