/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/float_division.h
 * Whole quotients and remainders of float32, exactly, by long division of their significands: without libm, double
 * precision, or a division of 64 bits.
 */
#ifndef ABOARD_KERNELS_PORTABLE_FLOAT_DIVISION_H
#define ABOARD_KERNELS_PORTABLE_FLOAT_DIVISION_H

#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "float_math.h"

/** A magnitude: significand * 2^exponent. */
typedef struct {
    uint32_t significand; /**< Less than 2^24. */
    int32_t exponent;     /**< In [-149, 104]. */
} aboard_magnitude_t;

/** The magnitude of a finite number. */
ABOARD_INLINE aboard_magnitude_t aboard_magnitude(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const int32_t exponent = (int32_t)(bits >> 23 & 0xff);
    const uint32_t fraction = bits & 0x7fffff;
    const aboard_magnitude_t magnitude = {exponent == 0 ? fraction : fraction | 0x800000,
                                          (exponent == 0 ? 1 : exponent) - 150};
    return magnitude;
}

/** x * 2^exponent, rounded once; exponent in [-149, 104]. */
ABOARD_INLINE float aboard_scaled_float(float x, int32_t exponent) {
    const int32_t half = exponent / 2;
    return x * aboard_power_of_two(half) * aboard_power_of_two(exponent - half);
}

/** A whole quotient and what is left. */
typedef struct {
    uint64_t quotient;  /**< Its lowest 64 bits. */
    uint32_t remainder; /**< Less than 2^24. */
    int32_t exponent;   /**< Of the remainder: remainder * 2^exponent. */
} aboard_long_division_t;

/** |x| divided by |y|; both finite, y not 0. */
ABOARD_INLINE aboard_long_division_t aboard_long_division(float x, float y) {
    const aboard_magnitude_t a = aboard_magnitude(x);
    const aboard_magnitude_t b = aboard_magnitude(y);
    const int32_t finer = b.exponent - a.exponent;
    if (finer > 0) {
        const uint32_t quotient = finer > 24 ? 0 : (a.significand >> finer) / b.significand;
        const uint32_t product = finer > 24 ? 0 : quotient * b.significand << finer;
        const aboard_long_division_t result = {quotient, a.significand - product, a.exponent};
        return result;
    }
    aboard_long_division_t result = {a.significand / b.significand, a.significand % b.significand, b.exponent};
    for (int32_t bit = finer; bit < 0; ++bit) {
        const uint32_t doubled = result.remainder << 1;
        const uint32_t enough = doubled >= b.significand;
        result.quotient = result.quotient << 1 | enough;
        result.remainder = enough ? doubled - b.significand : doubled;
    }
    return result;
}

/** The nearest float of an integer below 2^63, ties to even. */
ABOARD_INLINE float aboard_float_of(uint64_t x) {
    int32_t exponent = 0;
    /* What is moved out can only break ties. */
    for (; x >> 31 != 0; ++exponent) {
        x = x >> 1 | (x & 1);
    }
    return aboard_scaled_float((float)(int32_t)x, exponent);
}

/** floor(x / y). Of x / 0, infinities and NaN it is the quotient of IEEE 754: infinite, NaN, or 0 with its sign. */
ABOARD_INLINE float aboard_floor_divf(float x, float y) {
    const float quotient = x / y;
    /* x - x is not 0 for infinities and NaN. From 2^39 on quotients have no fraction that could matter. */
    if (x == 0.0f || y == 0.0f || x - x != 0.0f || y - y != 0.0f || quotient >= 549755813888.0f ||
        quotient <= -549755813888.0f) {
        return quotient;
    }
    const aboard_long_division_t division = aboard_long_division(x, y);
    if ((x < 0.0f) != (y < 0.0f)) {
        return -aboard_float_of(division.quotient + (division.remainder != 0));
    }
    return aboard_float_of(division.quotient);
}

/** The remainder of x / y with the sign of x. NaN for x / 0 and for infinite x. */
ABOARD_INLINE float aboard_fmodf(float x, float y) {
    if (y == 0.0f || x - x != 0.0f || y != y) {
        return (x - x) / (y - y);
    }
    if (y - y != 0.0f) {
        return x;
    }
    const aboard_long_division_t division = aboard_long_division(x, y);
    const float magnitude = aboard_scaled_float((float)(int32_t)division.remainder, division.exponent);
    return x < 0.0f ? -magnitude : magnitude;
}

/** The remainder of x / y with the sign of y, added once where the sign differs. NaN for x / 0 and for infinite x. */
ABOARD_INLINE float aboard_floor_modf(float x, float y) {
    const float remainder = aboard_fmodf(x, y);
    return remainder != 0.0f && (y < 0.0f) != (remainder < 0.0f) ? remainder + y : remainder;
}

#endif
