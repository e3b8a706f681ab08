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

/** As aboard_requantize, of each lane. */
ABOARD_INLINE int32x4_t aboard_mve_rescale(int32x4_t x, int32_t multiplier, int32_t shift) {
    if (shift > 0) {
        x = vshlq_r_s32(x, shift);
    }
    x = vqrdmulhq_n_s32(x, multiplier);
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
