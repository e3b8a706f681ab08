/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/epilogue_s16.h
 * From a sum of products of int16 with int8 to an int16 result: bias, requantisation, activation.
 * host/aboard/kernels/portable/epilogue_s16.py makes the constants and chooses the form.
 */
#ifndef ABOARD_KERNELS_PORTABLE_EPILOGUE_S16_H
#define ABOARD_KERNELS_PORTABLE_EPILOGUE_S16_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard/config.h"
#include "requantize.h"

/** Forms of the epilogue. */
typedef enum {
    /** (sum * multiplier + 2^31) >> 32, if the host has proven that sums fit 32 bits and that results are equal. */
    ABOARD_S16_SHORT,
    /** TFLite's form for 64-bit sums: (sum * multiplier + 2^(shift - 1)) >> shift, reduced to 32 bits. */
    ABOARD_S16_WIDE,
    /** TFLite's form for 32-bit sums, which may wrap: double rounding. */
    ABOARD_S16_DOUBLE,
    /** As aboard_requantize_exactly, of sums below 2^47. */
    ABOARD_S16_EXACT
} aboard_s16_form_t;

/** The common constants of a layer's results. */
typedef struct {
    aboard_s16_form_t form;
    int32_t low;  /**< Smallest result. */
    int32_t high; /**< Largest result. */
} aboard_epilogue_s16_t;

/** Words of the constants of a channel: bias and multiplier; in the long forms also the high half of the bias and the
 * shift. */
ABOARD_INLINE int32_t aboard_s16_words(aboard_s16_form_t form) {
    return form == ABOARD_S16_SHORT ? 2 : 4;
}

/** Restricts `x` to [low, high]; one instruction on Arm if this is the range of int16. */
ABOARD_INLINE int16_t aboard_clamp_s16(int32_t x, int32_t low, int32_t high) {
#if defined(__ARM_FEATURE_SAT)
    if (low == INT16_MIN && high == INT16_MAX) {
        return (int16_t)__builtin_arm_ssat(x, 16);
    }
#endif
    x = x < low ? low : x;
    return (int16_t)(x > high ? high : x);
}

/**
 * The result of one sum.
 *
 * @param f   Constants of the layer.
 * @param sum Sum of products, without the bias.
 * @param c   Constants of the channel.
 */
ABOARD_INLINE int16_t aboard_epilogue_s16(const aboard_epilogue_s16_t *f, int64_t sum, const int32_t *c) {
    if (f->form == ABOARD_S16_SHORT) {
        return aboard_clamp_s16(aboard_rounded_high_mul((int32_t)sum + c[0], c[1]), f->low, f->high);
    }
    const int64_t total = sum + (int64_t)((uint64_t)(uint32_t)c[2] << 32 | (uint32_t)c[0]);
    if (f->form == ABOARD_S16_WIDE) {
        const int64_t rounded = total * c[1] + (INT64_C(1) << (c[3] - 1));
        return aboard_clamp_s16((int32_t)(uint32_t)(uint64_t)(rounded >> c[3]), f->low, f->high);
    }
    if (f->form == ABOARD_S16_EXACT) {
        return aboard_clamp_s16(aboard_requantize_exactly(total, c[1], c[3]), f->low, f->high);
    }
    const uint32_t left = c[3] > 0 ? (uint32_t)c[3] : 0;
    const uint32_t right = c[3] > 0 ? 0 : (uint32_t)-c[3];
    const int32_t high = aboard_doubling_high_mul((int32_t)((uint32_t)(uint64_t)total << left), c[1]);
    /* As aboard_rounding_shift, without 64-bit sums. */
    const uint32_t mask = ((uint32_t)1 << right) - 1;
    const int32_t up = ((uint32_t)high & mask) > (mask >> 1) + (high < 0);
    return aboard_clamp_s16((high >> right) + up, f->low, f->high);
}

#endif
