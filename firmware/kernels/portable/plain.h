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
 * Defines quotient and remainders of a type. A quotient of -1 is a difference, since the smallest number has no
 * counterpart.
 *
 * @param name  Ends the names of the functions.
 * @param type  The type.
 * @param bits  Unsigned type of at least 32 bits in which the type wraps.
 * @param is_negative  Expression of `x`: whether it is below 0.
 */
#define ABOARD_PLAIN_DIVISION(name, type, bits, is_negative)                                                           \
    ABOARD_INLINE bool aboard_is_negative_##name(type x) {                                                             \
        return (is_negative);                                                                                          \
    }                                                                                                                  \
    ABOARD_INLINE type aboard_quotient_##name(type a, type b) {                                                        \
        if (aboard_is_negative_##name(b) && (bits)b == (bits)0 - 1) {                                                  \
            return (type)((bits)0 - (bits)a);                                                                          \
        }                                                                                                              \
        return b == 0 ? 0 : (type)(a / b);                                                                             \
    }                                                                                                                  \
    ABOARD_INLINE type aboard_remainder_of_##name(type a, type b) {                                                    \
        if (aboard_is_negative_##name(b) && (bits)b == (bits)0 - 1) {                                                  \
            return 0;                                                                                                  \
        }                                                                                                              \
        return b == 0 ? 0 : (type)(a % b);                                                                             \
    }                                                                                                                  \
    ABOARD_INLINE type aboard_floor_mod_of_##name(type a, type b) {                                                    \
        const type rest = aboard_remainder_of_##name(a, b);                                                            \
        const bool other = aboard_is_negative_##name(rest) != aboard_is_negative_##name(b);                            \
        return rest != 0 && other ? (type)((bits)rest + (bits)b) : rest;                                               \
    }

/** Defines the kernels of a type; parameters as for ABOARD_PLAIN_DIVISION. */
#define ABOARD_PLAIN(name, type, bits, is_negative)                                                                    \
    ABOARD_PLAIN_DIVISION(name, type, bits, is_negative)                                                               \
    ABOARD_BINARY_KERNEL(plain_add_##name, aboard_binary_t, type, type, type, (type)((bits)u + (bits)v))               \
    ABOARD_BINARY_KERNEL(plain_sub_##name, aboard_binary_t, type, type, type, (type)((bits)u - (bits)v))               \
    ABOARD_BINARY_KERNEL(plain_mul_##name, aboard_binary_t, type, type, type, (type)((bits)u * (bits)v))               \
    ABOARD_BINARY_KERNEL(plain_div_##name, aboard_binary_t, type, type, type, aboard_quotient_##name(u, v))            \
    ABOARD_BINARY_KERNEL(plain_remainder_##name, aboard_binary_t, type, type, type, aboard_remainder_of_##name(u, v))  \
    ABOARD_BINARY_KERNEL(plain_floor_mod_##name, aboard_binary_t, type, type, type, aboard_floor_mod_of_##name(u, v))  \
    ABOARD_BINARY_KERNEL(plain_maximum_##name, aboard_binary_t, type, type, type, u > v ? u : v)                       \
    ABOARD_BINARY_KERNEL(plain_minimum_##name, aboard_binary_t, type, type, type, u < v ? u : v)                       \
    ABOARD_BINARY_KERNEL(bitwise_and_##name, aboard_binary_t, type, type, type, (type)((bits)u & (bits)v))             \
    ABOARD_BINARY_KERNEL(bitwise_or_##name, aboard_binary_t, type, type, type, (type)((bits)u | (bits)v))              \
    ABOARD_BINARY_KERNEL(bitwise_xor_##name, aboard_binary_t, type, type, type, (type)((bits)u ^ (bits)v))             \
    ABOARD_UNARY_KERNEL(bitwise_not_##name, aboard_elements_t, type, type, (type)(~(bits)u))

ABOARD_PLAIN(s8, int8_t, uint32_t, x < 0)
ABOARD_PLAIN(u8, uint8_t, uint32_t, ((void)x, false))
ABOARD_PLAIN(s16, int16_t, uint32_t, x < 0)
ABOARD_PLAIN(s32, int32_t, uint32_t, x < 0)
ABOARD_PLAIN(u32, uint32_t, uint32_t, ((void)x, false))
ABOARD_PLAIN(s64, int64_t, uint64_t, x < 0)
ABOARD_PLAIN(u64, uint64_t, uint64_t, ((void)x, false))

/** Shifts of an unsigned type of a number of bits; by as many bits or more, the result is 0. */
#define ABOARD_SHIFTS(name, type, bits, size)                                                                          \
    ABOARD_BINARY_KERNEL(shift_left_##name, aboard_binary_t, type, type, type, v < size ? (type)((bits)u << v) : 0)    \
    ABOARD_BINARY_KERNEL(shift_right_##name, aboard_binary_t, type, type, type, v < size ? (type)(u >> v) : 0)

ABOARD_SHIFTS(u8, uint8_t, uint32_t, 8)
ABOARD_SHIFTS(u32, uint32_t, uint32_t, 32)
ABOARD_SHIFTS(u64, uint64_t, uint64_t, 64)

#endif
