/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file frontend/scale.h
 * Brings integers to the quantisation of a model's input: what stands for the same real number there.
 * host/aboard/frontend/scale.py is the same in numpy.
 */
#ifndef ABOARD_FRONTEND_SCALE_H
#define ABOARD_FRONTEND_SCALE_H

#include <stdint.h>

#include "../kernels/portable/requantize.h"
#include "aboard/config.h"

/** Parameters: integer x becomes round((x - from) * multiplier / 2^31 * 2^shift) + to, restricted to int8. */
typedef struct {
    int32_t from;       /**< The integer that stands for 0 before. */
    int32_t multiplier; /**< In [2^30, 2^31). */
    int32_t shift;      /**< In [-31, 14]. */
    int32_t to;         /**< The integer that stands for 0 in the result: the zero point of the model's input. */
} aboard_scale_t;

/**
 * aboard_scale_s16, aboard_scale_u8 and aboard_scale_s8 bring int16, uint8 and int8 to int8. Of two equally near
 * integers the even number of steps from the zero point is taken.
 *
 * @param p      Parameters.
 * @param in     Operand.
 * @param out    Result; may begin where the operand does.
 * @param count  Elements of both.
 */
#define ABOARD_SCALE(name, T)                                                                                          \
    ABOARD_INLINE void aboard_scale_##name(const aboard_scale_t *p, const T *in, int8_t *out, int32_t count) {         \
        for (int32_t i = 0; i < count; ++i) {                                                                          \
            const int32_t steps = aboard_requantize_exactly((int32_t)in[i] - p->from, p->multiplier, p->shift);        \
            out[i] = (int8_t)aboard_clamp(steps + p->to, INT8_MIN, INT8_MAX);                                          \
        }                                                                                                              \
    }
ABOARD_SCALE(s16, int16_t)
ABOARD_SCALE(u8, uint8_t)
ABOARD_SCALE(s8, int8_t)

#endif
