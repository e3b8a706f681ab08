/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/fully_connected_s16.h
 * Products of samples of int16 with a matrix of int8 in portable C: four output channels at a time.
 */
#ifndef ABOARD_KERNELS_PORTABLE_FULLY_CONNECTED_S16_H
#define ABOARD_KERNELS_PORTABLE_FULLY_CONNECTED_S16_H

#include <stdint.h>

#include "aboard/config.h"
#include "epilogue_s16.h"

/** Parameters of aboard_fully_connected_s16. Input and result are stored whole and without gaps. */
typedef struct {
    int32_t inputs;                 /**< Values of a sample. */
    int32_t outputs;                /**< Results of a sample. */
    int32_t samples;                /**< Samples per row of the result. */
    int32_t chunk;                  /**< Number of inputs whose products fit a 32-bit sum. */
    aboard_epilogue_s16_t epilogue; /**< Epilogue of the result. */
} aboard_fully_connected_s16_t;

/** Adds the products of `count` inputs with the weights of four channels. */
ABOARD_INLINE void aboard_fully_connected_s16_sums(int32_t *sums, const int16_t *x, const int8_t *weights,
                                                   int32_t count) {
    const int16_t *const end = x + count;
    while (x != end) {
        const int32_t value = *x++;
        ABOARD_UNROLL(4)
        for (int32_t i = 0; i < 4; ++i) {
            sums[i] += weights[i] * value;
        }
        weights += 4;
        ABOARD_OPAQUE(weights);
    }
}

/**
 * Product of int16, results equal to TFLite's reference kernel. Not inlined: one copy serves all layers of a model.
 *
 * @param p           Parameters.
 * @param in, out     Different memory, without gaps.
 * @param weights     [outputs / 4][inputs][4], the last block padded with zeros.
 * @param constants   Constants of each channel, see aboard_epilogue_s16.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_SHARED ABOARD_HOT void aboard_fully_connected_s16(const aboard_fully_connected_s16_t *p, const int16_t *in,
                                                         int16_t *out, const int8_t *weights, const int32_t *constants,
                                                         int32_t first, int32_t last) {
    const int32_t words = aboard_s16_words(p->epilogue.form);
    for (int32_t sample = first * p->samples; sample < last * p->samples; ++sample) {
        const int16_t *const x = in + sample * p->inputs;
        int16_t *const y = out + sample * p->outputs;
        const int8_t *w = weights;
        for (int32_t n = 0; n < p->outputs; n += 4) {
            int64_t totals[4] = {0, 0, 0, 0};
            for (int32_t done = 0; done < p->inputs; done += p->chunk) {
                int32_t sums[4] = {0, 0, 0, 0};
                const int32_t now = ABOARD_MIN(p->chunk, p->inputs - done);
                aboard_fully_connected_s16_sums(sums, x + done, w, now);
                w += 4 * now;
                for (int32_t i = 0; i < 4; ++i) {
                    totals[i] += sums[i];
                }
            }
            for (int32_t i = 0; i < ABOARD_MIN(4, p->outputs - n); ++i) {
                y[n + i] = aboard_epilogue_s16(&p->epilogue, totals[i], constants + (n + i) * words);
            }
        }
    }
}

#endif
