/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file dot_winograd.h
 * Convolutions of 3x3 windows by Winograd's F(2x2, 3x3), exact in integers: 16 products for four results of a channel
 * instead of 36. host/aboard/kernels/arm_dsp/conv2d_winograd.py transforms and packs the weights.
 *
 * A tile is 2x2 results; its window is 4x4 pixels d. With the weights g of a window
 *
 *     results = A' ((G g G') * (B' d B)) A      * of the 16 places, one by one, summed over the channels
 *
 * Weights are transformed with 2 G, which has integers only: sums are four times what they should be, and the
 * requantisation divides by four. Transformed weights are at most 9 * 128, transformed inputs 4 * 128: both fit
 * halfwords. Products wrap modulo 2^32, so that only the results themselves must fit, which the host proves.
 *
 * Two tiles side by side and four channels are computed at once (winograd_products.h). winograd_inputs.h transforms the
 * inputs.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_DOT_WINOGRAD_H
#define ABOARD_KERNELS_ARM_DSP_DOT_WINOGRAD_H

#include <stdint.h>

#include "aboard/config.h"
#include "dot.h"
#include "winograd_products.h"

/** Places of a transformed tile. */
#define ABOARD_DSP_PLACES 16

/** Words of the sums of two tiles: places, channels, tiles. The columns of two tiles take less, and are stored there.
 */
#define ABOARD_DSP_TILE_SUMS (ABOARD_DSP_PLACES * ABOARD_DSP_TILE_CHANNELS * ABOARD_DSP_TILES)

/** Words of inputs for every two channels. */
#define ABOARD_DSP_TILE_WORDS (ABOARD_DSP_PLACES * ABOARD_DSP_TILES)

/** All channels of two tiles; the assembly depends on the order of fields. Results that do not exist have the address
 * of one that does and is written later: the second row and the second tile are written first, the second column as
 * well. */
typedef struct {
    aboard_dsp_products_t products; /**< Constants of a channel: four times the bias, and of aboard_dsp_tile_round. */
    int8_t *y;                      /**< First result of the first tile. */
    int8_t *y_end;                  /**< End of its channels, a multiple of ABOARD_DSP_TILE_CHANNELS. */
    int32_t tile;                   /**< From the first to the second tile, in bytes. */
    int32_t next[2];                /**< From the first to the second column of each tile. */
    int32_t below;                  /**< From the first to the second row. */
} aboard_dsp_tiles_t;

#if ABOARD_DSP_ASM

/* clang-format off */
/** Frame: 0 x, 4 its end, 8 sums, 12 y, 16 its end, 20 tile, 24 next, 32 below, 36 next sums, 40 end of the first sums.
 * r4 inputs, r5 weights, r6 to r12 and lr sums. */
#define ABOARD_DSP_TILE_HEAD                                            \
    "push {r4-r11, lr}\n"                                               \
    "sub sp, #68\n"                                                     \
    "ldm r0, {r1-r10}\n"                                                \
    "stm sp, {r1-r3}\n"                                                 \
    "add r0, sp, #12\n"                                                 \
    "stm r0, {r5-r10}\n"                                                \
    "mov r5, r4\n"                                                      \
    "adds r0, r3, #32\n"                                                \
    "str r0, [sp, #40]\n"

/** Products of all places with any number of channels. */
#define ABOARD_DSP_TILE_PLAIN ABOARD_DSP_TILE_ANY("128", "512", "lsrs r3, r1, #7\n", "lsls r3, r3, #7\n")

/** Two columns of places `at`, a column `n` bytes further, of a channel and tile: A' from the left into t0, u0 and t1, u1. */
#define ABOARD_DSP_TILE_COLUMNS_OF(at, t0, t1, u0, u1, bias)            \
    "ldr " t0 ", [r0, #" at "]\n ldr " t1 ", [r0, #" at "+384]\n"       \
    "ldr r1, [r0, #" at "+128]\n ldr r2, [r0, #" at "+256]\n"           \
    "ldr " u0 ", [r0, #" at "+32]\n ldr " u1 ", [r0, #" at "+416]\n"    \
    "ldr r3, [r0, #" at "+160]\n ldr lr, [r0, #" at "+288]\n"           \
    bias                                                                \
    "add " t0 ", r1\n add " t0 ", r2\n sub " t1 ", r1, " t1 "\n sub " t1 ", r2\n" \
    "add " u0 ", r3\n add " u0 ", lr\n sub " u1 ", r3, " u1 "\n sub " u1 ", lr\n"

/** Four times the sums of a tile's results: r4 and r6, below them r9 and r10. */
#define ABOARD_DSP_TILE_RESULT(tile)                                    \
    ABOARD_DSP_TILE_COLUMNS_OF(tile, "r4", "r9", "r6", "r10", "ldr r7, [r5]\n add r3, r7\n") \
    ABOARD_DSP_TILE_COLUMNS_OF(tile "+64", "r7", "r11", "r8", "r12", "") \
    "add r4, r6\n add r4, r7\n sub r6, r7\n sub r6, r8\n"               \
    "add r9, r10\n add r9, r11\n sub r10, r11\n sub r10, r12\n"

/** Stores the results of a tile, whose first address is r3, r7 bytes before the next column, r8 bytes before the row below. */
#define ABOARD_DSP_TILE_STORE                                           \
    "add r8, r3\n"                                                      \
    "strb r10, [r8, r7]\n strb r9, [r8]\n strb r6, [r3, r7]\n strb r4, [r3]\n"

/** Loads of a tile's addresses; the first one's with the end of the sums that are a channel's first. */
#define ABOARD_DSP_TILE_AT_0                                            \
    "ldr r3, [sp, #12]\n ldr r7, [sp, #24]\n ldr r8, [sp, #32]\n ldr r12, [sp, #40]\n"
#define ABOARD_DSP_TILE_AT_1                                            \
    "ldr r3, [sp, #12]\n ldr r7, [sp, #28]\n ldr r8, [sp, #32]\n ldr r12, [sp, #20]\n"

/** Requantises the results of a tile; r12 must stay. */
#define ABOARD_DSP_TILE_SINGLE                                          \
    "smmla r4, r4, r1, r2\n smmla r6, r6, r1, r2\n smmla r9, r9, r1, r2\n smmla r10, r10, r1, r2\n" \
    "ssat r4, #8, r4, asr #6\n ssat r6, #8, r6, asr #6\n ssat r9, #8, r9, asr #6\n ssat r10, #8, r10, asr #6\n"
#define ABOARD_DSP_TILE_ROUNDED(r)                                      \
    "asr " r ", #2\n"                                                   \
    "add lr, " r ", " r ", asr #31\n"                                   \
    "smmlar " r ", " r ", r1, lr\n"                                     \
    "add " r ", r2\n"                                                   \
    "asr " r ", r11\n"                                                  \
    "ssat " r ", #8, " r "\n"
#define ABOARD_DSP_TILE_DOUBLE                                          \
    ABOARD_DSP_TILE_ROUNDED("r4") ABOARD_DSP_TILE_ROUNDED("r6")         \
    ABOARD_DSP_TILE_ROUNDED("r9") ABOARD_DSP_TILE_ROUNDED("r10")

/** Results of all channels; `loads` are those of a channel's constants behind the bias, of `bytes` with it. */
#define ABOARD_DSP_TILE_TAIL(loads, requantise, bytes)                  \
    "ldr r0, [sp, #8]\n"                                                \
    "4:\n"                                                              \
    ABOARD_DSP_TILE_RESULT("4")                                         \
    loads ABOARD_DSP_TILE_AT_1 requantise                               \
    "add r3, r12\n"                                                     \
    ABOARD_DSP_TILE_STORE                                               \
    ABOARD_DSP_TILE_RESULT("0")                                         \
    loads ABOARD_DSP_TILE_AT_0 requantise                               \
    ABOARD_DSP_TILE_STORE                                               \
    "adds r3, #1\n"                                                     \
    "str r3, [sp, #12]\n"                                               \
    "adds r5, #" bytes "\n"                                             \
    "adds r0, #8\n"                                                     \
    "cmp r0, r12\n"                                                     \
    "bne.w 4b\n"                                                        \
    "ldr r1, [sp, #16]\n"                                               \
    "cmp r3, r1\n"                                                      \
    "bne.w 1b\n"                                                        \
    "add sp, #68\n"                                                     \
    "pop {r4-r11, pc}\n"

#define ABOARD_DSP_TILE_SINGLE_TAIL                                     \
    ABOARD_DSP_TILE_TAIL("ldr r1, [r5, #4]\n ldr r2, [r5, #8]\n", ABOARD_DSP_TILE_SINGLE, "12")
#define ABOARD_DSP_TILE_DOUBLE_TAIL                                     \
    ABOARD_DSP_TILE_TAIL("ldr r1, [r5, #4]\n ldr r2, [r5, #8]\n ldr r11, [r5, #12]\n", ABOARD_DSP_TILE_DOUBLE, "16")

/** All channels of two tiles, requantised by single roundings, from an operand of 16 channels. */
ABOARD_NAKED void aboard_dsp_tiles_single_16(const aboard_dsp_tiles_t *p ABOARD_UNUSED) {
    __asm__ volatile(ABOARD_DSP_TILE_HEAD ABOARD_DSP_TILE_16("128") ABOARD_DSP_TILE_SINGLE_TAIL);
}

/** Like aboard_dsp_tiles_single_16, by double roundings. */
ABOARD_NAKED void aboard_dsp_tiles_double_16(const aboard_dsp_tiles_t *p ABOARD_UNUSED) {
    __asm__ volatile(ABOARD_DSP_TILE_HEAD ABOARD_DSP_TILE_16("128") ABOARD_DSP_TILE_DOUBLE_TAIL);
}

/** Like aboard_dsp_tiles_single_16, from 32 channels or a larger multiple of 16. */
ABOARD_NAKED void aboard_dsp_tiles_single_32(const aboard_dsp_tiles_t *p ABOARD_UNUSED) {
    __asm__ volatile(ABOARD_DSP_TILE_HEAD ABOARD_DSP_TILE_32("128", "512") ABOARD_DSP_TILE_SINGLE_TAIL);
}

/** Like aboard_dsp_tiles_double_16, from 32 channels or a larger multiple of 16. */
ABOARD_NAKED void aboard_dsp_tiles_double_32(const aboard_dsp_tiles_t *p ABOARD_UNUSED) {
    __asm__ volatile(ABOARD_DSP_TILE_HEAD ABOARD_DSP_TILE_32("128", "512") ABOARD_DSP_TILE_DOUBLE_TAIL);
}

/** Like aboard_dsp_tiles_single_16, with any number of channels, a multiple of 4. */
ABOARD_NAKED void aboard_dsp_tiles_single(const aboard_dsp_tiles_t *p ABOARD_UNUSED) {
    __asm__ volatile(ABOARD_DSP_TILE_HEAD ABOARD_DSP_TILE_PLAIN ABOARD_DSP_TILE_SINGLE_TAIL);
}

/** Like aboard_dsp_tiles_double_16, with any number of channels, a multiple of 4. */
ABOARD_NAKED void aboard_dsp_tiles_double(const aboard_dsp_tiles_t *p ABOARD_UNUSED) {
    __asm__ volatile(ABOARD_DSP_TILE_HEAD ABOARD_DSP_TILE_PLAIN ABOARD_DSP_TILE_DOUBLE_TAIL);
}
/* clang-format on */

#else

/** Four times the sum of result (row, column) of a tile of a channel: A' m A. */
ABOARD_INLINE uint32_t aboard_dsp_tile_result(const uint32_t *sums, int32_t row, int32_t column) {
    static const int32_t factors[2][4] = {{1, 1, 1, 0}, {0, 1, -1, -1}};
    uint32_t result = 0;
    for (int32_t place = 0; place < ABOARD_DSP_PLACES; ++place) {
        const int32_t factor = factors[row][place / 4] * factors[column][place % 4];
        result += (uint32_t)factor * sums[place * ABOARD_DSP_TILE_CHANNELS * ABOARD_DSP_TILES];
    }
    return result;
}

/** All channels of two tiles. */
ABOARD_INLINE void aboard_dsp_tiles(const aboard_dsp_tiles_t *p, int32_t single) {
    const uint32_t *w = p->products.weights;
    int8_t *y = p->y;
    while (y != p->y_end) {
        w = aboard_dsp_tile_sums(&p->products, w, ABOARD_DSP_PLACES);
        for (int32_t channel = 0; channel < ABOARD_DSP_TILE_CHANNELS; ++channel, ++y, w += single ? 3 : 4) {
            for (int32_t tile = 1; tile >= 0; --tile) {
                const uint32_t *const sums = p->products.sums + ABOARD_DSP_TILES * channel + tile;
                for (int32_t i = 3; i >= 0; --i) {
                    int8_t *const to = y + tile * p->tile + i / 2 * p->below + i % 2 * p->next[tile];
                    *to = aboard_dsp_tile_round(w[0] + aboard_dsp_tile_result(sums, i / 2, i % 2), w + 1, single, 2);
                }
            }
        }
    }
}

/** See above. */
ABOARD_SHARED void aboard_dsp_tiles_single(const aboard_dsp_tiles_t *p) {
    aboard_dsp_tiles(p, 1);
}

/** See above. */
ABOARD_SHARED void aboard_dsp_tiles_double(const aboard_dsp_tiles_t *p) {
    aboard_dsp_tiles(p, 0);
}

/** See above. */
ABOARD_SHARED void aboard_dsp_tiles_single_32(const aboard_dsp_tiles_t *p) {
    aboard_dsp_tiles_single(p);
}

/** See above. */
ABOARD_SHARED void aboard_dsp_tiles_single_16(const aboard_dsp_tiles_t *p) {
    aboard_dsp_tiles_single(p);
}

/** See above. */
ABOARD_SHARED void aboard_dsp_tiles_double_32(const aboard_dsp_tiles_t *p) {
    aboard_dsp_tiles_double(p);
}

/** See above. */
ABOARD_SHARED void aboard_dsp_tiles_double_16(const aboard_dsp_tiles_t *p) {
    aboard_dsp_tiles_double(p);
}

#endif

#endif
