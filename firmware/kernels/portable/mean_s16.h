/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/mean_s16.h
 * Averages of int16 over any axes of a tensor that is stored whole; there are no zero points.
 */
#ifndef ABOARD_KERNELS_PORTABLE_MEAN_S16_H
#define ABOARD_KERNELS_PORTABLE_MEAN_S16_H

#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "mean.h"
#include "requantize.h"

/** Parameters of aboard_mean_s16. */
typedef struct {
    aboard_mean_t axes;
    int32_t multiplier; /**< From the sum to the result's scale; includes the division by count. */
    int32_t shift;      /**< Shift of `multiplier`. */
} aboard_mean_s16_t;

/** Sum over the averaged axes, from an address on; wraps as TFLite's does. */
ABOARD_INLINE int32_t aboard_mean_sum_s16(const aboard_mean_t *p, const int16_t *from) {
    const int32_t size = (int32_t)sizeof(int16_t);
    const aboard_mean_axis_t *over = p->over;
    uint32_t sum = 0;
    for (int32_t i = 0; i < over[0].extent; ++i) {
        for (int32_t j = 0; j < over[1].extent; ++j) {
            for (int32_t k = 0; k < over[2].extent; ++k) {
                const int16_t *x = from + (i * over[0].bytes + j * over[1].bytes + k * over[2].bytes) / size;
                ABOARD_UNROLL(4)
                for (int32_t l = 0; l < over[3].extent; ++l) {
                    const int32_t element = x[l * (over[3].bytes / size)];
                    sum += (uint32_t)element;
                }
            }
        }
    }
    return (int32_t)sum;
}

/**
 * Average of int16 elements.
 *
 * @param p            Parameters.
 * @param in           Operand. Any view except a rolling buffer.
 * @param out          Result, in other memory than the operand. Any view.
 * @param first, last  Rows [first, last) of the result are written.
 */
ABOARD_INLINE void aboard_mean_s16(const aboard_mean_s16_t *p, const int16_t *in, int16_t *out, int32_t first,
                                   int32_t last) {
    const int32_t size = (int32_t)sizeof(int16_t);
    for (int32_t r = first; r < last; ++r) {
        const int16_t *x = in + aboard_mean_row(&p->axes, r) / size;
        int16_t *y = aboard_row_out_s16(&p->axes.out, out, r);
        for (int32_t col = 0; col < p->axes.col.extent; ++col) {
            for (int32_t c = 0; c < p->axes.channel.extent; ++c) {
                const int32_t sum = aboard_mean_sum_s16(&p->axes, x + c * (p->axes.channel.bytes / size));
                const int32_t result = aboard_requantize(sum, p->multiplier, p->shift);
                y[c] = (int16_t)aboard_clamp(result, INT16_MIN, INT16_MAX);
            }
            x += p->axes.col.bytes / size;
            y += p->axes.out.pixel_stride / size;
        }
    }
}

#endif
