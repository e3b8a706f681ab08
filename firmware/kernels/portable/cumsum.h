/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/cumsum.h
 * Running sums along an axis. Operand and result lie in memory as a whole, without gaps.
 */
#ifndef ABOARD_KERNELS_PORTABLE_CUMSUM_H
#define ABOARD_KERNELS_PORTABLE_CUMSUM_H

#include <stdint.h>

#include "aboard/config.h"
#include "requantize.h"

/** Both shapes are {outer, extent, inner}. */
typedef struct {
    int32_t outer;
    int32_t extent; /**< Of the axis along which elements are added. */
    int32_t inner;
    int32_t exclusive; /**< 1: an element is not part of its own sum. */
    int32_t reverse;   /**< 1: sums run from the end of the axis. */
} aboard_cumsum_axes_t;

/** Parameters of aboard_cumsum_s8. */
typedef struct {
    aboard_cumsum_axes_t axes;
    int32_t in_zero_point;
    int32_t out_zero_point;
    int32_t multiplier; /**< From sums, moved up by 19 bits, to the result's scale. */
    int32_t shift;      /**< Likewise; at most 0. */
} aboard_cumsum_s8_t;

/** Parameters of aboard_cumsum_f32. */
typedef struct {
    aboard_cumsum_axes_t axes;
} aboard_cumsum_f32_t;

/** Element of the operand that is the `step`-th of a sum. */
ABOARD_INLINE int32_t aboard_cumsum_at(const aboard_cumsum_axes_t *axes, int32_t outer, int32_t inner, int32_t step) {
    const int32_t index = axes->reverse ? axes->extent - 1 - step : step;
    return (outer * axes->extent + index) * axes->inner + inner;
}

/**
 * Running sums of int8 elements. They have 32 bits, 19 of them for the fraction, and wrap.
 *
 * @param p            Parameters.
 * @param in           Operand.
 * @param out          Result; may be the operand's memory.
 * @param first, last  All rows of the result.
 */
ABOARD_INLINE void aboard_cumsum_s8(const aboard_cumsum_s8_t *p, const int8_t *in, int8_t *out, int32_t first,
                                    int32_t last) {
    (void)first;
    (void)last;
    for (int32_t o = 0; o < p->axes.outer; ++o) {
        for (int32_t i = 0; i < p->axes.inner; ++i) {
            uint32_t sum = (uint32_t)-p->in_zero_point << 19;
            for (int32_t step = 0; step < p->axes.extent; ++step) {
                const int32_t at = aboard_cumsum_at(&p->axes, o, i, step);
                const uint32_t with = sum + ((uint32_t)(in[at] - p->in_zero_point) << 19);
                const int32_t scaled =
                    aboard_requantize((int32_t)(p->axes.exclusive ? sum : with), p->multiplier, p->shift);
                out[at] = (int8_t)aboard_clamp(scaled + p->out_zero_point, INT8_MIN, INT8_MAX);
                sum = with;
            }
        }
    }
}

/** Running sums of float elements; parameters as aboard_cumsum_s8. */
ABOARD_INLINE void aboard_cumsum_f32(const aboard_cumsum_f32_t *p, const float *in, float *out, int32_t first,
                                     int32_t last) {
    (void)first;
    (void)last;
    for (int32_t o = 0; o < p->axes.outer; ++o) {
        for (int32_t i = 0; i < p->axes.inner; ++i) {
            float sum = 0.0f;
            for (int32_t step = 0; step < p->axes.extent; ++step) {
                const int32_t at = aboard_cumsum_at(&p->axes, o, i, step);
                const float with = sum + in[at];
                out[at] = p->axes.exclusive ? sum : with;
                sum = with;
            }
        }
    }
}

#endif
