/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file winograd_inputs.h
 * Inputs of dot_winograd.h: the windows of two tiles side by side, 4x6 pixels d, as B' d B.
 *
 *     B' = 1  0 -1  0     first the columns of four pixels, then the rows of four of six columns: each tile has a row
 *          0  1  1  0     of its own, and shares two columns with its neighbour.
 *          0 -1  1  0
 *          0  1  0 -1
 */
#ifndef ABOARD_KERNELS_ARM_DSP_WINOGRAD_INPUTS_H
#define ABOARD_KERNELS_ARM_DSP_WINOGRAD_INPUTS_H

#include <stdint.h>

#include "aboard/config.h"
#include "dot.h"

/** Columns of pixels and of results of two tiles. */
#define ABOARD_DSP_TILE_COLUMNS 6
#define ABOARD_DSP_TILE_RESULTS 4

/** Rows of pixels and of results of a tile. */
#define ABOARD_DSP_TILE_ROWS 4
#define ABOARD_DSP_TILE_HEIGHT 2

/** A window of two tiles. */
typedef struct {
    const int8_t *rows[ABOARD_DSP_TILE_ROWS]; /**< Pixel of column `first` of each row. */
    int32_t pixel_stride;
    int32_t first; /**< First and behind the last column that is inside of the image. */
    int32_t last;
    int32_t depth; /**< Channels, at least 4. */
} aboard_dsp_tile_window_t;

/** Sets columns outside of [first, last) to those of padding: of `rows` words, of which the second is not 0 but
 * `padding`. */
ABOARD_INLINE void aboard_dsp_tile_outside(uint32_t *words, int32_t columns, int32_t first, int32_t last, int32_t rows,
                                           int32_t padding) {
    const uint32_t both = 0x10001u * ((uint32_t)padding & 0xffffu);
    for (int32_t column = 0; column < columns; ++column) {
        if (column < first || column >= last) {
            for (int32_t i = 0; i < 2 * rows; ++i) {
                words[2 * rows * column + i] = i % rows == 1 ? both : 0;
            }
        }
    }
}

#if ABOARD_DSP_ASM

/* clang-format off */
/**
 * Transforms the inputs of two tiles.
 *
 * @param x       Destination: ABOARD_DSP_TILE_WORDS for every two of aboard_dsp_tile_depth channels.
 * @param columns 8 words for each of six columns; those of columns outside of the image are set, see
 *                aboard_dsp_tile_outside.
 * @param w       The window.
 */
ABOARD_NAKED void aboard_dsp_tile_fill(uint32_t *x ABOARD_UNUSED, uint32_t *columns ABOARD_UNUSED,
                                       const aboard_dsp_tile_window_t *w ABOARD_UNUSED) {
    /* Frame: 0 pixel stride, 4 first and 8 end of the columns inside, 12 columns, 16 x, 20 end of the first row's channels.
     * r0 to r3 rows. */
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "sub sp, #24\n"
        "ldm r2, {r4-r11}\n"
        "add r9, r1, r9, lsl #5\n"
        "add r10, r1, r10, lsl #5\n"
        "add r11, r4\n"
        "strd r8, r9, [sp]\n strd r10, r1, [sp, #8]\n strd r0, r11, [sp, #16]\n"
        "mov r0, r4\n mov r1, r5\n mov r2, r6\n mov r3, r7\n"
        "1:\n"
        "movs r4, #0\n"
        "ldr lr, [sp, #4]\n ldr r10, [sp, #8]\n"
        "cmp lr, r10\n"
        "bge.n 3f\n"
        "2:\n"
        "ldr r5, [r0, r4]\n ldr r6, [r1, r4]\n ldr r7, [r2, r4]\n ldr r8, [r3, r4]\n ldr r9, [sp]\n ldr r10, [sp, #8]\n"
        "add r4, r9\n"
        "add lr, lr, #32\n"
        "cmp lr, r10\n"
        "sxtb16 r12, r5\n sxtb16 r11, r6\n sxtb16 r10, r7\n sxtb16 r9, r8\n"
        "ssub16 r12, r12, r10\n str r12, [lr, #-32]\n"
        "ssub16 r9, r11, r9\n str r9, [lr, #-20]\n"
        "sadd16 r9, r11, r10\n str r9, [lr, #-28]\n"
        "ssub16 r10, r10, r11\n str r10, [lr, #-24]\n"
        "sxtb16 r5, r5, ror #8\n sxtb16 r6, r6, ror #8\n sxtb16 r7, r7, ror #8\n sxtb16 r8, r8, ror #8\n"
        "ssub16 r5, r5, r7\n str r5, [lr, #-16]\n"
        "ssub16 r8, r6, r8\n str r8, [lr, #-4]\n"
        "sadd16 r5, r6, r7\n str r5, [lr, #-12]\n"
        "ssub16 r7, r7, r6\n str r7, [lr, #-8]\n"
        "bne 2b\n"
        "3:\n"
        "ldr r4, [sp, #12]\n ldr r12, [sp, #16]\n"
        "add r11, r4, #32\n"
        "4:\n"
        ".irp at, 0, 1\n"
        "ldr r5, [r4, #4*\\at]\n ldr r6, [r4, #4*\\at+32]\n ldr r7, [r4, #4*\\at+64]\n"
        "ldr r8, [r4, #4*\\at+96]\n ldr r9, [r4, #4*\\at+128]\n ldr r10, [r4, #4*\\at+160]\n"
        "ssub16 lr, r5, r7\n str lr, [r12, #32*\\at]\n"
        "ssub16 lr, r7, r9\n str lr, [r12, #32*\\at+4]\n"
        "sadd16 lr, r6, r7\n str lr, [r12, #32*\\at+8]\n"
        "sadd16 lr, r8, r9\n str lr, [r12, #32*\\at+12]\n"
        "ssub16 lr, r7, r6\n str lr, [r12, #32*\\at+16]\n"
        "ssub16 lr, r9, r8\n str lr, [r12, #32*\\at+20]\n"
        "ssub16 lr, r6, r8\n str lr, [r12, #32*\\at+24]\n"
        "ssub16 lr, r8, r10\n str lr, [r12, #32*\\at+28]\n"
        ".endr\n"
        "add r12, #64\n"
        "adds r4, #8\n"
        "cmp r4, r11\n"
        "bne 4b\n"
        "str r12, [sp, #16]\n"
        "ldr r5, [sp, #20]\n"
        "subs r5, r0\n"
        "subs r5, #4\n"
        "beq.n 5f\n"
        "cmp r5, #4\n it gt\n movgt r5, #4\n"
        "add r0, r5\n add r1, r5\n add r2, r5\n add r3, r5\n"
        "b 1b\n"
        "5:\n"
        "add sp, #24\n"
        "pop {r4-r11, pc}\n");
}
/* clang-format on */

#else

/** Sums of two halfwords; wraps. */
ABOARD_INLINE uint32_t aboard_dsp_add16(uint32_t a, uint32_t b) {
    return ((a + b) & 0xffffu) | ((a & 0xffff0000u) + (b & 0xffff0000u));
}

/** Differences of two halfwords; wraps. */
ABOARD_INLINE uint32_t aboard_dsp_sub16(uint32_t a, uint32_t b) {
    return ((a - b) & 0xffffu) | ((a & 0xffff0000u) - (b & 0xffff0000u));
}

/** B' times a column of four pixels. */
ABOARD_INLINE void aboard_dsp_tile_column(uint32_t *to, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    to[0] = aboard_dsp_sub16(a, c);
    to[1] = aboard_dsp_add16(b, c);
    to[2] = aboard_dsp_sub16(c, b);
    to[3] = aboard_dsp_sub16(b, d);
}

/** See above. */
ABOARD_SHARED void aboard_dsp_tile_fill(uint32_t *x, uint32_t *columns, const aboard_dsp_tile_window_t *w) {
    for (int32_t k = 0; k < w->depth; k += ABOARD_DSP_TAP_GROUP) {
        int32_t at = ABOARD_MIN(k, w->depth - ABOARD_DSP_TAP_GROUP);
        for (int32_t column = w->first; column < w->last; ++column) {
            const uint32_t a = aboard_dsp_load(w->rows[0] + at);
            const uint32_t b = aboard_dsp_load(w->rows[1] + at);
            const uint32_t c = aboard_dsp_load(w->rows[2] + at);
            const uint32_t d = aboard_dsp_load(w->rows[3] + at);
            uint32_t *const to = columns + 8 * column;
            aboard_dsp_tile_column(to, aboard_dsp_even(a), aboard_dsp_even(b), aboard_dsp_even(c), aboard_dsp_even(d));
            aboard_dsp_tile_column(to + 4, aboard_dsp_odd(a), aboard_dsp_odd(b), aboard_dsp_odd(c), aboard_dsp_odd(d));
            at += w->pixel_stride;
        }
        for (int32_t i = 0; i < 8; ++i) {
            const uint32_t *const t = columns + i;
            x[0] = aboard_dsp_sub16(t[0], t[16]);
            x[1] = aboard_dsp_sub16(t[16], t[32]);
            x[2] = aboard_dsp_add16(t[8], t[16]);
            x[3] = aboard_dsp_add16(t[24], t[32]);
            x[4] = aboard_dsp_sub16(t[16], t[8]);
            x[5] = aboard_dsp_sub16(t[32], t[24]);
            x[6] = aboard_dsp_sub16(t[8], t[24]);
            x[7] = aboard_dsp_sub16(t[24], t[40]);
            x += 8;
        }
    }
}

#endif

#endif
