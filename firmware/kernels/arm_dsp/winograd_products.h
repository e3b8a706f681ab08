/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file winograd_products.h
 * Products of Winograd's convolutions: for each place of a transformed tile, the sums of two tiles and four channels
 * over all channels of the operand. dot_winograd.h and dot_winograd_4x4.h make results of them.
 *
 * Eight sums, four operands and two pointers are all 14 registers. Single loads directly behind one another take a
 * cycle each, as in dot_blocks.h.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_WINOGRAD_PRODUCTS_H
#define ABOARD_KERNELS_ARM_DSP_WINOGRAD_PRODUCTS_H

#include <stdint.h>

#include "aboard/config.h"
#include "dot.h"

/** Tiles, and channels, that are computed together. */
#define ABOARD_DSP_TILES 2
#define ABOARD_DSP_TILE_CHANNELS 4

/** Sums of a place. */
#define ABOARD_DSP_PLACE_SUMS (ABOARD_DSP_TILE_CHANNELS * ABOARD_DSP_TILES)

/** Inputs and sums of two tiles; the assembly depends on the order of fields. */
typedef struct {
    const uint32_t *x;       /**< Words of two channels: for every two channels all places of two tiles. */
    const uint32_t *end;     /**< End of `x`. */
    uint32_t *sums;          /**< ABOARD_DSP_PLACE_SUMS for each place: channels, and for each of them tiles. */
    const uint32_t *weights; /**< For each four channels: for each place and every two channels of the operand a word of
                              * each of the four; then the constants of each channel. */
} aboard_dsp_products_t;

/** Channels of transformed inputs: by fours, of which the last are the last channels, some perhaps once more. */
ABOARD_INLINE int32_t aboard_dsp_tile_depth(int32_t channels) {
    return (channels + ABOARD_DSP_TAP_GROUP - 1) / ABOARD_DSP_TAP_GROUP * ABOARD_DSP_TAP_GROUP;
}

/** Words of weights and constants of four channels, of tiles of so many places, from so many channels. */
ABOARD_INLINE int32_t aboard_dsp_tile_block_words(int32_t places, int32_t channels, int32_t single) {
    const int32_t steps = places * aboard_dsp_tile_depth(channels) / 2;
    return ABOARD_DSP_TILE_CHANNELS * (steps + (single ? 3 : 4));
}

#if ABOARD_DSP_ASM

/* clang-format off */
/**
 * Macros of assembly: `pair` bytes of the inputs of every two channels, `sums` bytes of the sums of all places.
 *
 * Frame: 0 x, 4 its end, 8 sums; from 36 to 60 what these macros keep, 36 next sums. r4 inputs, r5 weights, r6 to r12 and
 * lr sums.
 */

/** Products of two channels of the operand: two tiles, four channels; the first ones, and steps behind
 * them. */
#define ABOARD_DSP_TILE_FIRST                                           \
    "ldr.w r0, [r4]\n ldr.w r1, [r4, #4]\n ldr.n r2, [r5]\n ldr.n r3, [r5, #4]\n" \
    "smuad r6, r0, r2\n smuad r7, r1, r2\n smuad r8, r0, r3\n smuad r9, r1, r3\n" \
    "ldr.n r2, [r5, #8]\n ldr.n r3, [r5, #12]\n"                        \
    "smuad r10, r0, r2\n smuad r11, r1, r2\n smuad r12, r0, r3\n smuad lr, r1, r3\n"
#define ABOARD_DSP_TILE_STEPS(pair, steps)                              \
    ".irp at, " steps "\n"                                              \
    "ldr.w r0, [r4, #" pair "*\\at]\n ldr.w r1, [r4, #" pair "*\\at+4]\n ldr.n r2, [r5, #16*\\at]\n ldr.n r3, [r5, #16*\\at+4]\n" \
    "smlad r6, r0, r2, r6\n smlad r7, r1, r2, r7\n smlad r8, r0, r3, r8\n smlad r9, r1, r3, r9\n" \
    "ldr.n r2, [r5, #16*\\at+8]\n ldr.n r3, [r5, #16*\\at+12]\n"        \
    "smlad r10, r0, r2, r10\n smlad r11, r1, r2, r11\n smlad r12, r0, r3, r12\n smlad lr, r1, r3, lr\n" \
    ".endr\n"

/** Products of all places, if the operand has 16 channels. */
#define ABOARD_DSP_TILE_16(pair)                                        \
    "ldr r0, [sp]\n"                                                    \
    "adds r0, r0, #" pair "\n"                                          \
    "str r0, [sp, #4]\n"                                                \
    "1:\n"                                                              \
    "ldr r4, [sp]\n"                                                    \
    "ldr r0, [sp, #8]\n"                                                \
    "str r0, [sp, #36]\n"                                               \
    ".balign 4\n"                                                       \
    "2:\n"                                                              \
    ABOARD_DSP_TILE_FIRST                                               \
    ABOARD_DSP_TILE_STEPS(pair, "1, 2, 3, 4, 5, 6, 7")                  \
    "adds r4, #8\n"                                                     \
    "adds r5, #128\n"                                                   \
    "ldr r0, [sp, #36]\n ldr r1, [sp, #4]\n"                            \
    "stmia r0!, {r6-r12, lr}\n"                                         \
    "str r0, [sp, #36]\n"                                               \
    "cmp r4, r1\n"                                                      \
    "bne.w 2b\n"

/** Frame: 44 bytes from behind a place's last step to the next place, 48 end of the sums. */
#define ABOARD_DSP_TILE_ENDS(sums)                                      \
    "ldr r0, [sp]\n ldr r1, [sp, #4]\n ldr r2, [sp, #8]\n"              \
    "subs r1, r1, r0\n"                                                 \
    "subs r1, r1, #8\n"                                                 \
    "add r2, r2, #" sums "\n"                                           \
    "strd r1, r2, [sp, #44]\n"

/** The end of a place. */
#define ABOARD_DSP_TILE_PLACE                                           \
    "ldr r0, [sp, #36]\n ldr r1, [sp, #44]\n ldr r2, [sp, #48]\n"       \
    "stmia r0!, {r6-r12, lr}\n"                                         \
    "str r0, [sp, #36]\n"                                               \
    "subs r4, r4, r1\n"                                                 \
    "cmp r0, r2\n"                                                      \
    "bne.w 2b\n"

/** The same with a larger multiple of 16 channels. */
#define ABOARD_DSP_TILE_32(pair, sums)                                  \
    ABOARD_DSP_TILE_ENDS(sums)                                          \
    "1:\n"                                                              \
    "ldr r4, [sp]\n"                                                    \
    "ldr r0, [sp, #8]\n"                                                \
    "str r0, [sp, #36]\n"                                               \
    ".balign 4\n"                                                       \
    "2:\n"                                                              \
    ABOARD_DSP_TILE_FIRST                                               \
    ABOARD_DSP_TILE_STEPS(pair, "1, 2, 3, 4, 5, 6, 7")                  \
    "add r4, r4, #8*" pair "\n"                                         \
    "adds r5, #128\n"                                                   \
    "3:\n"                                                              \
    ABOARD_DSP_TILE_STEPS(pair, "0, 1, 2, 3, 4, 5, 6, 7")               \
    "ldr r0, [sp, #4]\n"                                                \
    "add r4, r4, #8*" pair "\n"                                         \
    "adds r5, #128\n"                                                   \
    "cmp r4, r0\n"                                                      \
    "blo.w 3b\n"                                                        \
    ABOARD_DSP_TILE_PLACE

/** The same with any number of channels; `divide` sets r3 to r1 / pair, `multiply` r3 to r3 * pair. Frame: 52 entry of the steps, 56 and 60 bytes of the steps that the first
 * iteration leaves out beside the first one, which is computed before. */
#define ABOARD_DSP_TILE_ANY(pair, sums, divide, multiply)               \
    ABOARD_DSP_TILE_ENDS(sums)                                          \
    "adds r1, r1, #8\n"                                                 \
    divide                                                              \
    "rsb r3, r3, #1\n"                                                  \
    "and r3, r3, #7\n"                                                  \
    "adr.w r6, 3f\n"                                                    \
    "add r7, r3, r3, lsl #1\n"                                          \
    "add r6, r6, r7, lsl #4\n"                                          \
    "orr r6, r6, #1\n"                                                  \
    "subs r3, #1\n"                                                     \
    "lsls r7, r3, #4\n"                                                 \
    multiply                                                            \
    "strd r6, r7, [sp, #52]\n"                                          \
    "str r3, [sp, #60]\n"                                               \
    "1:\n"                                                              \
    "ldr r4, [sp]\n"                                                    \
    "ldr r0, [sp, #8]\n"                                                \
    "str r0, [sp, #36]\n"                                               \
    ".balign 4\n"                                                       \
    "2:\n"                                                              \
    ABOARD_DSP_TILE_FIRST                                               \
    "ldr r0, [sp, #56]\n ldr r1, [sp, #60]\n ldr r2, [sp, #52]\n"       \
    "subs r5, r5, r0\n"                                                 \
    "subs r4, r4, r1\n"                                                 \
    "bx r2\n"                                                           \
    ".balign 4\n"                                                       \
    "3:\n"                                                              \
    ABOARD_DSP_TILE_STEPS(pair, "0, 1, 2, 3, 4, 5, 6, 7")               \
    "ldr r0, [sp, #4]\n"                                                \
    "add r4, r4, #8*" pair "\n"                                         \
    "adds r5, #128\n"                                                   \
    "cmp r4, r0\n"                                                      \
    "blo.w 3b\n"                                                        \
    ABOARD_DSP_TILE_PLACE
/* clang-format on */

#else

/** Products of all places, four channels, two tiles, whose weights are at w; returns the end of their weights. */
ABOARD_INLINE const uint32_t *aboard_dsp_tile_sums(const aboard_dsp_products_t *p, const uint32_t *w, int32_t places) {
    uint32_t *sum = p->sums;
    for (int32_t place = 0; place < places; ++place) {
        for (int32_t i = 0; i < ABOARD_DSP_PLACE_SUMS; ++i) {
            sum[i] = 0;
        }
        for (const uint32_t *x = p->x; x != p->end; x += ABOARD_DSP_TILES * places, w += ABOARD_DSP_TILE_CHANNELS) {
            for (int32_t i = 0; i < ABOARD_DSP_PLACE_SUMS; ++i) {
                sum[i] =
                    aboard_dsp_mac(x[ABOARD_DSP_TILES * place + i % ABOARD_DSP_TILES], w[i / ABOARD_DSP_TILES], sum[i]);
            }
        }
        sum += ABOARD_DSP_PLACE_SUMS;
    }
    return w;
}

/**
 * Requantises 2^bits times a sum.
 *
 * @param c      The factor, then 2^bits times the constant and half of 2^bits; by a double rounding the constant, the
 *               shift.
 * @param single 1: by a single rounding; 0: by a double rounding.
 */
ABOARD_INLINE int8_t aboard_dsp_tile_round(uint32_t sum, const uint32_t *c, int32_t single, int32_t bits) {
    const int64_t product = (int64_t)(int32_t)sum * (int32_t)c[0];
    return single ? aboard_dsp_saturate(((int32_t)(product >> 32) + (int32_t)c[1]) >> (ABOARD_DSP_SINGLE_SHIFT + bits))
                  : aboard_dsp_double_rounding((uint32_t)((int32_t)sum >> bits), (int32_t)c[0], (int32_t)c[1], c[2]);
}

#endif

/** Copies the results of fewer channels than a block: those of a row of two tiles with whole blocks, to `cols` pixels.
 */
ABOARD_SHARED void aboard_dsp_tile_part(int8_t *to, int32_t stride, const int8_t *blocks, int32_t cols,
                                        int32_t channels) {
    for (int32_t col = 0; col < cols; ++col) {
        for (int32_t i = 0; i < channels; ++i) {
            to[col * stride + i] = blocks[col * ABOARD_DSP_TILE_CHANNELS + i];
        }
    }
}

#endif
