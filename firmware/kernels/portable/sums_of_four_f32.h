/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/sums_of_four_f32.h
 * Sums of products of float32 for four channels at once: one load of the input feeds four products.
 *
 * Cores with fused products round a product and its sum once, and load ten numbers by two instructions; other cores
 * round twice. The order of the sums is the same.
 */
#ifndef ABOARD_KERNELS_PORTABLE_SUMS_OF_FOUR_F32_H
#define ABOARD_KERNELS_PORTABLE_SUMS_OF_FOUR_F32_H

#include <stdint.h>

#include "aboard/config.h"

/** 1: fused products of single precision in assembly of Thumb-2. */
#if defined(__ARM_FEATURE_FMA) && defined(__ARM_FP) && defined(__thumb2__) && defined(__GNUC__)
#define ABOARD_FUSED_ASM ((__ARM_FP & 4) != 0)
#else
#define ABOARD_FUSED_ASM 0
#endif

/**
 * Adds the products of `count` inputs with the weights of four channels.
 *
 * @param sums    Four sums.
 * @param x       Inputs.
 * @param weights [count][4].
 * @param count   At least 0.
 */
ABOARD_INLINE void aboard_sums_of_four_f32(float *sums, const float *x, const float *weights, int32_t count) {
    const float *const end = x + count;
#if ABOARD_FUSED_ASM
    const float *const pairs = x + count / 2 * 2;
    float a = sums[0], b = sums[1], c = sums[2], d = sums[3];
    if (x != pairs) {
        /* clang-format off */
        __asm__("1:\n"
                "vldmia %4!, {s22-s23}\n vldmia %5!, {s24-s31}\n"
                "vfma.f32 %0, s22, s24\n vfma.f32 %1, s22, s25\n vfma.f32 %2, s22, s26\n vfma.f32 %3, s22, s27\n"
                "vfma.f32 %0, s23, s28\n vfma.f32 %1, s23, s29\n vfma.f32 %2, s23, s30\n vfma.f32 %3, s23, s31\n"
                "cmp %4, %6\n"
                "bne 1b\n"
                : "+&t"(a), "+&t"(b), "+&t"(c), "+&t"(d), "+&r"(x), "+&r"(weights)
                : "r"(pairs)
                : "cc", "memory", "s22", "s23", "s24", "s25", "s26", "s27", "s28", "s29", "s30", "s31");
        /* clang-format on */
    }
    sums[0] = a;
    sums[1] = b;
    sums[2] = c;
    sums[3] = d;
#endif
    while (x != end) {
        const float value = *x++;
        ABOARD_UNROLL(4)
        for (int32_t i = 0; i < 4; ++i) {
            sums[i] += value * weights[i];
        }
        weights += 4;
    }
}

#endif
