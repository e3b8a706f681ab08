/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file fully_connected.h
 * int8 products of samples with a matrix with the DSP extension: four channels of a sample at once.
 *
 * Weights are SWAR-packed for pairs of channels, see dot.h. A tap group of four channels is four words: even taps of
 * the first two channels, even taps of the other two, then odd taps in the same order. The requantisation constants are
 * the same for all channels, or follow the weights of each block.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_FULLY_CONNECTED_H
#define ABOARD_KERNELS_ARM_DSP_FULLY_CONNECTED_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "dot.h"

/** Parameters of aboard_fully_connected_dsp. Input and result are stored whole and without gaps. */
typedef struct {
    int32_t inputs;          /**< Values of a sample. */
    int32_t outputs;         /**< Samples per row of the result. */
    int32_t samples;         /**< Samples per row of the result. */
    int32_t direct;          /**< 1: inputs, whole tap groups, are widened in every block; 0: once, into scratch. */
    int32_t single_rounding; /**< 1: results by a single rounding; 0: by a double rounding. */
    int32_t constants[3]; /**< Of all channels: factor, constant, and: single rounding: the constant of 256 times a sum;
                           * otherwise: the shift. */
    int32_t clamped;      /**< 1: results are clamped to [low, high]. */
    int32_t low;
    int32_t high;
} aboard_fully_connected_dsp_t;

/** Channels computed at once, and words of their block apart from four SWAR-packed words per tap group: bias of the
 * first channel and raw bias of the first two, then those of the other two. */
#define ABOARD_DSP_WIDE 4

/** Words of constants behind the weights of a block: of each channel factor and constant, with lines of odd channels
 * that of 256 times a sum; and the shift where results are rounded twice. */
#define ABOARD_DSP_WIDE_EACH(single) ((single) ? 8 : 12)

/** Right shift of the single rounding of fully connected layers. */
#define ABOARD_DSP_WIDE_SHIFT 2

#if ABOARD_DSP_ASM

/* clang-format off */
/** Pairs of tap groups in an iteration, a power of two. */
#ifdef __OPTIMIZE_SIZE__
#define ABOARD_DSP_WIDE_STEPS "2"
#else
#define ABOARD_DSP_WIDE_STEPS "8"
#endif

/** Products of one word of inputs with two SWAR-packed words. */
#define ABOARD_DSP_WIDE_PRODUCTS(x, w0, w1)                            \
    "smlad r9, " x ", " w0 ", r9\n smlad r11, " x ", " w1 ", r11\n"     \
    "sxtb16 " w0 ", " w0 "\n sxtb16 " w1 ", " w1 "\n"                   \
    "smlad r8, " x ", " w0 ", r8\n smlad r10, " x ", " w1 ", r10\n"

/** Arguments: r0 weights, r1 x, r2 result, r3 channels, on the stack tap groups and constants. Frame: constants, end, result,
 * x, end of x, first entry, second entry. Sums: r8 and r10 of channels 0 and 2, r9 and r11 raw. `one` loads the inputs
 * of a single tap group, `first` and `second` those of a pair with their weights; a pair has `bytes` of code. */
#define ABOARD_DSP_WIDE_HEAD(lsl, bytes, one, first, second)           \
    "push {r4-r11, lr}\n"                                              \
    "ldrd r12, r4, [sp, #36]\n"                                        \
    "ldm r4, {r4-r6}\n"                                                \
    "add r7, r2, r3\n"                                                 \
    "sub sp, #40\n"                                                    \
    "add r8, r1, r12, lsl #" lsl "\n"                                   \
    "lsr r9, r12, #1\n"                                                \
    "adr.w r10, 2f\n"                                                  \
    "adr.w r11, 3f\n"                                                  \
    "orr r10, r10, #1\n"                                               \
    "orr r11, r11, #1\n"                                               \
    "rsbs r9, r9, #0\n"                                                \
    "ite ne\n"                                                         \
    "andne r9, r9, #" ABOARD_DSP_WIDE_STEPS "-1\n"                     \
    "moveq r9, #" ABOARD_DSP_WIDE_STEPS "\n"                           \
    "movs r3, #" bytes "\n"                                             \
    "mla r9, r9, r3, r10\n"                                            \
    "tst r12, #1\n"                                                    \
    "it eq\n"                                                          \
    "moveq r11, r9\n"                                                  \
    "stm sp, {r4-r7}\n"                                                \
    "strd r2, r1, [sp, #16]\n"                                         \
    "strd r8, r11, [sp, #24]\n"                                        \
    "str r9, [sp, #32]\n"                                              \
    "mov lr, r0\n"                                                     \
    "mov r12, r1\n"                                                    \
    "1:\n"                                                             \
    "ldmia lr!, {r8-r11}\n"                                            \
    "ldr pc, [sp, #28]\n"                                              \
    ".balign 4\n"                                                      \
    "3:\n"                                                             \
    one ABOARD_DSP_WIDE_WEIGHTS                                        \
    ABOARD_DSP_WIDE_PRODUCTS("r0", "r4", "r5")                         \
    ABOARD_DSP_WIDE_PRODUCTS("r1", "r6", "r7")                         \
    "ldr pc, [sp, #32]\n"                                              \
    ".balign 4\n"                                                      \
    "2:\n"                                                             \
    ".rept " ABOARD_DSP_WIDE_STEPS "\n"                                \
    first                                                              \
    ABOARD_DSP_WIDE_PRODUCTS("r0", "r4", "r5")                         \
    ABOARD_DSP_WIDE_PRODUCTS("r1", "r6", "r7")                         \
    second                                                             \
    ABOARD_DSP_WIDE_PRODUCTS("r2", "r4", "r5")                         \
    ABOARD_DSP_WIDE_PRODUCTS("r3", "r6", "r7")                         \
    ".endr\n"                                                          \
    "ldr r0, [sp, #24]\n"                                              \
    "cmp r12, r0\n"                                                    \
    "bne.w 2b\n"                                                       \
    "sub r9, r9, r8\n sub r11, r11, r10\n"

/** The weights of a tap group. A run of six loads takes seven cycles on Cortex-M4; LDM is shorter code, and takes one cycle more
 * than it has words. */
#define ABOARD_DSP_WIDE_WEIGHTS "ldmia lr!, {r4-r7}\n"
#define ABOARD_DSP_WIDE_RUN(even, odd)                                 \
    "ldr.w " even ", [r12], #4\n ldr.w " odd ", [r12], #4\n"           \
    "ldr.w r4, [lr], #4\n ldr.w r5, [lr], #4\n"                        \
    "ldr.w r6, [lr], #4\n ldr.w r7, [lr], #4\n"

/** Two words of two inputs each from a word of four. */
#define ABOARD_DSP_WIDE_WIDEN(even, odd) "sxtb16 " even ", " odd "\n sxtb16 " odd ", " odd ", ror #8\n"

/** Inputs that were widened into scratch, and inputs read directly. */
#define ABOARD_DSP_WIDE_STAGED_ONE "ldrd r0, r1, [r12], #8\n"
#define ABOARD_DSP_WIDE_DIRECT_ONE "ldr r1, [r12], #4\n" ABOARD_DSP_WIDE_WIDEN("r0", "r1")
#if defined(__ARM_ARCH_7EM__) && !defined(__OPTIMIZE_SIZE__)
#define ABOARD_DSP_WIDE_STAGED                                         \
    ABOARD_DSP_WIDE_HEAD("3", "144", ABOARD_DSP_WIDE_STAGED_ONE,        \
                         ABOARD_DSP_WIDE_RUN("r0", "r1"), ABOARD_DSP_WIDE_RUN("r2", "r3"))
#define ABOARD_DSP_WIDE_DIRECT                                         \
    ABOARD_DSP_WIDE_HEAD("2", "140", ABOARD_DSP_WIDE_DIRECT_ONE,        \
                         ABOARD_DSP_WIDE_RUN("r1", "r3") ABOARD_DSP_WIDE_WIDEN("r0", "r1") \
                         ABOARD_DSP_WIDE_WIDEN("r2", "r3"), ABOARD_DSP_WIDE_WEIGHTS)
#else
#define ABOARD_DSP_WIDE_STAGED                                         \
    ABOARD_DSP_WIDE_HEAD("3", "108", ABOARD_DSP_WIDE_STAGED_ONE,        \
                         "ldmia r12!, {r0-r3}\n" ABOARD_DSP_WIDE_WEIGHTS, ABOARD_DSP_WIDE_WEIGHTS)
#define ABOARD_DSP_WIDE_DIRECT                                         \
    ABOARD_DSP_WIDE_HEAD("2", "128", ABOARD_DSP_WIDE_DIRECT_ONE,        \
                         ABOARD_DSP_WIDE_DIRECT_ONE "ldr r3, [r12], #4\n" ABOARD_DSP_WIDE_WIDEN("r2", "r3") \
                         ABOARD_DSP_WIDE_WEIGHTS, ABOARD_DSP_WIDE_WEIGHTS)
#endif

/** Stores the results in r8 to r11; end in r3, result in r4, x in r12; advances to the next block. */
#define ABOARD_DSP_WIDE_TAIL                                           \
    "strb r9, [r4, #1]\n strb r10, [r4, #2]\n"                         \
    "strb r11, [r4, #3]\n strb r8, [r4], #4\n"                         \
    "str r4, [sp, #16]\n"                                              \
    "cmp r4, r3\n"                                                     \
    "bne.w 1b\n"                                                       \
    "add sp, #40\n"                                                    \
    "pop {r4-r11, pc}\n"

/**
 * Channels of one sample: with a single or a double rounding, inputs widened in advance or read directly.
 *
 * @param weights    For every four channels: bias, raw bias, bias, raw bias, four SWAR-packed words per tap group; for
 *                   the functions `each` also the constants (ABOARD_DSP_WIDE_EACH).
 * @param x         Staged: two words for each tap group. Direct: int8 at any address.
 * @param y         Results.
 * @param channels  A multiple of 4, at least 4.
 * @param tap_groups At least 1.
 * @param constants As in aboard_fully_connected_dsp_t.
 */
#define ABOARD_DSP_WIDE_FUNCTION(name, head, requantize)               \
    ABOARD_NAKED void name(const uint32_t *weights ABOARD_UNUSED, const void *x ABOARD_UNUSED, \
                               int8_t *y ABOARD_UNUSED, int32_t channels ABOARD_UNUSED, \
                               int32_t tap_groups ABOARD_UNUSED, const int32_t *constants ABOARD_UNUSED) { \
        __asm__ volatile(head requantize ABOARD_DSP_WIDE_TAIL);        \
    }

#define ABOARD_DSP_WIDE_SINGLE                                           \
    "ldm sp, {r0-r4, r12}\n"                                           \
    "smmlar r8, r8, r0, r1\n smmla r9, r9, r0, r2\n"                   \
    "smmlar r10, r10, r0, r1\n smmla r11, r11, r0, r2\n"               \
    "ssat r8, #8, r8, asr #2\n ssat r9, #8, r9, asr #10\n"             \
    "ssat r10, #8, r10, asr #2\n ssat r11, #8, r11, asr #10\n"
#define ABOARD_DSP_WIDE_ANY                                            \
    "asr r9, #8\n asr r11, #8\n"                                       \
    "ldm sp, {r0-r4, r12}\n"                                           \
    ABOARD_DSP_ANY("r8", "r0", "r1", "r2")                             \
    ABOARD_DSP_ANY("r9", "r0", "r1", "r2")                             \
    ABOARD_DSP_ANY("r10", "r0", "r1", "r2")                            \
    ABOARD_DSP_ANY("r11", "r0", "r1", "r2")

/** The same with constants of each channel. */
#define ABOARD_DSP_WIDE_SINGLE_EACH                                      \
    "ldmia lr!, {r0-r7}\n"                                             \
    "smmlar r8, r8, r0, r1\n smmla r9, r9, r2, r3\n"                   \
    "smmlar r10, r10, r4, r5\n smmla r11, r11, r6, r7\n"               \
    "add r0, sp, #12\n ldm r0, {r3, r4, r12}\n"                        \
    "ssat r8, #8, r8, asr #2\n ssat r9, #8, r9, asr #10\n"             \
    "ssat r10, #8, r10, asr #2\n ssat r11, #8, r11, asr #10\n"
#define ABOARD_DSP_WIDE_ANY_EACH                                       \
    "asr r9, #8\n asr r11, #8\n"                                       \
    "ldmia lr!, {r0-r4, r6}\n"                                         \
    ABOARD_DSP_ANY("r8", "r0", "r1", "r2")                             \
    ABOARD_DSP_ANY("r9", "r3", "r4", "r6")                             \
    "ldmia lr!, {r0-r4, r6}\n"                                         \
    ABOARD_DSP_ANY("r10", "r0", "r1", "r2")                            \
    ABOARD_DSP_ANY("r11", "r3", "r4", "r6")                            \
    "add r0, sp, #12\n ldm r0, {r3, r4, r12}\n"

ABOARD_DSP_WIDE_FUNCTION(aboard_dsp_wide_single, ABOARD_DSP_WIDE_STAGED, ABOARD_DSP_WIDE_SINGLE)
ABOARD_DSP_WIDE_FUNCTION(aboard_dsp_wide_any, ABOARD_DSP_WIDE_STAGED, ABOARD_DSP_WIDE_ANY)
ABOARD_DSP_WIDE_FUNCTION(aboard_dsp_wide_single_direct, ABOARD_DSP_WIDE_DIRECT, ABOARD_DSP_WIDE_SINGLE)
ABOARD_DSP_WIDE_FUNCTION(aboard_dsp_wide_any_direct, ABOARD_DSP_WIDE_DIRECT, ABOARD_DSP_WIDE_ANY)
ABOARD_DSP_WIDE_FUNCTION(aboard_dsp_wide_single_each, ABOARD_DSP_WIDE_STAGED, ABOARD_DSP_WIDE_SINGLE_EACH)
ABOARD_DSP_WIDE_FUNCTION(aboard_dsp_wide_any_each, ABOARD_DSP_WIDE_STAGED, ABOARD_DSP_WIDE_ANY_EACH)
ABOARD_DSP_WIDE_FUNCTION(aboard_dsp_wide_single_each_direct, ABOARD_DSP_WIDE_DIRECT, ABOARD_DSP_WIDE_SINGLE_EACH)
ABOARD_DSP_WIDE_FUNCTION(aboard_dsp_wide_any_each_direct, ABOARD_DSP_WIDE_DIRECT, ABOARD_DSP_WIDE_ANY_EACH)
/* clang-format on */

#else

/** Sums of four channels: r8 to r11 of the assembly. */
ABOARD_INLINE const uint32_t *aboard_dsp_wide_sums(const uint32_t *w, const void *x, int32_t tap_groups, bool direct,
                                                   uint32_t *sums) {
    memcpy(sums, w, 4 * sizeof(*sums));
    w += 4;
    for (int32_t word = 0; word < 2 * tap_groups; ++word) {
        uint32_t pair;
        if (direct) {
            pair = aboard_dsp_even(aboard_dsp_load((const int8_t *)x + word / 2 * 4) >> (word % 2 * 8));
        } else {
            pair = ((const uint32_t *)x)[word];
        }
        for (int32_t half = 0; half < 4; half += 2) {
            sums[half] = aboard_dsp_mac(pair, aboard_dsp_even(*w), sums[half]);
            sums[half + 1] = aboard_dsp_mac(pair, *w++, sums[half + 1]);
        }
    }
    sums[1] -= sums[0];
    sums[3] -= sums[2];
    return w;
}

/** A result from its sum (256 times the sum for an odd channel) and its constants. */
ABOARD_INLINE int8_t aboard_dsp_wide_result(uint32_t sum, bool odd, const int32_t *c, bool single) {
    if (!single) {
        return aboard_dsp_double_rounding(odd ? (uint32_t)((int32_t)sum >> 8) : sum, c[0], c[1], (uint32_t)c[2]);
    }
    return odd ? aboard_dsp_single_rounding_256(sum, c[0], c[1], ABOARD_DSP_WIDE_SHIFT)
               : aboard_dsp_single_rounding(sum, c[0], c[1], ABOARD_DSP_WIDE_SHIFT);
}

/** See above. */
ABOARD_INLINE void aboard_dsp_wide(const uint32_t *weights, const void *x, int8_t *y, int32_t channels,
                                   int32_t tap_groups, const int32_t *constants, bool single, bool each, bool direct) {
    for (int32_t n = 0; n < channels; n += ABOARD_DSP_WIDE) {
        uint32_t sums[ABOARD_DSP_WIDE];
        weights = aboard_dsp_wide_sums(weights, x, tap_groups, direct, sums);
        for (int32_t i = 0; i < ABOARD_DSP_WIDE; ++i) {
            const bool odd = i % 2 != 0;
            int32_t c[3] = {constants[0], constants[single && odd ? 2 : 1], constants[2]};
            if (each) {
                const int32_t words = ABOARD_DSP_WIDE_EACH(single) / ABOARD_DSP_WIDE;
                memcpy(c, weights + i * words, (size_t)words * sizeof(*c));
            }
            y[n + i] = aboard_dsp_wide_result(sums[i], odd, c, single);
        }
        weights += each ? ABOARD_DSP_WIDE_EACH(single) : 0;
    }
}

#define aboard_dsp_wide_single(w, x, y, n, tap_groups, c) aboard_dsp_wide(w, x, y, n, tap_groups, c, true, false, false)
#define aboard_dsp_wide_any(w, x, y, n, tap_groups, c) aboard_dsp_wide(w, x, y, n, tap_groups, c, false, false, false)
#define aboard_dsp_wide_single_direct(w, x, y, n, tap_groups, c)                                                       \
    aboard_dsp_wide(w, x, y, n, tap_groups, c, true, false, true)
#define aboard_dsp_wide_any_direct(w, x, y, n, tap_groups, c)                                                          \
    aboard_dsp_wide(w, x, y, n, tap_groups, c, false, false, true)
#define aboard_dsp_wide_single_each(w, x, y, n, tap_groups, c)                                                         \
    aboard_dsp_wide(w, x, y, n, tap_groups, c, true, true, false)
#define aboard_dsp_wide_any_each(w, x, y, n, tap_groups, c)                                                            \
    aboard_dsp_wide(w, x, y, n, tap_groups, c, false, true, false)
#define aboard_dsp_wide_single_each_direct(w, x, y, n, tap_groups, c)                                                  \
    aboard_dsp_wide(w, x, y, n, tap_groups, c, true, true, true)
#define aboard_dsp_wide_any_each_direct(w, x, y, n, tap_groups, c)                                                     \
    aboard_dsp_wide(w, x, y, n, tap_groups, c, false, true, true)

#endif

/** Calls one of the functions above. */
#define ABOARD_DSP_WIDE_CASE(number, name)                                                                             \
    case number:                                                                                                       \
        name(weights, x, y, channels, tap_groups, p->constants);                                                       \
        break;

/** Results of `channels` channels of a sample. */
ABOARD_INLINE void aboard_fully_connected_dsp_block(const aboard_fully_connected_dsp_t *p, const uint32_t *weights,
                                                    const void *x, int8_t *y, int32_t channels, int32_t tap_groups,
                                                    int32_t each) {
    switch (4 * each + 2 * p->direct + p->single_rounding) {
        ABOARD_DSP_WIDE_CASE(0, aboard_dsp_wide_any)
        ABOARD_DSP_WIDE_CASE(1, aboard_dsp_wide_single)
        ABOARD_DSP_WIDE_CASE(2, aboard_dsp_wide_any_direct)
        ABOARD_DSP_WIDE_CASE(3, aboard_dsp_wide_single_direct)
        ABOARD_DSP_WIDE_CASE(4, aboard_dsp_wide_any_each)
        ABOARD_DSP_WIDE_CASE(5, aboard_dsp_wide_single_each)
        ABOARD_DSP_WIDE_CASE(6, aboard_dsp_wide_any_each_direct)
        ABOARD_DSP_WIDE_CASE(7, aboard_dsp_wide_single_each_direct)
    default:
        break;
    }
}

/** Widens a sample; the rest of its last tap group is 0. */
ABOARD_INLINE void aboard_fully_connected_dsp_widen(const int8_t *from, uint32_t *to, int32_t inputs) {
    const int8_t *const end = from + inputs / ABOARD_DSP_TAP_GROUP * ABOARD_DSP_TAP_GROUP;
    while (from != end) {
        const uint32_t word = aboard_dsp_load(from);
        from += ABOARD_DSP_TAP_GROUP;
        to[0] = aboard_dsp_even(word);
        to[1] = aboard_dsp_even(word >> 8);
        to += 2;
    }
    const int32_t left = inputs % ABOARD_DSP_TAP_GROUP;
    if (left > 0) {
        int8_t last[ABOARD_DSP_TAP_GROUP] = {0, 0, 0, 0};
        for (int32_t i = 0; i < left; ++i) {
            last[i] = from[i];
        }
        const uint32_t word = aboard_dsp_load(last);
        to[0] = aboard_dsp_even(word);
        to[1] = aboard_dsp_even(word >> 8);
    }
}

/**
 * int8 product, results equal to TFLite's reference kernel; see aboard_fully_connected_dsp and, with a scale per
 * channel, aboard_fully_connected_dsp_each.
 *
 * @param p           Parameters.
 * @param in, out     Different memory, without gaps.
 * @param weights     Packed, see aboard_dsp_wide_single; the last block padded with zeros.
 * @param words       Scratch of two words per tap group of inputs; unused if `direct` is set.
 * @param first, last Rows [first, last) of the result are computed.
 * @param each        1: constants of each channel follow the weights of its block; 0: all channels use the parameters'.
 */
ABOARD_INLINE void aboard_fully_connected_dsp_any(const aboard_fully_connected_dsp_t *p, const int8_t *in, int8_t *out,
                                                  const uint32_t *weights, uint32_t *words, int32_t first, int32_t last,
                                                  int32_t each) {
    const int32_t tap_groups = (p->inputs + ABOARD_DSP_TAP_GROUP - 1) / ABOARD_DSP_TAP_GROUP;
    const int32_t whole = p->outputs / ABOARD_DSP_WIDE * ABOARD_DSP_WIDE;
    const int32_t block = ABOARD_DSP_WIDE * (1 + tap_groups) + (each ? ABOARD_DSP_WIDE_EACH(p->single_rounding) : 0);
    for (int32_t sample = first * p->samples; sample < last * p->samples; ++sample) {
        int8_t *const y = out + sample * p->outputs;
        const void *x = in + sample * p->inputs;
        if (!p->direct) {
            aboard_fully_connected_dsp_widen(in + sample * p->inputs, words, p->inputs);
            x = words;
        }
        if (whole > 0) {
            aboard_fully_connected_dsp_block(p, weights, x, y, whole, tap_groups, each);
        }
        if (whole < p->outputs) {
            int8_t some[ABOARD_DSP_WIDE];
            const uint32_t *const behind = weights + whole / ABOARD_DSP_WIDE * block;
            aboard_fully_connected_dsp_block(p, behind, x, some, ABOARD_DSP_WIDE, tap_groups, each);
            for (int32_t n = whole; n < p->outputs; ++n) {
                y[n] = some[n - whole];
            }
        }
        if (p->clamped) {
            aboard_dsp_clamp(y, p->outputs, p->low, p->high);
        }
    }
}

/** One scale for all channels. */
ABOARD_INLINE void aboard_fully_connected_dsp(const aboard_fully_connected_dsp_t *p, const int8_t *in, int8_t *out,
                                              const uint32_t *weights, uint32_t *words, int32_t first, int32_t last) {
    aboard_fully_connected_dsp_any(p, in, out, weights, words, first, last, 0);
}

/** A scale per channel. */
ABOARD_INLINE void aboard_fully_connected_dsp_each(const aboard_fully_connected_dsp_t *p, const int8_t *in, int8_t *out,
                                                   const uint32_t *weights, uint32_t *words, int32_t first,
                                                   int32_t last) {
    aboard_fully_connected_dsp_any(p, in, out, weights, words, first, last, 1);
}

#endif
