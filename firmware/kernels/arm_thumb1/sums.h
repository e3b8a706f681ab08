/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_thumb1/sums.h
 * Sums of products of int8 for two pixels at once on cores with MULS alone (Cortex-M0, M0+, M23): a word holds an input
 * of both, a + 2^16 b, so that a product w (a + 2^16 b) is two products. Sums of two such products keep apart: the host
 * has proven that each is less than 2^15. They are emptied every two taps.
 */
#ifndef ABOARD_KERNELS_ARM_THUMB1_SUMS_H
#define ABOARD_KERNELS_ARM_THUMB1_SUMS_H

#include <stdint.h>

#include "aboard/config.h"

/** Taps per iteration of the inner loop. */
#define ABOARD_THUMB1_TAPS 4

#if ABOARD_THUMB1 && ABOARD_GNU && defined(__thumb__)

/* clang-format off */
/** Two taps of two channels. r0: words; r1: number of the tap; r2, r3: weights of the channels. The sum of both products
 * goes into r8 (r10) whole, and its second half into r9 (r11): with half a unit (lr) more, the first half is not
 * negative and takes nothing from it. */
#define ABOARD_THUMB1_TWO_TAPS                                                 \
    "ldmia r0!, {r4, r5}\n"                                                    \
    "ldrsb r6, [r2, r1]\n ldrsb r7, [r3, r1]\n adds r1, #1\n"                  \
    "muls r6, r4\n muls r4, r7\n"                                              \
    "ldrsb r7, [r2, r1]\n muls r7, r5\n adds r6, r7\n"                         \
    "ldrsb r7, [r3, r1]\n muls r5, r7\n adds r4, r5\n adds r1, #1\n"           \
    "add r8, r6\n add r6, lr\n asrs r6, r6, #16\n add r9, r6\n"                \
    "add r10, r4\n add r4, lr\n asrs r4, r4, #16\n add r11, r4\n"

/**
 * Sums of four channels for two pixels.
 *
 * @param words   Inputs, see aboard_two_pixels_word.
 * @param end     Their end; their number is a multiple of ABOARD_THUMB1_TAPS, and not 0.
 * @param weights Of one channel after another.
 * @param sums    Four sums of the first pixel, then those of the second.
 * @return End of the weights.
 */
ABOARD_NAKED const int8_t *aboard_thumb1_sums(const int32_t *words ABOARD_UNUSED, const int32_t *end ABOARD_UNUSED,
                                              const int8_t *weights ABOARD_UNUSED, int32_t *sums ABOARD_UNUSED) {
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r7, lr}\n"
        "mov r4, r8\n mov r5, r9\n mov r6, r10\n mov r7, r11\n"
        "push {r4-r7}\n"
        "movs r4, #1\n"
        "push {r0, r3, r4}\n"
        "subs r3, r1, r0\n asrs r3, r3, #2\n"
        "mov r12, r1\n"
        "movs r1, #128\n lsls r1, r1, #8\n mov lr, r1\n"
        "1:\n"
        "adds r3, r3, r2\n"
        "movs r1, #0\n mov r8, r1\n mov r9, r1\n mov r10, r1\n mov r11, r1\n"
        "2:\n"
        ABOARD_THUMB1_TWO_TAPS
        ABOARD_THUMB1_TWO_TAPS
        "cmp r0, r12\n"
        "bne 2b\n"
        /* The whole is a sum of the first pixel and 2^16 of the second. */
        "ldr r4, [sp, #4]\n"
        "mov r5, r8\n mov r6, r9\n lsls r7, r6, #16\n subs r5, r5, r7\n str r5, [r4]\n str r6, [r4, #16]\n"
        "mov r5, r10\n mov r6, r11\n lsls r7, r6, #16\n subs r5, r5, r7\n str r5, [r4, #4]\n str r6, [r4, #20]\n"
        "adds r4, #8\n str r4, [sp, #4]\n"
        "adds r2, r3, r1\n movs r3, r1\n ldr r0, [sp]\n"
        "ldr r4, [sp, #8]\n subs r4, #1\n str r4, [sp, #8]\n"
        "bpl 1b\n"
        "movs r0, r2\n"
        "add sp, #12\n"
        "pop {r4-r7}\n"
        "mov r8, r4\n mov r9, r5\n mov r10, r6\n mov r11, r7\n"
        "pop {r4-r7, pc}\n");
}
/* clang-format on */

#else

/** What the assembly computes. */
ABOARD_SHARED const int8_t *aboard_thumb1_sums(const int32_t *words, const int32_t *end, const int8_t *weights,
                                               int32_t *sums) {
    const int32_t taps = (int32_t)(end - words);
    for (int32_t i = 0; i < 4; ++i) {
        uint32_t whole = 0;
        int32_t second = 0;
        for (int32_t k = 0; k < taps; k += 2) {
            const uint32_t sum =
                (uint32_t)weights[k] * (uint32_t)words[k] + (uint32_t)weights[k + 1] * (uint32_t)words[k + 1];
            whole += sum;
            second += (int32_t)(sum + 0x8000u) >> 16;
        }
        sums[i] = (int32_t)(whole - ((uint32_t)second << 16));
        sums[4 + i] = second;
        weights += taps;
    }
    return weights;
}

#endif

#endif
