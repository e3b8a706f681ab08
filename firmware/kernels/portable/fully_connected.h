/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/fully_connected.h
 * Products of samples with a matrix in portable C: int8, float32, and float32 with int8 weights.
 *
 * Blocks of eight (int8) or four (float32) output channels are computed for one sample at a time, so that one load of
 * the input feeds eight or four products.
 */
#ifndef ABOARD_KERNELS_PORTABLE_FULLY_CONNECTED_H
#define ABOARD_KERNELS_PORTABLE_FULLY_CONNECTED_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard/config.h"
#include "epilogue.h"
#include "sums_of_four_f32.h"

/** Parameters of aboard_fully_connected_s8. Input and result are stored whole and without gaps. */
typedef struct {
    int32_t inputs;  /**< Values of a sample. */
    int32_t outputs; /**< Results of a sample. */
    int32_t samples; /**< Samples per row of the result. */
    aboard_epilogue_t epilogue;
} aboard_fully_connected_s8_t;

/** Channels computed at once, and inputs per iteration of the inner loop. */
#define ABOARD_FULLY_CONNECTED_BLOCK 8
#define ABOARD_FULLY_CONNECTED_TAPS 8

/** Adds the products of one input with the weights of a block. */
ABOARD_INLINE void aboard_fully_connected_s8_tap(int32_t *sums, int32_t x, const int8_t *weights) {
    ABOARD_UNROLL(8)
    for (int32_t i = 0; i < ABOARD_FULLY_CONNECTED_BLOCK; ++i) {
        sums[i] += weights[i] * x;
        ABOARD_OPAQUE(sums[i]);
    }
}

/**
 * int8 product, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Different memory, without gaps.
 * @param weights     [outputs / 8][inputs][8], the last block padded with zeros.
 * @param constants   Two times ABOARD_EPILOGUE_BLOCK words per block of eight channels.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_fully_connected_s8(const aboard_fully_connected_s8_t *p, const int8_t *in, int8_t *out,
                                             const int8_t *weights, const int32_t *constants, int32_t first,
                                             int32_t last) {
    for (int32_t sample = first * p->samples; sample < last * p->samples; ++sample) {
        const int8_t *w = weights;
        const int32_t *c = constants;
        int8_t *const y = out + sample * p->outputs;
        /* If a model has only one such layer, gcc knows the weights, and would load the weights of an iteration in the
         * previous iteration. */
        ABOARD_OPAQUE(w);
        for (int32_t n = 0; n < p->outputs; n += ABOARD_FULLY_CONNECTED_BLOCK) {
            int32_t sums[ABOARD_FULLY_CONNECTED_BLOCK] = {0, 0, 0, 0, 0, 0, 0, 0};
            const int8_t *x = in + sample * p->inputs;
            const int8_t *const end = x + p->inputs / ABOARD_FULLY_CONNECTED_TAPS * ABOARD_FULLY_CONNECTED_TAPS;
            while (x != end) {
                ABOARD_UNROLL(ABOARD_FULLY_CONNECTED_TAPS)
                for (int32_t k = 0; k < ABOARD_FULLY_CONNECTED_TAPS; ++k) {
                    aboard_fully_connected_s8_tap(sums, x[k], w + k * ABOARD_FULLY_CONNECTED_BLOCK);
                }
                x += ABOARD_FULLY_CONNECTED_TAPS;
                w += ABOARD_FULLY_CONNECTED_TAPS * ABOARD_FULLY_CONNECTED_BLOCK;
                ABOARD_OPAQUE(x);
                ABOARD_OPAQUE(w);
            }
            for (int32_t k = 0; k < p->inputs % ABOARD_FULLY_CONNECTED_TAPS; ++k) {
                aboard_fully_connected_s8_tap(sums, x[k], w);
                w += ABOARD_FULLY_CONNECTED_BLOCK;
            }
            aboard_epilogue_block(&p->epilogue, sums, c, y + n, p->outputs - n);
            c += ABOARD_EPILOGUE_BLOCK;
            if (p->outputs - n > 4) {
                aboard_epilogue_block(&p->epilogue, sums + 4, c, y + n + 4, p->outputs - n - 4);
            }
            c += ABOARD_EPILOGUE_BLOCK;
        }
    }
}

/** As aboard_fully_connected_s8, not inlined: one copy serves all layers of a model, parameters are run-time values.
 */
ABOARD_SHARED ABOARD_HOT void aboard_fully_connected_s8_shared(const aboard_fully_connected_s8_t *p, const int8_t *in,
                                                               int8_t *out, const int8_t *weights,
                                                               const int32_t *constants, int32_t first, int32_t last) {
    aboard_fully_connected_s8(p, in, out, weights, constants, first, last);
}

/** Parameters of aboard_fully_connected_f32 and aboard_fully_connected_f32_w8. */
typedef struct {
    int32_t inputs;
    int32_t outputs;
    int32_t samples;
    int32_t clamped; /**< 1: results are clamped to [low, high]. */
    float low;
    float high;
} aboard_fully_connected_f32_t;

/** As aboard_sums_of_four_f32, with weights of int8 that are not scaled yet. */
ABOARD_INLINE void aboard_fully_connected_sums_f32_w8(float *sums, const float *x, const int8_t *weights,
                                                      int32_t count) {
    for (int32_t k = 0; k < count; ++k) {
        ABOARD_UNROLL(4)
        for (int32_t i = 0; i < 4; ++i) {
            sums[i] += x[k] * (float)weights[4 * k + i];
        }
    }
}

/** Both float forms; see aboard_fully_connected_f32 and aboard_fully_connected_f32_w8. */
ABOARD_INLINE void aboard_fully_connected_f32_any(const aboard_fully_connected_f32_t *p, const float *in, float *out,
                                                  const void *weights, const float *constants, int32_t first,
                                                  int32_t last, bool is_int8) {
    const int32_t words = is_int8 ? 8 : 4;
    for (int32_t sample = first * p->samples; sample < last * p->samples; ++sample) {
        const float *const x = in + sample * p->inputs;
        float *const y = out + sample * p->outputs;
        for (int32_t n = 0; n < p->outputs; n += 4) {
            float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
            if (is_int8) {
                aboard_fully_connected_sums_f32_w8(sums, x, (const int8_t *)weights + n * p->inputs, p->inputs);
            } else {
                aboard_sums_of_four_f32(sums, x, (const float *)weights + n * p->inputs, p->inputs);
            }
            for (int32_t i = 0; i < ABOARD_MIN(4, p->outputs - n); ++i) {
                const float *const c = constants + n / 4 * words + i;
                const float sum = (is_int8 ? sums[i] * c[4] : sums[i]) + c[0];
                const float above = p->clamped && sum < p->low ? p->low : sum;
                y[n + i] = p->clamped && above > p->high ? p->high : above;
            }
        }
    }
}

/**
 * float32 product.
 *
 * @param p           Parameters.
 * @param in, out     Different memory, without gaps.
 * @param weights     [outputs / 4][inputs][4], the last block padded with zeros.
 * @param constants   Four biases per block of four channels.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_fully_connected_f32(const aboard_fully_connected_f32_t *p, const float *in, float *out,
                                              const float *weights, const float *constants, int32_t first,
                                              int32_t last) {
    aboard_fully_connected_f32_any(p, in, out, weights, constants, first, last, false);
}

/** As aboard_fully_connected_f32, with int8 weights; the constants are four biases and four scales of the weights per
 * block. */
ABOARD_INLINE void aboard_fully_connected_f32_w8(const aboard_fully_connected_f32_t *p, const float *in, float *out,
                                                 const int8_t *weights, const float *constants, int32_t first,
                                                 int32_t last) {
    aboard_fully_connected_f32_any(p, in, out, weights, constants, first, last, true);
}

#endif
