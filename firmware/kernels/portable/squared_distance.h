/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/squared_distance.h
 * Squares of the distances of samples from points.
 */
#ifndef ABOARD_KERNELS_PORTABLE_SQUARED_DISTANCE_H
#define ABOARD_KERNELS_PORTABLE_SQUARED_DISTANCE_H

#include <stdint.h>

#include "aboard/config.h"

/** Parameters of aboard_squared_distance_f32. */
typedef struct {
    int32_t samples;
    int32_t features;
    int32_t points;
} aboard_squared_distance_f32_t;

/**
 * Adds the squares of differences, in the order of the features.
 *
 * @param p            Parameters.
 * @param in           Samples {samples, features}, without gaps.
 * @param points       Points {points, features}, without gaps.
 * @param out          Result {samples, points}, without gaps; other memory than the operands.
 * @param first, last  All rows of the result.
 */
ABOARD_INLINE void aboard_squared_distance_f32(const aboard_squared_distance_f32_t *p, const float *in,
                                               const float *points, float *out, int32_t first, int32_t last) {
    (void)first;
    (void)last;
    for (int32_t s = 0; s < p->samples; ++s) {
        const float *x = in + s * p->features;
        const float *point = points;
        for (int32_t i = 0; i < p->points; ++i) {
            float sum = 0.0f;
            for (int32_t f = 0; f < p->features; ++f) {
                const float difference = x[f] - *point++;
                sum += difference * difference;
            }
            *out++ = sum;
        }
    }
}

#endif
