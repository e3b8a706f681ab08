/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_thumb1/results.h
 * Results of four sums on cores with MULS alone: the short form of the epilogue, its products by halves.
 */
#ifndef ABOARD_KERNELS_ARM_THUMB1_RESULTS_H
#define ABOARD_KERNELS_ARM_THUMB1_RESULTS_H

#include <stdint.h>

#include "../portable/epilogue.h"
#include "aboard/config.h"

#if ABOARD_THUMB1 && ABOARD_GNU && defined(__thumb__)

/* clang-format off */
/** Result `i` of four; see aboard_epilogue and aboard_high_mul_halves. r0: sums; r1: constants; r2: results; r8: twice
 * the zero point, and 1; r9: half a unit of the second half; r10: shifts, a byte each. */
#define ABOARD_THUMB1_RESULT(i, bias, multiplier, bits)                        \
    "ldr r3, [r0, #" bias "]\n ldr r4, [r1, #" bias "]\n"                      \
    "lsls r3, r3, #1\n adds r3, r3, r4\n"                                      \
    "ldr r4, [r1, #" multiplier "]\n"                                          \
    "asrs r5, r3, #16\n uxth r3, r3\n lsrs r6, r4, #16\n uxth r4, r4\n"        \
    "movs r7, r3\n muls r7, r4\n lsrs r7, r7, #16\n"                           \
    "muls r4, r5\n adds r4, r4, r7\n"                                          \
    "muls r3, r6\n uxth r7, r4\n adds r3, r3, r7\n add r3, r9\n"               \
    "lsrs r3, r3, #16\n"                                                       \
    "muls r5, r6\n asrs r4, r4, #16\n adds r5, r5, r4\n adds r5, r5, r3\n"     \
    "asrs r4, r5, #31\n adds r5, r5, r4\n"                                     \
    "mov r3, r10\n" bits "asrs r5, r3\n"                                       \
    "add r5, r8\n asrs r5, r5, #1\n"                                           \
    "sxtb r3, r5\n cmp r3, r5\n beq 1f\n"                                      \
    "asrs r3, r5, #31\n movs r4, #127\n eors r3, r4\n"                         \
    "1: strb r3, [r2, #" i "]\n"

/** The results of four channels: the short form with the limits of int8. */
ABOARD_NAKED void aboard_thumb1_four_results(const int32_t *sums ABOARD_UNUSED, const int32_t *block ABOARD_UNUSED,
                                             int8_t *y ABOARD_UNUSED, int32_t zero_point ABOARD_UNUSED) {
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r7, lr}\n"
        "mov r4, r8\n mov r5, r9\n mov r6, r10\n"
        "push {r4-r6}\n"
        "lsls r3, r3, #1\n adds r3, #1\n mov r8, r3\n"
        "movs r3, #128\n lsls r3, r3, #8\n mov r9, r3\n"
        "ldr r3, [r1, #32]\n mov r10, r3\n"
        ABOARD_THUMB1_RESULT("0", "0", "16", "")
        ABOARD_THUMB1_RESULT("1", "4", "20", "lsrs r3, r3, #8\n")
        ABOARD_THUMB1_RESULT("2", "8", "24", "lsrs r3, r3, #16\n")
        ABOARD_THUMB1_RESULT("3", "12", "28", "lsrs r3, r3, #24\n")
        "pop {r4-r6}\n"
        "mov r8, r4\n mov r9, r5\n mov r10, r6\n"
        "pop {r4-r7, pc}\n");
}
/* clang-format on */

/** Results of a block of `count` channels, 1 or more; at most four are written. */
ABOARD_INLINE void aboard_thumb1_results(const aboard_epilogue_t *f, const int32_t *sums, const int32_t *block,
                                         int8_t *y, int32_t count) {
    if (f->fast == 2 && count >= 4) {
        aboard_thumb1_four_results(sums, block, y, f->zero_point);
    } else {
        aboard_epilogue_some(f, sums, block, y, count);
    }
}

#else

#define aboard_thumb1_results aboard_epilogue_block

#endif

#endif
