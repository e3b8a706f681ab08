/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/layer_normalization.h
 * All channels of a pixel, scaled to a variance of 1.
 */
#ifndef ABOARD_KERNELS_PORTABLE_LAYER_NORMALIZATION_H
#define ABOARD_KERNELS_PORTABLE_LAYER_NORMALIZATION_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "float_functions.h"

/** Parameters of aboard_layer_normalization_f32. Both views have the same rows, cols and channels. */
typedef struct {
    aboard_view_t in;
    aboard_view_t out;
    float epsilon;   /**< Summand of the variance. */
    bool is_centred; /**< Whether the mean is subtracted first. */
} aboard_layer_normalization_t;

/** One pixel; `x` and `y` may be the same. */
ABOARD_INLINE void aboard_layer_normalization_pixel(const aboard_layer_normalization_t *p, const float *x,
                                                    const float *scale, const float *bias, float *y) {
    const int32_t channels = p->out.channels;
    float mean = 0.0f;
    if (p->is_centred) {
        for (int32_t c = 0; c < channels; ++c) {
            mean += x[c];
        }
        mean /= (float)channels;
    }
    float sum = 0.0f;
    for (int32_t c = 0; c < channels; ++c) {
        sum += (x[c] - mean) * (x[c] - mean);
    }
    const float factor = 1.0f / aboard_sqrtf(sum / (float)channels + p->epsilon);
    for (int32_t c = 0; c < channels; ++c) {
        y[c] = (x[c] - mean) * factor * scale[c] + bias[c];
    }
}

/**
 * Computes (x - mean) / sqrt(variance + epsilon) * scale + bias for each pixel.
 *
 * @param p            Parameters.
 * @param in           Operand. Any view.
 * @param scale, bias  One number for each channel.
 * @param out          Result. Any view; may share the operand's memory if both views are equal.
 * @param first, last  Rows [first, last) of the result are written.
 */
ABOARD_INLINE void aboard_layer_normalization_f32(const aboard_layer_normalization_t *p, const float *in,
                                                  const float *scale, const float *bias, float *out, int32_t first,
                                                  int32_t last) {
    for (int32_t r = first; r < last; ++r) {
        const float *x = aboard_row_f32(&p->in, in, r);
        float *y = aboard_row_out_f32(&p->out, out, r);
        for (int32_t col = 0; col < p->out.cols; ++col) {
            aboard_layer_normalization_pixel(p, x, scale, bias, y);
            x += p->in.pixel_stride / (int32_t)sizeof(float);
            y += p->out.pixel_stride / (int32_t)sizeof(float);
        }
    }
}

#endif
