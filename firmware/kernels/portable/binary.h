/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/binary.h
 * Functions of two elements that are not sums or products, with broadcasting: maxima, minima, squared differences and
 * rectifiers whose slope is an operand. ABOARD_BINARY_KERNEL describes the form of all kernels.
 */
#ifndef ABOARD_KERNELS_PORTABLE_BINARY_H
#define ABOARD_KERNELS_PORTABLE_BINARY_H

#include <stdint.h>

#include "aboard/config.h"
#include "broadcast.h"
#include "requantize.h"
#include "scaling.h"

/** Parameters of the kernels that need no scales. */
typedef struct {
    aboard_broadcast_t over;
} aboard_binary_t;

/** Larger element, b where neither is, of int8. */
ABOARD_BINARY_KERNEL(maximum_s8, aboard_binary_t, int8_t, int8_t, int8_t, u > v ? u : v)
/** Larger element, b where neither is, of int16. */
ABOARD_BINARY_KERNEL(maximum_s16, aboard_binary_t, int16_t, int16_t, int16_t, u > v ? u : v)
/** Larger element, b where neither is, of int32. */
ABOARD_BINARY_KERNEL(maximum_s32, aboard_binary_t, int32_t, int32_t, int32_t, u > v ? u : v)
/** Larger element, b where neither is, of int64. */
ABOARD_BINARY_KERNEL(maximum_s64, aboard_binary_t, int64_t, int64_t, int64_t, u > v ? u : v)
/** Larger element, b where neither is, of float32. */
ABOARD_BINARY_KERNEL(maximum_f32, aboard_binary_t, float, float, float, u > v ? u : v)

/** Smaller element, b where neither is, of int8. */
ABOARD_BINARY_KERNEL(minimum_s8, aboard_binary_t, int8_t, int8_t, int8_t, u < v ? u : v)
/** Smaller element, b where neither is, of int16. */
ABOARD_BINARY_KERNEL(minimum_s16, aboard_binary_t, int16_t, int16_t, int16_t, u < v ? u : v)
/** Smaller element, b where neither is, of int32. */
ABOARD_BINARY_KERNEL(minimum_s32, aboard_binary_t, int32_t, int32_t, int32_t, u < v ? u : v)
/** Smaller element, b where neither is, of int64. */
ABOARD_BINARY_KERNEL(minimum_s64, aboard_binary_t, int64_t, int64_t, int64_t, u < v ? u : v)
/** Smaller element, b where neither is, of float32. */
ABOARD_BINARY_KERNEL(minimum_f32, aboard_binary_t, float, float, float, u < v ? u : v)

/** (a - b)^2 of int32; difference and square wrap to 32 bits. */
ABOARD_BINARY_KERNEL(squared_difference_s32, aboard_binary_t, int32_t, int32_t, int32_t,
                     (int32_t)(((uint32_t)u - (uint32_t)v) * ((uint32_t)u - (uint32_t)v)))
/** (a - b)^2 of float32. */
ABOARD_BINARY_KERNEL(squared_difference_f32, aboard_binary_t, float, float, float, (u - v) * (u - v))
/** Rectifier of float32: a where a >= 0, else a * b. */
ABOARD_BINARY_KERNEL(prelu_f32, aboard_binary_t, float, float, float, u >= 0.0f ? u : u * v)

/** Parameters of the kernels of scaled integers. */
typedef struct {
    aboard_broadcast_t over;
    aboard_scaling_t a;   /**< Squared differences: the operand to the common scale. Rectifiers: from 0 on. */
    aboard_scaling_t b;   /**< Squared differences: likewise. Rectifiers: of products of operand and slope. */
    aboard_scaling_t out; /**< Of the square. Rectifiers use its zero point alone. */
    int32_t left;         /**< Bits by which operands of squared differences are moved up. */
    int32_t low;          /**< Smallest result. */
    int32_t high;         /**< Largest result. */
} aboard_binary_scaled_t;

/** The square of the difference of two elements. The host refuses scales for which it would leave 32 bits. */
ABOARD_INLINE int32_t aboard_squared_difference(const aboard_binary_scaled_t *p, int32_t u, int32_t v) {
    const int32_t x = (u - p->a.zero_point) * ((int32_t)1 << p->left);
    const int32_t y = (v - p->b.zero_point) * ((int32_t)1 << p->left);
    const int32_t difference = aboard_rescaled(&p->a, x) - aboard_rescaled(&p->b, y);
    return aboard_clamp(aboard_rescaled(&p->out, difference * difference) + p->out.zero_point, p->low, p->high);
}

/** The rectifier of an element `u` and a slope `v`. */
ABOARD_INLINE int32_t aboard_prelu(const aboard_binary_scaled_t *p, int32_t u, int32_t v) {
    const int32_t x = u - p->a.zero_point;
    const int32_t scaled = x >= 0 ? aboard_rescaled(&p->a, x) : aboard_rescaled(&p->b, x * (v - p->b.zero_point));
    return aboard_clamp(scaled + p->out.zero_point, p->low, p->high);
}

/** (a - b)^2 of int8. */
ABOARD_BINARY_KERNEL(squared_difference_s8, aboard_binary_scaled_t, int8_t, int8_t, int8_t,
                     (int8_t)aboard_squared_difference(p, u, v))
/** (a - b)^2 of int16. */
ABOARD_BINARY_KERNEL(squared_difference_s16, aboard_binary_scaled_t, int16_t, int16_t, int16_t,
                     (int16_t)aboard_squared_difference(p, u, v))
/** Rectifier of int8: a from 0 on, else a * b. */
ABOARD_BINARY_KERNEL(prelu_s8, aboard_binary_scaled_t, int8_t, int8_t, int8_t, (int8_t)aboard_prelu(p, u, v))
/** Rectifier of int16 with slopes of int8: a from 0 on, else a * b. */
ABOARD_BINARY_KERNEL(prelu_s16, aboard_binary_scaled_t, int16_t, int8_t, int16_t, (int16_t)aboard_prelu(p, u, v))

#endif
