/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/sums.h
 * Sums of products of int8 with Helium: rows of inputs times blocks of weights.
 *
 * VMLADAVA multiplies sixteen pairs and adds all products to a general register, which must be an even one: there are
 * eight of them, r0 to r12 and lr, and all are sums here. That is why these functions are assembler: a compiler keeps
 * neither eight sums in those registers nor the addresses in the odd ones. What is left to it is the loop around.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_SUMS_H
#define ABOARD_KERNELS_ARM_MVE_SUMS_H

#include <arm_mve.h>
#include <stdint.h>

#include "aboard/config.h"

/** Inputs that one instruction takes. */
#define ABOARD_MVE_CHUNK 16

/** Chunks of input that are added up: rows of equal length and distance. Literals. */
typedef struct {
    int32_t rows;    /**< 1 or more. */
    int32_t chunks;  /**< Of a row; 1 or more. */
    int32_t advance; /**< Bytes from the end of a row to the next row; 0 to 4095. */
} aboard_mve_reach_t;

/** Chunks that are computed without a loop. */
#define ABOARD_MVE_UNROLLED 12

/** Registers that hold sums. */
#define ABOARD_MVE_CLOBBERS "r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr", "cc", "memory"

/** Eight sums become two vectors: the first from r0 to r6, the second from r8 to lr. */
#define ABOARD_MVE_GATHER                                                                                              \
    "vmov %q[a][2], %q[a][0], r0, r4\n\t"                                                                              \
    "vmov %q[a][3], %q[a][1], r2, r6\n\t"                                                                              \
    "vmov %q[b][2], %q[b][0], r8, r12\n\t"                                                                             \
    "vmov %q[b][3], %q[b][1], r10, lr\n\t"

#define ABOARD_MVE_CLEAR                                                                                               \
    "mov r0, #0\n\tmov r2, #0\n\tmov r4, #0\n\tmov r6, #0\n\t"                                                         \
    "mov r8, #0\n\tmov r10, #0\n\tmov r12, #0\n\tmov lr, #0\n\t"

/** A chunk of two pixels times the same chunk of four channels. Loads and products alternate: the core overlaps them.
 */
#define ABOARD_MVE_PAIR_CHUNK                                                                                          \
    "vldrb.8 %q[a], [%[x0]], #16\n\t"                                                                                  \
    "vldrw.32 %q[c], [%[w]], #16\n\t"                                                                                  \
    "vldrb.8 %q[b], [%[x1]], #16\n\t"                                                                                  \
    "vmladava.s8 r0, %q[a], %q[c]\n\t"                                                                                 \
    "vldrw.32 %q[d], [%[w]], #16\n\t"                                                                                  \
    "vmladava.s8 r8, %q[b], %q[c]\n\t"                                                                                 \
    "vmladava.s8 r2, %q[a], %q[d]\n\t"                                                                                 \
    "vldrw.32 %q[c], [%[w]], #16\n\t"                                                                                  \
    "vmladava.s8 r10, %q[b], %q[d]\n\t"                                                                                \
    "vmladava.s8 r4, %q[a], %q[c]\n\t"                                                                                 \
    "vldrw.32 %q[d], [%[w]], #16\n\t"                                                                                  \
    "vmladava.s8 r12, %q[b], %q[c]\n\t"                                                                                \
    "vmladava.s8 r6, %q[a], %q[d]\n\t"                                                                                 \
    "vmladava.s8 lr, %q[b], %q[d]\n\t"

/** The very first chunk: nothing to add to. */
#define ABOARD_MVE_PAIR_FIRST                                                                                          \
    "vldrb.8 %q[a], [%[x0]], #16\n\t"                                                                                  \
    "vldrw.32 %q[c], [%[w]], #16\n\t"                                                                                  \
    "vldrb.8 %q[b], [%[x1]], #16\n\t"                                                                                  \
    "vmladav.s8 r0, %q[a], %q[c]\n\t"                                                                                  \
    "vldrw.32 %q[d], [%[w]], #16\n\t"                                                                                  \
    "vmladav.s8 r8, %q[b], %q[c]\n\t"                                                                                  \
    "vmladav.s8 r2, %q[a], %q[d]\n\t"                                                                                  \
    "vldrw.32 %q[c], [%[w]], #16\n\t"                                                                                  \
    "vmladav.s8 r10, %q[b], %q[d]\n\t"                                                                                 \
    "vmladav.s8 r4, %q[a], %q[c]\n\t"                                                                                  \
    "vldrw.32 %q[d], [%[w]], #16\n\t"                                                                                  \
    "vmladav.s8 r12, %q[b], %q[c]\n\t"                                                                                 \
    "vmladav.s8 r6, %q[a], %q[d]\n\t"                                                                                  \
    "vmladav.s8 lr, %q[b], %q[d]\n\t"

/** To the next row of both pixels. */
#define ABOARD_MVE_PAIR_ADVANCE                                                                                        \
    "addw %[x0], %[x0], %[advance]\n\t"                                                                                \
    "addw %[x1], %[x1], %[advance]\n\t"

/** Sums of four channels for two pixels. */
typedef struct {
    int32x4_t a; /**< Of the first pixel. */
    int32x4_t b; /**< Of the second. */
} aboard_mve_sums_t;

/**
 * Multiplies what two pixels see with the weights of four channels.
 *
 * @param s      Chunks of input.
 * @param x0, x1 Inputs of both pixels; any alignment.
 * @param w      [chunks of all rows][4][16], aligned to words; ends behind them.
 */
ABOARD_INLINE aboard_mve_sums_t aboard_mve_pair(aboard_mve_reach_t s, const int8_t *x0, const int8_t *x1,
                                                const int8_t **w) {
    int32x4_t a;
    int32x4_t b;
    int32x4_t c;
    int32x4_t d;
    const int8_t *weights = *w;
    if (s.rows * s.chunks <= ABOARD_MVE_UNROLLED) {
        __asm__ volatile(
            ABOARD_MVE_PAIR_FIRST /* first row */
            ".rept %c[chunks] - 1\n\t" ABOARD_MVE_PAIR_CHUNK ".endr\n\t"
            ".rept %c[rows] - 1\n\t" ABOARD_MVE_PAIR_ADVANCE /* others */
            ".rept %c[chunks]\n\t" ABOARD_MVE_PAIR_CHUNK ".endr\n\t"
            ".endr\n\t" ABOARD_MVE_GATHER
            : [a] "=&w"(a), [b] "=&w"(b), [c] "=&w"(c), [d] "=&w"(d), [x0] "+r"(x0), [x1] "+r"(x1), [w] "+r"(weights)
            : [rows] "i"(s.rows), [chunks] "i"(s.chunks), [advance] "i"(s.advance)
            : ABOARD_MVE_CLOBBERS);
    } else {
        int32_t left = s.rows;
        __asm__ volatile(ABOARD_MVE_CLEAR "1:\n\t"
                                          ".rept %c[chunks]\n\t" ABOARD_MVE_PAIR_CHUNK ".endr\n\t"
                                          "subs %[left], %[left], #1\n\t" ABOARD_MVE_PAIR_ADVANCE
                                          "bne 1b\n\t" ABOARD_MVE_GATHER
                         : [a] "=&w"(a), [b] "=&w"(b), [c] "=&w"(c), [d] "=&w"(d), [x0] "+r"(x0), [x1] "+r"(x1),
                           [w] "+r"(weights), [left] "+r"(left)
                         : [chunks] "i"(s.chunks), [advance] "i"(s.advance)
                         : ABOARD_MVE_CLOBBERS);
    }
    *w = weights;
    const aboard_mve_sums_t sums = {a, b};
    return sums;
}

#endif
