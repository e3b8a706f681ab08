/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/comparison.h
 * Comparisons and logic of two elements, with broadcasting. ABOARD_BINARY_KERNEL describes the form of all kernels.
 * No comparison but not_equal holds for NaN.
 */
#ifndef ABOARD_KERNELS_PORTABLE_COMPARISON_H
#define ABOARD_KERNELS_PORTABLE_COMPARISON_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard/config.h"
#include "binary.h"
#include "broadcast.h"
#include "scaling.h"

/** Parameters of the comparisons of int8. */
typedef struct {
    aboard_broadcast_t over;
    aboard_scaling_t a; /**< What is compared of an operand moved up by 8 bits. */
    aboard_scaling_t b;
} aboard_comparison_s8_t;

/** What is compared of an int8. */
ABOARD_INLINE int32_t aboard_compared(const aboard_scaling_t *s, int32_t x) {
    return aboard_rescaled(s, (x - s->zero_point) * ((int32_t)1 << 8));
}

/** Comparisons of one kind; `<name>_raw_s8` is for int8 of one scale, of which no two values are compared as equal. */
#define ABOARD_COMPARISON(name, sign)                                                                                  \
    ABOARD_BINARY_KERNEL(name##_s8, aboard_comparison_s8_t, int8_t, int8_t, bool,                                      \
                         aboard_compared(&p->a, u) sign aboard_compared(&p->b, v))                                     \
    ABOARD_BINARY_KERNEL(name##_raw_s8, aboard_binary_t, int8_t, int8_t, bool, u sign v)                               \
    ABOARD_BINARY_KERNEL(name##_bool, aboard_binary_t, bool, bool, bool, u sign v)                                     \
    ABOARD_BINARY_KERNEL(name##_u8, aboard_binary_t, uint8_t, uint8_t, bool, u sign v)                                 \
    ABOARD_BINARY_KERNEL(name##_s16, aboard_binary_t, int16_t, int16_t, bool, u sign v)                                \
    ABOARD_BINARY_KERNEL(name##_u32, aboard_binary_t, uint32_t, uint32_t, bool, u sign v)                              \
    ABOARD_BINARY_KERNEL(name##_u64, aboard_binary_t, uint64_t, uint64_t, bool, u sign v)                              \
    ABOARD_BINARY_KERNEL(name##_s32, aboard_binary_t, int32_t, int32_t, bool, u sign v)                                \
    ABOARD_BINARY_KERNEL(name##_s64, aboard_binary_t, int64_t, int64_t, bool, u sign v)                                \
    ABOARD_BINARY_KERNEL(name##_f32, aboard_binary_t, float, float, bool, u sign v)

ABOARD_COMPARISON(equal, ==)
ABOARD_COMPARISON(not_equal, !=)
ABOARD_COMPARISON(greater, >)
ABOARD_COMPARISON(greater_equal, >=)
ABOARD_COMPARISON(less, <)
ABOARD_COMPARISON(less_equal, <=)

/** a and b. */
ABOARD_BINARY_KERNEL(logical_and_bool, aboard_binary_t, bool, bool, bool, u &&v)
/** a or b. */
ABOARD_BINARY_KERNEL(logical_or_bool, aboard_binary_t, bool, bool, bool, u || v)

#endif
