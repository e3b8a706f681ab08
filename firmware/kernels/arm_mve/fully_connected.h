/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/fully_connected.h
 * int8 product of a matrix and vectors with Helium: eight channels at once, sixteen inputs per instruction.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_FULLY_CONNECTED_H
#define ABOARD_KERNELS_ARM_MVE_FULLY_CONNECTED_H

#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "epilogue.h"
#include "helium.h"
#include "length.h"
#include "line_buffer.h"
#include "sums.h"

/** Parameters of aboard_fully_connected_mve. */
typedef struct {
    int32_t inputs;
    int32_t outputs;
    int32_t samples;                /**< Of a row of the result. */
    aboard_mve_reach_t reach;       /**< Chunks of the inputs of a sample. */
    aboard_mve_epilogue_t epilogue; /**< Epilogue of the result. */
} aboard_fully_connected_mve_t;

#if ABOARD_MVE_ASM

/* Formatted by hand: one instruction per line. */
/* clang-format off */

/** The second rounding: a product with `right`, or a right shift by `right`, negative, with ties away from zero. */
#define ABOARD_MVE_EIGHTS_AWAY(x, right) \
    ".if %c[products]\n\t" \
    "vqrdmulh.s32 " x ", " x ", " right "\n\t" \
    ".else\n\t" \
    "vand q4, " x ", " right "\n\t" \
    "vshr.s32 q4, q4, #31\n\t" \
    "vadd.i32 " x ", " x ", q4\n\t" \
    "vrshl.s32 " x ", " x ", " right "\n\t" \
    ".endif\n\t"

/** The next two vectors of constants. */
#define ABOARD_MVE_EIGHTS_LOAD \
    "vldrw.32 %q[c], [%[w]], #16\n\t" \
    "vldrw.32 %q[d], [%[w]], #16\n\t"

/** Sums begin with the biases. */
#define ABOARD_MVE_EIGHTS_BEGIN "ldm %[w]!, {r0, r2, r4, r6, r8, r10, r12, lr}\n\t"

/** Converts sums of even and of odd channels, with their biases, to eight results. */
#define ABOARD_MVE_EIGHTS_EPILOGUE \
    ABOARD_MVE_GATHER \
    ABOARD_MVE_EIGHTS_LOAD \
    "vqrdmulh.s32 %q[a], %q[a], %q[c]\n\t" \
    "vqrdmulh.s32 %q[b], %q[b], %q[d]\n\t" \
    ABOARD_MVE_EIGHTS_LOAD \
    ".if %c[single]\n\t" \
    "vadd.i32 %q[a], %q[a], %q[c]\n\t" \
    "vadd.i32 %q[b], %q[b], %q[d]\n\t" \
    "vqrshrnb.s32 %q[a], %q[a], %[shift]\n\t" \
    "vqrshrnt.s32 %q[a], %q[b], %[shift]\n\t" \
    ".else\n\t" \
    ABOARD_MVE_EIGHTS_AWAY("%q[a]", "%q[c]") \
    ABOARD_MVE_EIGHTS_AWAY("%q[b]", "%q[d]") \
    "mov r0, %[zero_point]\n\t" \
    "vqmovnb.s32 %q[a], %q[a]\n\t" \
    "vqmovnt.s32 %q[a], %q[b]\n\t" \
    "vqadd.s16 %q[a], %q[a], r0\n\t" \
    ".endif\n\t" \
    "vqmovnb.s16 %q[a], %q[a]\n\t" \
    "vstrb.16 %q[a], [%[y]], #8\n\t"

#define ABOARD_MVE_EIGHTS_ASM(sums, length) \
    __asm__ volatile("movw %[left], %[blocks]\n\t" \
                     "1:\n\t" \
                     ABOARD_MVE_EIGHTS_BEGIN \
                     sums \
                     "subw %[x], %[x], #16 * %c[rows] * %c[chunks]\n\t" \
                     ABOARD_MVE_EIGHTS_EPILOGUE \
                     "subs %[left], %[left], #1\n\t" \
                     "bne 1b" length \
                     : [a] "=&w"(a), [b] "=&w"(b), [c] "=&w"(c), [d] "=&w"(d), [x] "+&r"(x), [w] "+&r"(weights), \
                       [y] "+&l"(y), [left] "=&r"(left), [again] "=&r"(again) \
                     : [blocks] "i"(p->outputs / 8), [rows] "i"(p->reach.rows), [chunks] "i"(p->reach.chunks), \
                       [single] "i"(p->epilogue.form == ABOARD_MVE_SINGLE_ROUNDING), [shift] "i"(p->epilogue.shift), \
                       [zero_point] "i"(p->epilogue.zero_point), \
                       [products] "i"(p->epilogue.form == ABOARD_MVE_PRODUCTS) \
                     : ABOARD_MVE_CLOBBERS, "q4")

#define ABOARD_MVE_EIGHTS_UNROLLED(length) \
    ABOARD_MVE_EIGHTS_ASM(ABOARD_MVE_REPEAT("%c[chunks]", ABOARD_MVE_EIGHT_CHUNK(ABOARD_MVE_MLA)), length)

#define ABOARD_MVE_EIGHTS_LOOPED(length) \
    ABOARD_MVE_EIGHTS_ASM("mov %[again], %[rows]\n\t" \
                          "2:\n\t" \
                          ABOARD_MVE_REPEAT("%c[chunks]", ABOARD_MVE_EIGHT_CHUNK(ABOARD_MVE_MLA)) \
                          "subs %[again], %[again], #1\n\t" \
                          "bne 2b\n\t", length)

/* clang-format on */

/**
 * Computes all channels of a sample: blocks of eight, which have no limits and no left shift.
 *
 * @param weights For each block [2][4] words of biases, [chunks][8][16], and [2][2][4] words of other constants. Even
 *                channels come first.
 */
ABOARD_INLINE void aboard_fully_connected_mve_eights(const aboard_fully_connected_mve_t *p, const int8_t *x, int8_t *y,
                                                     const int8_t *weights) {
    int32x4_t a;
    int32x4_t b;
    int32x4_t c;
    int32x4_t d;
    int32_t left;
    int32_t again;
    if (p->reach.rows == 1) {
        ABOARD_MVE_SIZED(ABOARD_MVE_EIGHT_REPEATED * (p->reach.chunks - 1), ABOARD_MVE_EIGHTS_UNROLLED);
    } else {
        ABOARD_MVE_SIZED(ABOARD_MVE_EIGHT_REPEATED * (p->reach.chunks - 1), ABOARD_MVE_EIGHTS_LOOPED);
    }
}

#else

/** The channel of a block of eight whose sum is the one of a number: even channels come first. */
ABOARD_INLINE int32_t aboard_mve_eights_channel(int32_t sum) {
    return sum < 4 ? 2 * sum : 2 * sum - 7;
}

/** Converts eight sums, even channels first as their constants [3][8], to eight results. */
ABOARD_INLINE void aboard_mve_eights_epilogue(const aboard_mve_epilogue_t *f, const int32_t *sums,
                                              const int32_t *constants, int8_t *y) {
    for (int32_t i = 0; i < 8; ++i) {
        y[aboard_mve_eights_channel(i)] =
            aboard_mve_result(f, sums[i], constants[i], 0, constants[8 + i], constants[16 + i]);
    }
}

/** The function above in C. */
ABOARD_INLINE void aboard_fully_connected_mve_eights(const aboard_fully_connected_mve_t *p, const int8_t *x, int8_t *y,
                                                     const int8_t *weights) {
    for (int32_t n = 0; n < p->outputs; n += 8) {
        int32_t sums[8];
        int32_t constants[24];
        memcpy(constants, weights, 8 * sizeof(constants[0]));
        weights += 8 * sizeof(constants[0]);
        aboard_mve_products(p->reach, x, weights, 8, sums);
        weights += 8 * ABOARD_MVE_CHUNK * p->reach.rows * p->reach.chunks;
        memcpy(constants + 8, weights, 16 * sizeof(constants[0]));
        weights += 16 * sizeof(constants[0]);
        aboard_mve_eights_epilogue(&p->epilogue, sums, constants, y + n);
    }
}

#endif

/** Computes the results of four channels, or of the first `count` if this is fewer; 0 or less: none. */
ABOARD_INLINE void aboard_fully_connected_mve_store(const aboard_mve_epilogue_t *f, aboard_mve_packed_words_t sums,
                                                    const int32_t *c, int8_t *y, int32_t count) {
    const aboard_mve_constants_t constants = aboard_mve_constants(f, c);
    aboard_mve_store(y, aboard_mve_epilogue(f, sums, &constants), count);
}

/** Computes all channels of a sample. */
ABOARD_INLINE void aboard_fully_connected_mve_sample(const aboard_fully_connected_mve_t *p, const int8_t *x, int8_t *y,
                                                     const int8_t *weights, const int32_t *constants) {
    const int32_t words = aboard_mve_epilogue_words(&p->epilogue);
    int32_t n = 0;
    /* With known constants, a compiler would copy this code for every eight channels. */
    ABOARD_OPAQUE(constants);
    ABOARD_UNROLL(1)
    for (; n + 8 <= p->outputs; n += 8) {
        const aboard_mve_sums_t sums = aboard_mve_eight(p->reach, x, &weights);
        aboard_fully_connected_mve_store(&p->epilogue, sums.a, constants, y + n, 4);
        aboard_fully_connected_mve_store(&p->epilogue, sums.b, constants + words, y + n + 4, 4);
        constants += 2 * words;
    }
    const int32_t left = p->outputs - n;
    if (left > 4) {
        const aboard_mve_sums_t sums = aboard_mve_eight(p->reach, x, &weights);
        aboard_fully_connected_mve_store(&p->epilogue, sums.a, constants, y + n, 4);
        aboard_fully_connected_mve_store(&p->epilogue, sums.b, constants + words, y + n + 4, left - 4);
    } else if (left > 0) {
        const aboard_mve_sums_t sums = aboard_mve_pair(p->reach, x, x, &weights);
        aboard_fully_connected_mve_store(&p->epilogue, sums.a, constants, y + n, left);
    }
}

/**
 * int8 product, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Different memory, without gaps.
 * @param weights     Blocks of eight channels, [chunks of a sample][8][16], padded with zeros; of a last block of at
 *                    most four channels [chunks of a sample][4][16].
 * @param constants   Of the epilogue, for four channels after one another.
 * @param scratch     A sample's inputs, unless they are a whole number of chunks.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_fully_connected_mve(const aboard_fully_connected_mve_t *p, const int8_t *in, int8_t *out,
                                              const int8_t *weights, const int32_t *constants, int8_t *scratch,
                                              int32_t first, int32_t last) {
    for (int32_t sample = first * p->samples; sample < last * p->samples; ++sample) {
        const int8_t *x = in + sample * p->inputs;
        if (p->inputs % ABOARD_MVE_CHUNK != 0) {
            aboard_mve_copy(scratch, x, p->inputs);
            x = scratch;
        }
        aboard_fully_connected_mve_sample(p, x, out + sample * p->outputs, weights, constants);
    }
}

/** Like aboard_fully_connected_mve for blocks of eight channels: the stream of weights includes the constants. */
ABOARD_INLINE void aboard_fully_connected_mve_blocks(const aboard_fully_connected_mve_t *p, const int8_t *in,
                                                     int8_t *out, const int8_t *weights, int8_t *scratch, int32_t first,
                                                     int32_t last) {
    for (int32_t sample = first * p->samples; sample < last * p->samples; ++sample) {
        const int8_t *x = in + sample * p->inputs;
        if (p->inputs % ABOARD_MVE_CHUNK != 0) {
            aboard_mve_copy(scratch, x, p->inputs);
            x = scratch;
        }
        aboard_fully_connected_mve_eights(p, x, out + sample * p->outputs, weights);
    }
}

#endif
