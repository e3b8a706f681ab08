/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file winograd_4x4_inputs.h
 * Inputs of dot_winograd_4x4.h: the windows of two tiles side by side, 6x10 pixels d, as B' d B.
 *
 *     B' = 4  0 -5  0  1  0
 *          0 -4 -4  1  1  0
 *          0  4 -4 -1  1  0
 *          0 -2 -1  2  1  0
 *          0  2 -1 -2  1  0
 *          0  4  0 -5  0  1
 *
 * First the columns of six pixels, then the rows of six of ten columns: each tile has four rows of its own, and shares
 * two columns with its neighbour.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_WINOGRAD_4X4_INPUTS_H
#define ABOARD_KERNELS_ARM_DSP_WINOGRAD_4X4_INPUTS_H

#include <stdint.h>

#include "aboard/config.h"
#include "dot.h"
#include "winograd_inputs.h"

/** Rows of pixels of a tile, columns of pixels of two tiles, and words of a column of four channels. */
#define ABOARD_DSP_TILE_4X4_ROWS 6
#define ABOARD_DSP_TILE_4X4_COLUMNS 10
#define ABOARD_DSP_TILE_4X4_COLUMN_WORDS (2 * ABOARD_DSP_TILE_4X4_ROWS)

/** Rows of results of a tile, and columns of results of two. */
#define ABOARD_DSP_TILE_4X4_HEIGHT 4
#define ABOARD_DSP_TILE_4X4_RESULTS 8

/** Sum of the second row of B', and of no other: pixels of one value have one transformed value, this times theirs. */
#define ABOARD_DSP_TILE_4X4_PADDING (-6)

/** A window of two tiles; the assembly depends on the order of fields. */
typedef struct {
    const int8_t *rows[ABOARD_DSP_TILE_4X4_ROWS]; /**< Pixel of column `first` of each row. */
    int32_t pixel_stride;
    int32_t first; /**< First and behind the last column that is inside of the image. */
    int32_t last;
    int32_t depth; /**< Channels, at least 4. */
} aboard_dsp_tile_4x4_window_t;

#if ABOARD_DSP_ASM

/* clang-format off */
/** B' times six words of two channels, d0 to d5, stored `step` bytes apart from `to` on. d0, d2, d4 may be r6, r7, r8; `odd` and
 * `last` are code behind their use that makes d1, d3 in r6, r7, and d5 in r8. */
#define ABOARD_DSP_TILE_SIX(d0, d1, d2, d3, d4, d5, odd, last, to, step) \
    "ssub16 r9, " d4 ", " d2 "\n"                                       \
    "ssub16 r6, " d0 ", " d2 "\n"                                       \
    "sadd16 r6, r6, r6\n sadd16 r6, r6, r6\n"                           \
    "sadd16 r6, r6, r9\n str r6, [lr, #" to "]\n"                       \
    "sadd16 r7, " d2 ", " d2 "\n sadd16 r7, r7, r7\n"                   \
    "ssub16 r8, " d4 ", r7\n"                                           \
    odd                                                                 \
    "ssub16 r10, " d3 ", " d1 "\n"                                      \
    "sadd16 r6, " d1 ", " d1 "\n sadd16 r6, r6, r6\n"                   \
    "ssub16 r6, " d3 ", r6\n"                                           \
    "sadd16 r11, r8, r6\n str r11, [lr, #" to "+" step "]\n"            \
    "ssub16 r8, r8, r6\n str r8, [lr, #" to "+2*" step "]\n"            \
    "sadd16 r10, r10, r10\n"                                            \
    "sadd16 r6, r9, r10\n str r6, [lr, #" to "+3*" step "]\n"           \
    "ssub16 r9, r9, r10\n str r9, [lr, #" to "+4*" step "]\n"           \
    "sadd16 r10, r10, r10\n"                                            \
    last                                                                \
    "ssub16 r8, " d5 ", " d3 "\n"                                       \
    "ssub16 r8, r8, r10\n str r8, [lr, #" to "+5*" step "]\n"

/** The same of two channels of pixels of four, r0 to r5. */
#define ABOARD_DSP_TILE_PIXELS(which, to)                               \
    "sxtb16 r6, r0" which "\n sxtb16 r7, r2" which "\n sxtb16 r8, r4" which "\n" \
    ABOARD_DSP_TILE_SIX("r6", "r6", "r7", "r7", "r8", "r8",             \
        "sxtb16 r6, r1" which "\n sxtb16 r7, r3" which "\n", "sxtb16 r8, r5" which "\n", to, "4")

/**
 * Transforms the inputs of two tiles.
 *
 * @param x       Destination: ABOARD_DSP_TILE_4X4_WORDS for every two of aboard_dsp_tile_depth channels.
 * @param columns ABOARD_DSP_TILE_4X4_COLUMN_WORDS for each column; those of columns outside of the image are set, see
 *                aboard_dsp_tile_outside.
 * @param w       The window.
 */
ABOARD_NAKED void aboard_dsp_tile_4x4_fill(uint32_t *x ABOARD_UNUSED, uint32_t *columns ABOARD_UNUSED,
                                           const aboard_dsp_tile_4x4_window_t *w ABOARD_UNUSED) {
    /* Frame: 0 rows, 24 pixel stride, 28 first and 32 end of the columns inside, 36 channels, 40 columns, 44 end of their
     * first two channels in one column and row, 48 channel, 52 x. */
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "sub sp, #60\n"
        "ldm r2, {r3-r12}\n"
        "add r10, r10, r10, lsl #1\n add r10, r1, r10, lsl #4\n"
        "add r11, r11, r11, lsl #1\n add r11, r1, r11, lsl #4\n"
        "stm sp, {r3-r12}\n"
        "add r2, r1, #48\n"
        "movs r3, #0\n"
        "strd r1, r2, [sp, #40]\n strd r3, r0, [sp, #48]\n"
        "1:\n"
        "ldr r6, [sp, #32]\n ldr lr, [sp, #28]\n ldr r12, [sp, #48]\n"
        "cmp lr, r6\n"
        "bge.w 3f\n"
        "2:\n"
        "ldm sp, {r0-r5}\n"
        "ldr r0, [r0, r12]\n ldr r1, [r1, r12]\n ldr r2, [r2, r12]\n ldr r3, [r3, r12]\n ldr r4, [r4, r12]\n ldr r5, [r5, r12]\n"
        ABOARD_DSP_TILE_PIXELS("", "0")
        ABOARD_DSP_TILE_PIXELS(", ror #8", "24")
        "ldr r6, [sp, #24]\n ldr r7, [sp, #32]\n"
        "add r12, r6\n"
        "add lr, lr, #48\n"
        "cmp lr, r7\n"
        "bne.w 2b\n"
        "3:\n"
        "ldr r12, [sp, #40]\n ldr lr, [sp, #52]\n"
        "4:\n"
        "ldr r0, [r12]\n ldr r1, [r12, #48]\n ldr r2, [r12, #96]\n ldr r3, [r12, #144]\n ldr r4, [r12, #192]\n ldr r5, [r12, #240]\n"
        ABOARD_DSP_TILE_SIX("r0", "r1", "r2", "r3", "r4", "r5", "", "", "4", "8")
        "ldr r0, [r12, #288]\n ldr r1, [r12, #336]\n ldr r2, [r12, #384]\n ldr r3, [r12, #432]\n"
        ABOARD_DSP_TILE_SIX("r4", "r5", "r0", "r1", "r2", "r3", "", "", "0", "8")
        "ldr r6, [sp, #44]\n"
        "add lr, lr, #48\n"
        "add r12, r12, #4\n"
        "cmp r12, r6\n"
        "bne.w 4b\n"
        "ldr r0, [sp, #48]\n ldr r1, [sp, #36]\n"
        "subs r1, r0\n"
        "subs r1, #4\n"
        "beq.n 5f\n"
        "cmp r1, #4\n it gt\n movgt r1, #4\n"
        "add r0, r1\n"
        "strd r0, lr, [sp, #48]\n"
        "b.w 1b\n"
        "5:\n"
        "add sp, #60\n"
        "pop {r4-r11, pc}\n");
}
/* clang-format on */

#else

/** Four times both halfwords. */
ABOARD_INLINE uint32_t aboard_dsp_four16(uint32_t a) {
    const uint32_t twice = aboard_dsp_add16(a, a);
    return aboard_dsp_add16(twice, twice);
}

/** B' times six words, `from` words apart, stored `step` words apart. */
ABOARD_INLINE void aboard_dsp_tile_six(uint32_t *to, int32_t step, const uint32_t *d, int32_t from) {
    const uint32_t even = aboard_dsp_sub16(d[4 * from], d[2 * from]);
    const uint32_t odd = aboard_dsp_sub16(d[3 * from], d[from]);
    const uint32_t p = aboard_dsp_sub16(d[4 * from], aboard_dsp_four16(d[2 * from]));
    const uint32_t q = aboard_dsp_sub16(d[3 * from], aboard_dsp_four16(d[from]));
    to[0] = aboard_dsp_add16(aboard_dsp_four16(aboard_dsp_sub16(d[0], d[2 * from])), even);
    to[step] = aboard_dsp_add16(p, q);
    to[2 * step] = aboard_dsp_sub16(p, q);
    to[3 * step] = aboard_dsp_add16(even, aboard_dsp_add16(odd, odd));
    to[4 * step] = aboard_dsp_sub16(even, aboard_dsp_add16(odd, odd));
    to[5 * step] = aboard_dsp_sub16(aboard_dsp_sub16(d[5 * from], d[3 * from]), aboard_dsp_four16(odd));
}

/** Columns of four channels, from channel `at` on. */
ABOARD_INLINE void aboard_dsp_tile_4x4_columns(uint32_t *columns, const aboard_dsp_tile_4x4_window_t *w, int32_t at) {
    for (int32_t column = w->first; column < w->last; ++column, at += w->pixel_stride) {
        uint32_t pixels[2][ABOARD_DSP_TILE_4X4_ROWS];
        for (int32_t row = 0; row < ABOARD_DSP_TILE_4X4_ROWS; ++row) {
            const uint32_t four = aboard_dsp_load(w->rows[row] + at);
            pixels[0][row] = aboard_dsp_even(four);
            pixels[1][row] = aboard_dsp_odd(four);
        }
        uint32_t *const to = columns + ABOARD_DSP_TILE_4X4_COLUMN_WORDS * column;
        aboard_dsp_tile_six(to, 1, pixels[0], 1);
        aboard_dsp_tile_six(to + ABOARD_DSP_TILE_4X4_ROWS, 1, pixels[1], 1);
    }
}

/** See above. */
ABOARD_SHARED void aboard_dsp_tile_4x4_fill(uint32_t *x, uint32_t *columns, const aboard_dsp_tile_4x4_window_t *w) {
    const int32_t words = ABOARD_DSP_TILE_4X4_COLUMN_WORDS;
    for (int32_t k = 0; k < w->depth; k += ABOARD_DSP_TAP_GROUP) {
        aboard_dsp_tile_4x4_columns(columns, w, ABOARD_MIN(k, w->depth - ABOARD_DSP_TAP_GROUP));
        for (int32_t i = 0; i < words; ++i, x += words) {
            aboard_dsp_tile_six(x + 1, 2, columns + i, words);
            aboard_dsp_tile_six(x, 2, columns + i + 4 * words, words);
        }
    }
}

#endif

#endif
