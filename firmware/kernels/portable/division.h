/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/division.h
 * Quotients and remainders, with broadcasting. ABOARD_BINARY_KERNEL describes the form of all kernels.
 *
 * Integers divided by 0 give 0. INT32_MIN / -1 wraps to INT32_MIN. Small quotients of int8 are what TFLite computes on
 * x86, where it shifts by more than 31 bits. Floats follow IEEE 754: x / 0 is infinite or NaN.
 * Neither double precision nor a division of 64 bits is needed.
 */
#ifndef ABOARD_KERNELS_PORTABLE_DIVISION_H
#define ABOARD_KERNELS_PORTABLE_DIVISION_H

#include <stdint.h>

#include "aboard/config.h"
#include "broadcast.h"
#include "fixed_point.h"
#include "float_division.h"
#include "requantize.h"
#include "scaling.h"

/** Parameters of aboard_div_f32. */
typedef struct {
    aboard_broadcast_t over;
    int32_t clamped; /**< 1: the result is kept between the limits; 0: there are none. */
    float low;
    float high;
} aboard_div_f32_t;

/** x between the limits; NaN stays. */
ABOARD_INLINE float aboard_limited_f32(const aboard_div_f32_t *p, float x) {
    return p->clamped ? x < p->low ? p->low : x > p->high ? p->high : x : x;
}

/** a / b of float32. */
ABOARD_BINARY_KERNEL(div_f32, aboard_div_f32_t, float, float, float, aboard_limited_f32(p, u / v))

/** Parameters of aboard_div_s32. */
typedef struct {
    aboard_broadcast_t over;
    int32_t low;  /**< Smallest result. */
    int32_t high; /**< Largest result. */
} aboard_div_s32_t;

/** The quotient of two int32, cut off to the next integer toward 0. */
ABOARD_INLINE int32_t aboard_quotient_s32(int32_t u, int32_t v) {
    /* Neither 0 nor -1 is left to the machine: the one traps on some cores, the other may overflow. */
    return v == 0 ? 0 : v == -1 ? (int32_t)(0u - (uint32_t)u) : u / v;
}

/** a / b of int32. */
ABOARD_BINARY_KERNEL(div_s32, aboard_div_s32_t, int32_t, int32_t, int32_t,
                     aboard_clamp(aboard_quotient_s32(u, v), p->low, p->high))

/** Parameters of aboard_div_s8. */
typedef struct {
    aboard_broadcast_t over;
    int32_t a_zero_point;
    int32_t b_zero_point;
    aboard_scaling_t out; /**< Of the quotient. */
    int32_t low;          /**< Smallest result. */
    int32_t high;         /**< Largest result. */
} aboard_div_s8_t;

/** The quotient of two int8: 31 bits of 1 / |v| times as many of u, then rescaled. */
ABOARD_INLINE int32_t aboard_quotient_s8(const aboard_div_s8_t *p, int32_t u, int32_t v) {
    const int32_t divisor = v - p->b_zero_point;
    const int32_t x = divisor < 0 ? p->a_zero_point - u : u - p->a_zero_point;
    int32_t scaled = 0;
    if (divisor != 0) {
        const uint32_t magnitude = (uint32_t)(divisor < 0 ? -divisor : divisor);
        const int32_t zeros = aboard_leading_zeros(magnitude);
        /* magnitude = y * 2^(31 - zeros) with y in [1, 2): the reciprocal of y needs no integer bits. */
        const int32_t reciprocal = aboard_one_over_one_plus((int32_t)((magnitude << zeros) - ((uint32_t)1 << 31)));
        const uint32_t bits = (uint32_t)(x ^ (x >> 31));
        const int32_t headroom = bits == 0 ? 31 : aboard_leading_zeros(bits) - 1;
        const int32_t quotient = aboard_doubling_high_mul((int32_t)((uint32_t)x << headroom), reciprocal);
        const int32_t exponent = 31 - zeros + headroom - p->out.shift;
        const int32_t product = aboard_doubling_high_mul(quotient, p->out.multiplier);
        /* Beyond 31 bits TFLite's shift is not defined by C. Results are those of x86: 32 bits less, and up. */
        scaled =
            exponent > 31 ? (product >> (exponent & 31)) + (product >= 0) : aboard_rounding_shift(product, exponent);
    }
    return aboard_clamp(scaled + p->out.zero_point, p->low, p->high);
}

/** a / b of int8. */
ABOARD_BINARY_KERNEL(div_s8, aboard_div_s8_t, int8_t, int8_t, int8_t, (int8_t)aboard_quotient_s8(p, u, v))

/** Parameters of aboard_floor_div_f32 and aboard_floor_mod_f32. */
typedef struct {
    aboard_broadcast_t over;
} aboard_floor_div_f32_t;

/** Largest integer that is not larger than a / b. */
ABOARD_BINARY_KERNEL(floor_div_f32, aboard_floor_div_f32_t, float, float, float, aboard_floor_divf(u, v))
/** Remainder of a / b with the sign of b. */
ABOARD_BINARY_KERNEL(floor_mod_f32, aboard_floor_div_f32_t, float, float, float, aboard_floor_modf(u, v))
/** Remainder of a / b with the sign of a. */
ABOARD_BINARY_KERNEL(remainder_f32, aboard_floor_div_f32_t, float, float, float, aboard_fmodf(u, v))

#endif
