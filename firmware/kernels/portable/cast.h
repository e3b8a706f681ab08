/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/cast.h
 * Values in another element type, without quantisation: aboard_cast_<type>_to_<type>. ABOARD_UNARY_KERNEL describes the
 * form of all kernels; the result is another memory than the operand where the types differ.
 *
 * Integers keep their lowest bits. Floats are cut off toward 0. What 32 bits cannot hold becomes the nearest int32 or
 * uint32, and NaN 0; of an int32 the lowest bits are kept where the result is narrower.
 */
#ifndef ABOARD_KERNELS_PORTABLE_CAST_H
#define ABOARD_KERNELS_PORTABLE_CAST_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "elements.h"

/** The int32 next to a number toward 0. */
ABOARD_INLINE int32_t aboard_cut_off(float x) {
    if (x >= 2147483648.0f) {
        return INT32_MAX;
    }
    return x > -2147483648.0f ? (int32_t)x : x == x ? INT32_MIN : 0;
}

/** The uint32 next to a number toward 0. */
ABOARD_INLINE uint32_t aboard_cut_off_unsigned(float x) {
    if (x >= 4294967296.0f) {
        return UINT32_MAX;
    }
    return x > 0.0f ? (uint32_t)x : 0;
}

/** The int64 next to a number toward 0; what 64 bits cannot hold becomes the nearest, and NaN 0. */
ABOARD_INLINE int64_t aboard_cut_off_wide(float x) {
    if (x >= 9223372036854775808.0f) {
        return INT64_MAX;
    }
    return x > -9223372036854775808.0f ? (int64_t)x : x == x ? INT64_MIN : 0;
}

/** Casts from a type: to integers the values of `whole`, to uint32 that of `natural`, to 64 bits that of `wide`, to
 * float32 that of `real`, which are expressions of `u`; to bool whether it is not 0. */
#define ABOARD_CASTS(name, type, whole, natural, wide, real)                                                           \
    ABOARD_UNARY_KERNEL(cast_##name##_to_s8, aboard_elements_t, type, int8_t, (int8_t)(whole))                         \
    ABOARD_UNARY_KERNEL(cast_##name##_to_u8, aboard_elements_t, type, uint8_t, (uint8_t)(whole))                       \
    ABOARD_UNARY_KERNEL(cast_##name##_to_s16, aboard_elements_t, type, int16_t, (int16_t)(whole))                      \
    ABOARD_UNARY_KERNEL(cast_##name##_to_s32, aboard_elements_t, type, int32_t, (int32_t)(whole))                      \
    ABOARD_UNARY_KERNEL(cast_##name##_to_u32, aboard_elements_t, type, uint32_t, (uint32_t)(natural))                  \
    ABOARD_UNARY_KERNEL(cast_##name##_to_s64, aboard_elements_t, type, int64_t, (int64_t)(wide))                       \
    ABOARD_UNARY_KERNEL(cast_##name##_to_u64, aboard_elements_t, type, uint64_t, (uint64_t)(wide))                     \
    ABOARD_UNARY_KERNEL(cast_##name##_to_bool, aboard_elements_t, type, bool, u != 0)                                  \
    ABOARD_UNARY_KERNEL(cast_##name##_to_f32, aboard_elements_t, type, float, real)

/** The number whose bits are those of an integer. */
ABOARD_INLINE float aboard_float_of_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/** The bits of a number. */
ABOARD_INLINE uint32_t aboard_bits_of_float(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/** The same bits in another type. */
ABOARD_UNARY_KERNEL(bit_cast_f32_to_s32, aboard_elements_t, float, int32_t, (int32_t)aboard_bits_of_float(u))
ABOARD_UNARY_KERNEL(bit_cast_f32_to_u32, aboard_elements_t, float, uint32_t, aboard_bits_of_float(u))
ABOARD_UNARY_KERNEL(bit_cast_s32_to_f32, aboard_elements_t, int32_t, float, aboard_float_of_bits((uint32_t)u))
ABOARD_UNARY_KERNEL(bit_cast_u32_to_f32, aboard_elements_t, uint32_t, float, aboard_float_of_bits(u))

ABOARD_CASTS(bool, bool, u, u, u, u ? 1.0f : 0.0f)
ABOARD_CASTS(s8, int8_t, u, u, u, u)
ABOARD_CASTS(u8, uint8_t, u, u, u, u)
ABOARD_CASTS(s16, int16_t, u, u, u, u)
ABOARD_CASTS(s32, int32_t, u, u, u, (float)u)
ABOARD_CASTS(u32, uint32_t, u, u, u, (float)u)
ABOARD_CASTS(s64, int64_t, u, u, u, (float)u)
ABOARD_CASTS(u64, uint64_t, u, u, u, (float)u)
ABOARD_CASTS(f32, float, aboard_cut_off(u), aboard_cut_off_unsigned(u), aboard_cut_off_wide(u), u)

#endif
