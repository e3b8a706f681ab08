/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file dot_winograd_4x4.h
 * Convolutions of 3x3 windows by Winograd's F(4x4, 3x3), exact in integers: 36 products for 16 results of a channel
 * instead of 144. host/aboard/kernels/arm_dsp/conv2d_winograd_4x4.py transforms and packs the weights.
 *
 * As dot_winograd.h, with tiles of 4x4 results and 36 places. G has fractions, of which the least common multiple is 24
 * along each axis: sums are 576 = 9 * 64 times what they should be. A product with the inverse of 9 modulo 2^32 leaves
 * exactly 64 times the result, whatever wrapped before, so that only this must fit; the requantisation divides by 64.
 * The factors 24 are in G where its halfwords have room:
 *
 *     24 G = 6 times  1  0  0     A' = 1  1  1  1  1  0
 *           -4 times  1  1  1          0  1 -1  2 -2  0
 *           -4 times  1 -1  1          0  1  1  4  4  0
 *                     1  2  4          0  1 -1  8 -8  2
 *                     1 -2  4
 *           12 times  0  0  1
 *
 * Transformed weights are at most 144 * 128, transformed inputs 100 * 128.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_DOT_WINOGRAD_4X4_H
#define ABOARD_KERNELS_ARM_DSP_DOT_WINOGRAD_4X4_H

#include <stdint.h>

#include "aboard/config.h"
#include "dot.h"
#include "winograd_products.h"

/** Places of a transformed tile, along an axis and in all. */
#define ABOARD_DSP_PLACES_4X4_AXIS 6
#define ABOARD_DSP_PLACES_4X4 36

/** Words of the sums of two tiles. Their columns take less, and are stored there. */
#define ABOARD_DSP_TILE_4X4_SUMS (ABOARD_DSP_PLACES_4X4 * ABOARD_DSP_PLACE_SUMS)

/** Words of inputs for every two channels. */
#define ABOARD_DSP_TILE_4X4_WORDS (ABOARD_DSP_PLACES_4X4 * ABOARD_DSP_TILES)

/** Powers of two in the factor of sums, and the inverse of the rest of it modulo 2^32. */
#define ABOARD_DSP_TILE_4X4_BITS 6
#define ABOARD_DSP_INVERSE_OF_9 0x38e38e39u

/** All channels of two tiles; the assembly depends on the order of fields. Results that do not exist have the address
 * of one that does and is written later: the last rows, the right tile and the last columns are written first. */
typedef struct {
    aboard_dsp_products_t products; /**< The right tile before the left one. Constants of a channel: 576 times the bias,
                                     * and of aboard_dsp_tile_round. */
    int32_t blocks;                 /**< Channels by ABOARD_DSP_TILE_CHANNELS. */
    int32_t tile;                   /**< From the left to the right tile, in bytes. */
    int8_t *rows[4];                /**< First result of each row of the left tile. */
    int32_t next[2][3];             /**< From the first to the other columns of the right and of the left tile. */
} aboard_dsp_tiles_4x4_t;

#if ABOARD_DSP_ASM

/* clang-format off */
/** Frame: 64 blocks, 68 tile, 72 rows, 88 next of the right tile, 100 next of the left one; of the current tile 112 rows, 128
 * next; 140 weights, 144 end of the tile's sums of one place, 148 ABOARD_DSP_INVERSE_OF_9, 152 shift. */
#define ABOARD_DSP_TILE_4X4_HEAD                                        \
    "push {r4-r11, lr}\n"                                               \
    "sub sp, #156\n"                                                    \
    "ldm r0!, {r1-r3, r5}\n"                                            \
    "stm sp, {r1-r3}\n"                                                 \
    "ldm r0, {r1-r4, r6-r12, lr}\n"                                     \
    "add r0, sp, #64\n"                                                 \
    "stm r0, {r1-r4, r6-r12, lr}\n"                                     \
    "movw r0, #0x8e39\n movt r0, #0x38e3\n"                             \
    "str r0, [sp, #148]\n"

#define ABOARD_DSP_TILE_4X4_16 ABOARD_DSP_TILE_16("288")
#define ABOARD_DSP_TILE_4X4_32 ABOARD_DSP_TILE_32("288", "1152")
#define ABOARD_DSP_TILE_4X4_ANY                                         \
    ABOARD_DSP_TILE_ANY("288", "1152", "movw r3, #288\n udiv r3, r1, r3\n", "add r3, r3, r3, lsl #3\n lsls r3, r3, #5\n")

/** Six values, `step` bytes apart, in r6 to r11; `further` loads. */
#define ABOARD_DSP_TILE_4X4_LOAD(at, step, further)                     \
    "ldr r6, [r0, #" at "]\n ldr r7, [r0, #" at "+" step "]\n ldr r8, [r0, #" at "+2*" step "]\n" \
    "ldr r9, [r0, #" at "+3*" step "]\n ldr r10, [r0, #" at "+4*" step "]\n ldr r11, [r0, #" at "+5*" step "]\n" \
    further

/** A' times r6 to r11: r6, r9, r7, r8. */
#define ABOARD_DSP_TILE_FOUR                                            \
    "add r7, r8\n sub r8, r7, r8, lsl #1\n"                             \
    "add r9, r10\n sub r10, r9, r10, lsl #1\n"                          \
    "add r6, r7\n add r6, r9\n"                                         \
    "add r7, r7, r9, lsl #2\n"                                          \
    "add r9, r8, r10, lsl #1\n"                                         \
    "add r8, r8, r10, lsl #3\n add r8, r8, r11, lsl #1\n"

/** A' times the columns of places; `bias` belongs to the second one. */
#define ABOARD_DSP_TILE_4X4_COLUMN(at, load, bias)                      \
    ABOARD_DSP_TILE_4X4_LOAD(at, "192", load)                           \
    bias ABOARD_DSP_TILE_FOUR                                           \
    "str r6, [r0, #" at "]\n str r9, [r0, #" at "+192]\n str r7, [r0, #" at "+384]\n str r8, [r0, #" at "+576]\n"
#define ABOARD_DSP_TILE_4X4_ALL_COLUMNS                                 \
    ABOARD_DSP_TILE_4X4_COLUMN("0", "", "")                             \
    ABOARD_DSP_TILE_4X4_COLUMN("32", "ldr r12, [r5]\n", "add r7, r12\n") \
    ABOARD_DSP_TILE_4X4_COLUMN("64", "", "")                            \
    ABOARD_DSP_TILE_4X4_COLUMN("96", "", "")                            \
    ABOARD_DSP_TILE_4X4_COLUMN("128", "", "")                           \
    ABOARD_DSP_TILE_4X4_COLUMN("160", "", "")

/** Results of a row: r1 factor, r2 constant, r3 inverse of 9, r4, lr, r5 next. */
#define ABOARD_DSP_TILE_4X4_ROW(n, load, requantise)                    \
    ABOARD_DSP_TILE_4X4_LOAD("192*" n, "32", "ldr r12, [sp, #112+4*" n "]\n") \
    ABOARD_DSP_TILE_FOUR                                                \
    "mul r6, r3, r6\n mul r9, r3, r9\n mul r7, r3, r7\n mul r8, r3, r8\n" \
    load                                                                \
    requantise("r8") requantise("r7") requantise("r9") requantise("r6") \
    "strb r8, [r12, r5]\n strb r7, [r12, lr]\n strb r9, [r12, r4]\n strb r6, [r12], #1\n" \
    "str r12, [sp, #112+4*" n "]\n"

#define ABOARD_DSP_TILE_4X4_SINGLE(r)                                   \
    "smmla " r ", " r ", r1, r2\n"                                      \
    "ssat " r ", #8, " r ", asr #10\n"
#define ABOARD_DSP_TILE_4X4_DOUBLE(r)                                   \
    "asr " r ", #6\n"                                                   \
    "add r10, " r ", " r ", asr #31\n"                                  \
    "smmlar " r ", " r ", r1, r10\n"                                    \
    "add " r ", r2\n"                                                   \
    "asr " r ", r11\n"                                                  \
    "ssat " r ", #8, " r "\n"

/** Results of all channels; `shift` keeps a channel's shift, `load` loads it, `bytes` are its constants. */
#define ABOARD_DSP_TILE_4X4_TAIL(shift, load, requantise, bytes)        \
    "ldr r0, [sp, #8]\n ldr r4, [sp, #68]\n"                            \
    "add r12, sp, #88\n"                                                \
    "4:\n"                                                              \
    "ldr r1, [sp, #72]\n ldr r2, [sp, #76]\n ldr r3, [sp, #80]\n ldr r6, [sp, #84]\n" \
    "add r1, r4\n add r2, r4\n add r3, r4\n add r6, r4\n"               \
    "ldm r12, {r7-r9}\n"                                                \
    "add r12, sp, #112\n"                                               \
    "stm r12, {r1-r3, r6-r9}\n"                                         \
    "add r1, r0, #32\n"                                                 \
    "str r1, [sp, #144]\n"                                              \
    "5:\n"                                                              \
    ABOARD_DSP_TILE_4X4_ALL_COLUMNS                                     \
    shift                                                               \
    "str r5, [sp, #140]\n"                                              \
    "ldr r1, [r5, #4]\n ldr r2, [r5, #8]\n ldr r3, [sp, #148]\n ldr r4, [sp, #128]\n ldr lr, [sp, #132]\n ldr r5, [sp, #136]\n" \
    ABOARD_DSP_TILE_4X4_ROW("3", load, requantise)                      \
    ABOARD_DSP_TILE_4X4_ROW("2", load, requantise)                      \
    ABOARD_DSP_TILE_4X4_ROW("1", load, requantise)                      \
    ABOARD_DSP_TILE_4X4_ROW("0", load, requantise)                      \
    "ldr r5, [sp, #140]\n ldr r1, [sp, #144]\n"                         \
    "adds r0, #8\n"                                                     \
    "adds r5, #" bytes "\n"                                             \
    "cmp r0, r1\n"                                                      \
    "bne.w 5b\n"                                                        \
    "ldr r1, [sp, #8]\n"                                                \
    "subs r2, r0, r1\n"                                                 \
    "cmp r2, #32\n"                                                     \
    "bne.n 6f\n"                                                        \
    "adds r0, r1, #4\n"                                                 \
    "subs r5, #4*" bytes "\n"                                           \
    "movs r4, #0\n"                                                     \
    "add r12, sp, #100\n"                                               \
    "b.w 4b\n"                                                          \
    "6:\n"                                                              \
    "add r0, sp, #112\n"                                                \
    "ldm r0, {r1-r4}\n"                                                 \
    "add r0, sp, #72\n"                                                 \
    "stm r0, {r1-r4}\n"                                                 \
    "ldr r0, [sp, #64]\n"                                               \
    "subs r0, #1\n"                                                     \
    "str r0, [sp, #64]\n"                                               \
    "bne.w 1b\n"                                                        \
    "add sp, #156\n"                                                    \
    "pop {r4-r11, pc}\n"

#define ABOARD_DSP_TILE_4X4_SINGLE_TAIL ABOARD_DSP_TILE_4X4_TAIL("", "", ABOARD_DSP_TILE_4X4_SINGLE, "12")
#define ABOARD_DSP_TILE_4X4_DOUBLE_TAIL                                 \
    ABOARD_DSP_TILE_4X4_TAIL("ldr r6, [r5, #12]\n str r6, [sp, #152]\n", "ldr r11, [sp, #152]\n", \
                             ABOARD_DSP_TILE_4X4_DOUBLE, "16")

/** All channels of two tiles, requantised by single roundings, from an operand of 16 channels. */
ABOARD_NAKED void aboard_dsp_tiles_4x4_single_16(const aboard_dsp_tiles_4x4_t *p ABOARD_UNUSED) {
    __asm__ volatile(ABOARD_DSP_TILE_4X4_HEAD ABOARD_DSP_TILE_4X4_16 ABOARD_DSP_TILE_4X4_SINGLE_TAIL);
}

/** Like aboard_dsp_tiles_4x4_single_16, by double roundings. */
ABOARD_NAKED void aboard_dsp_tiles_4x4_double_16(const aboard_dsp_tiles_4x4_t *p ABOARD_UNUSED) {
    __asm__ volatile(ABOARD_DSP_TILE_4X4_HEAD ABOARD_DSP_TILE_4X4_16 ABOARD_DSP_TILE_4X4_DOUBLE_TAIL);
}

/** Like aboard_dsp_tiles_4x4_single_16, from 32 channels or a larger multiple of 16. */
ABOARD_NAKED void aboard_dsp_tiles_4x4_single_32(const aboard_dsp_tiles_4x4_t *p ABOARD_UNUSED) {
    __asm__ volatile(ABOARD_DSP_TILE_4X4_HEAD ABOARD_DSP_TILE_4X4_32 ABOARD_DSP_TILE_4X4_SINGLE_TAIL);
}

/** Like aboard_dsp_tiles_4x4_double_16, from 32 channels or a larger multiple of 16. */
ABOARD_NAKED void aboard_dsp_tiles_4x4_double_32(const aboard_dsp_tiles_4x4_t *p ABOARD_UNUSED) {
    __asm__ volatile(ABOARD_DSP_TILE_4X4_HEAD ABOARD_DSP_TILE_4X4_32 ABOARD_DSP_TILE_4X4_DOUBLE_TAIL);
}

/** Like aboard_dsp_tiles_4x4_single_16, with any number of channels, a multiple of 4. */
ABOARD_NAKED void aboard_dsp_tiles_4x4_single(const aboard_dsp_tiles_4x4_t *p ABOARD_UNUSED) {
    __asm__ volatile(ABOARD_DSP_TILE_4X4_HEAD ABOARD_DSP_TILE_4X4_ANY ABOARD_DSP_TILE_4X4_SINGLE_TAIL);
}

/** Like aboard_dsp_tiles_4x4_double_16, with any number of channels, a multiple of 4. */
ABOARD_NAKED void aboard_dsp_tiles_4x4_double(const aboard_dsp_tiles_4x4_t *p ABOARD_UNUSED) {
    __asm__ volatile(ABOARD_DSP_TILE_4X4_HEAD ABOARD_DSP_TILE_4X4_ANY ABOARD_DSP_TILE_4X4_DOUBLE_TAIL);
}
/* clang-format on */

#else

/** 576 times the sum of result (row, column) of a tile of a channel: A' m A. */
ABOARD_INLINE uint32_t aboard_dsp_tile_4x4_result(const uint32_t *sums, int32_t row, int32_t column) {
    static const int32_t factors[4][ABOARD_DSP_PLACES_4X4_AXIS] = {
        {1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 2}};
    uint32_t result = 0;
    for (int32_t place = 0; place < ABOARD_DSP_PLACES_4X4; ++place) {
        const int32_t factor =
            factors[row][place / ABOARD_DSP_PLACES_4X4_AXIS] * factors[column][place % ABOARD_DSP_PLACES_4X4_AXIS];
        result += (uint32_t)factor * sums[place * ABOARD_DSP_PLACE_SUMS];
    }
    return result;
}

/** All channels of two tiles. */
ABOARD_INLINE void aboard_dsp_tiles_4x4(const aboard_dsp_tiles_4x4_t *p, int32_t single) {
    const uint32_t *w = p->products.weights;
    for (int32_t done = 0; done < ABOARD_DSP_TILE_CHANNELS * p->blocks; done += ABOARD_DSP_TILE_CHANNELS) {
        w = aboard_dsp_tile_sums(&p->products, w, ABOARD_DSP_PLACES_4X4);
        for (int32_t i = 0; i < ABOARD_DSP_PLACE_SUMS; ++i) {
            const int32_t tile = i / ABOARD_DSP_TILE_CHANNELS, channel = i % ABOARD_DSP_TILE_CHANNELS;
            const uint32_t *const c = w + (single ? 3 : 4) * channel;
            const uint32_t *const sums = p->products.sums + ABOARD_DSP_TILES * channel + tile;
            for (int32_t at = 15; at >= 0; --at) {
                int8_t *const to = p->rows[at / 4] + done + channel + (tile == 0 ? p->tile : 0);
                const uint32_t sum =
                    ABOARD_DSP_INVERSE_OF_9 * (c[0] + aboard_dsp_tile_4x4_result(sums, at / 4, at % 4));
                to[at % 4 == 0 ? 0 : p->next[tile][at % 4 - 1]] =
                    aboard_dsp_tile_round(sum, c + 1, single, ABOARD_DSP_TILE_4X4_BITS);
            }
        }
        w += ABOARD_DSP_TILE_CHANNELS * (single ? 3 : 4);
    }
}

/** See above. */
ABOARD_SHARED void aboard_dsp_tiles_4x4_single(const aboard_dsp_tiles_4x4_t *p) {
    aboard_dsp_tiles_4x4(p, 1);
}

/** See above. */
ABOARD_SHARED void aboard_dsp_tiles_4x4_double(const aboard_dsp_tiles_4x4_t *p) {
    aboard_dsp_tiles_4x4(p, 0);
}

/** See above. */
ABOARD_SHARED void aboard_dsp_tiles_4x4_single_32(const aboard_dsp_tiles_4x4_t *p) {
    aboard_dsp_tiles_4x4_single(p);
}

/** See above. */
ABOARD_SHARED void aboard_dsp_tiles_4x4_single_16(const aboard_dsp_tiles_4x4_t *p) {
    aboard_dsp_tiles_4x4_single(p);
}

/** See above. */
ABOARD_SHARED void aboard_dsp_tiles_4x4_double_32(const aboard_dsp_tiles_4x4_t *p) {
    aboard_dsp_tiles_4x4_double(p);
}

/** See above. */
ABOARD_SHARED void aboard_dsp_tiles_4x4_double_16(const aboard_dsp_tiles_4x4_t *p) {
    aboard_dsp_tiles_4x4_double(p);
}

#endif

#endif
