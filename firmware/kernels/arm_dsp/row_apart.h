/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file row_apart.h
 * As row_single.h, for windows two pixels apart.
 *
 * The three words of two pixels are those of the first two columns of a window; its third column is the first of the
 * next window. So a result is three products of the first two rows, three of the third, and all but one sum is
 * finished.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_ROW_APART_H
#define ABOARD_KERNELS_ARM_DSP_ROW_APART_H

#include <stdint.h>

#include "aboard/config.h"
#include "row_pairs.h"
#include "row_single.h"

#if ABOARD_DSP_ASM

/* clang-format off */
/** Copies four channels as in row_single.h. The first window may begin with padding, then its words are made of the first
 * pixel and the halves of the padding cleared; the third column of the last one is a pixel, copied alone, or zero. */
#define ABOARD_DSP_ROW_APART_FILL                                      \
    "ldr r12, [sp, #32]\n"                                             \
    "ldm r12, {r0-r6}\n"                                               \
    "ldr r12, [sp, #44]\n ldr r7, [sp, #4]\n ldr r8, [sp, #16]\n"      \
    "add r9, r12, #4\n str r9, [sp, #44]\n"                            \
    "strd r6, r6, [sp, #20]\n"                                         \
    "mov r3, r4\n add lr, r12, r8\n"                                   \
    "cbz r7, 3f\n"                                                     \
    "movs r3, #0\n add lr, r12, r4\n"                                  \
    "3:\n"                                                             \
    ABOARD_DSP_ROW_SINGLE_TWO_PIXELS                                   \
    "cmp r12, lr\n"                                                    \
    "bne 3b\n"                                                         \
    "cbnz r3, 4f\n"                                                    \
    "ldr r7, [sp, #20]\n ldr r8, [sp, #16]\n"                          \
    "add r7, #48\n"                                                    \
    "cmp r6, r7\n"                                                     \
    "bne 5f\n"                                                         \
    "mov r3, r4\n add lr, r8\n"                                        \
    "b 3b\n"                                                           \
    "4:\n"                                                             \
    "ldr r7, [sp, #8]\n"                                               \
    "cbz r7, 5f\n"                                                     \
    "movs r3, #0\n add lr, r4\n"                                       \
    "b 3b\n"                                                           \
    "5:\n"                                                             \
    "mov r8, #0\n"                                                     \
    "ldr r7, [sp, #4]\n"                                               \
    "cbz r7, 1f\n"                                                     \
    "ldr r7, [sp, #20]\n"                                              \
    "str r8, [r7]\n strh r8, [r7, #8]\n str r8, [r7, #12]\n strh r8, [r7, #20]\n" \
    "str r8, [r7, #24]\n strh r8, [r7, #32]\n str r8, [r7, #36]\n strh r8, [r7, #44]\n" \
    "1:\n"                                                             \
    "ldr r7, [sp, #8]\n"                                               \
    "cbnz r7, 1f\n"                                                    \
    "str r8, [r6]\n str r8, [r6, #8]\n str r8, [r6, #12]\n str r8, [r6, #20]\n" \
    "str r8, [r6, #24]\n str r8, [r6, #32]\n str r8, [r6, #36]\n str r8, [r6, #44]\n" \
    "1:\n"                                                             \
    ABOARD_DSP_ROW_SINGLE_OUTSIDE

/** The first two columns of a result, from all words of a window. */
#define ABOARD_DSP_ROW_APART_LOAD "ldr r0, [r12], #48\n ldr r9, [r12, #-44]\n ldr r1, [r12, #-40]\n"
#define ABOARD_DSP_ROW_APART_BEGIN                                     \
    ABOARD_DSP_ROW_SINGLE_LEFT("r8", "b")                              \
    "smlad r8, r9, r3, r8\n smlatt r8, r1, r5, r8\n"

/** Results of a channel; registers are those of row_single.h, and r9 is the second column. */
#define ABOARD_DSP_ROW_APART_CHANNEL(words, shift, result)             \
    "8:\n"                                                             \
    ABOARD_DSP_ROW_SINGLE_WEIGHTS(words, shift)                        \
    ABOARD_DSP_ROW_APART_LOAD                                          \
    ABOARD_DSP_ROW_APART_BEGIN                                         \
    "1:\n"                                                             \
    ABOARD_DSP_ROW_APART_LOAD                                          \
    ABOARD_DSP_ROW_SINGLE_RIGHT("r8", "b")                             \
    result("r8", "ldr r0, [r12, #-48]\n")                              \
    "strb r8, [lr], #48\n"                                             \
    ABOARD_DSP_ROW_APART_BEGIN                                         \
    "adds r6, #0x10000\n"                                              \
    "bcc 1b\n"                                                         \
    "ldr r0, [r12]\n ldr r1, [r12, #8]\n"                              \
    ABOARD_DSP_ROW_SINGLE_RIGHT("r8", "b")                             \
    result("r8", "")                                                   \
    "strb r8, [lr]\n"                                                  \
    "adds r0, lr, #1\n"                                                \
    "lsls r0, r0, #30\n"                                               \
    "bne.w 8b\n"

/** Stores the words of results as row_single.h does. */
#define ABOARD_DSP_ROW_APART_STORE                                     \
    "ldr r0, [sp, #32]\n"                                              \
    "ldr r1, [r0, #24]\n ldr r5, [r0, #28]\n ldr r2, [r0, #44]\n ldr r4, [r0, #52]\n" \
    "add r6, r2, #4\n str r6, [r0, #44]\n"                             \
    "11:\n"                                                            \
    "ldr r6, [r1], #96\n ldr r7, [r1, #-48]\n"                         \
    "subs r5, #2\n"                                                    \
    "str r6, [r2]\n"                                                   \
    "it pl\n strpl r7, [r2, r4]\n"                                     \
    "add r2, r2, r4, lsl #1\n"                                         \
    "bgt 11b\n"

/** Both forms. Frame: negative turns of the loop, lead, last, shift of the channel, bytes of the pairs of pixels; x, results
 * and words of the next channel; job; at 40 rows outside, offset of the next four channels. */
#define ABOARD_DSP_ROW_APART_SET_UP \
    "ldr r6, [r0, #16]\n ldr r7, [r0, #56]\n ldr r8, [r0, #60]\n" \
    "rsb r5, r1, #1\n mov r4, #0\n and r2, #7\n" \
    "sub r1, r7\n mul r1, r6\n lsl r1, #1\n" \
    "str r5, [sp]\n str r7, [sp, #4]\n str r8, [sp, #8]\n str r1, [sp, #16]\n" \
    "str r3, [sp, #28]\n str r0, [sp, #32]\n str r2, [sp, #40]\n str r4, [sp, #44]\n"

ABOARD_DSP_ROW_FUNCTIONS(apart_, ABOARD_DSP_ROW_APART_SET_UP, ABOARD_DSP_ROW_APART_FILL, ABOARD_DSP_ROW_APART_CHANNEL,
                         ABOARD_DSP_ROW_APART_STORE, ABOARD_DSP_ROW_SINGLE_ONCE, ABOARD_DSP_ROW_SINGLE_UNSHIFTED,
                         ABOARD_DSP_ROW_SINGLE_TWICE)
/* clang-format on */

/** Computes one row of results, that of y0; changes the job. */
ABOARD_INLINE void aboard_dsp_row_apart(aboard_dsp_row_pairs_t *p, int32_t single) {
    ABOARD_DSP_FORM(row_apart_, single);
}

#else

/** See above. */
ABOARD_INLINE void aboard_dsp_row_apart(aboard_dsp_row_pairs_t *p, int32_t single) {
    aboard_dsp_row_pairs_rows(p, single, 1, 2);
}

#endif

#endif
