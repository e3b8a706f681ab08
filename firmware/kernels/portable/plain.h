/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/plain.h
 * Arithmetic of integers without quantisation, with broadcasting. Sums, differences and products wrap; quotients are
 * cut off toward 0, and what is divided by 0 is 0. ABOARD_BINARY_KERNEL describes the form of all kernels.
 */
#ifndef ABOARD_KERNELS_PORTABLE_PLAIN_H
#define ABOARD_KERNELS_PORTABLE_PLAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard/config.h"
#include "binary.h"
#include "broadcast.h"
#include "elements.h"

/**
 * Defines quotient and remainders of a signed type. A quotient by -1 is a difference, since the smallest number has no
 * counterpart.
 *
 * @param name  Ends the names of the functions.
 * @param type  The type.
 * @param bits  Unsigned type of at least 32 bits in which the type wraps.
 */
#define ABOARD_SIGNED_DIVISION(name, type, bits)                                                                       \
    ABOARD_INLINE type aboard_quotient_of_##name(type a, type b) {                                                     \
        return b == -1 ? (type)((bits)0 - (bits)a) : b == 0 ? 0 : (type)(a / b);                                       \
    }                                                                                                                  \
    ABOARD_INLINE type aboard_remainder_of_##name(type a, type b) {                                                    \
        return b == -1 || b == 0 ? 0 : (type)(a % b);                                                                  \
    }                                                                                                                  \
    ABOARD_INLINE type aboard_floor_mod_of_##name(type a, type b) {                                                    \
        const type rest = aboard_remainder_of_##name(a, b);                                                            \
        return rest != 0 && (rest < 0) != (b < 0) ? (type)((bits)rest + (bits)b) : rest;                               \
    }

/** Defines quotient and remainders of an unsigned type; parameters as for ABOARD_SIGNED_DIVISION. */
#define ABOARD_UNSIGNED_DIVISION(name, type)                                                                           \
    ABOARD_INLINE type aboard_quotient_of_##name(type a, type b) {                                                     \
        return b == 0 ? 0 : (type)(a / b);                                                                             \
    }                                                                                                                  \
    ABOARD_INLINE type aboard_remainder_of_##name(type a, type b) {                                                    \
        return b == 0 ? 0 : (type)(a % b);                                                                             \
    }                                                                                                                  \
    ABOARD_INLINE type aboard_floor_mod_of_##name(type a, type b) {                                                    \
        return b == 0 ? 0 : (type)(a % b);                                                                             \
    }

/** Defines the kernels of a type; parameters as for ABOARD_SIGNED_DIVISION. */
#define ABOARD_PLAIN(name, type, bits)                                                                                 \
    ABOARD_BINARY_KERNEL(plain_add_##name, aboard_binary_t, type, type, type, (type)((bits)u + (bits)v))               \
    ABOARD_BINARY_KERNEL(plain_sub_##name, aboard_binary_t, type, type, type, (type)((bits)u - (bits)v))               \
    ABOARD_BINARY_KERNEL(plain_mul_##name, aboard_binary_t, type, type, type, (type)((bits)u * (bits)v))               \
    ABOARD_BINARY_KERNEL(plain_div_##name, aboard_binary_t, type, type, type, aboard_quotient_of_##name(u, v))         \
    ABOARD_BINARY_KERNEL(plain_remainder_##name, aboard_binary_t, type, type, type, aboard_remainder_of_##name(u, v))  \
    ABOARD_BINARY_KERNEL(plain_floor_mod_##name, aboard_binary_t, type, type, type, aboard_floor_mod_of_##name(u, v))  \
    ABOARD_BINARY_KERNEL(plain_maximum_##name, aboard_binary_t, type, type, type, u > v ? u : v)                       \
    ABOARD_BINARY_KERNEL(plain_minimum_##name, aboard_binary_t, type, type, type, u < v ? u : v)                       \
    ABOARD_BINARY_KERNEL(bitwise_and_##name, aboard_binary_t, type, type, type, (type)((bits)u & (bits)v))             \
    ABOARD_BINARY_KERNEL(bitwise_or_##name, aboard_binary_t, type, type, type, (type)((bits)u | (bits)v))              \
    ABOARD_BINARY_KERNEL(bitwise_xor_##name, aboard_binary_t, type, type, type, (type)((bits)u ^ (bits)v))             \
    ABOARD_UNARY_KERNEL(bitwise_not_##name, aboard_elements_t, type, type, (type)(~(bits)u))

ABOARD_SIGNED_DIVISION(s8, int8_t, uint32_t)
ABOARD_SIGNED_DIVISION(s16, int16_t, uint32_t)
ABOARD_SIGNED_DIVISION(s32, int32_t, uint32_t)
ABOARD_SIGNED_DIVISION(s64, int64_t, uint64_t)
ABOARD_UNSIGNED_DIVISION(u8, uint8_t)
ABOARD_UNSIGNED_DIVISION(u32, uint32_t)
ABOARD_UNSIGNED_DIVISION(u64, uint64_t)

ABOARD_PLAIN(s8, int8_t, uint32_t)
ABOARD_PLAIN(u8, uint8_t, uint32_t)
ABOARD_PLAIN(s16, int16_t, uint32_t)
ABOARD_PLAIN(s32, int32_t, uint32_t)
ABOARD_PLAIN(u32, uint32_t, uint32_t)
ABOARD_PLAIN(s64, int64_t, uint64_t)
ABOARD_PLAIN(u64, uint64_t, uint64_t)

/**
 * Defines the shifts of a type. To higher places, bits are dropped; to lower ones, signs are repeated. By a number of
 * bits below 0, or not below that of the type, nothing but signs is left.
 *
 * @param name  Ends the names of the functions.
 * @param type  The type.
 * @param bits  Unsigned type of at least 32 bits in which the type wraps; a number of bits below 0 is large in it.
 * @param size  Bits of the type.
 */
#define ABOARD_SHIFTS(name, type, bits, size)                                                                          \
    ABOARD_BINARY_KERNEL(shift_left_##name, aboard_binary_t, type, type, type,                                         \
                         (bits)v < (size) ? (type)((bits)u << (bits)v) : 0)                                            \
    ABOARD_BINARY_KERNEL(shift_right_##name, aboard_binary_t, type, type, type, aboard_shifted_right_##name(u, (bits)v))

/** Defines shifts of a signed type; parameters as for ABOARD_SHIFTS. Bits of numbers below 0 are shifted inverted. */
#define ABOARD_SIGNED_SHIFTS(name, type, bits, size)                                                                   \
    ABOARD_INLINE type aboard_shifted_right_##name(type x, bits count) {                                               \
        const bits signs = x < 0 ? (bits)0 - 1 : 0;                                                                    \
        const bits shifted = count < (size) ? ((bits)x ^ signs) >> count : 0;                                          \
        return (type)(shifted ^ signs);                                                                                \
    }                                                                                                                  \
    ABOARD_SHIFTS(name, type, bits, size)

/** Defines shifts of an unsigned type; parameters as for ABOARD_SHIFTS. */
#define ABOARD_UNSIGNED_SHIFTS(name, type, bits, size)                                                                 \
    ABOARD_INLINE type aboard_shifted_right_##name(type x, bits count) {                                               \
        return (type)(count < (size) ? x >> count : 0);                                                                \
    }                                                                                                                  \
    ABOARD_SHIFTS(name, type, bits, size)

ABOARD_SIGNED_SHIFTS(s8, int8_t, uint32_t, 8)
ABOARD_SIGNED_SHIFTS(s16, int16_t, uint32_t, 16)
ABOARD_SIGNED_SHIFTS(s32, int32_t, uint32_t, 32)
ABOARD_SIGNED_SHIFTS(s64, int64_t, uint64_t, 64)
ABOARD_UNSIGNED_SHIFTS(u8, uint8_t, uint32_t, 8)
ABOARD_UNSIGNED_SHIFTS(u32, uint32_t, uint32_t, 32)
ABOARD_UNSIGNED_SHIFTS(u64, uint64_t, uint64_t, 64)

#endif
