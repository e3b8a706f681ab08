/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/epilogue.h
 * From an int32 accumulator to an int8 result: bias, requantisation, zero point, activation.
 * host/aboard/kernels/portable/epilogue.py makes the constants and chooses one of the two forms.
 */
#ifndef ABOARD_KERNELS_PORTABLE_EPILOGUE_H
#define ABOARD_KERNELS_PORTABLE_EPILOGUE_H

#include <stdint.h>

#include "aboard/config.h"
#include "requantize.h"

/** The common constants of a layer's results. */
typedef struct {
    int32_t fast; /**< 0: the general form; 1: the short form, for which the host has proven the ranges; 2: the short
                     form with the limits of int8; 3: single rounding, see aboard_epilogue_single;
                     4: as aboard_requantize_exactly. */
    int32_t zero_point; /**< Zero point of the result. */
    int32_t low;        /**< Smallest result. */
    int32_t high;       /**< Largest result. */
} aboard_epilogue_t;

/** Restricts `x` to [low, high]; one instruction on Arm if this is the range of int8. */
ABOARD_INLINE int8_t aboard_epilogue_clamp(int32_t x, int32_t low, int32_t high) {
#if defined(__ARM_FEATURE_SAT)
    if (low == INT8_MIN && high == INT8_MAX) {
        return (int8_t)__builtin_arm_ssat(x, 8);
    }
#endif
    return (int8_t)aboard_clamp(x, low, high);
}

/**
 * The result of one accumulator.
 *
 * @param f            Constants of the layer.
 * @param accumulator  Sum of products of raw inputs; the input's zero point is folded into the bias.
 * @param bias         Short form: twice the bias. General form: the bias; the sum wraps as in TFLite, and does not wrap
 *                     with exact rounding.
 * @param multiplier   Short form: 0, or in [2^30, 2^31). General form: as for aboard_requantize.
 * @param shift        Short form: right shift less 1, in [0, 30]. General form: as for aboard_requantize.
 *
 * The short form is exact if the right shift e is at least 1 and |accumulator + bias| < 2^30. Then
 * x = floor((2a * m + 2^31) / 2^32) is the doubling high product, and with s = x < 0 ? -1 : 0,
 * floor((x + s + 2^(e-1)) / 2^e) + z = floor((floor((x + s) / 2^(e-1)) + 1 + 2z) / 2).
 */
ABOARD_INLINE int8_t aboard_epilogue(const aboard_epilogue_t *f, int32_t accumulator, int32_t bias, int32_t multiplier,
                                     int32_t shift) {
    if (f->fast == 4) {
        const int32_t rounded = aboard_requantize_exactly(accumulator + bias, multiplier, shift);
        return aboard_epilogue_clamp(rounded + f->zero_point, f->low, f->high);
    }
    if (f->fast) {
        const int32_t x = aboard_rounded_high_mul(bias + 2 * accumulator, multiplier);
        const int32_t y = (((x + (x >> 31)) >> shift) + (2 * f->zero_point + 1)) >> 1;
        return aboard_epilogue_clamp(y, f->low, f->high);
    }
    const int32_t sum = (int32_t)((uint32_t)accumulator + (uint32_t)bias);
    return aboard_epilogue_clamp(aboard_requantize(sum, multiplier, shift) + f->zero_point, f->low, f->high);
}

/** Right shift of the single rounding, the same for all channels. */
#define ABOARD_EPILOGUE_SINGLE_SHIFT 4

/**
 * The result of one accumulator by the single rounding of its channel, which the host has proven to have the same steps
 * as the double rounding (host/aboard/kernels/single_rounding.py).
 *
 * @param f        Constants of the layer; only low and high are used.
 * @param sum      Sum of products, started at the bias of the single rounding.
 * @param factor Factor of the single rounding.
 * @param constant Constant of the single rounding.
 */
ABOARD_INLINE int8_t aboard_epilogue_single(const aboard_epilogue_t *f, int32_t sum, int32_t factor, int32_t constant) {
    return aboard_epilogue_clamp((aboard_high_mul(sum, factor) + constant) >> ABOARD_EPILOGUE_SINGLE_SHIFT, f->low,
                                 f->high);
}

/** Words of the constants of a block of four channels: four biases, four multipliers, four shifts of a byte each. */
#define ABOARD_EPILOGUE_BLOCK 9

/** The result of channel `i` of a block of four; `block` points to its ABOARD_EPILOGUE_BLOCK words. */
ABOARD_INLINE int8_t aboard_epilogue_in_block(const aboard_epilogue_t *f, int32_t accumulator, const int32_t *block,
                                              int32_t i) {
    return aboard_epilogue(f, accumulator, block[i], block[4 + i], aboard_byte_of(block + 8, i));
}

/** The first `count` results of a block of four channels, in any form; not inlined, because most models never need it.
 */
ABOARD_SHARED void aboard_epilogue_some(const aboard_epilogue_t *f, const int32_t *sums, const int32_t *block,
                                        int8_t *y, int32_t count) {
    for (int32_t i = 0; i < ABOARD_MIN(count, 4); ++i) {
        y[i] = aboard_epilogue_in_block(f, sums[i], block, i);
    }
}

/** Results of a block of `count` channels, 1 or more; at most four are written. */
ABOARD_INLINE void aboard_epilogue_block(const aboard_epilogue_t *f, const int32_t *sums, const int32_t *block,
                                         int8_t *y, int32_t count) {
    if (f->fast == 2 && count >= 4) {
        const aboard_epilogue_t full = {2, f->zero_point, INT8_MIN, INT8_MAX};
        ABOARD_UNROLL(4)
        for (int32_t i = 0; i < 4; ++i) {
            y[i] = aboard_epilogue_in_block(&full, sums[i], block, i);
        }
        return;
    }
    /* A copy, because the address of the sums would keep them in memory everywhere. */
    const int32_t copy[4] = {sums[0], sums[1], sums[2], sums[3]};
    aboard_epilogue_some(f, copy, block, y, count);
}

#endif
