/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/resample.h
 * Weighted sums of neighbours along one axis. All tensors lie in memory as a whole, without gaps.
 */
#ifndef ABOARD_KERNELS_PORTABLE_RESAMPLE_H
#define ABOARD_KERNELS_PORTABLE_RESAMPLE_H

#include <stdint.h>

#include "aboard/config.h"

/** Parameters of aboard_resample_f32. The operand has the shape {outer, extent, inner}. */
typedef struct {
    int32_t outer;
    int32_t extent; /**< Of the operand, along the axis. */
    int32_t size;   /**< Of the result, along the axis. */
    int32_t taps;   /**< Products of an element of the result. */
    int32_t inner;
} aboard_resample_t;

/**
 * Computes out[o][i][n] = the sum over t of weights[i][t] * in[o][starts[i] + t][n].
 *
 * @param p            Parameters.
 * @param in           Operand.
 * @param starts       {size}; each in [0, extent - taps].
 * @param weights      {size, taps}.
 * @param out          Result, another memory than the operands, {outer, size, inner}.
 * @param first, last  All rows of the result.
 */
ABOARD_INLINE void aboard_resample_f32(const aboard_resample_t *p, const float *in, const int32_t *starts,
                                       const float *weights, float *out, int32_t first, int32_t last) {
    (void)first;
    (void)last;
    for (int32_t o = 0; o < p->outer; ++o) {
        for (int32_t i = 0; i < p->size; ++i) {
            const float *from = in + (o * p->extent + starts[i]) * p->inner;
            const float *weight = weights + i * p->taps;
            for (int32_t n = 0; n < p->inner; ++n) {
                float sum = 0.0f;
                for (int32_t t = 0; t < p->taps; ++t) {
                    sum += weight[t] * from[t * p->inner + n];
                }
                *out++ = sum;
            }
        }
    }
}

#endif
