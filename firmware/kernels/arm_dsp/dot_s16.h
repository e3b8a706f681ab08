/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file dot_s16.h
 * Sums of products of int16 with int8 with the DSP extension: two channels for two pixels, or four channels, at once.
 * host/aboard/kernels/arm_dsp/dot_s16.py packs their weights and constants.
 *
 * Taps come in tap groups. Inputs are words of two taps; those of two pixels are interleaved. Weights are packed, a
 * Taps form tap groups. Inputs are words of two taps; words of two pixels are interleaved. Weights are packed, one word
 * for four taps of a channel, from which SXTB16 extracts the words (t0, t1) and (t2, t3); or wide, words of two taps.
 * Sums have 32 bits, which the host has proven to suffice for all taps, or for the requested chunk. As in dot.h,
 * functions that allocate all registers themselves are assembly; equal functions in C are beside them.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_DOT_S16_H
#define ABOARD_KERNELS_ARM_DSP_DOT_S16_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../portable/epilogue_s16.h"
#include "aboard/config.h"
#include "dot.h"

/** Words of inputs per tap group: of a pair of pixels, and of a single sample. */
#define ABOARD_DSP_S16_PAIR_WORDS 4
#define ABOARD_DSP_S16_SAMPLE_WORDS 2

/** Word of two int16 at any address. */
ABOARD_INLINE uint32_t aboard_dsp_load_s16(const int16_t *from) {
    uint32_t word;
    memcpy(&word, from, sizeof(word));
    return word;
}

/** All channels of two pixels whose sums take the short form of aboard_epilogue_s16; the assembly depends on the order
 * of fields. */
typedef struct {
    int16_t *y0;
    int16_t *y1;       /**< Written first; may equal y0. */
    int16_t *end;      /**< End of the results of y0; their number is even, and at least 2. */
    const uint32_t *x; /**< ABOARD_DSP_S16_PAIR_WORDS for each tap group: a(t0, t1), b(t0, t1), a(t2, t3), b(t2, t3). */
    const uint32_t *x_end;   /**< End of the inputs. */
    const uint32_t *weights; /**< For each two channels both biases; for each tap group a word of each channel, or with
                              * wide weights (t0, t1) of both channels and (t2, t3) of both; both multipliers. */
    int32_t tap_groups;      /**< At least 1. */
} aboard_dsp_s16_pair_t;

/** All channels of a sample whose sums take the short form; the assembly depends on the order of fields. */
typedef struct {
    int16_t *y;
    int16_t *end;          /**< End of the results; their number is a multiple of 4, and at least 4. */
    const uint32_t *x;     /**< ABOARD_DSP_S16_SAMPLE_WORDS for each tap group. */
    const uint32_t *x_end; /**< End of the inputs. */
    const uint32_t
        *weights;       /**< For each four channels biases; for each tap group a word of each channel; multipliers. */
    int32_t tap_groups; /**< At least 1. */
} aboard_dsp_s16_sample_t;

/** Four sums over some tap groups; the assembly depends on the order of fields. */
typedef struct {
    const uint32_t *x;
    const uint32_t *x_end;
    const uint32_t *weights; /**< Those of the tap groups. */
    int32_t tap_groups;      /**< At least 1. */
    int32_t *sums;           /**< Of two pixels: first channel, second channel, each of both pixels. */
} aboard_dsp_s16_sums_t;

#if ABOARD_DSP_ASM

/* clang-format off */
/** Products of a tap group of two pixels: two words of the first two taps and two words of the others. */
#define ABOARD_DSP_S16_TAP_GROUP(w0, w1, w2, w3)                            \
    "smlad r8, r0, " w0 ", r8\n smlad r9, r1, " w0 ", r9\n"            \
    "smlad r10, r0, " w1 ", r10\n smlad r11, r1, " w1 ", r11\n"        \
    "smlad r8, r2, " w2 ", r8\n smlad r9, r3, " w2 ", r9\n"            \
    "smlad r10, r2, " w3 ", r10\n smlad r11, r3, " w3 ", r11\n"

/** Tap groups of an iteration, a power of two. */
#define ABOARD_DSP_S16_WIDE_TAP_GROUPS "16"
#define ABOARD_DSP_S16_PACKED_TAP_GROUPS "8"

/** An iteration: inputs from r12, weights from lr, sums in r8 to r11. Tap groups of 10, 14 and 18 instructions of 4 bytes. */
#define ABOARD_DSP_S16_WIDE_STEP                                       \
    ".rept " ABOARD_DSP_S16_WIDE_TAP_GROUPS "\n"                                                       \
    "ldmia r12!, {r0-r3}\n ldmia lr!, {r4-r7}\n"                       \
    ABOARD_DSP_S16_TAP_GROUP("r4", "r5", "r6", "r7")                        \
    ".endr\n"
#define ABOARD_DSP_S16_PACKED_STEP                                     \
    ".rept " ABOARD_DSP_S16_PACKED_TAP_GROUPS "\n"                                                       \
    "ldmia r12!, {r0-r3}\n ldrd r4, r5, [lr], #8\n"                    \
    "sxtb16 r6, r4\n sxtb16 r7, r5\n"                                  \
    "sxtb16 r4, r4, ror #8\n sxtb16 r5, r5, ror #8\n"                  \
    ABOARD_DSP_S16_TAP_GROUP("r6", "r7", "r4", "r5")                        \
    ".endr\n"
#define ABOARD_DSP_S16_CHANNEL(w, sum)                                 \
    "sxtb16 r6, " w "\n sxtb16 r7, " w ", ror #8\n"                    \
    "smlad " sum ", r0, r6, " sum "\n smlad " sum ", r1, r7, " sum "\n"
#define ABOARD_DSP_S16_SAMPLE_STEP                                     \
    ".rept " ABOARD_DSP_S16_PACKED_TAP_GROUPS "\n"                                                       \
    "ldrd r0, r1, [r12], #8\n ldmia lr!, {r2-r5}\n"                    \
    ABOARD_DSP_S16_CHANNEL("r2", "r8") ABOARD_DSP_S16_CHANNEL("r3", "r9") \
    ABOARD_DSP_S16_CHANNEL("r4", "r10") ABOARD_DSP_S16_CHANNEL("r5", "r11") \
    ".endr\n"

/** Replaces a number of tap groups by the entry of an iteration of `most` tap groups of `bytes` each. */
#define ABOARD_DSP_S16_ENTRY(tap_groups, other, most, bytes)                \
    "rsb " tap_groups ", " tap_groups ", #0\n and " tap_groups ", " tap_groups ", #" most " - 1\n" \
    "movs " other ", #" bytes "\n mul " tap_groups ", " tap_groups ", " other "\n" \
    "adr.w " other ", 2f\n add " tap_groups ", " tap_groups ", " other "\n"      \
    "orr " tap_groups ", " tap_groups ", #1\n"

/** Results of four sums by their multipliers in m0 to m3. */
#define ABOARD_DSP_S16_RESULTS(m0, m1, m2, m3, saturate)               \
    "smmulr r8, r8, " m0 "\n smmulr r9, r9, " m1 "\n"                  \
    "smmulr r10, r10, " m2 "\n smmulr r11, r11, " m3 "\n"              \
    saturate("r8") saturate("r9") saturate("r10") saturate("r11")

/** aboard_dsp_s16_pair_t; `saturate` is a macro that restricts a register. Frame: the first five fields, the entry. */
#define ABOARD_DSP_S16_PAIR(name, step, most, bytes, saturate)         \
    ABOARD_NAKED void name(const aboard_dsp_s16_pair_t *p ABOARD_UNUSED) { \
        __asm__ volatile(                                              \
            "push {r4-r11, lr}\n"                                      \
            "ldm r0, {r4-r10}\n"                                       \
            "mov lr, r9\n"                                             \
            ABOARD_DSP_S16_ENTRY("r10", "r9", most, bytes)             \
            "push {r4-r8, r10}\n"                                      \
            "1:\n"                                                     \
            "ldr r12, [sp, #12]\n"                                     \
            "ldmia lr!, {r8, r10}\n"                                   \
            "mov r9, r8\n"                                             \
            "mov r11, r10\n"                                           \
            "ldr pc, [sp, #20]\n"                                      \
            ".balign 4\n"                                              \
            "2:\n"                                                     \
            step                                                       \
            "ldr r0, [sp, #16]\n"                                      \
            "cmp r12, r0\n"                                            \
            "bne.w 2b\n"                                               \
            "ldmia lr!, {r0, r1}\n"                                    \
            ABOARD_DSP_S16_RESULTS("r0", "r0", "r1", "r1", saturate)   \
            "ldrd r2, r3, [sp]\n"                                      \
            "strh r11, [r3, #2]\n strh r9, [r3], #4\n"                 \
            "strh r10, [r2, #2]\n strh r8, [r2], #4\n"                 \
            "strd r2, r3, [sp]\n"                                      \
            "ldr r0, [sp, #8]\n"                                       \
            "cmp r2, r0\n"                                             \
            "bne.w 1b\n"                                               \
            "add sp, #24\n"                                            \
            "pop {r4-r11, pc}\n");                                     \
    }

/** aboard_dsp_s16_sample_t. Frame: the first four fields, the entry. */
#define ABOARD_DSP_S16_SAMPLE(name, saturate)                          \
    ABOARD_NAKED void name(const aboard_dsp_s16_sample_t *p ABOARD_UNUSED) { \
        __asm__ volatile(                                              \
            "push {r4-r11, lr}\n"                                      \
            "ldm r0, {r4-r9}\n"                                        \
            "mov lr, r8\n"                                             \
            ABOARD_DSP_S16_ENTRY("r9", "r8", ABOARD_DSP_S16_PACKED_TAP_GROUPS, "72") \
            "push {r4-r7, r9}\n"                                       \
            "1:\n"                                                     \
            "ldr r12, [sp, #8]\n"                                      \
            "ldmia lr!, {r8-r11}\n"                                    \
            "ldr pc, [sp, #16]\n"                                      \
            ".balign 4\n"                                              \
            "2:\n"                                                     \
            ABOARD_DSP_S16_SAMPLE_STEP                                 \
            "ldr r0, [sp, #12]\n"                                      \
            "cmp r12, r0\n"                                            \
            "bne.w 2b\n"                                               \
            "ldmia lr!, {r0-r3}\n"                                     \
            ABOARD_DSP_S16_RESULTS("r0", "r1", "r2", "r3", saturate)   \
            "ldrd r2, r3, [sp]\n"                                      \
            "strh r9, [r2, #2]\n strh r10, [r2, #4]\n strh r11, [r2, #6]\n strh r8, [r2], #8\n" \
            "str r2, [sp]\n"                                           \
            "cmp r2, r3\n"                                             \
            "bne.w 1b\n"                                               \
            "add sp, #20\n"                                            \
            "pop {r4-r11, pc}\n");                                     \
    }

/** aboard_dsp_s16_sums_t. Frame: address of the sums, after the inputs. */
#define ABOARD_DSP_S16_SUMS(name, step, most, bytes)                   \
    ABOARD_NAKED void name(const aboard_dsp_s16_sums_t *p ABOARD_UNUSED) { \
        __asm__ volatile(                                              \
            "push {r4-r11, lr}\n"                                      \
            "ldm r0, {r4-r8}\n"                                        \
            "mov r12, r4\n"                                            \
            "mov lr, r6\n"                                             \
            ABOARD_DSP_S16_ENTRY("r7", "r4", most, bytes)              \
            "push {r5, r8}\n"                                          \
            "mov r8, #0\n mov r9, #0\n mov r10, #0\n mov r11, #0\n"    \
            "bx r7\n"                                                  \
            ".balign 4\n"                                              \
            "2:\n"                                                     \
            step                                                       \
            "ldr r0, [sp]\n"                                           \
            "cmp r12, r0\n"                                            \
            "bne.w 2b\n"                                               \
            "ldr r0, [sp, #4]\n"                                       \
            "stm r0, {r8-r11}\n"                                       \
            "add sp, #8\n"                                             \
            "pop {r4-r11, pc}\n");                                     \
    }

/** Clamps to int16; if results are not negative, to 0 and above. */
#define ABOARD_DSP_S16_SIGNED(r) "ssat " r ", #16, " r "\n"
#define ABOARD_DSP_S16_UNSIGNED(r) "usat " r ", #15, " r "\n"

ABOARD_DSP_S16_PAIR(aboard_dsp_s16_pair_wide, ABOARD_DSP_S16_WIDE_STEP, ABOARD_DSP_S16_WIDE_TAP_GROUPS, "40",
                    ABOARD_DSP_S16_SIGNED)
ABOARD_DSP_S16_PAIR(aboard_dsp_s16_pair_wide_relu, ABOARD_DSP_S16_WIDE_STEP, ABOARD_DSP_S16_WIDE_TAP_GROUPS, "40",
                    ABOARD_DSP_S16_UNSIGNED)
ABOARD_DSP_S16_PAIR(aboard_dsp_s16_pair_packed, ABOARD_DSP_S16_PACKED_STEP, ABOARD_DSP_S16_PACKED_TAP_GROUPS, "56",
                    ABOARD_DSP_S16_SIGNED)
ABOARD_DSP_S16_PAIR(aboard_dsp_s16_pair_packed_relu, ABOARD_DSP_S16_PACKED_STEP, ABOARD_DSP_S16_PACKED_TAP_GROUPS, "56",
                    ABOARD_DSP_S16_UNSIGNED)
ABOARD_DSP_S16_SAMPLE(aboard_dsp_s16_sample, ABOARD_DSP_S16_SIGNED)
ABOARD_DSP_S16_SAMPLE(aboard_dsp_s16_sample_relu, ABOARD_DSP_S16_UNSIGNED)
ABOARD_DSP_S16_SUMS(aboard_dsp_s16_sums_wide, ABOARD_DSP_S16_WIDE_STEP, ABOARD_DSP_S16_WIDE_TAP_GROUPS, "40")
ABOARD_DSP_S16_SUMS(aboard_dsp_s16_sums_packed, ABOARD_DSP_S16_PACKED_STEP, ABOARD_DSP_S16_PACKED_TAP_GROUPS, "56")
ABOARD_DSP_S16_SUMS(aboard_dsp_s16_sums_sample, ABOARD_DSP_S16_SAMPLE_STEP, ABOARD_DSP_S16_PACKED_TAP_GROUPS, "72")
/* clang-format on */

#else

/** Both words of four packed weights: bytes 0 and 2, then 1 and 3. */
ABOARD_INLINE uint32_t aboard_dsp_s16_half(uint32_t packed, int32_t half) {
    return half ? aboard_dsp_odd(packed) : aboard_dsp_even(packed);
}

/** Sums of a block of two channels for two pixels; returns the end of its weights. */
ABOARD_INLINE const uint32_t *aboard_dsp_s16_pair_sums(const uint32_t *w, const uint32_t *x, int32_t tap_groups,
                                                       bool wide, uint32_t *sums) {
    for (int32_t tap_group = 0; tap_group < tap_groups; ++tap_group) {
        for (int32_t half = 0; half < 2; ++half) {
            for (int32_t i = 0; i < 4; ++i) {
                const uint32_t weight = wide ? w[2 * half + i / 2] : aboard_dsp_s16_half(w[i / 2], half);
                sums[i] = aboard_dsp_mac(x[2 * half + i % 2], weight, sums[i]);
            }
        }
        w += wide ? 4 : 2;
        x += ABOARD_DSP_S16_PAIR_WORDS;
    }
    return w;
}

/** Sums of a block of four channels for a sample; returns the end of its weights. */
ABOARD_INLINE const uint32_t *aboard_dsp_s16_sample_sums(const uint32_t *w, const uint32_t *x, int32_t tap_groups,
                                                         uint32_t *sums) {
    for (int32_t tap_group = 0; tap_group < tap_groups; ++tap_group) {
        /* The sample may be an array of int16, which C does not allow to be read as words. */
        uint32_t pairs[ABOARD_DSP_S16_SAMPLE_WORDS];
        memcpy(pairs, x, sizeof(pairs));
        for (int32_t i = 0; i < 4; ++i) {
            sums[i] = aboard_dsp_mac(pairs[0], aboard_dsp_s16_half(w[i], 0), sums[i]);
            sums[i] = aboard_dsp_mac(pairs[1], aboard_dsp_s16_half(w[i], 1), sums[i]);
        }
        w += 4;
        x += ABOARD_DSP_S16_SAMPLE_WORDS;
    }
    return w;
}

/** A result from its sum and multiplier. */
ABOARD_INLINE int16_t aboard_dsp_s16_result(uint32_t sum, uint32_t multiplier, int32_t low) {
    return aboard_clamp_s16(aboard_rounded_high_mul((int32_t)sum, (int32_t)multiplier), low, INT16_MAX);
}

/** See above. */
ABOARD_INLINE void aboard_dsp_s16_pair_any(const aboard_dsp_s16_pair_t *p, bool wide, int32_t low) {
    const uint32_t *w = p->weights;
    for (int32_t n = 0; p->y0 + n != p->end; n += 2) {
        uint32_t sums[4] = {w[0], w[0], w[1], w[1]};
        w = aboard_dsp_s16_pair_sums(w + 2, p->x, p->tap_groups, wide, sums);
        for (int32_t i = 0; i < 2; ++i) {
            p->y1[n + i] = aboard_dsp_s16_result(sums[2 * i + 1], w[i], low);
            p->y0[n + i] = aboard_dsp_s16_result(sums[2 * i], w[i], low);
        }
        w += 2;
    }
}
ABOARD_SHARED void aboard_dsp_s16_pair_wide(const aboard_dsp_s16_pair_t *p) {
    aboard_dsp_s16_pair_any(p, true, INT16_MIN);
}
ABOARD_SHARED void aboard_dsp_s16_pair_wide_relu(const aboard_dsp_s16_pair_t *p) {
    aboard_dsp_s16_pair_any(p, true, 0);
}
ABOARD_SHARED void aboard_dsp_s16_pair_packed(const aboard_dsp_s16_pair_t *p) {
    aboard_dsp_s16_pair_any(p, false, INT16_MIN);
}
ABOARD_SHARED void aboard_dsp_s16_pair_packed_relu(const aboard_dsp_s16_pair_t *p) {
    aboard_dsp_s16_pair_any(p, false, 0);
}

/** See above. */
ABOARD_INLINE void aboard_dsp_s16_sample_any(const aboard_dsp_s16_sample_t *p, int32_t low) {
    const uint32_t *w = p->weights;
    for (int16_t *y = p->y; y != p->end; y += 4) {
        uint32_t sums[4] = {w[0], w[1], w[2], w[3]};
        w = aboard_dsp_s16_sample_sums(w + 4, p->x, p->tap_groups, sums);
        for (int32_t i = 0; i < 4; ++i) {
            y[i] = aboard_dsp_s16_result(sums[i], w[i], low);
        }
        w += 4;
    }
}
ABOARD_SHARED void aboard_dsp_s16_sample(const aboard_dsp_s16_sample_t *p) {
    aboard_dsp_s16_sample_any(p, INT16_MIN);
}
ABOARD_SHARED void aboard_dsp_s16_sample_relu(const aboard_dsp_s16_sample_t *p) {
    aboard_dsp_s16_sample_any(p, 0);
}

/** Writes the sums. */
ABOARD_INLINE void aboard_dsp_s16_give(const aboard_dsp_s16_sums_t *p, const uint32_t *sums) {
    for (int32_t i = 0; i < 4; ++i) {
        p->sums[i] = (int32_t)sums[i];
    }
}
ABOARD_SHARED void aboard_dsp_s16_sums_wide(const aboard_dsp_s16_sums_t *p) {
    uint32_t sums[4] = {0, 0, 0, 0};
    aboard_dsp_s16_pair_sums(p->weights, p->x, p->tap_groups, true, sums);
    aboard_dsp_s16_give(p, sums);
}
ABOARD_SHARED void aboard_dsp_s16_sums_packed(const aboard_dsp_s16_sums_t *p) {
    uint32_t sums[4] = {0, 0, 0, 0};
    aboard_dsp_s16_pair_sums(p->weights, p->x, p->tap_groups, false, sums);
    aboard_dsp_s16_give(p, sums);
}
ABOARD_SHARED void aboard_dsp_s16_sums_sample(const aboard_dsp_s16_sums_t *p) {
    uint32_t sums[4] = {0, 0, 0, 0};
    aboard_dsp_s16_sample_sums(p->weights, p->x, p->tap_groups, sums);
    aboard_dsp_s16_give(p, sums);
}

#endif

/** Adds four 32-bit sums to 64-bit totals. */
ABOARD_INLINE void aboard_dsp_s16_add(int64_t *totals, const int32_t *sums) {
    for (int32_t i = 0; i < 4; ++i) {
        totals[i] += sums[i];
    }
}

/** Clamps `count` results to [low, high]. */
ABOARD_SHARED void aboard_dsp_s16_clamp(int16_t *y, int32_t count, int32_t low, int32_t high) {
    for (int32_t i = 0; i < count; ++i) {
        y[i] = (int16_t)(y[i] < low ? low : y[i] > high ? high : y[i]);
    }
}

#endif
