/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file tall_windows.h
 * Sums of one column of int8 pixels and weights with the DSP extension, up to six below one another at once.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_TALL_WINDOWS_H
#define ABOARD_KERNELS_ARM_DSP_TALL_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard/config.h"
#include "dot.h"
#include "halfwords.h"

/** Most results at once. */
#define ABOARD_DSP_TALL_RESULTS 6

/** Most taps of a window. */
#define ABOARD_DSP_TALL_TAPS 32

/** Weights of a channel, widened; zeros are in place of taps outside. */
typedef struct {
    uint32_t even[ABOARD_DSP_TALL_TAPS / 2];    /**< (w0, w1), (w2, w3), ...: of the first of two results. */
    uint32_t odd[ABOARD_DSP_TALL_TAPS / 2 + 1]; /**< (w0, 0), (w2, w1), (w4, w3), ...: of the second, for SMLADX. */
} aboard_dsp_tall_weights_t;

/** Byte of a tap's weight: of four weights the second and the third are exchanged, so that SXTB16 extends neighbours.
 */
ABOARD_INLINE int32_t aboard_dsp_tall_place(int32_t tap) {
    return tap % 4 == 1 ? tap + 1 : tap % 4 == 2 ? tap - 1 : tap;
}

/** Widens the weights of a channel from words of four, and doubles them if `doubled` is true. */
ABOARD_INLINE void aboard_dsp_tall_widen(const int32_t *words, int32_t taps, bool doubled,
                                         aboard_dsp_tall_weights_t *w) {
    ABOARD_UNROLL(8)
    for (int32_t i = 0; i < (taps + 3) / 4; ++i) {
        w->even[2 * i] = aboard_dsp_even((uint32_t)words[i]);
        w->even[2 * i + 1] = aboard_dsp_odd((uint32_t)words[i]);
    }
    if (doubled) {
        ABOARD_UNROLL(16)
        for (int32_t i = 0; i < (taps + 1) / 2; ++i) {
            w->even[i] = aboard_dsp_add_halfwords(w->even[i], w->even[i]);
        }
    }
    w->odd[0] = w->even[0] & 0xffffu;
    ABOARD_UNROLL(16)
    for (int32_t i = 1; i <= (taps - 1) / 2; ++i) {
        w->odd[i] = aboard_dsp_mixed_halves(w->even[i], w->even[i - 1]);
    }
}

/** sum plus the products of x's lower half and w's upper half, and of the other two. */
ABOARD_INLINE int32_t aboard_dsp_tall_crossed(uint32_t x, uint32_t w, int32_t sum) {
#if ABOARD_DSP_ASM
    __asm__("smladx %0, %1, %2, %0" : "+r"(sum) : "r"(x), "r"(w));
    return sum;
#else
    return (int32_t)aboard_dsp_mac(x, w << 16 | w >> 16, (uint32_t)sum);
#endif
}

/** sum plus the products of both halves. */
ABOARD_INLINE int32_t aboard_dsp_tall_both(uint32_t x, uint32_t w, int32_t sum) {
#if ABOARD_DSP_ASM
    __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(x), "r"(w));
    return sum;
#else
    return (int32_t)aboard_dsp_mac(x, w, (uint32_t)sum);
#endif
}

/** A pixel and the one below it. */
ABOARD_INLINE uint32_t aboard_dsp_tall_pixels(const int8_t *x, int32_t row_stride) {
#if ABOARD_DSP_ASM
    uint32_t word;
    uint32_t below;
    __asm__ volatile("ldrsb %0, %2\n ldrsb %1, %3\n pkhbt %0, %0, %1, lsl #16"
                     : "=&r"(word), "=&r"(below)
                     : "m"(x[0]), "m"(x[row_stride]));
    return word;
#else
    return aboard_dsp_two_halfwords(x[0], x[row_stride]);
#endif
}

/**
 * Sums of one window, or of two below one another; arguments as for aboard_dsp_tall_six.
 *
 * @param results 1 or 2, a literal.
 */
ABOARD_INLINE void aboard_dsp_tall_few(const int8_t *x, int32_t row_stride, const aboard_dsp_tall_weights_t *w,
                                       int32_t taps, int32_t bias, int32_t *sums, int32_t results) {
    int32_t first = bias;
    int32_t second = bias;
    ABOARD_UNROLL(17)
    for (int32_t tap = 0; tap < taps + results - 1; tap += 2) {
        const int8_t *const from = x + tap * row_stride;
        const bool two = tap + 1 < taps + results - 1;
        const uint32_t pixels = two ? aboard_dsp_tall_pixels(from, row_stride) : (uint32_t)(uint16_t)*from;
        if (tap < taps) {
            first = aboard_dsp_tall_both(pixels, w->even[tap / 2], first);
        }
        if (results == 2) {
            const uint32_t weights = tap < taps ? w->odd[tap / 2] : w->even[tap / 2 - 1] & 0xffff0000u;
            second = aboard_dsp_tall_crossed(pixels, weights, second);
        }
    }
    sums[0] = first;
    if (results == 2) {
        sums[1] = second;
    }
}

#if ABOARD_DSP_ASM

/* clang-format off */
#define ABOARD_DSP_TALL_PAIR(first, second, x, start0, start1) \
    "smlad %[" first "], %[" x "], %[even], %[" start0 "]\n smladx %[" second "], %[" x "], %[odd], %[" start1 "]\n"

/** Two taps of six results; `a`, `b` and `c` are the pixels of three pairs. Each statement takes 13 registers at most. */
#define ABOARD_DSP_TALL_TAPS_OF_SIX(we, wo, pa, pb, pc)              \
    __asm__ volatile(                                                           \
        "ldr %[even], %[w0]\n ldr %[odd], %[w1]\n"                     \
        ABOARD_DSP_TALL_PAIR("s0", "s1", "a", "s0", "s1")            \
        ABOARD_DSP_TALL_PAIR("s2", "s3", "b", "s2", "s3")            \
        ABOARD_DSP_TALL_PAIR("s4", "s5", "c", "s4", "s5")            \
        : [s0] "+&r"(s0), [s1] "+&r"(s1), [s2] "+&r"(s2), [s3] "+&r"(s3), [s4] "+&r"(s4), [s5] "+&r"(s5), \
          [even] "=&r"(even), [odd] "=&r"(odd)                         \
        : [a] "r"(pa), [b] "r"(pb), [c] "r"(pc), [w0] "m"(we), [w1] "m"(wo))

/** The first two taps of six results: s5 is the bias before. */
#define ABOARD_DSP_TALL_START_SIX(we, wo, pa, pb, pc)                \
    __asm__ volatile(                                                           \
        "ldr %[even], %[w0]\n ldr %[odd], %[w1]\n"                     \
        ABOARD_DSP_TALL_PAIR("s0", "s1", "a", "s5", "s5")            \
        ABOARD_DSP_TALL_PAIR("s2", "s3", "b", "s5", "s5")            \
        ABOARD_DSP_TALL_PAIR("s4", "s5", "c", "s5", "s5")            \
        : [s0] "=&r"(s0), [s1] "=&r"(s1), [s2] "=&r"(s2), [s3] "=&r"(s3), [s4] "=&r"(s4), [s5] "+&r"(s5), \
          [even] "=&r"(even), [odd] "=&r"(odd)                         \
        : [a] "r"(pa), [b] "r"(pb), [c] "r"(pc), [w0] "m"(we), [w1] "m"(wo))

/** The last of an even number of taps, which only the second result of each pair has not added. */
#define ABOARD_DSP_TALL_LAST_OF_SIX(weight, pa, pb, pc)              \
    __asm__ volatile(                                                           \
        "smlabt %[s1], %[a], %[even], %[s1]\n smlabt %[s3], %[b], %[even], %[s3]\n smlabt %[s5], %[c], %[even], %[s5]\n" \
        : [s1] "+&r"(s1), [s3] "+&r"(s3), [s5] "+&r"(s5)                  \
        : [a] "r"(pa), [b] "r"(pb), [c] "r"(pc), [even] "r"(weight))
/* clang-format on */

/**
 * Sums of six windows below one another.
 *
 * @param x          First pixel.
 * @param row_stride Bytes from a pixel to the one below it.
 * @param w          Weights.
 * @param taps       A literal, 2 to ABOARD_DSP_TALL_TAPS.
 * @param bias       Start of each sum.
 * @param sums       Results.
 */
ABOARD_INLINE void aboard_dsp_tall_six(const int8_t *x, int32_t row_stride, const aboard_dsp_tall_weights_t *w,
                                       int32_t taps, int32_t bias, int32_t *sums) {
    uint32_t pixels[3];
    uint32_t even;
    uint32_t odd;
    int32_t s0;
    int32_t s1;
    int32_t s2;
    int32_t s3;
    int32_t s4;
    int32_t s5 = bias;
    ABOARD_UNROLL(3)
    for (int32_t i = 0; i < 3; ++i) {
        pixels[i] = aboard_dsp_tall_pixels(x + 2 * i * row_stride, row_stride);
    }
    ABOARD_DSP_TALL_START_SIX(w->even[0], w->odd[0], pixels[0], pixels[1], pixels[2]);
    ABOARD_UNROLL(16)
    for (int32_t i = 1; i < (taps + 1) / 2; ++i) {
        pixels[(i + 2) % 3] = aboard_dsp_tall_pixels(x + (2 * i + 4) * row_stride, row_stride);
        ABOARD_DSP_TALL_TAPS_OF_SIX(w->even[i], w->odd[i], pixels[i % 3], pixels[(i + 1) % 3], pixels[(i + 2) % 3]);
    }
    if (taps % 2 == 0) {
        const int32_t i = taps / 2;
        const uint32_t last = (uint32_t)(int32_t)x[(2 * i + 4) * row_stride];
        ABOARD_DSP_TALL_LAST_OF_SIX(w->even[i - 1], pixels[i % 3], pixels[(i + 1) % 3], last);
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
    sums[4] = s4;
    sums[5] = s5;
}

#else

/** See above. */
ABOARD_INLINE void aboard_dsp_tall_six(const int8_t *x, int32_t row_stride, const aboard_dsp_tall_weights_t *w,
                                       int32_t taps, int32_t bias, int32_t *sums) {
    for (int32_t i = 0; i < ABOARD_DSP_TALL_RESULTS; i += 2) {
        aboard_dsp_tall_few(x + i * row_stride, row_stride, w, taps, bias, sums + i, 2);
    }
}

#endif

#endif
