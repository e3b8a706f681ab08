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
        const int32_t error = (1 << 29) - aboard_doubling_high_mul(half, quotient);
        quotient += aboard_doubling_high_mul(quotient, error) * 4;
    }
    return quotient > INT32_MAX / 2 ? INT32_MAX : quotient * 2;
}

#endif
