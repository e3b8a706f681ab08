/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/float_math.h
 * The exponential and its relatives in single precision, without libm and without double.
 *
 * Relative errors, measured over all arguments (tests/firmware/test_float_math.py): below 1e-7 for aboard_expf, below
 * 2e-7 for aboard_tanhf and aboard_logisticf. Results below FLT_MIN (1.2e-38) are denormal and exact to 1.5e-45 if the
 * core supports denormals. NaN gives NaN; infinities give the limits.
 *
 * Kernels call ABOARD_EXP_F32, ABOARD_TANH_F32 and ABOARD_LOGISTIC_F32. These are the functions of this file, unless
 * they are defined before it is included: generated code does so if the target has its own expressions, which must then
 * keep to the errors above. The argument has no side effects.
 */
#ifndef ABOARD_KERNELS_PORTABLE_FLOAT_MATH_H
#define ABOARD_KERNELS_PORTABLE_FLOAT_MATH_H

#include <stdint.h>
#include <string.h>

#include "aboard/config.h"

/** 2^n as a float; n in [-126, 127]. */
ABOARD_INLINE float aboard_power_of_two(int32_t n) {
    const uint32_t bits = (uint32_t)(n + 127) << 23;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/** e^x. 0 below -104, infinity above 88.8. */
ABOARD_INLINE float aboard_expf(float x) {
    if (x != x) {
        return x;
    }
    /* Beyond these limits the result is 0 or infinity; within them the exponent below stays in range. */
    const float bounded = x < -105.0f ? -105.0f : x > 89.0f ? 89.0f : x;
    const float quotient = bounded * 1.44269504f;
    const int32_t n = (int32_t)(quotient < 0.0f ? quotient - 0.5f : quotient + 0.5f);
    /* ln 2 in two parts, the first with so few bits that its product with n is exact. */
    const float r = (bounded - (float)n * 0.693145752f) - (float)n * 1.42860677e-6f;
    /* Minimax polynomials here and below, fitted for the least relative error. */
    float sum = 1.39506022e-3f;
    sum = sum * r + 8.36895313e-3f;
    sum = sum * r + 4.16662060e-2f;
    sum = sum * r + 1.66665182e-1f;
    sum = sum * r + 0.5f;
    sum = sum * r * r + r + 1.0f;
    /* Two factors, because 2^n may be beyond the range of normal numbers. */
    const int32_t half = n / 2;
    return sum * aboard_power_of_two(half) * aboard_power_of_two(n - half);
}

/** e^x, the name that kernels use. */
#ifndef ABOARD_EXP_F32
#define ABOARD_EXP_F32(x) aboard_expf(x)
#endif

/** Hyperbolic tangent. */
ABOARD_INLINE float aboard_tanhf(float x) {
    const float magnitude = x < 0.0f ? -x : x;
    if (magnitude < 0.55f) {
        const float z = x * x;
        float sum = 1.64587609e-2f;
        sum = sum * z - 5.26841469e-2f;
        sum = sum * z + 1.33209422e-1f;
        sum = sum * z - 3.33329588e-1f;
        return sum * z * x + x;
    }
    if (magnitude != magnitude) {
        return x;
    }
    /* From 10 on the quotient is below half a unit of the last place of 1. */
    const float result = magnitude > 10.0f ? 1.0f : 1.0f - 2.0f / (ABOARD_EXP_F32(2.0f * magnitude) + 1.0f);
    return x < 0.0f ? -result : result;
}

/** 1 / (1 + e^-x), with TFLite's shortcuts: e^x below -9, 1 above 16.619. */
ABOARD_INLINE float aboard_logisticf(float x) {
    if (x > 16.6190472f) {
        return 1.0f;
    }
    const int32_t small = x < -9.0f;
    const float power = ABOARD_EXP_F32(small ? x : -x);
    return small ? power : 1.0f / (1.0f + power);
}

/** Hyperbolic tangent and logistic, the names that kernels use. */
#ifndef ABOARD_TANH_F32
#define ABOARD_TANH_F32(x) aboard_tanhf(x)
#endif
#ifndef ABOARD_LOGISTIC_F32
#define ABOARD_LOGISTIC_F32(x) aboard_logisticf(x)
#endif

#endif
