/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file depthwise_one_window.h
 * int8 depthwise convolution with one window in each image, with the DSP extension: four channels at once, two taps in
 * one product.
 *
 * No input is read twice, so nothing is copied. PKHBT and PKHTB join the words of four channels of two taps, and SXTB16
 * extracts the pairs of a channel; the weights are packed in the same order:
 *
 *     tap a: a0 a1 a2 a3 \  joined: a0 a1 b0 b1 -> (a0, b0), (a1, b1)     weights: u0 u1 v0 v1
 *     tap b: b0 b1 b2 b3 /          a2 a3 b2 b3 -> (a2, b2), (a3, b3)              u2 u3 v2 v3
 *
 * host/aboard/kernels/arm_dsp/depthwise_one_window.py packs them.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_DEPTHWISE_ONE_WINDOW_H
#define ABOARD_KERNELS_ARM_DSP_DEPTHWISE_ONE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "depthwise_taps.h"
#include "dot.h"

/** Parameters of aboard_depthwise_one_window_dsp: four channels or more, each with one result in an image. */
typedef struct {
    aboard_depthwise_conv2d_taps_t taps; /**< The taps within the image, at least two: `padded` is 0. */
    int32_t result_zero_point;
} aboard_depthwise_one_window_t;

#if ABOARD_DSP_ASM

/* clang-format off */
/** Inputs and weights of two taps: pixels at r0, channel in r1, weights at r2. A run of six loads takes seven cycles on
 * Cortex-M4; LDM is shorter code. */
#ifdef __OPTIMIZE_SIZE__
#define ABOARD_DSP_ONE_WINDOW_LOADS                                    \
    "ldm r0!, {r4, r5}\n ldm r2!, {r6, r7}\n ldr r4, [r4, r1]\n ldr r5, [r5, r1]\n"
#else
#define ABOARD_DSP_ONE_WINDOW_LOADS                                    \
    "ldr r4, [r0], #4\n ldr r5, [r0], #4\n ldr r6, [r2], #4\n ldr r7, [r2], #4\n" \
    "ldr r4, [r4, r1]\n ldr r5, [r5, r1]\n"
#endif

/** Products of two taps; sums in r8 to r11. */
#define ABOARD_DSP_ONE_WINDOW_PAIR                                     \
    ABOARD_DSP_ONE_WINDOW_LOADS                                          \
    "pkhbt r12, r4, r5, lsl #16\n pkhtb r4, r5, r4, asr #16\n"          \
    "sxtb16 r5, r12\n sxtb16 lr, r6\n smlad r8, r5, lr, r8\n"           \
    "sxtb16 r12, r12, ror #8\n sxtb16 r6, r6, ror #8\n smlad r9, r12, r6, r9\n" \
    "sxtb16 r5, r4\n sxtb16 lr, r7\n smlad r10, r5, lr, r10\n"          \
    "sxtb16 r4, r4, ror #8\n sxtb16 r7, r7, ror #8\n smlad r11, r4, r7, r11\n"

/** Products of one tap. */
#define ABOARD_DSP_ONE_WINDOW_TAP                                      \
    "ldr r4, [r0], #4\n ldr r6, [r2], #4\n ldr r4, [r4, r1]\n"          \
    "sxtb16 r5, r4\n sxtb16 r7, r6\n smlabb r8, r5, r7, r8\n smlatt r10, r5, r7, r10\n" \
    "sxtb16 r4, r4, ror #8\n sxtb16 r6, r6, ror #8\n smlabb r9, r4, r6, r9\n smlatt r11, r4, r6, r11\n"

/** The loop over pairs of taps; the carry is set if their number is odd. */
#ifdef __OPTIMIZE_SIZE__
#define ABOARD_DSP_ONE_WINDOW_PAIRS "3:\n" ABOARD_DSP_ONE_WINDOW_PAIR
#else
#define ABOARD_DSP_ONE_WINDOW_PAIRS                                    \
    "bcs.n 4f\n"                                                       \
    "3:\n" ABOARD_DSP_ONE_WINDOW_PAIR "4:\n" ABOARD_DSP_ONE_WINDOW_PAIR
#endif

/** Four results by single roundings: factors, constants. */
#define ABOARD_DSP_ONE_WINDOW_SINGLE                                   \
    "ldm r2!, {r4-r7}\n"                                               \
    "smmlar r8, r8, r4, r6\n smmlar r9, r9, r5, r7\n"                   \
    "ldm r2!, {r4-r7}\n"                                               \
    "smmlar r10, r10, r4, r6\n smmlar r11, r11, r5, r7\n"               \
    "ssat r8, #8, r8, asr #2\n ssat r9, #8, r9, asr #2\n"               \
    "ssat r10, #8, r10, asr #2\n ssat r11, #8, r11, asr #2\n"

/** A result by two roundings: ASRS leaves in the carry what ADC rounds up by. */
#define ABOARD_DSP_ONE_WINDOW_ROUNDED(sum, factor)                     \
    "add r3, " sum ", " sum ", asr #31\n smmlar " sum ", " sum ", " factor ", r3\n" \
    "asrs " sum ", " sum ", r12\n adc " sum ", " sum ", lr\n ssat " sum ", #8, " sum "\n"

/** Four results by two roundings: factors, shifts. */
#define ABOARD_DSP_ONE_WINDOW_DOUBLE                                   \
    "ldm r2!, {r4-r7, r12}\n ldr lr, [sp, #56]\n"                       \
    ABOARD_DSP_ONE_WINDOW_ROUNDED("r8", "r4") "lsrs r12, r12, #8\n"     \
    ABOARD_DSP_ONE_WINDOW_ROUNDED("r9", "r5") "lsrs r12, r12, #8\n"     \
    ABOARD_DSP_ONE_WINDOW_ROUNDED("r10", "r6") "lsrs r12, r12, #8\n"    \
    ABOARD_DSP_ONE_WINDOW_ROUNDED("r11", "r7")

/**
 * All channels of one pixel.
 *
 * Frame: pixels, their end, result, channel of the last four. LSLS by 29 moves the lowest bit of the number of taps into
 * the sign, the one above into the carry, and no instruction of a tap changes these.
 *
 * @param seen       Pixel of each tap.
 * @param end        Behind the last; at least two taps.
 * @param words      For every four channels: their biases; if the number of taps is odd, a word of weights of the
 *                   first one; two words of every two taps; and what rounds the results: factors and constants of two
 *                   channels and of two channels, or by two roundings four factors and a word of shifts. The last four
 *                   are the last channels, of which some may be among the four before.
 * @param y          Results.
 * @param channels   At least 4.
 * @param zero_point Of the results; not used by single roundings.
 */
#define ABOARD_DSP_ONE_WINDOW_FUNCTION(name, results)                  \
    ABOARD_NAKED void name(const aboard_dsp_seen_t *seen ABOARD_UNUSED, const aboard_dsp_seen_t *end ABOARD_UNUSED, \
                           const uint32_t *words ABOARD_UNUSED, int8_t *y ABOARD_UNUSED, \
                           int32_t channels ABOARD_UNUSED, int32_t zero_point ABOARD_UNUSED) { \
        __asm__ volatile(                                              \
            "push {r4-r11, lr}\n"                                      \
            "ldr r4, [sp, #36]\n"                                      \
            "subs r4, #4\n"                                            \
            "push {r0, r1, r3, r4}\n"                                  \
            "movs r1, #0\n"                                            \
            "1:\n"                                                     \
            "ldm r2!, {r8-r11}\n"                                      \
            "ldrd r0, r3, [sp]\n"                                      \
            "subs r4, r3, r0\n"                                        \
            "lsls r4, r4, #29\n"                                       \
            "bpl.n 2f\n"                                               \
            ABOARD_DSP_ONE_WINDOW_TAP                                    \
            "2:\n"                                                     \
            ABOARD_DSP_ONE_WINDOW_PAIRS                                  \
            "cmp r0, r3\n"                                             \
            "bne.n 3b\n"                                               \
            results                                                    \
            "ldrd r4, r5, [sp, #8]\n"                                  \
            "add r4, r4, r1\n"                                         \
            "strb r8, [r4]\n strb r9, [r4, #1]\n strb r10, [r4, #2]\n strb r11, [r4, #3]\n" \
            "adds r1, #4\n"                                            \
            "cmp r1, r5\n"                                             \
            "ble.w 1b\n"                                               \
            "subs r4, r1, r5\n"                                        \
            "mov r1, r5\n"                                             \
            "cmp r4, #4\n"                                             \
            "bne.w 1b\n"                                               \
            "add sp, #16\n"                                            \
            "pop {r4-r11, pc}\n");                                     \
    }

ABOARD_DSP_ONE_WINDOW_FUNCTION(aboard_dsp_one_window_single, ABOARD_DSP_ONE_WINDOW_SINGLE)
ABOARD_DSP_ONE_WINDOW_FUNCTION(aboard_dsp_one_window_double, ABOARD_DSP_ONE_WINDOW_DOUBLE)
/* clang-format on */

/** Calls the function of one of the two roundings. */
ABOARD_INLINE void aboard_dsp_one_window(const aboard_dsp_pixels_t *pixels, const aboard_dsp_seen_t *seen, int32_t taps,
                                         const uint32_t *words, int8_t *y, int32_t channels, int32_t zero_point,
                                         bool single) {
    (void)pixels;
    if (single) {
        aboard_dsp_one_window_single(seen, seen + taps, words, y, channels, zero_point);
    } else {
        aboard_dsp_one_window_double(seen, seen + taps, words, y, channels, zero_point);
    }
}

#else

/** Adds the products of two taps of four channels. */
ABOARD_INLINE void aboard_dsp_one_window_pair(uint32_t *sums, uint32_t a, uint32_t b, const uint32_t *w) {
    const uint32_t first = (a & 0xffffu) | b << 16;
    const uint32_t last = a >> 16 | (b & 0xffff0000u);
    sums[0] = aboard_dsp_mac(aboard_dsp_even(first), aboard_dsp_even(w[0]), sums[0]);
    sums[1] = aboard_dsp_mac(aboard_dsp_odd(first), aboard_dsp_odd(w[0]), sums[1]);
    sums[2] = aboard_dsp_mac(aboard_dsp_even(last), aboard_dsp_even(w[1]), sums[2]);
    sums[3] = aboard_dsp_mac(aboard_dsp_odd(last), aboard_dsp_odd(w[1]), sums[3]);
}

/** One result by two roundings: the second one adds the last bit that is shifted out. */
ABOARD_INLINE int8_t aboard_dsp_one_window_rounded(uint32_t sum, uint32_t factor, uint32_t shift, int32_t zero_point) {
    const int32_t a = (int32_t)sum;
    const int64_t product = (int64_t)a * (int32_t)factor + (int64_t)(a + (a >> 31)) * (INT64_C(1) << 32);
    const int32_t high = (int32_t)((product + INT64_C(0x80000000)) >> 32);
    return aboard_dsp_saturate((high >> shift) + (high >> (shift - 1) & 1) + zero_point);
}

/** See above. */
ABOARD_INLINE void aboard_dsp_one_window(const aboard_dsp_pixels_t *pixels, const aboard_dsp_seen_t *seen, int32_t taps,
                                         const uint32_t *words, int8_t *y, int32_t channels, int32_t zero_point,
                                         bool single) {
    for (int32_t next = 0; next < channels; next += 4) {
        const int32_t channel = ABOARD_MIN(next, channels - 4);
        uint32_t sums[4] = {words[0], words[1], words[2], words[3]};
        words += 4;
        if (taps % 2 != 0) {
            const uint32_t x = aboard_dsp_load_seen(pixels, seen[0], channel);
            const uint32_t w = *words++;
            const uint32_t x_odd = aboard_dsp_odd(x), w_odd = aboard_dsp_odd(w);
            const uint32_t x_even = aboard_dsp_even(x), w_even = aboard_dsp_even(w);
            sums[0] = (uint32_t)aboard_dsp_mac_bottom(x_even, w_even, (int32_t)sums[0]);
            sums[1] = (uint32_t)aboard_dsp_mac_bottom(x_odd, w_odd, (int32_t)sums[1]);
            sums[2] = (uint32_t)aboard_dsp_mac_top(x_even, w_even, (int32_t)sums[2]);
            sums[3] = (uint32_t)aboard_dsp_mac_top(x_odd, w_odd, (int32_t)sums[3]);
        }
        for (int32_t tap = taps % 2; tap < taps; tap += 2) {
            const uint32_t a = aboard_dsp_load_seen(pixels, seen[tap], channel);
            aboard_dsp_one_window_pair(sums, a, aboard_dsp_load_seen(pixels, seen[tap + 1], channel), words);
            words += 2;
        }
        for (int32_t i = 0; i < 4; ++i) {
            if (single) {
                const uint32_t *const c = words + i / 2 * 4 + i % 2;
                y[channel + i] =
                    aboard_dsp_single_rounding(sums[i], (int32_t)c[0], (int32_t)c[2], ABOARD_DSP_LINE_BUFFER_SHIFT);
            } else {
                const uint32_t shift = words[4] >> (8 * i) & 0xffu;
                y[channel + i] = aboard_dsp_one_window_rounded(sums[i], words[i], shift, zero_point);
            }
        }
        words += single ? 8 : 5;
    }
}

#endif

/**
 * int8 depthwise convolution, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Any views, including rolling buffers. In different memory, or the operand starts after the result
 * by at least the minimum in-place offset (host/aboard/kernels/overlap.py).
 * @param words       Packed, see aboard_dsp_one_window.
 * @param seen        Scratch of one word per tap.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_depthwise_one_window_dsp(const aboard_depthwise_one_window_t *p, const int8_t *in,
                                                   int8_t *out, const uint32_t *words, aboard_dsp_seen_t *seen,
                                                   int32_t first, int32_t last) {
    const aboard_depthwise_conv2d_taps_t *t = &p->taps;
    const aboard_dsp_pixels_t pixels = {in, in};
    const int32_t count = t->shape.window_height * t->shape.window_width;
    for (int32_t row = first; row < last; ++row) {
        int8_t *const y = aboard_row_out_s8(&t->shape.out, out, row);
        aboard_depthwise_conv2d_taps_find(t, &pixels, row, 0, seen);
        aboard_dsp_one_window(&pixels, seen, count, words, y, t->shape.out.channels, p->result_zero_point,
                              t->single_rounding != 0);
        if (t->clamped) {
            aboard_dsp_clamp(y, t->shape.out.channels, t->low, t->high);
        }
    }
}

#endif
