/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/float_special.h
 * Powers, the error function, inverse circular and hyperbolic functions in single precision, without libm and without
 * double.
 *
 * Errors relative to the larger of the result and 1, measured over all ranges (tests/firmware/test_float_math.py):
 * below 5e-7, of aboard_powf below 1e-5. Outside the range of a function the result is NaN; NaN gives NaN.
 */
#ifndef ABOARD_KERNELS_PORTABLE_FLOAT_SPECIAL_H
#define ABOARD_KERNELS_PORTABLE_FLOAT_SPECIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard/config.h"
#include "float_functions.h"
#include "float_math.h"

/** Error function: 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x. */
ABOARD_INLINE float aboard_erff(float x) {
    const float m = x < 0.0f ? -x : x;
    if (m < 1.0f) {
        const float z = x * x;
        float sum = 7.85385775e-5f;
        sum = sum * z - 8.01019253e-4f;
        sum = sum * z + 5.18832756e-3f;
        sum = sum * z - 2.68538119e-2f;
        sum = sum * z + 1.12835851e-1f;
        sum = sum * z - 3.76126258e-1f;
        return (sum * z + 1.12837917f) * x;
    }
    if (m != m) {
        return x;
    }
    /* The logarithm of 1 - erf as a polynomial; from 4 on 1 - erf is below half a unit of the last place of 1. */
    const float bounded = m > 4.0f ? 4.0f : m;
    float sum = 1.59981909e-6f;
    sum = sum * bounded - 4.52980911e-5f;
    sum = sum * bounded + 5.90203173e-4f;
    sum = sum * bounded - 4.72768797e-3f;
    sum = sum * bounded + 2.63275219e-2f;
    sum = sum * bounded - 1.09909727e-1f;
    sum = sum * bounded - 6.32013444e-1f;
    sum = sum * bounded - 1.13011972f;
    sum = sum * bounded + 2.91025362e-4f;
    const float result = 1.0f - ABOARD_EXP_F32(sum);
    return x < 0.0f ? -result : result;
}

/** Tangent of radians. */
ABOARD_INLINE float aboard_tanf(float x) {
    return aboard_sinf(x) / aboard_cosf(x);
}

/** Arc tangent, in [-pi / 2, pi / 2]. */
ABOARD_INLINE float aboard_atanf(float x) {
    const float m = x < 0.0f ? -x : x;
    /* Above tan(3 pi / 8) the angle of the reciprocal is subtracted from pi / 2, above tan(pi / 8) pi / 4 is taken off.
     */
    const bool steep = m > 2.41421356f;
    const bool middle = !steep && m > 0.414213562f;
    const float t = steep ? -1.0f / m : middle ? (m - 1.0f) / (m + 1.0f) : m;
    const float z = t * t;
    float sum = 7.98673197e-2f;
    sum = sum * z - 1.38520867e-1f;
    sum = sum * z + 1.99744702e-1f;
    sum = sum * z - 3.33327992e-1f;
    const float angle = sum * z * t + t + (steep ? 1.57079633f : middle ? 0.785398163f : 0.0f);
    return x < 0.0f ? -angle : angle;
}

/** Arc sine, in [-pi / 2, pi / 2], of a number in [-1, 1]. */
ABOARD_INLINE float aboard_asinf(float x) {
    const float m = x < 0.0f ? -x : x;
    if (!(m <= 1.0f)) {
        return (x - x) / (x - x);
    }
    /* Above 1/2, asin(m) = pi / 2 - 2 asin(sqrt((1 - m) / 2)). */
    const bool high = m > 0.5f;
    const float z = high ? 0.5f * (1.0f - m) : m * m;
    const float t = high ? aboard_sqrtf(z) : m;
    float sum = 4.26355681e-2f;
    sum = sum * z + 2.38582158e-2f;
    sum = sum * z + 4.55501752e-2f;
    sum = sum * z + 7.49443485e-2f;
    sum = sum * z + 1.66667901e-1f;
    const float angle = sum * z * t + t;
    const float result = high ? 1.57079633f - 2.0f * angle : angle;
    return x < 0.0f ? -result : result;
}

/** Arc cosine, in [0, pi], of a number in [-1, 1]. */
ABOARD_INLINE float aboard_acosf(float x) {
    if (x > 0.5f && x <= 1.0f) {
        return 2.0f * aboard_asinf(aboard_sqrtf(0.5f * (1.0f - x)));
    }
    return 1.57079633f - aboard_asinf(x);
}

/** Hyperbolic sine. */
ABOARD_INLINE float aboard_sinhf(float x) {
    if (x > -1.0f && x < 1.0f) {
        const float z = x * x;
        float sum = 2.03939897e-4f;
        sum = sum * z + 8.32991192e-3f;
        sum = sum * z + 1.66667338e-1f;
        return sum * z * x + x;
    }
    /* Half of the power first: e^x may be infinite where its half is not. */
    const float half = ABOARD_EXP_F32(0.5f * x);
    const float below = ABOARD_EXP_F32(-0.5f * x);
    return 0.5f * half * half - 0.5f * below * below;
}

/** Hyperbolic cosine. */
ABOARD_INLINE float aboard_coshf(float x) {
    const float half = ABOARD_EXP_F32(0.5f * x);
    const float below = ABOARD_EXP_F32(-0.5f * x);
    return 0.5f * half * half + 0.5f * below * below;
}

/** ln(1 + x) for x from 0 on, or above -1. */
ABOARD_INLINE float aboard_log1pf(float x) {
    const float sum = 1.0f + x;
    /* The logarithm of the rounded sum, corrected by what rounding lost. */
    return sum == 1.0f || sum - sum != 0.0f ? (sum == 1.0f ? x : aboard_logf(sum))
                                            : aboard_logf(sum) - ((sum - 1.0f) - x) / sum;
}

/** Inverse hyperbolic sine. */
ABOARD_INLINE float aboard_asinhf(float x) {
    const float m = x < 0.0f ? -x : x;
    /* Above 2^13 the 1 below the root has no effect. */
    const float result =
        m > 8192.0f ? aboard_logf(m) + 0.693147181f : aboard_log1pf(m + m * m / (1.0f + aboard_sqrtf(m * m + 1.0f)));
    return x < 0.0f ? -result : result;
}

/** Inverse hyperbolic cosine, of a number from 1 on. */
ABOARD_INLINE float aboard_acoshf(float x) {
    if (!(x >= 1.0f)) {
        return (x - x) / (x - x);
    }
    if (x > 8192.0f) {
        return aboard_logf(x) + 0.693147181f;
    }
    const float above = x - 1.0f;
    return aboard_log1pf(above + aboard_sqrtf(above * (x + 1.0f)));
}

/** Inverse hyperbolic tangent, of a number in (-1, 1). */
ABOARD_INLINE float aboard_atanhf(float x) {
    const float m = x < 0.0f ? -x : x;
    const float result = 0.5f * aboard_log1pf(2.0f * m / (1.0f - m));
    return x < 0.0f ? -result : result;
}

/** ln(1 + e^x). */
ABOARD_INLINE float aboard_softplusf(float x) {
    const float m = x < 0.0f ? -x : x;
    return (x > 0.0f ? x : 0.0f) + aboard_log1pf(ABOARD_EXP_F32(-m));
}

/** x to the power of an integer, by squaring. */
ABOARD_INLINE float aboard_whole_powerf(float x, int32_t y) {
    float power = 1.0f;
    for (uint32_t left = y < 0 ? (uint32_t)0 - (uint32_t)y : (uint32_t)y; left != 0; left >>= 1) {
        power = (left & 1) != 0 ? power * x : power;
        x *= x;
    }
    return y < 0 ? 1.0f / power : power;
}

/** x to the power of y, as IEEE 754 defines it; NaN where x is below 0 and y no integer. */
ABOARD_INLINE float aboard_powf(float x, float y) {
    if (y >= -64.0f && y <= 64.0f && y == (float)(int32_t)y) {
        return aboard_whole_powerf(x, (int32_t)y);
    }
    if (x == 1.0f || x != x || y != y) {
        return x == 1.0f ? 1.0f : x + y;
    }
    const float m = x < 0.0f ? -x : x;
    const bool is_whole = aboard_floorf(y) == y;
    if (x < 0.0f && !is_whole && x - x == 0.0f) {
        return (x - x) / (x - x);
    }
    /* From 2^24 on, every number is even. */
    const bool is_odd = is_whole && y - y == 0.0f && aboard_floorf(0.5f * y) != 0.5f * y;
    const float logarithm = m == 1.0f ? 0.0f : y * aboard_logf(m);
    const float power = ABOARD_EXP_F32(logarithm);
    return x < 0.0f && is_odd ? -power : power;
}

#endif
