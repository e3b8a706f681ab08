/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file dot_columns.h
 * Sums of products with the DSP extension: four channels for two neighbours in a row, whose windows are three pixels
 * wide and share columns. host/aboard/kernels/arm_dsp/conv2d_columns.py packs their weights.
 *
 * Six columns of the operand, those of four results in a row, are copied as words of two channels:
 *
 *     row 0, channels 0 and 2     c0  c1  c2  c3  c4  c5        a group: the words of two channels of a row
 *     row 0, channels 1 and 3     c0  c1  c2  c3  c4  c5        results 0 and 1 use c0 to c3,
 *     row 0, channels 4 and 6     ...                           results 2 and 3 use c2 to c5
 *
 * Three steps of dot_blocks.h compute the three taps of a group for two results: they load four words of inputs, and
 * not six, because the second result's column is the first result's next one.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_DOT_COLUMNS_H
#define ABOARD_KERNELS_ARM_DSP_DOT_COLUMNS_H

#include <stdint.h>

#include "aboard/config.h"
#include "dot.h"
#include "dot_blocks.h"

/** Columns that are copied together, and the results that have them. */
#define ABOARD_DSP_COLUMNS 6
#define ABOARD_DSP_COLUMN_RESULTS 4

/** Taps of a group. */
#define ABOARD_DSP_COLUMN_TAPS 3

#if ABOARD_DSP_ASM

/* clang-format off */
/** Groups of an iteration, by the byte offsets of their columns and weights, which are as many. The number of groups is a
 * multiple of six. */
#ifdef __OPTIMIZE_SIZE__
#define ABOARD_DSP_COLUMN_OFFSETS "0, 24, 48"
#define ABOARD_DSP_COLUMN_BYTES "72"
#else
#define ABOARD_DSP_COLUMN_OFFSETS "0, 24, 48, 72, 96, 120"
#define ABOARD_DSP_COLUMN_BYTES "144"
#endif

/** Registers as in ABOARD_DSP_BLOCK_HEAD. Frame: y0, y1 - y0, end of y0, inputs, end of the inputs. */
#define ABOARD_DSP_COLUMN_HEAD                                          \
    "push {r4-r11, lr}\n"                                               \
    "ldm r0, {r0-r8}\n"                                                 \
    "sub r1, r1, r0\n"                                                  \
    "push {r0-r4}\n"                                                    \
    "mov r4, r3\n"                                                      \
    "mov r5, r8\n"                                                      \
    "1:\n"                                                              \
    "ldmia r5!, {r6, r8, r10, r12}\n"                                   \
    "mov r7, r6\n mov r9, r8\n mov r11, r10\n mov lr, r12\n"            \
    ".balign 4\n"                                                       \
    "2:\n"                                                              \
    ".irp at, " ABOARD_DSP_COLUMN_OFFSETS "\n"                          \
    "ldr r0, [r4, #\\at]\n ldr r1, [r4, #\\at+4]\n"                     \
    "ldr r2, [r5, #\\at]\n ldr r3, [r5, #\\at+4]\n"                     \
    ABOARD_DSP_BLOCK_PRODUCTS("r0", "r1")                               \
    "ldr r0, [r4, #\\at+8]\n"                                           \
    "ldr r2, [r5, #\\at+8]\n ldr r3, [r5, #\\at+12]\n"                  \
    ABOARD_DSP_BLOCK_PRODUCTS("r1", "r0")                               \
    "ldr r1, [r4, #\\at+12]\n"                                          \
    "ldr r2, [r5, #\\at+16]\n ldr r3, [r5, #\\at+20]\n"                 \
    ABOARD_DSP_BLOCK_PRODUCTS("r0", "r1")                               \
    ".endr\n"                                                           \
    "ldr r0, [sp, #16]\n"                                               \
    "adds r4, #" ABOARD_DSP_COLUMN_BYTES "\n"                           \
    "adds r5, #" ABOARD_DSP_COLUMN_BYTES "\n"                           \
    "cmp r4, r0\n"                                                      \
    "bne.w 2b\n"                                                        \
    ABOARD_DSP_BLOCK_ODD

/** Stores the results and advances to the next block. */
#define ABOARD_DSP_COLUMN_TAIL                                          \
    ABOARD_DSP_BLOCK_STORES("r0-r2, r4")                                \
    "bne.w 1b\n"                                                        \
    "add sp, #20\n"                                                     \
    "pop {r4-r11, pc}\n"

/**
 * All channels of two neighbours, requantised by single roundings.
 *
 * @param p The job of dot.h; weights as for aboard_dsp_block_single, with steps in the order of the taps of groups. `x` points to the first column
 *          of the first result, `x_end` lies behind it by all groups, and `tap_groups` is half of the steps.
 */
ABOARD_NAKED void aboard_dsp_column_single(const aboard_dsp_pair_t *p ABOARD_UNUSED) {
    __asm__ volatile(
        ABOARD_DSP_COLUMN_HEAD
        "ldmia r5!, {r0-r3}\n"
        ABOARD_DSP_BLOCK_SINGLE("r6", "r7", "r8", "r9")
        "ldmia r5!, {r0-r3}\n"
        ABOARD_DSP_BLOCK_SINGLE("r10", "r11", "r12", "lr")
        ABOARD_DSP_COLUMN_TAIL);
}

/** Like aboard_dsp_column_single, requantised by double roundings, as aboard_dsp_block_double. */
ABOARD_NAKED void aboard_dsp_column_double(const aboard_dsp_pair_t *p ABOARD_UNUSED) {
    __asm__ volatile(
        ABOARD_DSP_COLUMN_HEAD
        ABOARD_DSP_BLOCK_DOUBLE("r6", "r7", "r8", "r9", "ldmia r5!, {r0, r1}\n")
        ABOARD_DSP_BLOCK_DOUBLE("r10", "r11", "r12", "lr", "ldmia r5!, {r0, r1}\n")
        ABOARD_DSP_COLUMN_TAIL);
}

/** Three columns of a tap group: `r12` bytes before the ends of the pixels p0 to p2, words at byte `at` and behind. */
#define ABOARD_DSP_COLUMN_FILL(p0, p1, p2, at)                          \
    "ldr r1, [" p0 ", r12]\n ldr r2, [" p1 ", r12]\n ldr r3, [" p2 ", r12]\n" \
    "sxtb16 r10, r1\n str r10, [r0, #" at "]\n sxtb16 r1, r1, ror #8\n str r1, [r0, #" at "+24]\n" \
    "sxtb16 r10, r2\n str r10, [r0, #" at "+4]\n sxtb16 r2, r2, ror #8\n str r2, [r0, #" at "+28]\n" \
    "sxtb16 r10, r3\n str r10, [r0, #" at "+8]\n sxtb16 r3, r3, ror #8\n str r3, [r0, #" at "+32]\n"

/**
 * Writes the groups of a row of ABOARD_DSP_COLUMNS pixels.
 *
 * @param to    Destination: ABOARD_DSP_COLUMNS words for two channels.
 * @param ends  End of each pixel's channels, at any address.
 * @param depth Channels; a multiple of 4, at least 4.
 * @return End of the written words.
 */
ABOARD_NAKED uint32_t *aboard_dsp_fill_columns(uint32_t *to ABOARD_UNUSED, const int8_t *const *ends ABOARD_UNUSED,
                                               int32_t depth ABOARD_UNUSED) {
    __asm__ volatile(
        "push {r4-r10, lr}\n"
        "rsb r12, r2, #0\n"
        "ldm r1, {r4-r9}\n"
        "1:\n"
        ABOARD_DSP_COLUMN_FILL("r4", "r5", "r6", "0")
        ABOARD_DSP_COLUMN_FILL("r7", "r8", "r9", "12")
        "adds r0, #48\n"
        "adds r12, r12, #4\n"
        "bne 1b\n"
        "pop {r4-r10, pc}\n");
}
/* clang-format on */

#else

/** Sums of a block; returns the end of its weights. */
ABOARD_INLINE const uint32_t *aboard_dsp_column_sums(const aboard_dsp_pair_t *p, const uint32_t *w,
                                                     uint32_t sums[2][ABOARD_DSP_BLOCK]) {
    w = aboard_dsp_block_start(w, sums);
    for (const uint32_t *x = p->x; x != p->x_end; x += ABOARD_DSP_COLUMNS) {
        for (int32_t tap = 0; tap < ABOARD_DSP_COLUMN_TAPS; ++tap, w += 2) {
            aboard_dsp_block_step(x[tap], x[tap + 1], w, sums);
        }
    }
    aboard_dsp_block_odd(sums);
    return w;
}

/** See above. */
ABOARD_SHARED void aboard_dsp_column_single(const aboard_dsp_pair_t *p) {
    aboard_dsp_blocks(p, aboard_dsp_column_sums, aboard_dsp_block_single_results, 0);
}

/** See above. */
ABOARD_SHARED void aboard_dsp_column_double(const aboard_dsp_pair_t *p) {
    aboard_dsp_blocks(p, aboard_dsp_column_sums, aboard_dsp_block_double_results, 0);
}

/** See above. */
ABOARD_SHARED uint32_t *aboard_dsp_fill_columns(uint32_t *to, const int8_t *const *ends, int32_t depth) {
    for (int32_t k = -depth; k < 0; k += ABOARD_DSP_TAP_GROUP) {
        for (int32_t column = 0; column < ABOARD_DSP_COLUMNS; ++column) {
            const uint32_t word = aboard_dsp_load(ends[column] + k);
            to[column] = aboard_dsp_even(word);
            to[ABOARD_DSP_COLUMNS + column] = aboard_dsp_odd(word);
        }
        to += 2 * ABOARD_DSP_COLUMNS;
    }
    return to;
}

#endif

#endif
