/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file dot.h
 * Sums of products with the DSP extension of Armv7E-M and Armv8-M: two channels for two pixels at once.
 * host/aboard/kernels/arm_dsp/dot.py packs their weights and constants.
 *
 * Weights in flash are SWAR-packed: halfwords w_0 + 256 w_1 of the same tap of two channels, so that they are as small
 * as int8 values. Such a halfword is an operand of SMLAD, which sums raw = acc_0 + 256 acc_1; SXTB16 extracts w_0,
 * which sums acc_0; and (raw - acc_0) / 256 is exactly acc_1 if |acc_1| < 2^23, which the host proves.
 *
 * Taps form tap groups (t0, t1, t2, t3), from which SXTB16 extracts the words (t0, t2) and (t1, t3). A tap group is two
 * words of SWAR-packed weights, and four words of inputs: both words of each pixel, even words first.
 *
 * Two assembly functions allocate all registers themselves and keep the other values on the stack; they are naked,
 * because compilers leave too few registers. Equal functions in C document the computation, and serve other compilers.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_DOT_H
#define ABOARD_KERNELS_ARM_DSP_DOT_H

#include <stdint.h>
#include <string.h>

#include "aboard/config.h"

/** 1: assembly; 0: C. */
#ifndef ABOARD_DSP_ASM
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__) && defined(__GNUC__)
#define ABOARD_DSP_ASM 1
#else
#define ABOARD_DSP_ASM 0
#endif
#endif

/** Taps of a tap group, and words of inputs per tap group of two pixels. */
#define ABOARD_DSP_TAP_GROUP 4
#define ABOARD_DSP_PAIR_WORDS 4

/** Words of a block of two channels apart from its two SWAR-packed words per tap group: biases and requantisation. */
#define ABOARD_DSP_SINGLE_WORDS 6
#define ABOARD_DSP_DOUBLE_WORDS 7

/** Right shift of the single rounding; the same for every layer, because it is part of the instruction. */
#define ABOARD_DSP_SINGLE_SHIFT 4

/** Word at any address. */
ABOARD_INLINE uint32_t aboard_dsp_load(const int8_t *from) {
    uint32_t word;
    memcpy(&word, from, sizeof(word));
    return word;
}

/** Bytes 0 and 2 as halfwords with sign. */
ABOARD_INLINE uint32_t aboard_dsp_even(uint32_t word) {
#if ABOARD_DSP_ASM
    uint32_t wide;
    __asm__("sxtb16 %0, %1" : "=r"(wide) : "r"(word));
    return wide;
#endif
    return ((uint32_t)(int32_t)(int8_t)word & 0xffffu) | ((uint32_t)(int32_t)(int8_t)(word >> 16) << 16);
}

/** Bytes 1 and 3 as halfwords with sign. */
ABOARD_INLINE uint32_t aboard_dsp_odd(uint32_t word) {
#if ABOARD_DSP_ASM
    uint32_t wide;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(wide) : "r"(word));
    return wide;
#else
    return aboard_dsp_even(word >> 8);
#endif
}

/** acc plus the products of both halfwords; wraps. */
ABOARD_INLINE uint32_t aboard_dsp_mac(uint32_t x, uint32_t w, uint32_t acc) {
    const int32_t low = (int16_t)x * (int16_t)w;
    const int32_t high = (int16_t)(x >> 16) * (int16_t)(w >> 16);
    return acc + (uint32_t)low + (uint32_t)high;
}

/** int8 nearest to x. */
ABOARD_INLINE int8_t aboard_dsp_saturate(int32_t x) {
#if ABOARD_DSP_ASM
    int32_t nearest;
    __asm__("ssat %0, #8, %1" : "=r"(nearest) : "r"(x));
    return (int8_t)nearest;
#endif
    return (int8_t)(x < INT8_MIN ? INT8_MIN : x > INT8_MAX ? INT8_MAX : x);
}

/** One result by the single rounding of its channel; constants as in a block. */
ABOARD_INLINE int8_t aboard_dsp_single_rounding(uint32_t acc, int32_t factor, int32_t constant, int32_t shift) {
    const int64_t product = (int64_t)(int32_t)acc * factor + INT64_C(0x80000000);
    return aboard_dsp_saturate(((int32_t)(product >> 32) + constant) >> shift);
}

/** Like aboard_dsp_single_rounding, from 256 times the sum; the unit of its constant is 1/256. */
ABOARD_INLINE int8_t aboard_dsp_single_rounding_256(uint32_t acc, int32_t factor, int32_t constant, int32_t shift) {
    const int64_t product = (int64_t)(int32_t)acc * factor;
    return aboard_dsp_saturate(((int32_t)(product >> 32) + constant) >> (shift + 8));
}

/**
 * One result by a double rounding; exact for every right shift.
 *
 * @param factor   Twice the multiplier, modulo 2^32, so that the product lacks acc itself.
 * @param constant Half of 2^shift, and the zero point times 2^shift.
 * @param shift    1 to 31.
 */
ABOARD_INLINE int8_t aboard_dsp_double_rounding(uint32_t acc, int32_t factor, int32_t constant, uint32_t shift) {
    const int32_t a = (int32_t)acc;
    const int64_t product = (int64_t)a * factor + ((int64_t)(a + (a >> 31)) * (INT64_C(1) << 32));
    return aboard_dsp_saturate(((int32_t)((product + INT64_C(0x80000000)) >> 32) + constant) >> shift);
}

/**
 * All channels of two pixels; the assembly depends on the order of fields.
 *
 * The results of y1 are written first, and it may equal y0.
 */
typedef struct {
    int8_t *y0;
    int8_t *y1;
    int8_t *end;           /**< End of the results of y0; their number is even, and at least 2. */
    const uint32_t *x;     /**< ABOARD_DSP_PAIR_WORDS for each tap group. */
    const uint32_t *x_end; /**< End of the inputs. */
    uint32_t entries[3];   /**< 0 before the first call; then private to the kernel. */
    const uint32_t
        *weights;       /**< For each two channels: bias of the first, raw bias, two SWAR-packed words for each
                         * tap group, factors, constants. By single roundings the second constant is for 256 times the sum; by
                         * two roundings one word with the shifts follows, the second's in bits 8 to 15. */
    int32_t tap_groups; /**< At least 1; the same for all calls with these entries. */
} aboard_dsp_pair_t;

#if ABOARD_DSP_ASM

/* clang-format off */
/** A step is two tap groups, 23 instructions of 4 bytes. If the number of steps is not a multiple of ABOARD_DSP_STEPS, the
 * first iteration is entered in the middle. A power of two; an iteration costs 4 instructions. */
#ifdef __OPTIMIZE_SIZE__
#define ABOARD_DSP_STEPS "4"
#else
#define ABOARD_DSP_STEPS "16"
#endif

/** Products of a tap group: SWAR-packed weights in w0 and w1, inputs in r0 to r3. */
#define ABOARD_DSP_PRODUCTS(w0, w1)                                    \
    "smlad r10, r0, " w0 ", r10\n smlad r11, r1, " w0 ", r11\n"         \
    "sxtb16 " w0 ", " w0 "\n"                                           \
    "smlad r10, r2, " w1 ", r10\n smlad r11, r3, " w1 ", r11\n"         \
    "sxtb16 " w1 ", " w1 "\n"                                           \
    "smlad r8, r0, " w0 ", r8\n smlad r9, r1, " w0 ", r9\n"             \
    "smlad r8, r2, " w1 ", r8\n smlad r9, r3, " w1 ", r9\n"

/** Frame: the job's fields except the last two. Sums: r8, r9 of channel 0 for both pixels, r10, r11 raw; r12 x, lr weights.
 * A job's first call computes the entry and the exit of the iterations: one iteration ends without a test for another. */
#define ABOARD_DSP_PAIR_HEAD                                           \
    "push {r4-r11, lr}\n"                                              \
    "ldm r0, {r4-r12}\n"                                               \
    "cmp r9, #0\n"                                                     \
    "beq.w 5f\n"                                                       \
    "4:\n"                                                             \
    "push {r4-r11}\n"                                                  \
    "mov lr, r12\n"                                                    \
    "mov r12, r7\n"                                                    \
    "1:\n"                                                             \
    "ldmia lr!, {r8, r10}\n"                                           \
    "mov r9, r8\n"                                                     \
    "mov r11, r10\n"                                                   \
    "ldr pc, [sp, #20]\n"                                              \
    ".balign 4\n"                                                      \
    "3:\n"                                                             \
    "ldmia r12!, {r0-r3}\n ldrd r4, r5, [lr], #8\n"                    \
    ABOARD_DSP_PRODUCTS("r4", "r5")                                    \
    "ldr pc, [sp, #24]\n"                                              \
    ".balign 4\n"                                                      \
    "2:\n"                                                             \
    ".rept " ABOARD_DSP_STEPS "\n"                                     \
    "ldmia r12!, {r0-r3}\n ldmia lr!, {r4-r7}\n"                       \
    ABOARD_DSP_PRODUCTS("r4", "r5")                                    \
    "ldmia r12!, {r0-r3}\n"                                            \
    ABOARD_DSP_PRODUCTS("r6", "r7")                                    \
    ".endr\n"                                                          \
    "ldr pc, [sp, #28]\n"                                              \
    ".balign 4\n"                                                      \
    "6:\n"                                                             \
    "ldr r0, [sp, #16]\n"                                              \
    "cmp r12, r0\n"                                                    \
    "bne.w 2b\n"                                                       \
    ".balign 4\n"                                                      \
    "7:\n"                                                             \
    "sub r10, r10, r8\n sub r11, r11, r9\n"

/** Stores the results in r8 to r11, the second pixel first, and advances to the next block. */
#define ABOARD_DSP_PAIR_TAIL                                           \
    "ldm sp, {r4-r6, r12}\n"                                           \
    "strb r11, [r5, #1]\n strb r9, [r5], #2\n"                         \
    "strb r10, [r4, #1]\n strb r8, [r4], #2\n"                         \
    "strd r4, r5, [sp]\n"                                              \
    "cmp r4, r6\n"                                                     \
    "bne.w 1b\n"                                                       \
    "add sp, #32\n"                                                    \
    "pop {r4-r11, pc}\n"

/** Computes the entries of a job in its first call. */
#define ABOARD_DSP_PAIR_ENTRIES                                        \
    "5:\n"                                                             \
    "ldr r1, [r0, #36]\n"                                              \
    "adr.w r10, 2b\n adr.w r9, 3b\n"                                   \
    "lsr r2, r1, #1\n"                                                 \
    "cmp r2, #" ABOARD_DSP_STEPS "\n"                                  \
    "ite hi\n"                                                         \
    "adrhi.w r11, 6b\n"                                                \
    "adrls.w r11, 7b\n"                                                \
    "rsbs r2, r2, #0\n"                                                \
    "ite ne\n"                                                         \
    "andne r2, r2, #" ABOARD_DSP_STEPS "-1\n"                          \
    "moveq r2, #" ABOARD_DSP_STEPS "\n"                                \
    "movs r3, #92\n"                                                   \
    "mla r10, r2, r3, r10\n"                                           \
    "tst r1, #1\n"                                                     \
    "it eq\n"                                                          \
    "moveq r9, r10\n"                                                  \
    "orr r9, r9, #1\n orr r10, r10, #1\n orr r11, r11, #1\n"           \
    "str r9, [r0, #20]\n str r10, [r0, #24]\n str r11, [r0, #28]\n"    \
    "b.w 4b\n"

/** aboard_dsp_double_rounding of r: factor, constant, shift. */
#define ABOARD_DSP_ANY(r, factor, constant, shift)                     \
    "add r5, " r ", " r ", asr #31\n"                                  \
    "smmlar " r ", " r ", " factor ", r5\n"                            \
    "add " r ", " constant "\n"                                        \
    "asr " r ", " shift "\n"                                           \
    "ssat " r ", #8, " r "\n"

/** All channels of two pixels, requantised by single roundings. */
ABOARD_NAKED void aboard_dsp_pair_single(aboard_dsp_pair_t *p ABOARD_UNUSED) {
    __asm__ volatile(
        ABOARD_DSP_PAIR_HEAD
        "ldmia lr!, {r0-r3}\n"
        "smmlar r8, r8, r0, r2\n smmlar r9, r9, r0, r2\n"
        "smmla r10, r10, r1, r3\n smmla r11, r11, r1, r3\n"
        "ssat r8, #8, r8, asr #4\n ssat r9, #8, r9, asr #4\n"
        "ssat r10, #8, r10, asr #12\n ssat r11, #8, r11, asr #12\n"
        ABOARD_DSP_PAIR_TAIL ABOARD_DSP_PAIR_ENTRIES);
}

/** All channels of two pixels, requantised by a double rounding. */
ABOARD_NAKED void aboard_dsp_pair_double(aboard_dsp_pair_t *p ABOARD_UNUSED) {
    __asm__ volatile(
        ABOARD_DSP_PAIR_HEAD
        "asr r10, #8\n asr r11, #8\n"
        "ldmia lr!, {r0-r4}\n"
        ABOARD_DSP_ANY("r8", "r0", "r2", "r4")
        ABOARD_DSP_ANY("r9", "r0", "r2", "r4")
        "lsr r4, #8\n"
        ABOARD_DSP_ANY("r10", "r1", "r3", "r4")
        ABOARD_DSP_ANY("r11", "r1", "r3", "r4")
        ABOARD_DSP_PAIR_TAIL ABOARD_DSP_PAIR_ENTRIES);
}

/**
 * Writes taps of two pixels side by side as halfwords: ABOARD_DSP_PAIR_WORDS per tap group.
 *
 * @param to   Destination.
 * @param a, b First tap of each pixel, at any address.
 * @param taps A multiple of 4, at least 4.
 * @return End of the written words.
 */
ABOARD_NAKED uint32_t *aboard_dsp_fill_pair(uint32_t *to ABOARD_UNUSED, const int8_t *a ABOARD_UNUSED,
                                                 const int8_t *b ABOARD_UNUSED, int32_t taps ABOARD_UNUSED) {
    __asm__ volatile(
        "push {r4-r8, lr}\n"
        "add r3, r1, r3\n"
        "sub r4, r1, r3\n"
        "and r4, r4, #12\n"
        "add r4, r4, r4, lsl #2\n"
        "adr.w r5, 1f\n"
        "add r4, r5, r4, lsl #1\n"
        "orr r4, r4, #1\n"
        "bx r4\n"
        ".balign 4\n"
        "1:\n"
        ".rept 4\n"
        "ldr r4, [r1], #4\n ldr r5, [r2], #4\n"
        "sxtb16 r6, r4\n sxtb16 r7, r5\n sxtb16 r8, r4, ror #8\n sxtb16 r12, r5, ror #8\n"
        "str r6, [r0], #4\n str r7, [r0], #4\n str r8, [r0], #4\n str r12, [r0], #4\n"
        ".endr\n"
        "cmp r1, r3\n"
        "bne 1b\n"
        "pop {r4-r8, pc}\n");
}
/* clang-format on */

#else

/** Sums of a block of two channels: r8 to r11 of the assembly. */
ABOARD_INLINE const uint32_t *aboard_dsp_pair_sums(const uint32_t *w, const uint32_t *x, int32_t tap_groups,
                                                   uint32_t *sums) {
    sums[0] = sums[1] = w[0];
    sums[2] = sums[3] = w[1];
    w += 2;
    for (int32_t word = 0; word < 2 * tap_groups; ++word) {
        const uint32_t first = aboard_dsp_even(*w);
        sums[0] = aboard_dsp_mac(x[0], first, sums[0]);
        sums[1] = aboard_dsp_mac(x[1], first, sums[1]);
        sums[2] = aboard_dsp_mac(x[0], *w, sums[2]);
        sums[3] = aboard_dsp_mac(x[1], *w, sums[3]);
        x += 2;
        ++w;
    }
    sums[2] -= sums[0];
    sums[3] -= sums[1];
    return w;
}

/** See above. */
ABOARD_SHARED void aboard_dsp_pair_single(const aboard_dsp_pair_t *p) {
    int8_t *const y[2] = {p->y0, p->y1};
    const uint32_t *weights = p->weights;
    for (int32_t n = 0; y[0] + n != p->end; n += 2) {
        uint32_t sums[4];
        const uint32_t *c = aboard_dsp_pair_sums(weights, p->x, p->tap_groups, sums);
        for (int32_t i = 1; i >= 0; --i) {
            y[i][n] = aboard_dsp_single_rounding(sums[i], (int32_t)c[0], (int32_t)c[2], ABOARD_DSP_SINGLE_SHIFT);
            y[i][n + 1] =
                aboard_dsp_single_rounding_256(sums[2 + i], (int32_t)c[1], (int32_t)c[3], ABOARD_DSP_SINGLE_SHIFT);
        }
        weights = c + ABOARD_DSP_SINGLE_WORDS - 2;
    }
}

/** See above. */
ABOARD_SHARED void aboard_dsp_pair_double(const aboard_dsp_pair_t *p) {
    int8_t *const y[2] = {p->y0, p->y1};
    const uint32_t *weights = p->weights;
    for (int32_t n = 0; y[0] + n != p->end; n += 2) {
        uint32_t sums[4];
        const uint32_t *c = aboard_dsp_pair_sums(weights, p->x, p->tap_groups, sums);
        for (int32_t i = 1; i >= 0; --i) {
            y[i][n] = aboard_dsp_double_rounding(sums[i], (int32_t)c[0], (int32_t)c[2], c[4] & 0xffu);
            const uint32_t second = (uint32_t)((int32_t)sums[2 + i] >> 8);
            y[i][n + 1] = aboard_dsp_double_rounding(second, (int32_t)c[1], (int32_t)c[3], c[4] >> 8);
        }
        weights = c + ABOARD_DSP_DOUBLE_WORDS - 2;
    }
}

/** See above. */
ABOARD_SHARED uint32_t *aboard_dsp_fill_pair(uint32_t *to, const int8_t *a, const int8_t *b, int32_t taps) {
    for (int32_t k = 0; k < taps; k += ABOARD_DSP_TAP_GROUP) {
        const uint32_t first = aboard_dsp_load(a + k);
        const uint32_t second = aboard_dsp_load(b + k);
        to[0] = aboard_dsp_even(first);
        to[1] = aboard_dsp_even(second);
        to[2] = aboard_dsp_even(first >> 8);
        to[3] = aboard_dsp_even(second >> 8);
        to += ABOARD_DSP_PAIR_WORDS;
    }
    return to;
}

#endif

/** Clamps `count` results to [low, high], if this is less than the range of int8. */
ABOARD_SHARED void aboard_dsp_clamp(int8_t *y, int32_t count, int32_t low, int32_t high) {
    for (int32_t i = 0; i < count; ++i) {
        y[i] = (int8_t)(y[i] < low ? low : y[i] > high ? high : y[i]);
    }
}

#endif
