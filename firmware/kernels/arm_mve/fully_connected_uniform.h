/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/fully_connected_uniform.h
 * int8 product of a matrix and vectors with Helium, for results that all have the same multiplier and shift: eight
 * channels at once, sixteen inputs per instruction.
 *
 * The end of a block needs no constants of its channels, so vectors are free for the first inputs of a sample, which
 * are read once for all channels. Results are those of TFLite's two roundings without any search: multiplier, zero
 * point and the second rounding are instructions of their own, and ties of negative numbers matter only if such
 * numbers have different results.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_FULLY_CONNECTED_UNIFORM_H
#define ABOARD_KERNELS_ARM_MVE_FULLY_CONNECTED_UNIFORM_H

#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "epilogue.h"
#include "helium.h"
#include "length.h"
#include "line_buffer.h"
#include "sums.h"

/** Parameters of aboard_fully_connected_mve_uniform. */
typedef struct {
    int32_t inputs;
    int32_t outputs;          /**< A multiple of eight. */
    int32_t samples;          /**< Of a row of the result. */
    int32_t kept;             /**< Chunks of a sample that stay in registers: at most 5, or 4 if there are more. */
    aboard_mve_reach_t reach; /**< The other chunks. */
    int32_t multiplier;       /**< Of all results. */
    aboard_mve_epilogue_t epilogue; /**< ABOARD_MVE_RIGHT, without limits; `shift` is the right shift, 1 to 16. */
} aboard_fully_connected_uniform_mve_t;

#if ABOARD_MVE_ASM

/* Formatted by hand: one instruction per line. */
/* clang-format off */

/** Chunk `number` of the sample, in its register. */
#define ABOARD_MVE_UNIFORM_READ(number) \
    ".if %c[kept] > " number "\n\t" \
    "vldrb.8 q" number ", [%[x]], #16\n\t" \
    ".endif\n\t"

#define ABOARD_MVE_UNIFORM_KEPT(number) \
    ".if %c[kept] > " number "\n\t" \
    ABOARD_MVE_EIGHT_PRODUCTS(ABOARD_MVE_MLA, "q" number, "q6", "q7") \
    ".endif\n\t"

/** Further chunks: their addresses are offsets of loads, if these are small enough. */
#define ABOARD_MVE_UNIFORM_MORE \
    ".set aboard_chunk, 0\n\t" \
    ".rept %c[chunks]\n\t" \
    ".if %c[near]\n\t" \
    "vldrb.8 q4, [%[x], #16 * aboard_chunk]\n\t" \
    ".else\n\t" \
    "vldrb.8 q4, [%[x]], #16\n\t" \
    ".endif\n\t" \
    ABOARD_MVE_EIGHT_PRODUCTS(ABOARD_MVE_MLA, "q4", "q6", "q7") \
    ".set aboard_chunk, aboard_chunk + 1\n\t" \
    ".endr\n\t"

/** A number below zero, which is `zero`, is reduced by one, in r2, before halves are rounded up. */
#define ABOARD_MVE_UNIFORM_AWAY(x, zero) \
    "vpt.s32 lt, " x ", " zero "\n\t" \
    "vqaddt.s32 " x ", " x ", r2\n\t"

/** Converts sums to results. The zero point, before the second shift in `zero`, is added before that shift. */
#define ABOARD_MVE_UNIFORM_EPILOGUE(zero) \
    "vqrdmlash.s32 q6, q5, " zero "\n\t" \
    "vqrdmlash.s32 q7, q5, " zero "\n\t" \
    ".if %c[away]\n\t" \
    "mov r2, #-1\n\t" \
    ABOARD_MVE_UNIFORM_AWAY("q6", zero) \
    ABOARD_MVE_UNIFORM_AWAY("q7", zero) \
    ".endif\n\t" \
    "vqrshrnb.s32 q6, q6, %[shift]\n\t" \
    "vqrshrnt.s32 q6, q7, %[shift]\n\t" \
    "vqmovnb.s16 q6, q6\n\t" \
    "vstrb.16 q6, [%[y]], #8\n\t"

#define ABOARD_MVE_UNIFORM_ASM(more, ending, length) \
    __asm__ volatile("vdup.32 q5, %[left]\n\t" \
                     ABOARD_MVE_UNIFORM_READ("0") \
                     ABOARD_MVE_UNIFORM_READ("1") \
                     ABOARD_MVE_UNIFORM_READ("2") \
                     ABOARD_MVE_UNIFORM_READ("3") \
                     ABOARD_MVE_UNIFORM_READ("4") \
                     "movw %[left], %[blocks]\n\t" \
                     "1:\n\t" \
                     "ldm %[w]!, {r0, r2, r4, r6, r8, r10, r12, lr}\n\t" \
                     ABOARD_MVE_UNIFORM_KEPT("0") \
                     ABOARD_MVE_UNIFORM_KEPT("1") \
                     ABOARD_MVE_UNIFORM_KEPT("2") \
                     ABOARD_MVE_UNIFORM_KEPT("3") \
                     ABOARD_MVE_UNIFORM_KEPT("4") \
                     more \
                     ".if %c[near] == 0\n\t" \
                     "subw %[x], %[x], #16 * %c[rows] * %c[chunks]\n\t" \
                     ".endif\n\t" \
                     ABOARD_MVE_GATHER_INTO("q6", "q7") \
                     ending \
                     "subs %[left], %[left], #1\n\t" \
                     "bne 1b" length \
                     : [x] "+&r"(x), [w] "+&r"(weights), [y] "+&l"(y), [left] "+&r"(left), [again] "+&r"(again) \
                     : [blocks] "i"(p->outputs / 8), [kept] "i"(p->kept), [rows] "i"(p->reach.rows), \
                       [chunks] "i"(p->reach.chunks), [near] "i"(near), [shift] "i"(p->epilogue.shift), \
                       [zero] "i"(zero), \
                       [away] "i"(p->epilogue.zero_point > INT8_MIN) \
                     : ABOARD_MVE_CLOBBERS, "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7")

/** Without a loop over chunks the register that counts them holds the zero point. */
#define ABOARD_MVE_UNIFORM_UNROLLED(length) \
    ABOARD_MVE_UNIFORM_ASM(ABOARD_MVE_UNIFORM_MORE, ABOARD_MVE_UNIFORM_EPILOGUE("%[again]"), length)

#define ABOARD_MVE_UNIFORM_LOOPED(length) \
    ABOARD_MVE_UNIFORM_ASM("mov %[again], %[rows]\n\t" \
                           "2:\n\t" \
                           ABOARD_MVE_UNIFORM_MORE \
                           "subs %[again], %[again], #1\n\t" \
                           "bne 2b\n\t", \
                           "movw r0, #(%c[zero] & 0xffff)\n\t" \
                           "movt r0, #((%c[zero] >> 16) & 0xffff)\n\t" \
                           ABOARD_MVE_UNIFORM_EPILOGUE("r0"), length)

/* clang-format on */

/** Largest number of chunks whose addresses are offsets of a load of bytes. */
#define ABOARD_MVE_UNIFORM_NEAR 7

/**
 * Computes all channels of a sample.
 *
 * @param weights For each eight channels, even ones first, eight words of biases and [chunks][8][16].
 */
ABOARD_INLINE void aboard_fully_connected_mve_uniform_sample(const aboard_fully_connected_uniform_mve_t *p,
                                                             const int8_t *x, int8_t *y, const int8_t *weights) {
    const int32_t near = p->reach.rows == 1 && p->reach.chunks <= ABOARD_MVE_UNIFORM_NEAR;
    const int32_t zero = p->epilogue.zero_point * (1 << p->epilogue.shift);
    int32_t left = p->multiplier;
    int32_t again = zero;
    if (p->reach.rows == 1) {
        ABOARD_MVE_SIZED(ABOARD_MVE_EIGHT_REPEATED * (p->reach.chunks - 1), ABOARD_MVE_UNIFORM_UNROLLED);
    } else {
        ABOARD_MVE_SIZED(ABOARD_MVE_EIGHT_REPEATED * (p->reach.chunks - 1), ABOARD_MVE_UNIFORM_LOOPED);
    }
}

#else

/** The function above in C. */
ABOARD_INLINE void aboard_fully_connected_mve_uniform_sample(const aboard_fully_connected_uniform_mve_t *p,
                                                             const int8_t *x, int8_t *y, const int8_t *weights) {
    const aboard_mve_reach_t all = {1, p->kept + p->reach.rows * p->reach.chunks, 0};
    for (int32_t n = 0; n < p->outputs; n += 8) {
        int32_t sums[8];
        int32_t biases[8];
        memcpy(biases, weights, sizeof(biases));
        weights += sizeof(biases);
        aboard_mve_products(all, x, weights, 8, sums);
        weights += 8 * ABOARD_MVE_CHUNK * all.chunks;
        for (int32_t i = 0; i < 8; ++i) {
            const int32_t channel = i < 4 ? 2 * i : 2 * i - 7;
            y[n + channel] = aboard_mve_result(&p->epilogue, sums[i], biases[i], 0, p->multiplier, -p->epilogue.shift);
        }
    }
}

#endif

/**
 * int8 product, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Different memory, without gaps.
 * @param weights     As of aboard_fully_connected_mve_uniform_sample, padded with zeros.
 * @param scratch     A sample's inputs, unless they are a whole number of chunks.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_fully_connected_mve_uniform(const aboard_fully_connected_uniform_mve_t *p, const int8_t *in,
                                                      int8_t *out, const int8_t *weights, int8_t *scratch,
                                                      int32_t first, int32_t last) {
    for (int32_t sample = first * p->samples; sample < last * p->samples; ++sample) {
        const int8_t *x = in + sample * p->inputs;
        if (p->inputs % ABOARD_MVE_CHUNK != 0) {
            aboard_mve_copy(scratch, x, p->inputs);
            x = scratch;
        }
        aboard_fully_connected_mve_uniform_sample(p, x, out + sample * p->outputs, weights);
    }
}

#endif
