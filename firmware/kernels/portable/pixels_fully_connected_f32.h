/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/pixels_fully_connected_f32.h
 * float32 product by the functions for blocks of four pixels: samples are pixels.
 */
#ifndef ABOARD_KERNELS_PORTABLE_PIXELS_FULLY_CONNECTED_F32_H
#define ABOARD_KERNELS_PORTABLE_PIXELS_FULLY_CONNECTED_F32_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard/config.h"
#include "fully_connected.h"
#include "pixels_f32.h"

/**
 * Product by blocks of four samples, and single ones at the end.
 *
 * @param p, in, out, weights, constants, first, last  As for aboard_fully_connected_f32 (portable/fully_connected.h).
 * @param four, one   Compute a block.
 * @param addresses   True if these functions read addresses, false if they read offsets.
 */
ABOARD_INLINE void aboard_pixels_fully_connected_f32(const aboard_fully_connected_f32_t *p, const float *in, float *out,
                                                     const float *weights, const float *constants, int32_t first,
                                                     int32_t last, aboard_pixels_f32_function_t *four,
                                                     aboard_pixels_f32_function_t *one, bool addresses) {
    int32_t table[ABOARD_PIXELS_F32];
    aboard_pixels_f32_t job = {
        table,  weights,   constants,  {out, out, out, out},
        1,      p->inputs, p->outputs, aboard_pixels_f32_limits(p->clamped, p->high),
        p->low, p->high,   in,
    };
    int32_t sample = first * p->samples;
    ABOARD_UNROLL(1)
    for (int32_t left = last * p->samples - sample; left > 0;) {
        const int32_t count = left >= ABOARD_PIXELS_F32 ? ABOARD_PIXELS_F32 : 1;
        ABOARD_UNROLL(1)
        for (int32_t i = 0; i < count; ++i) {
            const float *const x = in + sample * p->inputs;
            table[i] = addresses ? aboard_pixels_f32_address(x) : sample * p->inputs * (int32_t)sizeof(float);
            job.results[i] = out + sample * p->outputs;
            ++sample;
        }
        aboard_pixels_f32_run(&job, count, p->outputs, four, one);
        left -= count;
    }
}

#endif
