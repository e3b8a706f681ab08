/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file row_single.h
 * As row_pairs.h, one row of results at once.
 *
 * Two pixels of a channel are three words: both rows above of either pixel, and the third row of both. A column's part
 * of a result is one instruction for the first two rows, and one for the third. Two sums wait for the next column.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_ROW_SINGLE_H
#define ABOARD_KERNELS_ARM_DSP_ROW_SINGLE_H

#include <stdint.h>

#include "aboard/config.h"
#include "row_pairs.h"

/** Words of scratch for each two pixels of a row: three of each of four channels. */
#define ABOARD_DSP_ROW_SINGLE_WORDS 12

#if ABOARD_DSP_ASM

/* clang-format off */
/** Words of the pixels `a` and `b` of four channels; r5 offset, r6 end of these words, `at` of the first; r10 is lost. */
#define ABOARD_DSP_ROW_SINGLE_COPY(a, b, at)                           \
    "pkhbt r10, " a ", " b ", lsl #16\n pkhtb " a ", " b ", " a ", asr #16\n" \
    "sxtab16 " b ", r5, r10\n sxtab16 r10, r5, r10, ror #8\n"          \
    "str " b ", [r6, #" at "]\n str r10, [r6, #" at "+12]\n"           \
    "sxtab16 " b ", r5, " a "\n sxtab16 " a ", r5, " a ", ror #8\n"    \
    "str " b ", [r6, #" at "+24]\n str " a ", [r6, #" at "+36]\n"

/** Copies two pixels of four channels: r0 to r2 rows, r3 distance of the pixels, r4 pixel stride, r12 offset of the first. */
#define ABOARD_DSP_ROW_SINGLE_TWO_PIXELS                               \
    "ldr r7, [r0, r12]\n ldr r8, [r1, r12]\n ldr r9, [r2, r12]\n"      \
    "add r12, r3\n add r6, #48\n"                                      \
    ABOARD_DSP_ROW_SINGLE_COPY("r7", "r8", "-48")                      \
    "ldr r7, [r0, r12]\n ldr r8, [r1, r12]\n ldr r11, [r2, r12]\n"     \
    "add r12, r4\n"                                                    \
    ABOARD_DSP_ROW_SINGLE_COPY("r7", "r8", "-44")                      \
    ABOARD_DSP_ROW_SINGLE_COPY("r9", "r11", "-40")

/** Clears the words of rows outside the image, of which r6 is the end. */
#define ABOARD_DSP_ROW_SINGLE_OUTSIDE                                  \
    "ldr r0, [sp, #40]\n"                                              \
    "cbz r0, 6f\n"                                                     \
    "ldr r1, [sp, #20]\n"                                              \
    "movs r3, #0\n movs r2, #4\n add r5, r1, #4\n"                     \
    "4:\n"                                                             \
    "lsrs r0, #1\n"                                                    \
    "bcc 7f\n"                                                         \
    "mov r4, r1\n"                                                     \
    "5:\n"                                                             \
    "strh r3, [r4]\n strh r3, [r4, r2]\n"                              \
    "add r4, #12\n"                                                    \
    "cmp r4, r6\n"                                                     \
    "blo 5b\n"                                                         \
    "7:\n"                                                             \
    "adds r1, #2\n"                                                    \
    "cmp r1, r5\n"                                                     \
    "itt eq\n addeq r1, #4\n moveq r2, #2\n"                           \
    "cmp r0, #0\n"                                                     \
    "bne 4b\n"                                                         \
    "6:\n"

/** Copies four channels: r0 to r2 rows, r4 pixel stride, r12 offset of the pixel, lr the end of the pairs; r3 is the
 * distance of a pair's pixels, 0 for a single last one. Then clears rows outside. */
#define ABOARD_DSP_ROW_SINGLE_FILL                                     \
    "ldr r12, [sp, #32]\n"                                             \
    "ldm r12, {r0-r6}\n"                                               \
    "ldr r7, [r12, #28]\n ldr r12, [sp, #44]\n"                        \
    "add r8, r12, #4\n str r8, [sp, #44]\n"                            \
    "strd r6, r6, [sp, #20]\n"                                         \
    "lsrs r7, r7, #1\n mul r7, r4\n add lr, r12, r7, lsl #1\n"         \
    "mov r3, r4\n"                                                     \
    "3:\n"                                                             \
    ABOARD_DSP_ROW_SINGLE_TWO_PIXELS                                   \
    "cmp r12, lr\n"                                                    \
    "bne 3b\n"                                                         \
    "ldr r7, [sp, #36]\n"                                              \
    "ands r7, r3\n"                                                    \
    "itt ne\n movne r3, #0\n addne lr, r4\n"                           \
    "bne 3b\n"                                                         \
    ABOARD_DSP_ROW_SINGLE_OUTSIDE

/** The parts of a column of two results: tap on the right of `a`, in the middle of `b`, and on the left of a new `c`. The
 * third row is the half `half` of r1. */
#define ABOARD_DSP_ROW_SINGLE_RIGHT(a, half) "smlad " a ", r0, r4, " a "\n smla" half "b " a ", r1, r6, " a "\n"
#define ABOARD_DSP_ROW_SINGLE_MIDDLE(b, i, half) "smlad " b ", r0, r3, " i "\n smla" half "t " b ", r1, r5, " b "\n"
#define ABOARD_DSP_ROW_SINGLE_LEFT(c, half) "smlad " c ", r0, r2, r7\n smla" half "b " c ", r1, r5, " c "\n"

/** The words of a column: of the first of two pixels, and of the second, whose third row is there. */
#define ABOARD_DSP_ROW_SINGLE_EVEN "ldr r0, [r12], #48\n ldr r1, [r12, #-40]\n"
#define ABOARD_DSP_ROW_SINGLE_ODD "ldr r0, [r12, #-44]\n"

/** Columns 2j and 2j + 1: sums of results of even columns are in r8, of odd columns in r9. */
#define ABOARD_DSP_ROW_SINGLE_COLUMN_ODD(result)                       \
    ABOARD_DSP_ROW_SINGLE_ODD                                          \
    ABOARD_DSP_ROW_SINGLE_RIGHT("r8", "t") ABOARD_DSP_ROW_SINGLE_MIDDLE("r9", "r9", "t") \
    result("r8", "ldr r0, [r12, #-44]\n")                              \
    "strb r8, [lr], #48\n"                                             \
    ABOARD_DSP_ROW_SINGLE_LEFT("r8", "t")
#define ABOARD_DSP_ROW_SINGLE_COLUMN_EVEN(result)                      \
    ABOARD_DSP_ROW_SINGLE_EVEN                                         \
    ABOARD_DSP_ROW_SINGLE_RIGHT("r9", "b") ABOARD_DSP_ROW_SINGLE_MIDDLE("r8", "r8", "b") \
    result("r9", "ldr r0, [r12, #-48]\n")                              \
    "strb r9, [lr, #-44]\n"                                            \
    ABOARD_DSP_ROW_SINGLE_LEFT("r9", "b")

/** The same as last columns. */
#define ABOARD_DSP_ROW_SINGLE_LAST_ODD(result)                         \
    ABOARD_DSP_ROW_SINGLE_ODD                                          \
    ABOARD_DSP_ROW_SINGLE_RIGHT("r8", "t") ABOARD_DSP_ROW_SINGLE_MIDDLE("r9", "r9", "t") \
    result("r8", "") result("r9", "")                                  \
    "strb r8, [lr]\n strb r9, [lr, #4]\n"
#define ABOARD_DSP_ROW_SINGLE_LAST_EVEN(result)                        \
    ABOARD_DSP_ROW_SINGLE_EVEN                                         \
    ABOARD_DSP_ROW_SINGLE_RIGHT("r9", "b") ABOARD_DSP_ROW_SINGLE_MIDDLE("r8", "r8", "b") \
    result("r8", "") result("r9", "")                                  \
    "strb r9, [lr, #-44]\n strb r8, [lr]\n"

/** Requantisation: factor in r10, constant in r11; two roundings lose r0, which `again` loads. */
#define ABOARD_DSP_ROW_SINGLE_ONCE(a, again) "smmlar " a ", " a ", r10, r11\n ssat " a ", #8, " a ", asr #2\n"
#define ABOARD_DSP_ROW_SINGLE_UNSHIFTED(a, again) "smmlar " a ", " a ", r10, r11\n ssat " a ", #8, " a "\n"
#define ABOARD_DSP_ROW_SINGLE_TWICE(a, again)                          \
    "add r0, " a ", " a ", asr #31\n smmlar " a ", " a ", r10, r0\n"   \
    "ldr r0, [sp, #12]\n add " a ", r11\n asr " a ", r0\n ssat " a ", #8, " a "\n" again

/** Loads a channel: see below. */
#define ABOARD_DSP_ROW_SINGLE_WEIGHTS(words, shift)                    \
    "ldr r2, [sp, #28]\n"                                              \
    "ldm r2!, " words                                                  \
    shift                                                              \
    "mov r7, r9\n"                                                     \
    "str r2, [sp, #28]\n"                                              \
    "sxtb16 r2, r0\n sxtb16 r3, r1\n sxtb16 r4, r8\n"                  \
    "asrs r5, r0, #24\n asrs r1, r1, #24\n asrs r6, r8, #24\n"         \
    "ldr r12, [sp, #20]\n ldr lr, [sp, #24]\n ldr r9, [sp]\n"          \
    "pkhbt r5, r5, r1, lsl #16\n pkhbt r6, r6, r9, lsl #16\n"          \
    "add r1, r12, #12\n str r1, [sp, #20]\n"                           \
    "add r1, lr, #1\n str r1, [sp, #24]\n"

/** Results of a channel: r2 to r4 weights (w0, w1) of a column, r5 and r6 w2 of the columns, the upper
 * half of r6 negative turns of the loop, r7 bias, r8 and r9 sums, r10
 * factor, r11 constant, r12 x, lr the results, which take the place of the first channel's words. */
#define ABOARD_DSP_ROW_SINGLE_CHANNEL(words, shift, result)            \
    "8:\n"                                                             \
    ABOARD_DSP_ROW_SINGLE_WEIGHTS(words, shift)                        \
    "cmp r9, #0\n"                                                     \
    ABOARD_DSP_ROW_SINGLE_EVEN                                         \
    ABOARD_DSP_ROW_SINGLE_MIDDLE("r8", "r7", "b")                      \
    ABOARD_DSP_ROW_SINGLE_LEFT("r9", "b")                              \
    "beq 2f\n"                                                         \
    "1:\n"                                                             \
    ABOARD_DSP_ROW_SINGLE_COLUMN_ODD(result)                           \
    ABOARD_DSP_ROW_SINGLE_COLUMN_EVEN(result)                          \
    "adds r6, #0x10000\n"                                              \
    "bcc 1b\n"                                                         \
    "2:\n"                                                             \
    "ldr r0, [sp, #36]\n"                                              \
    "cmp r0, #0\n"                                                     \
    "beq 9f\n"                                                         \
    ABOARD_DSP_ROW_SINGLE_COLUMN_ODD(result)                           \
    ABOARD_DSP_ROW_SINGLE_LAST_EVEN(result)                            \
    "b 10f\n"                                                          \
    "9:\n"                                                             \
    ABOARD_DSP_ROW_SINGLE_LAST_ODD(result)                             \
    "10:\n"                                                            \
    "adds r0, lr, #1\n"                                                \
    "lsls r0, r0, #30\n"                                               \
    "bne.w 8b\n"

/** Stores the words of results: r1 words, r2 row, r4 distance of pixels, r5 pixels. */
#define ABOARD_DSP_ROW_SINGLE_STORE                                    \
    "ldr r0, [sp, #32]\n"                                              \
    "ldr r1, [r0, #24]\n ldr r5, [r0, #28]\n ldr r2, [r0, #44]\n ldr r4, [r0, #52]\n" \
    "add r6, r2, #4\n str r6, [r0, #44]\n"                             \
    "11:\n"                                                            \
    "ldr r6, [r1], #48\n ldr r7, [r1, #-44]\n"                         \
    "subs r5, #2\n"                                                    \
    "str r6, [r2]\n"                                                   \
    "it pl\n strpl r7, [r2, r4]\n"                                     \
    "add r2, r2, r4, lsl #1\n"                                         \
    "bgt 11b\n"

/** All forms. Frame: negative turns of the loop; at 12 the shift of the channel; at 20 x, results and words of the
 * next channel; job, all bits set if the columns are odd, rows outside, offset of the next four channels. */
#define ABOARD_DSP_ROW_SINGLE_SET_UP \
    "lsrs r5, r1, #1\n rsb r5, r5, #1\n movs r4, #0\n" \
    "sbfx r1, r1, #0, #1\n and r2, #7\n" \
    "str r3, [sp, #28]\n str r0, [sp, #32]\n str r1, [sp, #36]\n str r2, [sp, #40]\n str r4, [sp, #44]\n" \
    "str r5, [sp]\n"

ABOARD_DSP_ROW_FUNCTIONS(, ABOARD_DSP_ROW_SINGLE_SET_UP, ABOARD_DSP_ROW_SINGLE_FILL, ABOARD_DSP_ROW_SINGLE_CHANNEL,
                         ABOARD_DSP_ROW_SINGLE_STORE, ABOARD_DSP_ROW_SINGLE_ONCE, ABOARD_DSP_ROW_SINGLE_UNSHIFTED,
                         ABOARD_DSP_ROW_SINGLE_TWICE)
/* clang-format on */

/** Computes one row of results, that of y0; changes the job. */
ABOARD_INLINE void aboard_dsp_row_of_results(aboard_dsp_row_pairs_t *p, int32_t single) {
    ABOARD_DSP_FORM(row_, single);
}

#else

/** See above. */
ABOARD_INLINE void aboard_dsp_row_of_results(aboard_dsp_row_pairs_t *p, int32_t single) {
    aboard_dsp_row_pairs_rows(p, single, 1, 1);
}

#endif

#endif
