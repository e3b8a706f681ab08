/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/fixed_point.h
 * Functions of real numbers in 32-bit fixed point; host/aboard/ops/fixed_point.py is the same in numpy.
 */
#ifndef ABOARD_KERNELS_PORTABLE_FIXED_POINT_H
#define ABOARD_KERNELS_PORTABLE_FIXED_POINT_H

#include <stdint.h>

#include "aboard/config.h"
#include "requantize.h"

/** 1 / (1 + x) for x in [0, 1], both as fractions of 2^31: TFLite's three steps of Newton's method. */
ABOARD_INLINE int32_t aboard_one_over_one_plus(int32_t x) {
    const int32_t half = (int32_t)(((int64_t)x + INT32_MAX + 1) / 2);
    /* Two integer bits: 1 is 2^29. The start is 48/17 - 32/17 * half. */
    int32_t quotient = 1515870810 + aboard_doubling_high_mul(half, -1010580540);
    for (int32_t i = 0; i < 3; ++i) {
        const int32_t error = ((int32_t)1 << 29) - aboard_doubling_high_mul(half, quotient);
        quotient += aboard_doubling_high_mul(quotient, error) * 4;
    }
    return quotient > INT32_MAX / 2 ? INT32_MAX : quotient * 2;
}

/** x * 2^exponent, saturated; exponent in [0, 31]. */
ABOARD_INLINE int32_t aboard_shifted_up(int32_t x, int32_t exponent) {
    const int64_t shifted = (int64_t)x * ((int64_t)1 << exponent);
    return shifted > INT32_MAX ? INT32_MAX : shifted < INT32_MIN ? INT32_MIN : (int32_t)shifted;
}

/** A real number as multiplier and shift of aboard_requantize. */
typedef struct {
    int32_t multiplier;
    int32_t shift;
} aboard_inverse_sqrt_t;

/** 1 / sqrt(x) by five of Newton's steps from 1; x is not negative, and 0 counts as 1. */
ABOARD_INLINE aboard_inverse_sqrt_t aboard_inverse_sqrt(int32_t x) {
    aboard_inverse_sqrt_t result = {INT32_MAX, 0};
    if (x <= 1) {
        return result;
    }
    int32_t right = 11;
    for (; x >= (int32_t)1 << 29; x /= 4) {
        ++right;
    }
    const int32_t pairs = (aboard_leading_zeros((uint32_t)x) - 1) / 2 - 1;
    right -= pairs;
    x *= (int32_t)1 << (2 * pairs);
    /* Three integer bits: 1 is 2^28. */
    const int32_t half = aboard_rounding_shift(x >> 1, 1);
    int32_t root = (int32_t)1 << 28;
    for (int32_t i = 0; i < 5; ++i) {
        const int32_t cube = aboard_shifted_up(aboard_doubling_high_mul(aboard_doubling_high_mul(root, root), root), 6);
        const int32_t three_halves = aboard_doubling_high_mul(((int32_t)1 << 28) + ((int32_t)1 << 27), root);
        root = aboard_shifted_up(three_halves - aboard_doubling_high_mul(half, cube), 3);
    }
    root = aboard_doubling_high_mul(root, 1518500250);
    result.multiplier = right < 0 ? root * ((int32_t)1 << -right) : root;
    result.shift = right < 0 ? 0 : -right;
    return result;
}

/** ln(x) with five integer bits, of x >= 1 with twelve: a rational approximation around powers of two and their roots.
 */
ABOARD_INLINE int32_t aboard_log_of_sum(int32_t x) {
    const int32_t root_of_half = 1518500250;
    const int32_t root_of_root = 1805811301;
    const int32_t quarter = (int32_t)1 << 23; /* Six integer bits, as powers have. */
    const int32_t zeros = aboard_leading_zeros((uint32_t)x);
    const int32_t first = aboard_shifted_up(aboard_doubling_high_mul(aboard_shifted_up(x, zeros - 1), root_of_half), 1);
    const int32_t headroom = aboard_leading_zeros((uint32_t)aboard_doubling_high_mul(x, root_of_half)) - 1;
    const int32_t second = aboard_shifted_up(x, headroom);
    /* x is at least 2^19, so that no power leaves [-1, 12]. */
    const int32_t first_power = (12 - zeros) * ((int32_t)1 << 25) + quarter;
    const int32_t second_power = (12 - headroom) * ((int32_t)1 << 25) - quarter;
    const int32_t r = ABOARD_MIN(first, second);
    const int32_t power = ABOARD_MAX(first_power, second_power);
    const int32_t p = (int32_t)(((int64_t)r + root_of_root + 1) / 2);
    const int32_t q = 2 * (r - root_of_root);
    const int32_t square = aboard_doubling_high_mul(q, q);
    const int32_t numerator =
        aboard_doubling_high_mul(q, r) + aboard_doubling_high_mul(aboard_doubling_high_mul(q, square), 117049297);
    const int32_t denominator =
        aboard_doubling_high_mul(p, 1057819769 + q + aboard_doubling_high_mul(127690142, square)) +
        aboard_doubling_high_mul(638450708, q);
    const int32_t quotient =
        aboard_doubling_high_mul(aboard_rounding_shift(numerator, 6), aboard_one_over_one_plus(denominator));
    return aboard_shifted_up(aboard_doubling_high_mul(power, 1488522236) + quotient, 1);
}

#endif
