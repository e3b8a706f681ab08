/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/rescale.h
 * TFLite's double-rounding requantisation of four numbers with Helium, by literal multipliers and shifts.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_RESCALE_H
#define ABOARD_KERNELS_ARM_MVE_RESCALE_H

#include <stdint.h>

#include "aboard/config.h"
#include "helium.h"

#if ABOARD_MVE_ASM

/** Computes a vector before any later one that has this too: else compilers compute much at once, in memory, because
 * there are eight registers. */
#define ABOARD_MVE_IN_ORDER(vector) __asm__ volatile("" : "+w"(vector))

/** Right shifts up to which a product rounds as TFLite's second rounding does, because it differs from 2**(31 - shift)
 * numbers on only: results are then saturated, to int8 or to int16. */
#define ABOARD_MVE_MOST_TO_INT8 11
#define ABOARD_MVE_MOST_TO_INT16 7

/**
 * As aboard_requantize, of each lane.
 *
 * @param most Right shifts up to here are products, see `aboard.kernels.arm_mve.rescale`: numbers x that are
 * scaled once have |x| < 2**(31 - most), or their results are saturated.
 */
ABOARD_INLINE int32x4_t aboard_mve_rescale(int32x4_t x, int32_t multiplier, int32_t shift, int32_t most) {
    if (shift > 0) {
        x = vshlq_r_s32(x, shift);
    }
    x = vqrdmulhq_n_s32(x, multiplier);
    if (shift < 0 && -shift <= most) {
        return vqrdmulhq_n_s32(x, (INT32_C(1) << (31 + shift)) + 1);
    }
    if (shift < 0) {
        /* Ties go away from zero: a negative number is reduced by one before halves are rounded up. */
        x = vrshlq_n_s32(vaddq_s32(x, vshrq_n_s32(x, 31)), shift);
    }
    return x;
}

/** Two vectors saturated to int16: `even` in the lower halves of the lanes, `odd` in the upper halves. */
ABOARD_INLINE int16x8_t aboard_mve_halfwords(int32x4_t even, int32x4_t odd) {
    return vqmovntq_s32(vqmovnbq_s32((int16x8_t)even, even), odd);
}

#endif

#endif
