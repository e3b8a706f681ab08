/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file dot.h
 * Sums of products with SMLAL, for Arm cores that have it but no DSP extension (Cortex-M3): four channels for two
 * pixels at once, two products an instruction. host/aboard/kernels/arm_smlal/dot.py packs their weights and constants.
 *
 * Inputs of two pixels share a word, x_a + 2^23 x_b. Its product with a weight, summed in 64 bits, is
 * acc_a + 2^23 acc_b: both sums come out exactly as long as |acc_a| < 2^22, which the host proves. Weights stay int8.
 *
 * It needs little more than half the instructions of MLA. On silicon SMLAL takes 4 to 7 cycles and MLA takes 2, so that
 * the cycles are similar: with -opt=speed the host chooses for each layer the kernel with the lower estimate.
 *
 * The assembly allocates all registers itself and is naked, because compilers leave too few registers between 64-bit
 * sums. An equal function in C documents the computation, and serves other compilers.
 */
#ifndef ABOARD_KERNELS_ARM_SMLAL_DOT_H
#define ABOARD_KERNELS_ARM_SMLAL_DOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aboard/config.h"

/** 1: assembly; 0: C. */
#ifndef ABOARD_SMLAL_ASM
#if defined(__ARM_ARCH) && __ARM_ARCH >= 7 && defined(__thumb2__) && defined(__GNUC__)
#define ABOARD_SMLAL_ASM 1
#else
#define ABOARD_SMLAL_ASM 0
#endif
#endif

/** Bits of the first pixel's sum. */
#define ABOARD_SMLAL_BITS 23

/** Channels of a block, words before its weights, and words per channel after its weights: for single and for double
 * rounding.
 */
#define ABOARD_SMLAL_BLOCK 4
#define ABOARD_SMLAL_HEAD_WORDS 8
#define ABOARD_SMLAL_SINGLE_WORDS 2
#define ABOARD_SMLAL_DOUBLE_WORDS 3

/** Right shift of the single rounding; the same for every layer, because it is part of the instruction. */
#define ABOARD_SMLAL_SINGLE_SHIFT 4

/** All channels of two pixels; the assembly depends on the order of fields. */
typedef struct {
    int8_t *y0;             /**< Results. */
    int8_t *y1;             /**< May equal y0 if both pixels are the same. */
    int8_t *end;            /**< End of the results of y0; their number is a multiple of 4, and at least 4. */
    const int32_t *x;       /**< One word per tap. */
    const int32_t *x_end;   /**< End of the inputs. */
    int32_t steps;          /**< Pairs of taps, at least 1. */
    const int32_t *weights; /**< For every four channels: starts of the sums, 64 bits each; bytes of the four channels
                               per tap; factor and constant per channel, and for a double rounding the shift. */
} aboard_smlal_pair_t;

#if ABOARD_SMLAL_ASM

/* clang-format off */
/** Pairs of taps in an iteration; each is 17 instructions of 4 bytes. */
#define ABOARD_SMLAL_STEPS "8"

/** Products of the word of one tap with the weights of four channels. Loads are in pairs: the second takes one cycle less. */
#define ABOARD_SMLAL_TAP(x)                                            \
    "ldrsb r10, [r12], #1\n ldrsb lr, [r12], #1\n"                     \
    "smlal r0, r1, " x ", r10\n smlal r2, r3, " x ", lr\n"             \
    "ldrsb r10, [r12], #1\n ldrsb lr, [r12], #1\n"                     \
    "smlal r4, r5, " x ", r10\n smlal r6, r7, " x ", lr\n"

/** Frame: y0, y1, end, x, x_end, entry. Sums in r0 to r7, weights in r12. If the number of steps is not a multiple of an iteration's, the first iteration is entered in the middle. */
#define ABOARD_SMLAL_PAIR_HEAD                                         \
    "push {r4-r11, lr}\n"                                              \
    "ldm r0, {r4-r10}\n"                                               \
    "mov r12, r10\n"                                                   \
    "rsb r9, r9, #0\n"                                                 \
    "and r9, r9, #" ABOARD_SMLAL_STEPS "-1\n"                          \
    "mov r1, #68\n"                                                    \
    "adr.w r2, 2f\n"                                                   \
    "mla r9, r9, r1, r2\n"                                             \
    "orr r9, r9, #1\n"                                                 \
    "push {r4-r9}\n"                                                   \
    "1:\n"                                                             \
    "ldmia r12!, {r0-r7}\n"                                            \
    "ldr r11, [sp, #12]\n"                                             \
    "ldr pc, [sp, #20]\n"                                              \
    ".balign 4\n"                                                      \
    "2:\n"                                                             \
    ".rept " ABOARD_SMLAL_STEPS "\n"                                   \
    "ldrd r8, r9, [r11], #8\n"                                         \
    ABOARD_SMLAL_TAP("r8")                                             \
    ABOARD_SMLAL_TAP("r9")                                             \
    ".endr\n"                                                          \
    "ldr lr, [sp, #16]\n"                                              \
    "cmp r11, lr\n"                                                    \
    "bne.w 2b\n"

/** Extracts the sums of both pixels from a 64-bit sum: the first into lr, the second into high. */
#define ABOARD_SMLAL_SPLIT(low, high)                                  \
    "sbfx lr, " low ", #0, #23\n"                                      \
    "lsr " low ", " low ", #23\n"                                      \
    "orr " high ", " low ", " high ", lsl #9\n"                        \
    "sub " high ", " high ", lr, asr #31\n"

/** Results of a channel by a single rounding; r10 and r11 are their addresses. */
#define ABOARD_SMLAL_SINGLE(low, high)                                   \
    "ldrd r8, r9, [r12], #8\n"                                         \
    ABOARD_SMLAL_SPLIT(low, high)                                      \
    "smull " low ", " high ", " high ", r8\n"                          \
    "smull " low ", lr, lr, r8\n"                                      \
    "add " high ", r9\n add lr, r9\n"                                  \
    "ssat " high ", #8, " high ", asr #4\n ssat lr, #8, lr, asr #4\n"  \
    "strb " high ", [r11], #1\n strb lr, [r10], #1\n"

/** A result by a double rounding, from sum to sum; r8 factor, r9 constant, r10 shift. */
#define ABOARD_SMLAL_ROUND(sum, low)                                   \
    "mov " low ", #0x80000000\n"                                       \
    "add r11, " sum ", " sum ", asr #31\n"                             \
    "add r11, r9\n"                                                    \
    "smlal " low ", r11, " sum ", r8\n"                                \
    "asr r11, r10\n"                                                   \
    "ssat " sum ", #8, r11\n"

/** Results of a channel by a double rounding. */
#define ABOARD_SMLAL_ANY(low, high)                                    \
    "ldmia r12!, {r8-r10}\n"                                           \
    ABOARD_SMLAL_SPLIT(low, high)                                      \
    ABOARD_SMLAL_ROUND("lr", low)                                      \
    ABOARD_SMLAL_ROUND(high, low)                                      \
    "ldrd r10, r11, [sp]\n"                                            \
    "strb " high ", [r11], #1\n strb lr, [r10], #1\n"                  \
    "strd r10, r11, [sp]\n"

/** Advances to the next block; r10 is the address of its first result. */
#define ABOARD_SMLAL_PAIR_TAIL                                         \
    "ldr lr, [sp, #8]\n"                                               \
    "cmp r10, lr\n"                                                    \
    "bne.w 1b\n"                                                       \
    "add sp, #24\n"                                                    \
    "pop {r4-r11, pc}\n"

/** All channels of two pixels, requantised by single roundings. */
ABOARD_NAKED void aboard_smlal_pair_single(const aboard_smlal_pair_t *p ABOARD_UNUSED) {
    __asm__ volatile(
        ABOARD_SMLAL_PAIR_HEAD
        "ldrd r10, r11, [sp]\n"
        ABOARD_SMLAL_SINGLE("r0", "r1")
        ABOARD_SMLAL_SINGLE("r2", "r3")
        ABOARD_SMLAL_SINGLE("r4", "r5")
        ABOARD_SMLAL_SINGLE("r6", "r7")
        "strd r10, r11, [sp]\n"
        ABOARD_SMLAL_PAIR_TAIL);
}

/** All channels of two pixels, requantised by a double rounding. */
ABOARD_NAKED void aboard_smlal_pair_double(const aboard_smlal_pair_t *p ABOARD_UNUSED) {
    __asm__ volatile(
        ABOARD_SMLAL_PAIR_HEAD
        ABOARD_SMLAL_ANY("r0", "r1")
        ABOARD_SMLAL_ANY("r2", "r3")
        ABOARD_SMLAL_ANY("r4", "r5")
        ABOARD_SMLAL_ANY("r6", "r7")
        ABOARD_SMLAL_PAIR_TAIL);
}
/* clang-format on */

#else

/** int8 nearest to x. */
ABOARD_INLINE int8_t aboard_smlal_saturate(int32_t x) {
    return (int8_t)(x < INT8_MIN ? INT8_MIN : x > INT8_MAX ? INT8_MAX : x);
}

/** Result of a sum by the single rounding of its channel. */
ABOARD_INLINE int8_t aboard_smlal_single_rounding(int32_t sum, const int32_t *c, int32_t shift) {
    const int32_t high = (int32_t)((int64_t)sum * c[0] >> 32);
    return aboard_smlal_saturate((high + c[1]) >> shift);
}

/** Result of a sum by a double rounding: the factor is twice the multiplier less 2^32, the constant has half of
 * 2^shift. */
ABOARD_INLINE int8_t aboard_smlal_double_rounding(int32_t sum, const int32_t *c) {
    const int64_t product = (int64_t)sum * c[0] + INT64_C(0x80000000);
    return aboard_smlal_saturate(((int32_t)(product >> 32) + sum + (sum >> 31) + c[1]) >> c[2]);
}

/** Result of a sum by the constants of its channel. */
ABOARD_INLINE int8_t aboard_smlal_result(int32_t sum, const int32_t *c, bool single) {
    return single ? aboard_smlal_single_rounding(sum, c, ABOARD_SMLAL_SINGLE_SHIFT)
                  : aboard_smlal_double_rounding(sum, c);
}

/** All channels of two pixels. */
ABOARD_INLINE void aboard_smlal_pair(const aboard_smlal_pair_t *p, bool single) {
    const int32_t words = single ? ABOARD_SMLAL_SINGLE_WORDS : ABOARD_SMLAL_DOUBLE_WORDS;
    const int32_t *head = p->weights;
    for (int32_t n = 0; p->y0 + n != p->end; n += ABOARD_SMLAL_BLOCK) {
        const int8_t *const weights = (const int8_t *)(head + ABOARD_SMLAL_HEAD_WORDS);
        const int32_t *const constants = head + ABOARD_SMLAL_HEAD_WORDS + 2 * p->steps;
        for (int32_t i = 0; i < ABOARD_SMLAL_BLOCK; ++i) {
            int64_t sum = (int64_t)((uint64_t)(uint32_t)head[2 * i + 1] << 32 | (uint32_t)head[2 * i]);
            for (int32_t k = 0; k < 2 * p->steps; ++k) {
                sum += (int64_t)p->x[k] * weights[ABOARD_SMLAL_BLOCK * k + i];
            }
            const int32_t first = (int32_t)((uint32_t)sum << (32 - ABOARD_SMLAL_BITS)) >> (32 - ABOARD_SMLAL_BITS);
            const int32_t second = (int32_t)((sum - first) >> ABOARD_SMLAL_BITS);
            const int32_t *const c = constants + i * words;
            p->y1[n + i] = aboard_smlal_result(second, c, single);
            p->y0[n + i] = aboard_smlal_result(first, c, single);
        }
        head = constants + ABOARD_SMLAL_BLOCK * words;
    }
}

/** All channels of two pixels, requantised by single roundings. */
ABOARD_SHARED void aboard_smlal_pair_single(const aboard_smlal_pair_t *p) {
    aboard_smlal_pair(p, true);
}

/** All channels of two pixels, requantised by a double rounding. */
ABOARD_SHARED void aboard_smlal_pair_double(const aboard_smlal_pair_t *p) {
    aboard_smlal_pair(p, false);
}

#endif

#endif
