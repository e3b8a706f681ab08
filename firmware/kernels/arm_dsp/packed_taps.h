/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file packed_taps.h
 * Sums of a row of windows of one channel with SMLAL: four products in an instruction.
 * host/aboard/kernels/arm_dsp/depthwise_packed.py packs the weights.
 *
 * A word holds two neighbouring pixels, x0 + 2^21 x1; another word holds two neighbouring taps, w1 + 2^21 w0. Their
 * product x0 w1 + 2^21 (x0 w0 + x1 w1) + 2^42 x1 w0 has parts of three neighbouring results in three fields:
 *
 *     bits 42 to 63               bits 21 to 41              bits 0 to 20
 *     part of result 2j + 1       result 2j                  part of result 2j - 1
 *
 * Sum j adds the products of all words of a window. Fields start at offsets by which both lower fields are never
 * negative, so that no field borrows from the next.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_PACKED_TAPS_H
#define ABOARD_KERNELS_ARM_DSP_PACKED_TAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard/config.h"
#include "dot.h"
#include "packed_pixels.h"

/** Words of a channel before its words of taps: start of a sum (low, high), offset of its middle field, factor and
 * constant of results; for double rounding the right shift. */
#define ABOARD_DSP_PACKED_HEAD(single) ((single) ? 5 : 6)

/** Most sums of a block, and most words of taps that are loaded together: registers hold both. */
#define ABOARD_DSP_PACKED_SUMS 3
#define ABOARD_DSP_PACKED_TOGETHER 3

/** 1: assembly loads words in runs, in which a load takes one cycle. clang, and code without optimisation, would need a
 * register for the address of each word. */
#if ABOARD_DSP_ASM && defined(__OPTIMIZE__) && !defined(__clang__)
#define ABOARD_DSP_PACKED_ASM 1
#else
#define ABOARD_DSP_PACKED_ASM 0
#endif

/** A sum of 64 bits. */
typedef struct {
    uint32_t low;
    uint32_t high;
} aboard_dsp_packed_sum_t;

#if ABOARD_DSP_PACKED_ASM

/* clang-format off */
#define ABOARD_DSP_PACKED_LOAD(register, word) "ldr %[" register "], %[" word "]\n"
#define ABOARD_DSP_PACKED_MAC(sum, x, w) "smlal %[low" sum "], %[high" sum "], %[" x "], %[" w "]\n"
#define ABOARD_DSP_PACKED_SUMS_1 [low0] "+&r"(sums[0].low), [high0] "+&r"(sums[0].high)
#define ABOARD_DSP_PACKED_SUMS_2 ABOARD_DSP_PACKED_SUMS_1, [low1] "+&r"(sums[1].low), [high1] "+&r"(sums[1].high)
#define ABOARD_DSP_PACKED_SUMS_3 ABOARD_DSP_PACKED_SUMS_2, [low2] "+&r"(sums[2].low), [high2] "+&r"(sums[2].high)

/** Adds `taps` words of taps, 1 to ABOARD_DSP_PACKED_TOGETHER, to `count` sums; both numbers are literals. Each case takes
 * 13 registers at most, with the addresses of x and w. */
ABOARD_INLINE void aboard_dsp_packed_part(aboard_dsp_packed_sum_t *sums, const int32_t *x, const int32_t *w,
                                          int32_t count, int32_t taps) {
    int32_t a;
    int32_t b;
    int32_t c;
    int32_t d;
    int32_t u;
    int32_t v;
    int32_t t;
    switch (10 * count + taps) {
    case 33:
        __asm__(
            ABOARD_DSP_PACKED_LOAD("u", "w0") ABOARD_DSP_PACKED_LOAD("v", "w1") ABOARD_DSP_PACKED_LOAD("t", "w2")
            ABOARD_DSP_PACKED_LOAD("a", "x0") ABOARD_DSP_PACKED_LOAD("b", "x1")
            ABOARD_DSP_PACKED_MAC("0", "a", "u") ABOARD_DSP_PACKED_MAC("0", "b", "v") ABOARD_DSP_PACKED_MAC("1", "b", "u")
            ABOARD_DSP_PACKED_LOAD("a", "x2") ABOARD_DSP_PACKED_LOAD("b", "x3")
            ABOARD_DSP_PACKED_MAC("0", "a", "t") ABOARD_DSP_PACKED_MAC("1", "a", "v") ABOARD_DSP_PACKED_MAC("2", "a", "u") ABOARD_DSP_PACKED_MAC("1", "b", "t") ABOARD_DSP_PACKED_MAC("2", "b", "v")
            ABOARD_DSP_PACKED_LOAD("a", "x4")
            ABOARD_DSP_PACKED_MAC("2", "a", "t")
            : ABOARD_DSP_PACKED_SUMS_3, [u] "=&r"(u), [v] "=&r"(v), [t] "=&r"(t), [a] "=&r"(a), [b] "=&r"(b)
            : [w0] "m"(w[0]), [w1] "m"(w[1]), [w2] "m"(w[2]), [x0] "m"(x[0]), [x1] "m"(x[4]), [x2] "m"(x[8]), [x3] "m"(x[12]), [x4] "m"(x[16]));
        break;
    case 32:
        __asm__(
            ABOARD_DSP_PACKED_LOAD("u", "w0") ABOARD_DSP_PACKED_LOAD("v", "w1")
            ABOARD_DSP_PACKED_LOAD("a", "x0") ABOARD_DSP_PACKED_LOAD("b", "x1") ABOARD_DSP_PACKED_LOAD("c", "x2")
            ABOARD_DSP_PACKED_MAC("0", "a", "u") ABOARD_DSP_PACKED_MAC("0", "b", "v") ABOARD_DSP_PACKED_MAC("1", "b", "u") ABOARD_DSP_PACKED_MAC("1", "c", "v") ABOARD_DSP_PACKED_MAC("2", "c", "u")
            ABOARD_DSP_PACKED_LOAD("a", "x3")
            ABOARD_DSP_PACKED_MAC("2", "a", "v")
            : ABOARD_DSP_PACKED_SUMS_3, [u] "=&r"(u), [v] "=&r"(v), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c)
            : [w0] "m"(w[0]), [w1] "m"(w[1]), [x0] "m"(x[0]), [x1] "m"(x[4]), [x2] "m"(x[8]), [x3] "m"(x[12]));
        break;
    case 31:
        __asm__(
            ABOARD_DSP_PACKED_LOAD("u", "w0")
            ABOARD_DSP_PACKED_LOAD("a", "x0") ABOARD_DSP_PACKED_LOAD("b", "x1") ABOARD_DSP_PACKED_LOAD("c", "x2")
            ABOARD_DSP_PACKED_MAC("0", "a", "u") ABOARD_DSP_PACKED_MAC("1", "b", "u") ABOARD_DSP_PACKED_MAC("2", "c", "u")
            : ABOARD_DSP_PACKED_SUMS_3, [u] "=&r"(u), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c)
            : [w0] "m"(w[0]), [x0] "m"(x[0]), [x1] "m"(x[4]), [x2] "m"(x[8]));
        break;
    case 23:
        __asm__(
            ABOARD_DSP_PACKED_LOAD("u", "w0") ABOARD_DSP_PACKED_LOAD("v", "w1") ABOARD_DSP_PACKED_LOAD("t", "w2")
            ABOARD_DSP_PACKED_LOAD("a", "x0") ABOARD_DSP_PACKED_LOAD("b", "x1") ABOARD_DSP_PACKED_LOAD("c", "x2") ABOARD_DSP_PACKED_LOAD("d", "x3")
            ABOARD_DSP_PACKED_MAC("0", "a", "u") ABOARD_DSP_PACKED_MAC("0", "b", "v") ABOARD_DSP_PACKED_MAC("1", "b", "u") ABOARD_DSP_PACKED_MAC("0", "c", "t") ABOARD_DSP_PACKED_MAC("1", "c", "v") ABOARD_DSP_PACKED_MAC("1", "d", "t")
            : ABOARD_DSP_PACKED_SUMS_2, [u] "=&r"(u), [v] "=&r"(v), [t] "=&r"(t), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c), [d] "=&r"(d)
            : [w0] "m"(w[0]), [w1] "m"(w[1]), [w2] "m"(w[2]), [x0] "m"(x[0]), [x1] "m"(x[4]), [x2] "m"(x[8]), [x3] "m"(x[12]));
        break;
    case 22:
        __asm__(
            ABOARD_DSP_PACKED_LOAD("u", "w0") ABOARD_DSP_PACKED_LOAD("v", "w1")
            ABOARD_DSP_PACKED_LOAD("a", "x0") ABOARD_DSP_PACKED_LOAD("b", "x1") ABOARD_DSP_PACKED_LOAD("c", "x2")
            ABOARD_DSP_PACKED_MAC("0", "a", "u") ABOARD_DSP_PACKED_MAC("0", "b", "v") ABOARD_DSP_PACKED_MAC("1", "b", "u") ABOARD_DSP_PACKED_MAC("1", "c", "v")
            : ABOARD_DSP_PACKED_SUMS_2, [u] "=&r"(u), [v] "=&r"(v), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c)
            : [w0] "m"(w[0]), [w1] "m"(w[1]), [x0] "m"(x[0]), [x1] "m"(x[4]), [x2] "m"(x[8]));
        break;
    case 21:
        __asm__(
            ABOARD_DSP_PACKED_LOAD("u", "w0")
            ABOARD_DSP_PACKED_LOAD("a", "x0") ABOARD_DSP_PACKED_LOAD("b", "x1")
            ABOARD_DSP_PACKED_MAC("0", "a", "u") ABOARD_DSP_PACKED_MAC("1", "b", "u")
            : ABOARD_DSP_PACKED_SUMS_2, [u] "=&r"(u), [a] "=&r"(a), [b] "=&r"(b)
            : [w0] "m"(w[0]), [x0] "m"(x[0]), [x1] "m"(x[4]));
        break;
    case 13:
        __asm__(
            ABOARD_DSP_PACKED_LOAD("u", "w0") ABOARD_DSP_PACKED_LOAD("v", "w1") ABOARD_DSP_PACKED_LOAD("t", "w2")
            ABOARD_DSP_PACKED_LOAD("a", "x0") ABOARD_DSP_PACKED_LOAD("b", "x1") ABOARD_DSP_PACKED_LOAD("c", "x2")
            ABOARD_DSP_PACKED_MAC("0", "a", "u") ABOARD_DSP_PACKED_MAC("0", "b", "v") ABOARD_DSP_PACKED_MAC("0", "c", "t")
            : ABOARD_DSP_PACKED_SUMS_1, [u] "=&r"(u), [v] "=&r"(v), [t] "=&r"(t), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c)
            : [w0] "m"(w[0]), [w1] "m"(w[1]), [w2] "m"(w[2]), [x0] "m"(x[0]), [x1] "m"(x[4]), [x2] "m"(x[8]));
        break;
    case 12:
        __asm__(
            ABOARD_DSP_PACKED_LOAD("u", "w0") ABOARD_DSP_PACKED_LOAD("v", "w1")
            ABOARD_DSP_PACKED_LOAD("a", "x0") ABOARD_DSP_PACKED_LOAD("b", "x1")
            ABOARD_DSP_PACKED_MAC("0", "a", "u") ABOARD_DSP_PACKED_MAC("0", "b", "v")
            : ABOARD_DSP_PACKED_SUMS_1, [u] "=&r"(u), [v] "=&r"(v), [a] "=&r"(a), [b] "=&r"(b)
            : [w0] "m"(w[0]), [w1] "m"(w[1]), [x0] "m"(x[0]), [x1] "m"(x[4]));
        break;
    default:
        __asm__(
            ABOARD_DSP_PACKED_LOAD("u", "w0")
            ABOARD_DSP_PACKED_LOAD("a", "x0")
            ABOARD_DSP_PACKED_MAC("0", "a", "u")
            : ABOARD_DSP_PACKED_SUMS_1, [u] "=&r"(u), [a] "=&r"(a)
            : [w0] "m"(w[0]), [x0] "m"(x[0]));
        break;
    }
}
/* clang-format on */

#else

/** Adds the product of a word of pixels and a word of taps. */
ABOARD_INLINE void aboard_dsp_packed_mac(aboard_dsp_packed_sum_t *sum, int32_t x, int32_t w) {
    const uint64_t added = ((uint64_t)sum->high << 32 | sum->low) + (uint64_t)((int64_t)x * w);
    sum->low = (uint32_t)added;
    sum->high = (uint32_t)(added >> 32);
}

/** Adds `taps` words of taps, 1 to ABOARD_DSP_PACKED_TOGETHER, to `count` sums. */
ABOARD_INLINE void aboard_dsp_packed_part(aboard_dsp_packed_sum_t *sums, const int32_t *x, const int32_t *w,
                                          int32_t count, int32_t taps) {
    for (int32_t j = 0; j < count; ++j) {
        for (int32_t q = 0; q < taps; ++q) {
            aboard_dsp_packed_mac(&sums[j], x[ABOARD_DSP_PACKED_CHANNELS * (j + q)], w[q]);
        }
    }
}

#endif

/** Adds `taps` words of taps of a row to `count` sums, whose first has its first pixels in x[0]. */
ABOARD_INLINE void aboard_dsp_packed_row(aboard_dsp_packed_sum_t *sums, const int32_t *x, const int32_t *w,
                                         int32_t count, int32_t taps) {
    /* As equal as possible: of four words two and two. */
    const int32_t parts = (taps + ABOARD_DSP_PACKED_TOGETHER - 1) / ABOARD_DSP_PACKED_TOGETHER;
    ABOARD_UNROLL(4)
    for (int32_t part = 0; part < parts; ++part) {
        const int32_t done = part * (taps / parts) + ABOARD_MIN(part, taps % parts);
        const int32_t some = taps / parts + (part < taps % parts ? 1 : 0);
        aboard_dsp_packed_part(sums, x + done * ABOARD_DSP_PACKED_CHANNELS, w + done, count, some);
    }
}

/** The middle field of a sum. */
ABOARD_INLINE int32_t aboard_dsp_packed_middle(const aboard_dsp_packed_sum_t *sum) {
    uint32_t field = sum->low >> ABOARD_DSP_FIELD;
#if ABOARD_DSP_ASM
    __asm__("bfi %0, %1, #11, #10" : "+r"(field) : "r"(sum->high));
#else
    field |= (sum->high & 0x3ffu) << 11;
#endif
    return (int32_t)field;
}

/** The part of the result on the left. */
ABOARD_INLINE int32_t aboard_dsp_packed_left(const aboard_dsp_packed_sum_t *sum) {
    return (int32_t)(sum->low & 0x1fffffu);
}

/** The part of the result on the right. */
ABOARD_INLINE int32_t aboard_dsp_packed_right(const aboard_dsp_packed_sum_t *sum) {
    return (int32_t)sum->high >> 10;
}

#endif
