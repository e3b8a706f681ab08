/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file dot.h
 * Sums of products for Arm cores that have neither SIMD nor a fast long product (Cortex-M3): four channels for two
 * pixels at once, or the last two, two products a multiplication. host/aboard/kernels/arm_mla/dot.py packs their
 * weights and constants.
 *
 * Inputs of two pixels share a word, x_a + 2^16 x_b. MUL by the weight of one tap and MLA by that of the next (1 and 2
 * cycles) give p = lo + 2^16 hi, where lo and hi are sums of two products for each pixel. Both fit 16 bits if not both
 * weights are -128, which the host proves. Two sums of 32 bits collect the pairs of taps:
 *
 *     all  += p                       modulo 2^32
 *     high += (p + 2^15) >> 16        that is hi: ASRS leaves bit 15 in the carry, ADC adds it
 *
 * In the end, high is the sum of the second pixel, and all - 2^16 high that of the first. This is six cycles for four
 * products; MLA alone takes eight, SMLAL with two pixels in 64 bits twelve. Weights stay int8.
 *
 * The assembly allocates all registers itself and is naked, because compilers leave too few of them. An equal function
 * in C documents the computation, and serves other compilers.
 */
#ifndef ABOARD_KERNELS_ARM_MLA_DOT_H
#define ABOARD_KERNELS_ARM_MLA_DOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../portable/two_pixels.h"
#include "aboard/config.h"

/** 1: assembly; 0: C. */
#ifndef ABOARD_MLA_ASM
#if defined(__ARM_ARCH) && __ARM_ARCH >= 7 && defined(__thumb2__) && defined(__GNUC__)
#define ABOARD_MLA_ASM 1
#else
#define ABOARD_MLA_ASM 0
#endif
#endif

/** Channels of a block and of a small block, words per channel before its weights, and words per channel after its
 * weights: for single and for double rounding.
 */
#define ABOARD_MLA_BLOCK 4
#define ABOARD_MLA_SMALL_BLOCK 2
#define ABOARD_MLA_HEAD_WORDS 2
#define ABOARD_MLA_SINGLE_WORDS 2
#define ABOARD_MLA_DOUBLE_WORDS 3

/** Right shift of the single rounding; the same for every layer, because it is part of the instruction. */
#define ABOARD_MLA_SINGLE_SHIFT 4

/** All channels of two pixels; the assembly depends on the order of fields. */
typedef struct {
    int8_t *y0;             /**< Results. */
    int8_t *y1;             /**< May equal y0 if both pixels are the same. */
    int8_t *end;            /**< End of the results of y0; their number is a multiple of 4, and at least 4. */
    const int32_t *x;       /**< One word per tap. */
    const int32_t *x_end;   /**< End of the inputs. */
    int32_t steps;          /**< Pairs of taps, at least 1. */
    const int32_t *weights; /**< For every four channels: starts of both sums of each channel; for every pair of taps
                               the two bytes of each channel; factor and constant per channel, and for a double
                               rounding the shift. */
} aboard_mla_pair_t;

/** Words of channels in whole blocks, which have the same number for each channel. */
ABOARD_INLINE int32_t aboard_mla_words(int32_t channels, int32_t steps, bool single) {
    const int32_t constants = single ? ABOARD_MLA_SINGLE_WORDS : ABOARD_MLA_DOUBLE_WORDS;
    return channels * (ABOARD_MLA_HEAD_WORDS + constants) + channels * steps / 2;
}

#if ABOARD_MLA_ASM

/* clang-format off */
/** Pairs of taps in an iteration, and bytes of code of each: of a block, and of a small block. */
#define ABOARD_MLA_STEPS "4"
#define ABOARD_MLA_STEP_BYTES "96"
#define ABOARD_MLA_SMALL_STEP_BYTES "52"

/** Products of two words of inputs (r2, r3) with the weights of a channel, added to both of its sums. Loads come in
 * pairs: the second takes one cycle less. */
#define ABOARD_MLA_CHANNEL(all, high)                                  \
    "ldrsb.w r0, [r5], #1\n ldrsb.w r1, [r5], #1\n"                    \
    "muls.n r0, r2, r0\n mla r0, r3, r1, r0\n"                            \
    "add.n " all ", r0\n asrs.n r0, r0, #16\n adc.w " high ", " high ", r0\n"

/** Frame: y0, y1, end, x, x_end, entry. Inputs in r4, weights in r5, both sums of four channels in r6 to r12 and lr. If
 * the number of steps is not a multiple of an iteration's, the first iteration is entered in the middle. */
#define ABOARD_MLA_PAIR_HEAD                                           \
    "push {r4-r11, lr}\n"                                              \
    "ldm r0, {r6-r11, r12}\n"                                          \
    "mov r5, r12\n"                                                    \
    "rsb r11, r11, #0\n"                                               \
    "and r11, r11, #" ABOARD_MLA_STEPS "-1\n"                          \
    "mov r1, #" ABOARD_MLA_STEP_BYTES "\n"                             \
    "adr.w r2, 2f\n"                                                   \
    "mla r11, r11, r1, r2\n"                                           \
    "orr r11, r11, #1\n"                                               \
    "push {r6-r11}\n"                                                  \
    "1:\n"                                                             \
    "ldr r4, [sp, #12]\n"                                              \
    "ldmia.w r5!, {r6-r12, lr}\n"                                      \
    "ldr pc, [sp, #20]\n"                                              \
    ".balign 4\n"                                                      \
    "2:\n"                                                             \
    ".rept " ABOARD_MLA_STEPS "\n"                                     \
    "ldr.w r2, [r4], #4\n ldr.w r3, [r4], #4\n"                        \
    ABOARD_MLA_CHANNEL("r6", "r7")                                     \
    ABOARD_MLA_CHANNEL("r8", "r9")                                     \
    ABOARD_MLA_CHANNEL("r10", "r11")                                   \
    ABOARD_MLA_CHANNEL("r12", "lr")                                    \
    ".endr\n"                                                          \
    "ldr r0, [sp, #16]\n"                                              \
    "cmp r4, r0\n"                                                     \
    "bne.w 2b\n"

/** Results of a channel by a single rounding; r2 and r3 are their addresses. */
#define ABOARD_MLA_SINGLE(all, high)                                   \
    "ldmia r5!, {r0, r1}\n"                                            \
    "sub " all ", " all ", " high ", lsl #16\n"                        \
    "smull r4, " high ", " high ", r0\n smull r4, " all ", " all ", r0\n" \
    "add " high ", r1\n add " all ", r1\n"                             \
    "ssat " high ", #8, " high ", asr #4\n ssat " all ", #8, " all ", asr #4\n" \
    "strb " high ", [r3], #1\n strb " all ", [r2], #1\n"

/** A result by a double rounding, from sum to sum; r0 factor, r1 constant, r2 shift. */
#define ABOARD_MLA_ROUND(sum)                                          \
    "mov r3, #0x80000000\n"                                            \
    "add r4, " sum ", " sum ", asr #31\n"                              \
    "add r4, r1\n"                                                     \
    "smlal r3, r4, " sum ", r0\n"                                      \
    "asr r4, r2\n"                                                     \
    "ssat " sum ", #8, r4\n"

/** Results of a channel by a double rounding. */
#define ABOARD_MLA_DOUBLE(all, high)                                   \
    "ldmia r5!, {r0-r2}\n"                                             \
    "sub " all ", " all ", " high ", lsl #16\n"                        \
    ABOARD_MLA_ROUND(all)                                              \
    ABOARD_MLA_ROUND(high)                                             \
    "ldrd r2, r3, [sp]\n"                                              \
    "strb " high ", [r3], #1\n strb " all ", [r2], #1\n"               \
    "strd r2, r3, [sp]\n"

/** Advances to the next block; r2 is the address of its first result. */
#define ABOARD_MLA_PAIR_TAIL                                           \
    "ldr r0, [sp, #8]\n"                                               \
    "cmp r2, r0\n"                                                     \
    "bne.w 1b\n"                                                       \
    "add sp, #24\n"                                                    \
    "pop {r4-r11, pc}\n"

/** All channels of two pixels, requantised by single roundings. */
ABOARD_NAKED void aboard_mla_pair_single(const aboard_mla_pair_t *p ABOARD_UNUSED) {
    __asm__ volatile(
        ABOARD_MLA_PAIR_HEAD
        "ldrd r2, r3, [sp]\n"
        ABOARD_MLA_SINGLE("r6", "r7")
        ABOARD_MLA_SINGLE("r8", "r9")
        ABOARD_MLA_SINGLE("r10", "r11")
        ABOARD_MLA_SINGLE("r12", "lr")
        "strd r2, r3, [sp]\n"
        ABOARD_MLA_PAIR_TAIL);
}

/** All channels of two pixels, requantised by a double rounding. */
ABOARD_NAKED void aboard_mla_pair_double(const aboard_mla_pair_t *p ABOARD_UNUSED) {
    __asm__ volatile(
        ABOARD_MLA_PAIR_HEAD
        ABOARD_MLA_DOUBLE("r6", "r7")
        ABOARD_MLA_DOUBLE("r8", "r9")
        ABOARD_MLA_DOUBLE("r10", "r11")
        ABOARD_MLA_DOUBLE("r12", "lr")
        ABOARD_MLA_PAIR_TAIL);
}

/** Frame: y0, y1. Inputs from r4 and their end in r12, weights from r5, both sums of two channels in r6 to r9. */
#define ABOARD_MLA_SMALL_HEAD                                          \
    "push {r4-r11, lr}\n"                                              \
    "ldm r0, {r6-r11, r12}\n"                                          \
    "push {r6, r7}\n"                                                  \
    "mov r5, r12\n mov r4, r9\n mov r12, r10\n"                       \
    "rsb r11, r11, #0\n"                                               \
    "and r11, r11, #" ABOARD_MLA_STEPS "-1\n"                          \
    "mov r1, #" ABOARD_MLA_SMALL_STEP_BYTES "\n"                       \
    "adr.w r2, 2f\n"                                                   \
    "mla r11, r11, r1, r2\n"                                           \
    "orr r11, r11, #1\n"                                               \
    "ldmia.w r5!, {r6-r9}\n"                                           \
    "bx r11\n"                                                         \
    ".balign 4\n"                                                      \
    "2:\n"                                                             \
    ".rept " ABOARD_MLA_STEPS "\n"                                     \
    "ldr.w r2, [r4], #4\n ldr.w r3, [r4], #4\n"                        \
    ABOARD_MLA_CHANNEL("r6", "r7")                                     \
    ABOARD_MLA_CHANNEL("r8", "r9")                                     \
    ".endr\n"                                                          \
    "cmp r4, r12\n"                                                    \
    "bne.w 2b\n"                                                       \
    "ldrd r2, r3, [sp]\n"

#define ABOARD_MLA_SMALL_TAIL                                          \
    "add sp, #8\n"                                                     \
    "pop {r4-r11, pc}\n"

/** Two channels of two pixels, requantised by single roundings; the end of the results is not used. */
ABOARD_NAKED void aboard_mla_small_pair_single(const aboard_mla_pair_t *p ABOARD_UNUSED) {
    __asm__ volatile(
        ABOARD_MLA_SMALL_HEAD
        ABOARD_MLA_SINGLE("r6", "r7")
        ABOARD_MLA_SINGLE("r8", "r9")
        ABOARD_MLA_SMALL_TAIL);
}

/** Two channels of two pixels, requantised by a double rounding; the end of the results is not used. */
ABOARD_NAKED void aboard_mla_small_pair_double(const aboard_mla_pair_t *p ABOARD_UNUSED) {
    __asm__ volatile(
        ABOARD_MLA_SMALL_HEAD
        ABOARD_MLA_DOUBLE("r6", "r7")
        ABOARD_MLA_DOUBLE("r8", "r9")
        ABOARD_MLA_SMALL_TAIL);
}
/* clang-format on */

#else

/** int8 nearest to x. */
ABOARD_INLINE int8_t aboard_mla_saturate(int32_t x) {
    return (int8_t)(x < INT8_MIN ? INT8_MIN : x > INT8_MAX ? INT8_MAX : x);
}

/** Result of a sum by the single rounding of its channel. */
ABOARD_INLINE int8_t aboard_mla_single_rounding(int32_t sum, const int32_t *c, int32_t shift) {
    const int32_t high = (int32_t)((int64_t)sum * c[0] >> 32);
    return aboard_mla_saturate((high + c[1]) >> shift);
}

/** Result of a sum by a double rounding: the factor is twice the multiplier less 2^32, the constant has half of
 * 2^shift. */
ABOARD_INLINE int8_t aboard_mla_double_rounding(int32_t sum, const int32_t *c) {
    const int64_t product = (int64_t)sum * c[0] + INT64_C(0x80000000);
    return aboard_mla_saturate(((int32_t)(product >> 32) + sum + (sum >> 31) + c[1]) >> c[2]);
}

/** Result of a sum by the constants of its channel. */
ABOARD_INLINE int8_t aboard_mla_result(int32_t sum, const int32_t *c, bool single) {
    return single ? aboard_mla_single_rounding(sum, c, ABOARD_MLA_SINGLE_SHIFT) : aboard_mla_double_rounding(sum, c);
}

/** A block of channels of two pixels, from its words. */
ABOARD_INLINE void aboard_mla_pair_block(const aboard_mla_pair_t *p, const int32_t *head, int8_t *y0, int8_t *y1,
                                         int32_t channels, bool single) {
    const int32_t words = single ? ABOARD_MLA_SINGLE_WORDS : ABOARD_MLA_DOUBLE_WORDS;
    const int8_t *const weights = (const int8_t *)(head + ABOARD_MLA_HEAD_WORDS * channels);
    const int32_t *const constants = head + ABOARD_MLA_HEAD_WORDS * channels + channels * p->steps / 2;
    for (int32_t i = 0; i < channels; ++i) {
        uint32_t all = (uint32_t)head[2 * i];
        int32_t high = head[2 * i + 1];
        for (int32_t k = 0; k < p->steps; ++k) {
            const int8_t *const w = weights + 2 * channels * k + 2 * i;
            const int32_t product = p->x[2 * k] * w[0] + p->x[2 * k + 1] * w[1];
            all += (uint32_t)product;
            high += (product >> ABOARD_TWO_PIXELS_BITS) + (product >> (ABOARD_TWO_PIXELS_BITS - 1) & 1);
        }
        const int32_t *const c = constants + i * words;
        y1[i] = aboard_mla_result(high, c, single);
        y0[i] = aboard_mla_result((int32_t)(all - ((uint32_t)high << ABOARD_TWO_PIXELS_BITS)), c, single);
    }
}

/** All channels of two pixels. */
ABOARD_INLINE void aboard_mla_pair(const aboard_mla_pair_t *p, bool single) {
    const int32_t *head = p->weights;
    for (int32_t n = 0; p->y0 + n != p->end; n += ABOARD_MLA_BLOCK) {
        aboard_mla_pair_block(p, head, p->y0 + n, p->y1 + n, ABOARD_MLA_BLOCK, single);
        head += aboard_mla_words(ABOARD_MLA_BLOCK, p->steps, single);
    }
}

/** All channels of two pixels, requantised by single roundings. */
ABOARD_SHARED void aboard_mla_pair_single(const aboard_mla_pair_t *p) {
    aboard_mla_pair(p, true);
}

/** All channels of two pixels, requantised by a double rounding. */
ABOARD_SHARED void aboard_mla_pair_double(const aboard_mla_pair_t *p) {
    aboard_mla_pair(p, false);
}

/** Two channels of two pixels, requantised by single roundings; the end of the results is not used. */
ABOARD_SHARED void aboard_mla_small_pair_single(const aboard_mla_pair_t *p) {
    aboard_mla_pair_block(p, p->weights, p->y0, p->y1, ABOARD_MLA_SMALL_BLOCK, true);
}

/** Two channels of two pixels, requantised by a double rounding; the end of the results is not used. */
ABOARD_SHARED void aboard_mla_small_pair_double(const aboard_mla_pair_t *p) {
    aboard_mla_pair_block(p, p->weights, p->y0, p->y1, ABOARD_MLA_SMALL_BLOCK, false);
}

#endif

#endif
