/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/float_functions.h
 * Roots, logarithms, circular functions and roundings in single precision, without libm and without double.
 *
 * Square roots are the nearest float, as IEEE 754 demands. Relative errors of the others, measured over all arguments
 * (tests/firmware/test_float_math.py): below 3e-7 for aboard_logf and aboard_expm1f, below 2e-7 for aboard_sinf and
 * aboard_cosf. NaN gives NaN, as do negative arguments of roots and logarithms and infinite ones of sine and cosine.
 */
#ifndef ABOARD_KERNELS_PORTABLE_FLOAT_FUNCTIONS_H
#define ABOARD_KERNELS_PORTABLE_FLOAT_FUNCTIONS_H

#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "float_division.h"
#include "float_math.h"

/** Square root. */
ABOARD_INLINE float aboard_sqrtf(float x) {
#if defined(__ARM_FP) && (__ARM_FP & 4) && defined(__GNUC__)
    float root;
    __asm__("vsqrt.f32 %0, %1" : "=t"(root) : "t"(x));
    return root;
#else
    if (x == 0.0f || x - x != 0.0f || x < 0.0f) {
        return x < 0.0f ? (x - x) / 0.0f : x;
    }
    aboard_magnitude_t m = aboard_magnitude(x);
    for (; m.significand >> 23 == 0; --m.exponent) {
        m.significand <<= 1;
    }
    /* 2^48 to 2^50, times an even power of two: a root of 25 bits. */
    const int32_t shift = (m.exponent & 1) != 0 ? 25 : 26;
    uint64_t rest = (uint64_t)m.significand << shift;
    uint64_t root = 0;
    for (uint64_t bit = (uint64_t)1 << 48; bit != 0; bit >>= 2) {
        const uint64_t next = root + bit;
        root >>= 1;
        if (rest >= next) {
            rest -= next;
            root += bit;
        }
    }
    /* No root is half way between two floats. */
    return (float)(int32_t)((root + 1) >> 1) * aboard_power_of_two((m.exponent - shift) / 2 + 1);
#endif
}

/** Natural logarithm; minus infinity of 0. */
ABOARD_INLINE float aboard_logf(float x) {
    if (x <= 0.0f || x - x != 0.0f) {
        return x == 0.0f ? -1.0f / 0.0f : x < 0.0f ? (x - x) / 0.0f : x;
    }
    aboard_magnitude_t m = aboard_magnitude(x);
    for (; m.significand >> 23 == 0; --m.exponent) {
        m.significand <<= 1;
    }
    /* 2^n * f with f between the root of 1/2 and that of 2. */
    const int32_t above = m.significand > 11863283;
    const float n = (float)(m.exponent + 23 + above);
    const float f = (float)(int32_t)m.significand * (above ? 5.96046448e-8f : 1.1920929e-7f);
    const float s = (f - 1.0f) / (f + 1.0f);
    const float z = s * s;
    float sum = 0.149395838f;
    sum = sum * z + 0.199886426f;
    sum = sum * z + 0.33333388f;
    /* ln 2 in two parts, the first with so few bits that its product with n is exact. */
    return n * 0.693145752f + (2.0f * s + (2.0f * s * z * sum + n * 1.42860677e-6f));
}

/** e^x - 1 for x <= 0. */
ABOARD_INLINE float aboard_expm1f(float x) {
    if (x < -0.6f) {
        return ABOARD_EXP_F32(x) - 1.0f;
    }
    float sum = 0.00108299463f;
    sum = sum * x + 0.00814169366f;
    sum = sum * x + 0.0416108966f;
    sum = sum * x + 0.166659519f;
    sum = sum * x + 0.499999702f;
    return sum * x * x + x;
}

/** An angle as quarter turns and what is left: angle = (quarters + 4k) * pi / 2 + rest, rest in [-pi / 4, pi / 4]. */
typedef struct {
    uint32_t quarters;
    float rest;
} aboard_angle_t;

/** 32 bits of a number from a bit on, counted from the highest. */
ABOARD_INLINE uint32_t aboard_bits_at(const uint32_t *words, int32_t bit) {
    const uint32_t *word = words + (bit >> 5);
    return (bit & 31) == 0 ? word[0] : word[0] << (bit & 31) | word[1] >> (32 - (bit & 31));
}

/** The angle of a finite number. Products with 2 / pi are exact to 62 bits below one quarter. */
ABOARD_INLINE aboard_angle_t aboard_angle(float x) {
    if (x > -0.785398f && x < 0.785398f) {
        const aboard_angle_t small = {0, x};
        return small;
    }
    static const uint32_t two_over_pi[] = {0,           0xa2f9836eu, 0x4e441529u, 0xfc2757d1u,
                                           0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu};
    const aboard_magnitude_t m = aboard_magnitude(x);
    /* Bits that count for whole turns are left out: quarters are the two highest of 64. */
    const int32_t bit = m.exponent + 30;
    const uint64_t high = m.significand * aboard_bits_at(two_over_pi, bit);
    const uint64_t middle = (uint64_t)m.significand * aboard_bits_at(two_over_pi, bit + 32);
    const uint64_t low = (uint64_t)m.significand * aboard_bits_at(two_over_pi, bit + 64);
    const uint64_t turned = (high << 32) + middle + (low >> 32);
    const uint64_t quarters = (turned + ((uint64_t)1 << 61)) >> 62;
    uint64_t rest = turned - (quarters << 62);
    const int32_t negative = (int32_t)(rest >> 63);
    rest = negative ? 0 - rest : rest;
    int32_t exponent = -62;
    for (; rest != 0 && rest >> 62 == 0; --exponent) {
        rest <<= 1;
    }
    const float magnitude = (float)(int32_t)(rest >> 32) * aboard_power_of_two(exponent + 32) * 1.57079633f;
    const int32_t flipped = (x < 0.0f) != negative;
    const aboard_angle_t angle = {(uint32_t)(x < 0.0f ? 0 - quarters : quarters) & 3, flipped ? -magnitude : magnitude};
    return angle;
}

/** Sine of an angle after a number of quarter turns. */
ABOARD_INLINE float aboard_sine(aboard_angle_t angle) {
    const float r = angle.rest;
    const float z = r * r;
    float value;
    if ((angle.quarters & 1) == 0) {
        value = ((-0.000195164801f * z + 0.00833217241f) * z - 0.166666552f) * z * r + r;
    } else {
        value = ((2.44375315e-5f * z - 0.00138873595f) * z + 0.0416666456f) * z * z + (1.0f - 0.5f * z);
    }
    return (angle.quarters & 2) != 0 ? -value : value;
}

/** Sine of radians. */
ABOARD_INLINE float aboard_sinf(float x) {
    return x - x != 0.0f ? x - x : aboard_sine(aboard_angle(x));
}

/** Cosine of radians. */
ABOARD_INLINE float aboard_cosf(float x) {
    if (x - x != 0.0f) {
        return x - x;
    }
    aboard_angle_t angle = aboard_angle(x);
    ++angle.quarters;
    return aboard_sine(angle);
}

/** Largest integer that is not larger. */
ABOARD_INLINE float aboard_floorf(float x) {
    /* Larger numbers are integers. */
    if (!(x > -8388608.0f && x < 8388608.0f)) {
        return x;
    }
    const float whole = (float)(int32_t)x;
    return whole > x ? whole - 1.0f : whole;
}

/** Nearest integer, the even one of two. */
ABOARD_INLINE float aboard_roundf(float x) {
    if (!(x > -8388608.0f && x < 8388608.0f)) {
        return x;
    }
    const int32_t whole = (int32_t)x;
    const float rest = x - (float)whole;
    const int32_t odd = whole & 1;
    return (float)(whole + (rest > 0.5f || (rest == 0.5f && odd)) - (rest < -0.5f || (rest == -0.5f && odd)));
}

#endif
