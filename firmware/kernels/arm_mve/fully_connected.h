/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/fully_connected.h
 * int8 product of a matrix and vectors with Helium: eight channels at once, sixteen inputs per instruction.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_FULLY_CONNECTED_H
#define ABOARD_KERNELS_ARM_MVE_FULLY_CONNECTED_H

#include <arm_mve.h>
#include <stdint.h>

#include "aboard/config.h"
#include "band.h"
#include "finish.h"
#include "sums.h"

/** Parameters of aboard_fully_connected_mve. */
typedef struct {
    int32_t inputs;
    int32_t outputs;
    int32_t samples;            /**< Of a row of the result. */
    aboard_mve_reach_t reach;   /**< Chunks of the inputs of a sample. */
    aboard_mve_finish_t finish; /**< Of the result. */
} aboard_fully_connected_mve_t;

/** Finishes four channels and writes them, or the first `count` where that is fewer; 0 or less: none. */
ABOARD_INLINE void aboard_fully_connected_mve_store(const aboard_mve_finish_t *f, int32x4_t sums, const int32_t *c,
                                                    int8_t *y, int32_t count) {
    const aboard_mve_constants_t constants = aboard_mve_constants(f, c);
    aboard_mve_store(y, aboard_mve_finish(f, sums, &constants), count);
}

/** Computes all channels of a sample. */
ABOARD_INLINE void aboard_fully_connected_mve_sample(const aboard_fully_connected_mve_t *p, const int8_t *x, int8_t *y,
                                                     const int8_t *weights, const int32_t *constants) {
    const int32_t words = aboard_mve_finish_words(&p->finish);
    int32_t n = 0;
    /* A compiler that knew the constants would keep a copy of this for every eight channels. */
    ABOARD_OPAQUE(constants);
    ABOARD_UNROLL(1)
    for (; n + 8 <= p->outputs; n += 8) {
        const aboard_mve_sums_t sums = aboard_mve_eight(p->reach, x, &weights);
        aboard_fully_connected_mve_store(&p->finish, sums.a, constants, y + n, 4);
        aboard_fully_connected_mve_store(&p->finish, sums.b, constants + words, y + n + 4, 4);
        constants += 2 * words;
    }
    const int32_t left = p->outputs - n;
    if (left > 4) {
        const aboard_mve_sums_t sums = aboard_mve_eight(p->reach, x, &weights);
        aboard_fully_connected_mve_store(&p->finish, sums.a, constants, y + n, 4);
        aboard_fully_connected_mve_store(&p->finish, sums.b, constants + words, y + n + 4, left - 4);
    } else if (left > 0) {
        const aboard_mve_sums_t sums = aboard_mve_pair(p->reach, x, x, &weights);
        aboard_fully_connected_mve_store(&p->finish, sums.a, constants, y + n, left);
    }
}

/**
 * int8 product, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Different memory, without gaps.
 * @param weights     Blocks of eight channels, [chunks of a sample][8][16], filled up with zeros; of a last block of at
 *                    most four channels [chunks of a sample][4][16].
 * @param constants   Of the finish, for four channels after one another.
 * @param scratch     A sample's inputs, where they are no whole number of chunks.
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

#endif
