/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/fully_connected_few.h
 * int8 products of samples with a matrix of one to four output channels in portable C: no channel is computed for
 * nothing.
 */
#ifndef ABOARD_KERNELS_PORTABLE_FULLY_CONNECTED_FEW_H
#define ABOARD_KERNELS_PORTABLE_FULLY_CONNECTED_FEW_H

#include <stdint.h>

#include "aboard/config.h"
#include "epilogue.h"

/** Parameters of aboard_fully_connected_few_s8. Input and result are stored whole and without gaps. */
typedef struct {
    int32_t inputs;  /**< Values of a sample. */
    int32_t outputs; /**< Results of a sample: 1 to 4. */
    int32_t samples; /**< Samples per row of the result. */
    aboard_epilogue_t epilogue;
} aboard_fully_connected_few_s8_t;

/** Inputs per iteration of the inner loop. */
#define ABOARD_FULLY_CONNECTED_FEW_TAPS 8

/** Adds the products of some inputs with the weights of `outputs` channels, [inputs][outputs]. */
ABOARD_INLINE void aboard_fully_connected_few_taps(int32_t *sums, const int8_t *x, const int8_t *w, int32_t taps,
                                                   int32_t outputs) {
    ABOARD_UNROLL(ABOARD_FULLY_CONNECTED_FEW_TAPS)
    for (int32_t k = 0; k < taps; ++k) {
        ABOARD_UNROLL(4)
        for (int32_t i = 0; i < outputs; ++i) {
            sums[i] += x[k] * w[k * outputs + i];
        }
    }
}

/** Adds the products of two inputs with the weights of one channel. The four loads stay together: directly behind
 * another, a load takes one cycle less on many cores. */
ABOARD_INLINE int32_t aboard_fully_connected_few_pair(int32_t sum, const int8_t *x, const int8_t *w) {
    int32_t x0 = x[0];
    int32_t w0 = w[0];
    int32_t x1 = x[1];
    int32_t w1 = w[1];
    ABOARD_OPAQUE(x0);
    ABOARD_OPAQUE(w0);
    ABOARD_OPAQUE(x1);
    ABOARD_OPAQUE(w1);
    return sum + x0 * w0 + x1 * w1;
}

/** Adds the products of an iteration's inputs, and advances both pointers. */
ABOARD_INLINE void aboard_fully_connected_few_step(int32_t *sums, const int8_t **x, const int8_t **w, int32_t outputs) {
    if (outputs > 1) {
        aboard_fully_connected_few_taps(sums, *x, *w, ABOARD_FULLY_CONNECTED_FEW_TAPS, outputs);
    } else {
        ABOARD_UNROLL(ABOARD_FULLY_CONNECTED_FEW_TAPS)
        for (int32_t k = 0; k < ABOARD_FULLY_CONNECTED_FEW_TAPS; k += 2) {
            sums[0] = aboard_fully_connected_few_pair(sums[0], *x + k, *w + k);
            ABOARD_OPAQUE(sums[0]);
            ABOARD_OPAQUE(*x);
            ABOARD_OPAQUE(*w);
        }
    }
    *x += ABOARD_FULLY_CONNECTED_FEW_TAPS;
    *w += ABOARD_FULLY_CONNECTED_FEW_TAPS * outputs;
}

/** Sums of one sample; `outputs` is a literal. */
ABOARD_INLINE void aboard_fully_connected_few_sums(int32_t *sums, const int8_t *x, const int8_t *w, int32_t inputs,
                                                   int32_t outputs) {
    /* If a model has only one such layer, gcc knows the weights, and would load the weights of an iteration in the
     * previous iteration. */
    ABOARD_OPAQUE(w);
    const int8_t *const end = x + inputs / ABOARD_FULLY_CONNECTED_FEW_TAPS * ABOARD_FULLY_CONNECTED_FEW_TAPS;
    while (x != end) {
        aboard_fully_connected_few_step(sums, &x, &w, outputs);
        ABOARD_OPAQUE(x);
        ABOARD_OPAQUE(w);
    }
    for (int32_t left = inputs % ABOARD_FULLY_CONNECTED_FEW_TAPS; left > 0; --left) {
        aboard_fully_connected_few_taps(sums, x++, w, 1, outputs);
        w += outputs;
    }
}

/**
 * int8 product, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Different memory, without gaps.
 * @param weights     [inputs][outputs].
 * @param constants   ABOARD_EPILOGUE_BLOCK words.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_fully_connected_few_s8(const aboard_fully_connected_few_s8_t *p, const int8_t *in,
                                                 int8_t *out, const int8_t *weights, const int32_t *constants,
                                                 int32_t first, int32_t last) {
    for (int32_t sample = first * p->samples; sample < last * p->samples; ++sample) {
        const int8_t *const x = in + sample * p->inputs;
        int32_t sums[4] = {0, 0, 0, 0};
        /* A literal number of channels keeps their sums in registers. */
        switch (p->outputs) {
        case 1:
            aboard_fully_connected_few_sums(sums, x, weights, p->inputs, 1);
            break;
        case 2:
            aboard_fully_connected_few_sums(sums, x, weights, p->inputs, 2);
            break;
        case 3:
            aboard_fully_connected_few_sums(sums, x, weights, p->inputs, 3);
            break;
        default:
            aboard_fully_connected_few_sums(sums, x, weights, p->inputs, 4);
            break;
        }
        if (p->outputs == 1) {
            out[sample] = aboard_epilogue_in_block(&p->epilogue, sums[0], constants, 0);
        } else {
            aboard_epilogue_block(&p->epilogue, sums, constants, out + sample * p->outputs, p->outputs);
        }
    }
}

#endif
