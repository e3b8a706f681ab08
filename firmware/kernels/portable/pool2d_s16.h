/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/pool2d_s16.h
 * Averages and maxima of int16 over a window that slides over an image.
 */
#ifndef ABOARD_KERNELS_PORTABLE_POOL2D_S16_H
#define ABOARD_KERNELS_PORTABLE_POOL2D_S16_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "epilogue_s16.h"
#include "pool2d.h"

/** Parameters of the int16 kernels. */
typedef struct {
    aboard_pool2d_t pool;
    int32_t low;  /**< Smallest result. */
    int32_t high; /**< Largest result. */
} aboard_pool2d_s16_t;

/** Sum (largest false) or maximum of one channel over a window. */
ABOARD_INLINE int32_t aboard_pool2d_reduce_s16(const aboard_pool2d_t *p, const aboard_pool2d_window_t *w,
                                               const int16_t *in, int32_t channel, bool largest) {
    const int32_t size = (int32_t)sizeof(int16_t);
    int32_t value = largest ? INT16_MIN : 0;
    for (int32_t y = 0; y < w->rows; ++y) {
        const int16_t *x = aboard_row_s16(&p->in, in, w->row + y) + w->offset / size + channel;
        ABOARD_UNROLL(4)
        for (int32_t col = 0; col < w->cols; ++col) {
            const int32_t element = x[col * (p->in.pixel_stride / size)];
            value = largest ? ABOARD_MAX(value, element) : value + element;
        }
    }
    return value;
}

/** Sum divided by the number of its elements, rounded to nearest, ties away from zero, within the limits. */
ABOARD_INLINE int16_t aboard_pool2d_mean_s16(const aboard_pool2d_s16_t *p, int32_t sum, int32_t count) {
    return aboard_clamp_s16((sum > 0 ? sum + count / 2 : sum - count / 2) / count, p->low, p->high);
}

/** Averages of a pixel, see ABOARD_POOL2D. */
ABOARD_INLINE void aboard_average_pixel_s16(const aboard_pool2d_s16_t *p, const aboard_pool2d_window_t *w,
                                            const int16_t *in, int16_t *y) {
    for (int32_t c = 0; c < p->pool.out.channels; ++c) {
        y[c] = aboard_pool2d_mean_s16(p, aboard_pool2d_reduce_s16(&p->pool, w, in, c, false), w->rows * w->cols);
    }
}

/** Maxima of a pixel, see ABOARD_POOL2D. */
ABOARD_INLINE void aboard_max_pixel_s16(const aboard_pool2d_s16_t *p, const aboard_pool2d_window_t *w,
                                        const int16_t *in, int16_t *y) {
    for (int32_t c = 0; c < p->pool.out.channels; ++c) {
        y[c] = aboard_clamp_s16(aboard_pool2d_reduce_s16(&p->pool, w, in, c, true), p->low, p->high);
    }
}

/** Average over each window, rounded to nearest with ties away from zero. */
ABOARD_POOL2D(aboard_average_pool2d_s16, aboard_average_pixel_s16, s16, int16_t)

/** Maximum over each window. */
ABOARD_POOL2D(aboard_max_pool2d_s16, aboard_max_pixel_s16, s16, int16_t)

/**
 * Average over an image that arrives row by row: equal to aboard_average_pool2d_s16 with a window that covers the
 * image.
 *
 * @param p            Parameters; the result is one pixel.
 * @param in           Operand. Any view, including a rolling buffer.
 * @param out          Result, written with the last row.
 * @param sums         Scratch of one word per channel; keeps its content between calls.
 * @param first, last  Rows [first, last) of the operand are accumulated, in order; row 0 begins an image.
 */
ABOARD_INLINE void aboard_average_pool2d_rows_s16(const aboard_pool2d_s16_t *p, const int16_t *in, int16_t *out,
                                                  int32_t *sums, int32_t first, int32_t last) {
    const aboard_pool2d_t *pool = &p->pool;
    const int32_t stride = pool->in.pixel_stride / (int32_t)sizeof(int16_t);
    for (int32_t r = first; r < last; ++r) {
        const int16_t *const row = aboard_row_s16(&pool->in, in, r);
        for (int32_t c = 0; c < pool->in.channels; ++c) {
            int32_t sum = r == 0 ? 0 : sums[c];
            ABOARD_UNROLL(4)
            for (int32_t x = 0; x < pool->in.cols; ++x) {
                sum += row[x * stride + c];
            }
            sums[c] = sum;
        }
    }
    for (int32_t c = 0; last == pool->in.rows && c < pool->out.channels; ++c) {
        out[c] = aboard_pool2d_mean_s16(p, sums[c], pool->in.rows * pool->in.cols);
    }
}

#endif
