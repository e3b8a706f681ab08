/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file dot_blocks.h
 * Sums of products with the DSP extension: four channels for two pixels at once.
 * host/aboard/kernels/arm_dsp/conv2d_blocks.py packs their weights.
 *
 * Sums and SWAR-packed weights are those of dot.h; operands are loaded otherwise. A step is two taps: two words of
 * inputs and two words of weights. Cortex-M4 executes n single loads at immediate offsets in n + 1 cycles, whatever
 * their base registers, if they follow each other directly; LDM of inputs and LDM of weights would each pay its own
 * start. Eight sums, four operands and two pointers are all 14 registers: SXTB16 extracts the weights of the even
 * channels into the register of the SWAR-packed word, after the odd channels have used it. A step is 15 cycles for 16
 * products.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_DOT_BLOCKS_H
#define ABOARD_KERNELS_ARM_DSP_DOT_BLOCKS_H

#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "dot.h"

/** Channels of a block. */
#define ABOARD_DSP_BLOCK 4

#if ABOARD_DSP_ASM

/* clang-format off */
/** Byte offsets of the steps of an iteration but the last, that of the last, the bytes of an iteration, and their number modulo
 * which steps are left out. Short loads reach offsets up to 124, so that a step is 48 bytes of code. Inputs are at offsets from
 * the word before them: then the last load of an iteration advances their pointer. The number of steps is a power of two. */
#ifdef __OPTIMIZE_SIZE__
#define ABOARD_DSP_BLOCK_OFFSETS "0, 8, 16, 24, 32, 40, 48"
#define ABOARD_DSP_BLOCK_LAST "56"
#define ABOARD_DSP_BLOCK_BYTES "64"
#else
#define ABOARD_DSP_BLOCK_OFFSETS "0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112"
#define ABOARD_DSP_BLOCK_LAST "120"
#define ABOARD_DSP_BLOCK_BYTES "128"
#endif

/** Products of a step: weights of channels 0 and 1 in r2, of channels 2 and 3 in r3; inputs of y0 in a and of y1 in b. */
#define ABOARD_DSP_BLOCK_PRODUCTS(a, b)                                 \
    "smlad r8, " a ", r2, r8\n smlad r9, " b ", r2, r9\n"               \
    "smlad r12, " a ", r3, r12\n smlad lr, " b ", r3, lr\n"             \
    "sxtb16 r2, r2\n sxtb16 r3, r3\n"                                   \
    "smlad r6, " a ", r2, r6\n smlad r7, " b ", r2, r7\n"               \
    "smlad r10, " a ", r3, r10\n smlad r11, " b ", r3, r11\n"

/** The sums of the odd channels, 256 times. */
#define ABOARD_DSP_BLOCK_ODD                                            \
    "sub r8, r8, r6\n sub r9, r9, r7\n sub r12, r12, r10\n sub lr, lr, r11\n"

/** Sums of channels 0 to 3: r6, r8, r10, r12 for y0, and r7, r9, r11, lr for y1, of which the odd channels' are raw.
 * r4 the word before the inputs, r5 weights. Frame: y0, y1 - y0, end of y0, bytes of the steps that the first iteration leaves
 * out, r4 of the first iteration and behind the last, first step. */
#define ABOARD_DSP_BLOCK_HEAD                                           \
    "push {r4-r11, lr}\n"                                               \
    "ldm r0, {r0-r9}\n"                                                 \
    "sub r1, r1, r0\n"                                                  \
    "mov r5, r8\n"                                                      \
    "subs r6, r4, #4\n"                                                 \
    "subs r3, #4\n"                                                     \
    "negs r7, r9\n"                                                     \
    "lsls r7, r7, #4\n"                                                 \
    "and r7, r7, #" ABOARD_DSP_BLOCK_BYTES "-1\n"                       \
    "subs r4, r3, r7\n"                                                 \
    "mov r3, r7\n"                                                      \
    "adr.w r7, 2f\n"                                                    \
    "add r8, r3, r3, lsl #1\n"                                          \
    "add r7, r7, r8, lsl #1\n"                                          \
    "orr r7, r7, #1\n"                                                  \
    "push {r0-r4, r6, r7}\n"                                            \
    "1:\n"                                                              \
    "ldmia r5!, {r6, r8, r10, r12}\n"                                   \
    "mov r7, r6\n mov r9, r8\n mov r11, r10\n mov lr, r12\n"            \
    "cbz r3, 2f\n"                                                      \
    "subs r5, r5, r3\n"                                                 \
    "ldr pc, [sp, #24]\n"                                               \
    ".balign 4\n"                                                       \
    "2:\n"                                                              \
    ".irp at, " ABOARD_DSP_BLOCK_OFFSETS "\n"                           \
    "ldr.n r0, [r4, #\\at+4]\n ldr.n r1, [r4, #\\at+8]\n"               \
    "ldr.n r2, [r5, #\\at]\n ldr.n r3, [r5, #\\at+4]\n"                 \
    ABOARD_DSP_BLOCK_PRODUCTS("r0", "r1")                               \
    ".endr\n"                                                           \
    "ldr.n r0, [r4, #" ABOARD_DSP_BLOCK_LAST "+4]\n ldr.w r1, [r4, #" ABOARD_DSP_BLOCK_LAST "+8]!\n" \
    "ldr.n r2, [r5, #" ABOARD_DSP_BLOCK_LAST "]\n ldr.n r3, [r5, #" ABOARD_DSP_BLOCK_LAST "+4]\n" \
    ABOARD_DSP_BLOCK_PRODUCTS("r0", "r1")                               \
    "ldr r0, [sp, #20]\n"                                               \
    "adds r5, #" ABOARD_DSP_BLOCK_BYTES "\n"                            \
    "cmp r4, r0\n"                                                      \
    "bne.w 2b\n"                                                        \
    ABOARD_DSP_BLOCK_ODD

/** Stores the results, those of y1 first, and advances to the next block. `loaded` are r0 to r2 and what the next block
 * needs of the frame, which is `bytes` long. */
#define ABOARD_DSP_BLOCK_TAIL(loaded, bytes)                            \
    "ldm sp, {" loaded "}\n"                                            \
    "add r1, r1, r0\n"                                                  \
    "strb r7, [r1]\n strb r9, [r1, #1]\n strb r11, [r1, #2]\n strb lr, [r1, #3]\n" \
    "strb r8, [r0, #1]\n strb r10, [r0, #2]\n strb r12, [r0, #3]\n strb r6, [r0], #4\n" \
    "str r0, [sp]\n"                                                    \
    "cmp r0, r2\n"                                                      \
    "bne.w 1b\n"                                                        \
    "add sp, #" bytes "\n"                                              \
    "pop {r4-r11, pc}\n"

/** Results of two channels by single roundings: even sums a0 and a1, 256 times the odd ones in b0 and b1. */
#define ABOARD_DSP_BLOCK_SINGLE(a0, a1, b0, b1)                         \
    "ldmia r5!, {r0-r3}\n"                                              \
    "smmlar " a0 ", " a0 ", r0, r2\n smmlar " a1 ", " a1 ", r0, r2\n"   \
    "smmla " b0 ", " b0 ", r1, r3\n smmla " b1 ", " b1 ", r1, r3\n"     \
    "ssat " a0 ", #8, " a0 ", asr #4\n ssat " a1 ", #8, " a1 ", asr #4\n" \
    "ssat " b0 ", #8, " b0 ", asr #12\n ssat " b1 ", #8, " b1 ", asr #12\n"

/** aboard_dsp_double_rounding of r: factor r0, constant r1, shift r2. */
#define ABOARD_DSP_BLOCK_ANY(r)                                         \
    "add r3, " r ", " r ", asr #31\n"                                   \
    "smmlar " r ", " r ", r0, r3\n"                                     \
    "add " r ", r1\n"                                                   \
    "asr " r ", r2\n"                                                   \
    "ssat " r ", #8, " r "\n"

/** Like ABOARD_DSP_BLOCK_SINGLE, by double roundings; ASR uses the low byte of r2. */
#define ABOARD_DSP_BLOCK_DOUBLE(a0, a1, b0, b1)                         \
    "ldmia r5!, {r0-r2}\n"                                              \
    ABOARD_DSP_BLOCK_ANY(a0) ABOARD_DSP_BLOCK_ANY(a1)                   \
    "ldmia r5!, {r0, r1}\n"                                             \
    "lsrs r2, r2, #8\n"                                                 \
    "asr " b0 ", #8\n asr " b1 ", #8\n"                                 \
    ABOARD_DSP_BLOCK_ANY(b0) ABOARD_DSP_BLOCK_ANY(b1)

/**
 * All channels of two pixels, requantised by single roundings.
 *
 * @param p The job of dot.h; the results of y0 are a multiple of ABOARD_DSP_BLOCK. Weights are, for each block: bias and raw
 *          bias of channels 0 and 1, and of 2 and 3; for each step the SWAR-packed word of channels 0 and 1, and that of 2
 *          and 3; the constants of channels 0 and 1, and of 2 and 3, as in dot.h.
 */
ABOARD_NAKED void aboard_dsp_block_single(const aboard_dsp_pair_t *p ABOARD_UNUSED) {
    __asm__ volatile(
        ABOARD_DSP_BLOCK_HEAD
        ABOARD_DSP_BLOCK_SINGLE("r6", "r7", "r8", "r9")
        ABOARD_DSP_BLOCK_SINGLE("r10", "r11", "r12", "lr")
        ABOARD_DSP_BLOCK_TAIL("r0-r4", "28"));
}

/** Like aboard_dsp_block_single, requantised by double roundings: the constants of two channels are factor and constant of
 * the even channel, both shifts, the odd one's in bits 8 to 15, and factor and constant of the odd channel. */
ABOARD_NAKED void aboard_dsp_block_double(const aboard_dsp_pair_t *p ABOARD_UNUSED) {
    __asm__ volatile(
        ABOARD_DSP_BLOCK_HEAD
        ABOARD_DSP_BLOCK_DOUBLE("r6", "r7", "r8", "r9")
        ABOARD_DSP_BLOCK_DOUBLE("r10", "r11", "r12", "lr")
        ABOARD_DSP_BLOCK_TAIL("r0-r4", "28"));
}
/* clang-format on */

#else

/** Adds the products of a step to the sums by pixel and channel; those of odd channels are raw. */
ABOARD_INLINE void aboard_dsp_block_step(uint32_t x0, uint32_t x1, const uint32_t *w,
                                         uint32_t sums[2][ABOARD_DSP_BLOCK]) {
    for (int32_t channel = 0; channel < ABOARD_DSP_BLOCK; ++channel) {
        const uint32_t weights = channel % 2 != 0 ? w[channel / 2] : aboard_dsp_even(w[channel / 2]);
        sums[0][channel] = aboard_dsp_mac(x0, weights, sums[0][channel]);
        sums[1][channel] = aboard_dsp_mac(x1, weights, sums[1][channel]);
    }
}

/** Starts the sums of a block with the biases. */
ABOARD_INLINE const uint32_t *aboard_dsp_block_start(const uint32_t *w, uint32_t sums[2][ABOARD_DSP_BLOCK]) {
    memcpy(sums[0], w, sizeof(sums[0]));
    memcpy(sums[1], w, sizeof(sums[1]));
    return w + ABOARD_DSP_BLOCK;
}

/** Makes the raw sums of the odd channels 256 times their sums. */
ABOARD_INLINE void aboard_dsp_block_odd(uint32_t sums[2][ABOARD_DSP_BLOCK]) {
    for (int32_t channel = 1; channel < ABOARD_DSP_BLOCK; channel += 2) {
        sums[0][channel] -= sums[0][channel - 1];
        sums[1][channel] -= sums[1][channel - 1];
    }
}

/** Sums of a block; returns the end of its weights. */
ABOARD_INLINE const uint32_t *aboard_dsp_block_sums(const aboard_dsp_pair_t *p, const uint32_t *w,
                                                    uint32_t sums[2][ABOARD_DSP_BLOCK]) {
    w = aboard_dsp_block_start(w, sums);
    for (int32_t step = 0; step < 2 * p->tap_groups; ++step, w += 2) {
        aboard_dsp_block_step(p->x[2 * step], p->x[2 * step + 1], w, sums);
    }
    aboard_dsp_block_odd(sums);
    return w;
}

/** Results of channels n to n + 3 by single roundings, of both pixels; returns the end of the constants at `w`. */
ABOARD_INLINE const uint32_t *aboard_dsp_block_single_results(const aboard_dsp_pair_t *p, const uint32_t *w, int32_t n,
                                                              uint32_t sums[2][ABOARD_DSP_BLOCK]) {
    int8_t *const y[2] = {p->y0 + n, p->y1 + n};
    for (int32_t k = 0; k < ABOARD_DSP_BLOCK; k += 2, w += 4) {
        for (int32_t i = 1; i >= 0; --i) {
            const uint32_t *const sum = &sums[i][k];
            y[i][k] = aboard_dsp_single_rounding(sum[0], (int32_t)w[0], (int32_t)w[2], ABOARD_DSP_SINGLE_SHIFT);
            y[i][k + 1] = aboard_dsp_single_rounding_256(sum[1], (int32_t)w[1], (int32_t)w[3], ABOARD_DSP_SINGLE_SHIFT);
        }
    }
    return w;
}

/** Like aboard_dsp_block_single_results, by double roundings. */
ABOARD_INLINE const uint32_t *aboard_dsp_block_double_results(const aboard_dsp_pair_t *p, const uint32_t *w, int32_t n,
                                                              uint32_t sums[2][ABOARD_DSP_BLOCK]) {
    int8_t *const y[2] = {p->y0 + n, p->y1 + n};
    for (int32_t k = 0; k < ABOARD_DSP_BLOCK; k += 2, w += 5) {
        for (int32_t i = 1; i >= 0; --i) {
            const uint32_t odd = (uint32_t)((int32_t)sums[i][k + 1] >> 8);
            y[i][k] = aboard_dsp_double_rounding(sums[i][k], (int32_t)w[0], (int32_t)w[1], w[2] & 0xffu);
            y[i][k + 1] = aboard_dsp_double_rounding(odd, (int32_t)w[3], (int32_t)w[4], w[2] >> 8);
        }
    }
    return w;
}

/** Computes the sums of a block; returns the end of its weights. */
typedef const uint32_t *(*aboard_dsp_block_sums_t)(const aboard_dsp_pair_t *p, const uint32_t *w,
                                                   uint32_t sums[2][ABOARD_DSP_BLOCK]);

/** Stores the results of channels n to n + 3; returns the end of their constants. */
typedef const uint32_t *(*aboard_dsp_block_results_t)(const aboard_dsp_pair_t *p, const uint32_t *w, int32_t n,
                                                      uint32_t sums[2][ABOARD_DSP_BLOCK]);

/** All channels of two pixels. */
ABOARD_INLINE void aboard_dsp_blocks(const aboard_dsp_pair_t *p, aboard_dsp_block_sums_t add,
                                     aboard_dsp_block_results_t store) {
    const uint32_t *w = p->weights;
    for (int32_t n = 0; p->y0 + n != p->end; n += ABOARD_DSP_BLOCK) {
        uint32_t sums[2][ABOARD_DSP_BLOCK];
        w = add(p, w, sums);
        w = store(p, w, n, sums);
    }
}

/** See above. */
ABOARD_SHARED void aboard_dsp_block_single(const aboard_dsp_pair_t *p) {
    aboard_dsp_blocks(p, aboard_dsp_block_sums, aboard_dsp_block_single_results);
}

/** See above. */
ABOARD_SHARED void aboard_dsp_block_double(const aboard_dsp_pair_t *p) {
    aboard_dsp_blocks(p, aboard_dsp_block_sums, aboard_dsp_block_double_results);
}

#endif

#endif
