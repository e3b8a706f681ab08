/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/sums.h
 * Sums of products of int8 with Helium: rows of inputs times blocks of weights.
 *
 * VMLADAVA multiplies sixteen pairs and adds all products to a general register, which must be an even one: there are
 * eight of them, r0 to r12 and lr, and all are sums here. Therefore these functions are assembly: a compiler keeps
 * neither eight sums in these registers nor the addresses in the odd ones. Only the outer loop is compiled.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_SUMS_H
#define ABOARD_KERNELS_ARM_MVE_SUMS_H

#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "helium.h"
#include "length.h"

/** Inputs that one instruction takes. */
#define ABOARD_MVE_CHUNK 16

/** Chunks of input to sum: rows of equal length and distance. Literals. */
typedef struct {
    int32_t rows;    /**< 1 or more. */
    int32_t chunks;  /**< Chunks of a row; 1 or more. */
    int32_t advance; /**< Bytes from the end of a row to the next row; 0 to 4095. */
} aboard_mve_reach_t;

/** Chunks that are computed without a loop. */
#define ABOARD_MVE_UNROLLED 12

/** Two vectors of sums. */
typedef struct {
    aboard_mve_packed_words_t a;
    aboard_mve_packed_words_t b;
} aboard_mve_sums_t;

#if ABOARD_MVE_ASM

/** Registers that hold sums. */
#define ABOARD_MVE_CLOBBERS "r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr", ABOARD_MVE_PREDICATE "cc", "memory"

/* Formatted by hand: one instruction per line. */
/* clang-format off */

/** `text`, `count` times: an operand of the assembler, as in "%c[chunks]". */
#define ABOARD_MVE_REPEAT(count, text) ".rept " count "\n\t" text ".endr\n\t"

/** Multiplies without and with accumulation. */
#define ABOARD_MVE_MUL "vmladav.s8"
#define ABOARD_MVE_MLA "vmladava.s8"

/** Eight sums become two vectors: the first from r0 to r6, the second from r8 to lr. */
#define ABOARD_MVE_GATHER_INTO(a, b) \
    "vmov " a "[2], " a "[0], r0, r4\n\t" \
    "vmov " a "[3], " a "[1], r2, r6\n\t" \
    "vmov " b "[2], " b "[0], r8, r12\n\t" \
    "vmov " b "[3], " b "[1], r10, lr\n\t"

#define ABOARD_MVE_GATHER ABOARD_MVE_GATHER_INTO("%q[a]", "%q[b]")

/** All sums become 0. */
#define ABOARD_MVE_CLEAR \
    "mov r0, #0\n\tmov r2, #0\n\tmov r4, #0\n\tmov r6, #0\n\t" \
    "mov r8, #0\n\tmov r10, #0\n\tmov r12, #0\n\tmov lr, #0\n\t"

/** A chunk of two pixels times the same chunk of four channels. Loads and products alternate: the core overlaps them. */
#define ABOARD_MVE_PAIR_CHUNK(op) \
    "vldrb.8 %q[a], [%[x0]], #16\n\t" \
    "vldrw.32 %q[c], [%[w]], #16\n\t" \
    "vldrb.8 %q[b], [%[x1]], #16\n\t" \
    op " r0, %q[a], %q[c]\n\t" \
    "vldrw.32 %q[d], [%[w]], #16\n\t" \
    op " r8, %q[b], %q[c]\n\t" \
    op " r2, %q[a], %q[d]\n\t" \
    "vldrw.32 %q[c], [%[w]], #16\n\t" \
    op " r10, %q[b], %q[d]\n\t" \
    op " r4, %q[a], %q[c]\n\t" \
    "vldrw.32 %q[d], [%[w]], #16\n\t" \
    op " r12, %q[b], %q[c]\n\t" \
    op " r6, %q[a], %q[d]\n\t" \
    op " lr, %q[b], %q[d]\n\t"

/** To the next row of both pixels. */
#define ABOARD_MVE_PAIR_ADVANCE \
    "addw %[x0], %[x0], %[advance]\n\t" \
    "addw %[x1], %[x1], %[advance]\n\t"

/** A chunk of inputs, in `x`, times the same chunk of eight channels, which goes through `b` and `c`. */
#define ABOARD_MVE_EIGHT_PRODUCTS(op, x, b, c) \
    "vldrw.32 " b ", [%[w]], #16\n\t" \
    "vldrw.32 " c ", [%[w]], #16\n\t" \
    op " r0, " x ", " b "\n\t" \
    "vldrw.32 " b ", [%[w]], #16\n\t" \
    op " r2, " x ", " c "\n\t" \
    "vldrw.32 " c ", [%[w]], #16\n\t" \
    op " r4, " x ", " b "\n\t" \
    "vldrw.32 " b ", [%[w]], #16\n\t" \
    op " r6, " x ", " c "\n\t" \
    "vldrw.32 " c ", [%[w]], #16\n\t" \
    op " r8, " x ", " b "\n\t" \
    "vldrw.32 " b ", [%[w]], #16\n\t" \
    op " r10, " x ", " c "\n\t" \
    "vldrw.32 " c ", [%[w]], #16\n\t" \
    op " r12, " x ", " b "\n\t" \
    op " lr, " x ", " c "\n\t"

/** The next chunk of inputs times the same chunk of eight channels. */
#define ABOARD_MVE_EIGHT_CHUNK(op) \
    "vldrb.8 %q[a], [%[x]], #16\n\t" \
    ABOARD_MVE_EIGHT_PRODUCTS(op, "%q[a]", "%q[b]", "%q[c]")

/** Instructions that repeat for a chunk: of aboard_mve_pair and of aboard_mve_eight. */
#define ABOARD_MVE_PAIR_REPEATED 14
#define ABOARD_MVE_EIGHT_REPEATED 17

#define ABOARD_MVE_PAIR_UNROLLED(length) \
    __asm__ volatile(ABOARD_MVE_PAIR_CHUNK(ABOARD_MVE_MUL) \
                     ABOARD_MVE_REPEAT("%c[chunks] - 1", ABOARD_MVE_PAIR_CHUNK(ABOARD_MVE_MLA)) \
                     ABOARD_MVE_REPEAT("%c[rows] - 1", ABOARD_MVE_PAIR_ADVANCE \
                         ABOARD_MVE_REPEAT("%c[chunks]", ABOARD_MVE_PAIR_CHUNK(ABOARD_MVE_MLA))) \
                     ABOARD_MVE_GATHER length \
                     : [a] "=&w"(a), [b] "=&w"(b), [c] "=&w"(c), [d] "=&w"(d), [x0] "+&r"(x0), [x1] "+&r"(x1), \
                       [w] "+&r"(weights) \
                     : [rows] "i"(s.rows), [chunks] "i"(s.chunks), [advance] "i"(s.advance) \
                     : ABOARD_MVE_CLOBBERS)

#define ABOARD_MVE_PAIR_LOOPED(length) \
    __asm__ volatile(ABOARD_MVE_CLEAR \
                     "1:\n\t" \
                     ABOARD_MVE_REPEAT("%c[chunks]", ABOARD_MVE_PAIR_CHUNK(ABOARD_MVE_MLA)) \
                     ABOARD_MVE_PAIR_ADVANCE \
                     "subs %[left], %[left], #1\n\t" \
                     "bne 1b\n\t" \
                     ABOARD_MVE_GATHER length \
                     : [a] "=&w"(a), [b] "=&w"(b), [c] "=&w"(c), [d] "=&w"(d), [x0] "+&r"(x0), [x1] "+&r"(x1), \
                       [w] "+&r"(weights), [left] "+&r"(left) \
                     : [chunks] "i"(s.chunks), [advance] "i"(s.advance) \
                     : ABOARD_MVE_CLOBBERS)

#define ABOARD_MVE_EIGHT_UNROLLED(length) \
    __asm__ volatile(ABOARD_MVE_EIGHT_CHUNK(ABOARD_MVE_MUL) \
                     ABOARD_MVE_REPEAT("%c[chunks] - 1", ABOARD_MVE_EIGHT_CHUNK(ABOARD_MVE_MLA)) \
                     ABOARD_MVE_GATHER length \
                     : [a] "=&w"(a), [b] "=&w"(b), [c] "=&w"(c), [x] "+&r"(x), [w] "+&r"(weights) \
                     : [chunks] "i"(s.chunks) \
                     : ABOARD_MVE_CLOBBERS)

#define ABOARD_MVE_EIGHT_LOOPED(length) \
    __asm__ volatile(ABOARD_MVE_CLEAR \
                     "1:\n\t" \
                     ABOARD_MVE_REPEAT("%c[chunks]", ABOARD_MVE_EIGHT_CHUNK(ABOARD_MVE_MLA)) \
                     "subs %[left], %[left], #1\n\t" \
                     "bne 1b\n\t" \
                     ABOARD_MVE_GATHER length \
                     : [a] "=&w"(a), [b] "=&w"(b), [c] "=&w"(c), [x] "+&r"(x), [w] "+&r"(weights), [left] "+&r"(left) \
                     : [chunks] "i"(s.chunks) \
                     : ABOARD_MVE_CLOBBERS)

/* clang-format on */

/**
 * Multiplies the windows of two pixels with the weights of four channels.
 *
 * @param s      Chunks of input.
 * @param x0, x1 Inputs of both pixels; any alignment.
 * @param w      [chunks of all rows][4][16], aligned to words; advanced to its end.
 *
 * @return Sums of the first pixel and of the second.
 */
ABOARD_INLINE aboard_mve_sums_t aboard_mve_pair(aboard_mve_reach_t s, const int8_t *x0, const int8_t *x1,
                                                const int8_t **w) {
    int32x4_t a;
    int32x4_t b;
    int32x4_t c;
    int32x4_t d;
    const int8_t *weights = *w;
    if (s.rows * s.chunks <= ABOARD_MVE_UNROLLED) {
        ABOARD_MVE_SIZED(ABOARD_MVE_PAIR_REPEATED * (s.rows * s.chunks - 3) + 2 * s.rows, ABOARD_MVE_PAIR_UNROLLED);
    } else {
        int32_t left = s.rows;
        ABOARD_MVE_SIZED(ABOARD_MVE_PAIR_REPEATED * (s.chunks - 1), ABOARD_MVE_PAIR_LOOPED);
    }
    *w = weights;
    const aboard_mve_sums_t sums = {a, b};
    return sums;
}

/**
 * Multiplies inputs with the weights of eight channels.
 *
 * @param s Chunks of input; no distance between rows.
 * @param x Inputs; any alignment.
 * @param w [chunks of all rows][8][16], aligned to words; advanced to its end.
 *
 * @return Sums of the first four channels and of the last four.
 */
ABOARD_INLINE aboard_mve_sums_t aboard_mve_eight(aboard_mve_reach_t s, const int8_t *x, const int8_t **w) {
    int32x4_t a;
    int32x4_t b;
    int32x4_t c;
    const int8_t *weights = *w;
    if (s.rows == 1) {
        ABOARD_MVE_SIZED(ABOARD_MVE_EIGHT_REPEATED * (s.chunks - 2), ABOARD_MVE_EIGHT_UNROLLED);
    } else {
        int32_t left = s.rows;
        ABOARD_MVE_SIZED(ABOARD_MVE_EIGHT_REPEATED * (s.chunks - 1), ABOARD_MVE_EIGHT_LOOPED);
    }
    *w = weights;
    const aboard_mve_sums_t sums = {a, b};
    return sums;
}

#else

/** Sum of products of a chunk. */
ABOARD_INLINE int32_t aboard_mve_chunk(const int8_t *x, const int8_t *weights) {
    int32_t sum = 0;
    for (int32_t i = 0; i < ABOARD_MVE_CHUNK; ++i) {
        sum += x[i] * weights[i];
    }
    return sum;
}

/** Sums of one input: weights are [chunks of all rows][channels][16]. */
ABOARD_INLINE void aboard_mve_products(aboard_mve_reach_t s, const int8_t *x, const int8_t *weights, int32_t channels,
                                       int32_t *sums) {
    for (int32_t n = 0; n < channels; ++n) {
        sums[n] = 0;
    }
    for (int32_t row = 0; row < s.rows; ++row) {
        for (int32_t chunk = 0; chunk < s.chunks; ++chunk) {
            for (int32_t n = 0; n < channels; ++n) {
                sums[n] += aboard_mve_chunk(x, weights);
                weights += ABOARD_MVE_CHUNK;
            }
            x += ABOARD_MVE_CHUNK;
        }
        x += s.advance;
    }
}

/** The function above in C. */
ABOARD_INLINE aboard_mve_sums_t aboard_mve_pair(aboard_mve_reach_t s, const int8_t *x0, const int8_t *x1,
                                                const int8_t **w) {
    aboard_mve_sums_t sums;
    aboard_mve_products(s, x0, *w, 4, sums.a.lanes);
    aboard_mve_products(s, x1, *w, 4, sums.b.lanes);
    *w += 4 * ABOARD_MVE_CHUNK * s.rows * s.chunks;
    return sums;
}

/** The function above in C. */
ABOARD_INLINE aboard_mve_sums_t aboard_mve_eight(aboard_mve_reach_t s, const int8_t *x, const int8_t **w) {
    int32_t all[8];
    aboard_mve_sums_t sums;
    aboard_mve_products(s, x, *w, 8, all);
    memcpy(&sums.a, all, sizeof(sums.a));
    memcpy(&sums.b, all + 4, sizeof(sums.b));
    *w += 8 * ABOARD_MVE_CHUNK * s.rows * s.chunks;
    return sums;
}

#endif

#endif
