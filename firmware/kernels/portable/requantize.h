/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/requantize.h
 * TensorFlow Lite's double-rounding requantisation in 32-bit C, and an exact one: host/aboard/ir/numerics.py is the
 * same in numpy.
 */
#ifndef ABOARD_KERNELS_PORTABLE_REQUANTIZE_H
#define ABOARD_KERNELS_PORTABLE_REQUANTIZE_H

#include <stdint.h>

#include "aboard/config.h"

/** Restricts `x` to [low, high]. */
ABOARD_INLINE int32_t aboard_clamp(int32_t x, int32_t low, int32_t high) {
#if defined(__ARM_FEATURE_SAT)
    /* SSAT, which can include a right shift of x; gcc does not use it if a loop keeps -128 in a register. */
    if (__builtin_constant_p(low == INT8_MIN && high == INT8_MAX) && low == INT8_MIN && high == INT8_MAX) {
        return (int32_t)__builtin_arm_ssat(x, 8);
    }
#endif
    x = x < low ? low : x;
    return x > high ? high : x;
}

#if ABOARD_THUMB1

/** floor(ab / 2^32), and with `round` floor((ab + 2^31) / 2^32), by products of halves. Not inlined. */
ABOARD_SHARED int32_t aboard_high_mul_halves(int32_t a, int32_t b, int32_t round) {
    const int32_t a_low = a & 0xffff;
    const int32_t a_high = a >> 16;
    const int32_t b_low = b & 0xffff;
    const int32_t b_high = b >> 16;
    const uint32_t low = (uint32_t)a_low * (uint32_t)b_low;
    /* Neither sum overflows: a product of halves is at most 32767 * 65535, and less than 2^16 is added. */
    const int32_t first = a_high * b_low + (int32_t)(low >> 16);
    const int32_t second = a_low * b_high + (first & 0xffff);
    return a_high * b_high + (first >> 16) + (((second >> 15) + round) >> 1);
}

#endif

/** High half of ab: floor(ab / 2^32). */
ABOARD_INLINE int32_t aboard_high_mul(int32_t a, int32_t b) {
#if ABOARD_THUMB1
    return aboard_high_mul_halves(a, b, 0);
#else
    return (int32_t)((int64_t)a * b >> 32);
#endif
}

/** Rounded high half of ab: floor((ab + 2^31) / 2^32). */
ABOARD_INLINE int32_t aboard_rounded_high_mul(int32_t a, int32_t b) {
#if ABOARD_THUMB1
    return aboard_high_mul_halves(a, b, 1);
#elif defined(__ARM_FEATURE_DSP) && defined(__thumb2__) && defined(__GNUC__)
    int32_t high;
    __asm__("smmulr %0, %1, %2" : "=r"(high) : "r"(a), "r"(b));
    return high;
#else
    const int64_t product = (int64_t)a * b;
    return (int32_t)(product >> 32) + (int32_t)((uint32_t)product >> 31);
#endif
}

/** Rounded high half of 2ab: floor((ab + 2^30) / 2^31). Never called with a = b = INT32_MIN, the only pair that
 * overflows. */
ABOARD_INLINE int32_t aboard_doubling_high_mul(int32_t a, int32_t b) {
    return (int32_t)(((int64_t)a * b + ((int32_t)1 << 30)) >> 31);
}

/** x / 2^exponent, rounded, ties away from zero; exponent in [0, 31]. */
ABOARD_INLINE int32_t aboard_rounding_shift(int32_t x, int32_t exponent) {
    if (exponent == 0) {
        return x;
    }
    /* For ties away from zero a negative x is reduced by one before halves are rounded up; 64-bit if x is near the
     * limits.
     */
    return (int32_t)(((int64_t)x + (x >> 31) + ((int64_t)1 << (exponent - 1))) >> exponent);
}

/** As aboard_rounding_shift, in 32 bits: |x| is less than 2^30, or x is -2^30. */
ABOARD_INLINE int32_t aboard_rounding_shift_small(int32_t x, int32_t exponent) {
    return exponent == 0 ? x : (x + (x >> 31) + ((int32_t)1 << (exponent - 1))) >> exponent;
}

/**
 * Rounded high half of ab, as aboard_rounded_high_mul, divided by 2^exponent as by aboard_rounding_shift_small.
 *
 * @param b Not negative, so that the result has the sign of a.
 */
ABOARD_INLINE int32_t aboard_rounded_high_mul_shift(int32_t a, int32_t b, int32_t exponent) {
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__) && defined(__GNUC__)
    if (exponent > 0) {
        /* A negative a takes one from the half. If the product is 0 nevertheless, the result is 0 in both cases.
         */
        const int32_t half = (int32_t)1 << (exponent - 1);
        int32_t high;
        __asm__("add %0, %3, %1, asr #31\n\tsmmlar %0, %1, %2, %0" : "=&r"(high) : "r"(a), "r"(b), "r"(half));
        return high >> exponent;
    }
#endif
    return aboard_rounding_shift_small(aboard_rounded_high_mul(a, b), exponent);
}

/**
 * x * multiplier / 2^31 * 2^shift with TFLite's two roundings.
 *
 * @param x           Accumulator; x * 2^max(shift, 0) wraps as it does in TFLite.
 * @param multiplier  0, or in [2^30, 2^31).
 * @param shift       In [-31, 30].
 */
ABOARD_INLINE int32_t aboard_requantize(int32_t x, int32_t multiplier, int32_t shift) {
    const int32_t left = shift > 0 ? shift : 0;
    const int32_t right = shift > 0 ? 0 : -shift;
    const int32_t shifted = (int32_t)((uint32_t)x << left);
    return aboard_rounding_shift(aboard_doubling_high_mul(shifted, multiplier), right);
}

/**
 * round(x * multiplier / 2^31 * 2^shift) in one step, ties to even.
 *
 * @param x          |x| < 2^47.
 * @param multiplier 0, or in [2^30, 2^31).
 * @param shift      In [-31, 14].
 * @return The result; |result| >= 2^30 becomes 2^30 or -2^30, so that a zero point can be added.
 */
ABOARD_SHARED int32_t aboard_requantize_exactly(int64_t x, int32_t multiplier, int32_t shift) {
    /* The product has up to 78 bits: its 16 lowest are kept apart. */
    const int64_t low = (x & 0xffff) * multiplier;
    const int64_t high = (x >> 16) * multiplier + (low >> 16);
    const int32_t right = 15 - shift;
    const int64_t down = high >> right;
    const int64_t rest = (high & ((INT64_C(1) << right) - 1)) << 16 | (low & 0xffff);
    const int64_t half = INT64_C(1) << (right + 15);
    const int64_t nearest = down + (rest > half || (rest == half && (down & 1)));
    const int64_t most = INT64_C(1) << 30;
    return (int32_t)(nearest < -most ? -most : nearest > most ? most : nearest);
}

#endif
