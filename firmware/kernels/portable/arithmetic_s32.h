/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/arithmetic_s32.h
 * Sums, differences and products of two operands of int32 without quantisation, with broadcasting. They wrap to 32 bits
 * before they are kept between limits.
 */
#ifndef ABOARD_KERNELS_PORTABLE_ARITHMETIC_S32_H
#define ABOARD_KERNELS_PORTABLE_ARITHMETIC_S32_H

#include <stdint.h>

#include "aboard/config.h"
#include "broadcast.h"
#include "requantize.h"

/** Parameters of the kernels of this file. */
typedef struct {
    aboard_broadcast_t over;
    int32_t low;  /**< Smallest result. */
    int32_t high; /**< Largest result. */
} aboard_arithmetic_s32_t;

/** a + b, see ABOARD_BINARY_KERNEL. */
ABOARD_BINARY_KERNEL(add_s32, aboard_arithmetic_s32_t, int32_t, int32_t, int32_t,
                     aboard_clamp((int32_t)((uint32_t)u + (uint32_t)v), p->low, p->high))
/** a - b, see ABOARD_BINARY_KERNEL. */
ABOARD_BINARY_KERNEL(sub_s32, aboard_arithmetic_s32_t, int32_t, int32_t, int32_t,
                     aboard_clamp((int32_t)((uint32_t)u - (uint32_t)v), p->low, p->high))
/** a * b, see ABOARD_BINARY_KERNEL. */
ABOARD_BINARY_KERNEL(mul_s32, aboard_arithmetic_s32_t, int32_t, int32_t, int32_t,
                     aboard_clamp((int32_t)((uint32_t)u * (uint32_t)v), p->low, p->high))

#endif
