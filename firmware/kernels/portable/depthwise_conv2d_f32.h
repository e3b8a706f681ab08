/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/depthwise_conv2d_f32.h
 * Depthwise convolution in portable C: float32, and float32 with int8 weights.
 */
#ifndef ABOARD_KERNELS_PORTABLE_DEPTHWISE_CONV2D_F32_H
#define ABOARD_KERNELS_PORTABLE_DEPTHWISE_CONV2D_F32_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "depthwise_conv2d.h"

/** Parameters of aboard_depthwise_conv2d_f32 and aboard_depthwise_conv2d_f32_w8. */
typedef struct {
    aboard_depthwise_conv2d_shape_t shape;
    int32_t clamped; /**< 1: results are clamped to [low, high]. */
    float low;
    float high;
} aboard_depthwise_conv2d_f32_t;

/** Weight `i` of a float layer as a number; int8 weights are not scaled yet. */
ABOARD_INLINE float aboard_depthwise_conv2d_weight(const void *weights, int32_t i, bool is_int8) {
    return is_int8 ? (float)((const int8_t *)weights)[i] : ((const float *)weights)[i];
}

/** Sum of products of result (row, col, n); taps in the padding are left out. */
ABOARD_INLINE float aboard_depthwise_conv2d_f32_sum(const aboard_depthwise_conv2d_shape_t *s, const float *in,
                                                    int32_t row, int32_t col, int32_t n, const void *weights,
                                                    bool is_int8) {
    const int32_t image = s->out.rows == s->out_height ? 0 : row / s->out_height;
    const int32_t top = (row - image * s->out_height) * s->stride_h - s->pad_top;
    const int32_t left = col * s->stride_w - s->pad_left;
    float sum = 0.0f;
    for (int32_t ky = 0; ky < s->window_height; ++ky) {
        const int32_t iy = top + ky * s->dilation_h;
        if (iy < 0 || iy >= s->in_height) {
            continue;
        }
        const float *const line = aboard_row_f32(&s->in, in, image * s->in_height + iy) + n / s->multiplier;
        for (int32_t kx = 0; kx < s->window_width; ++kx) {
            const int32_t ix = left + kx * s->dilation_w;
            if (ix >= 0 && ix < s->in.cols) {
                const int32_t tap = n * s->window_height * s->window_width + ky * s->window_width + kx;
                sum += line[ix * (s->in.pixel_stride / 4)] * aboard_depthwise_conv2d_weight(weights, tap, is_int8);
            }
        }
    }
    return sum;
}

/** Both float forms; see aboard_depthwise_conv2d_f32 and aboard_depthwise_conv2d_f32_w8. */
ABOARD_INLINE void aboard_depthwise_conv2d_f32_any(const aboard_depthwise_conv2d_f32_t *p, const float *in, float *out,
                                                   const void *weights, const float *constants, int32_t first,
                                                   int32_t last, bool is_int8) {
    const aboard_depthwise_conv2d_shape_t *s = &p->shape;
    for (int32_t row = first; row < last; ++row) {
        for (int32_t col = 0; col < s->out.cols; ++col) {
            float *const y = aboard_row_out_f32(&s->out, out, row) + col * (s->out.pixel_stride / 4);
            for (int32_t n = 0; n < s->out.channels; ++n) {
                const float products = aboard_depthwise_conv2d_f32_sum(s, in, row, col, n, weights, is_int8);
                const float sum =
                    is_int8 ? products * constants[2 * n + 1] + constants[2 * n] : products + constants[n];
                const float above = p->clamped && sum < p->low ? p->low : sum;
                y[n] = p->clamped && above > p->high ? p->high : above;
            }
        }
    }
}

/**
 * float32 depthwise convolution.
 *
 * @param p           Parameters.
 * @param in, out     Any views, including rolling buffers. In different memory, or the operand starts after the result
 * by at least the minimum in-place offset (host/aboard/kernels/overlap.py).
 * @param weights     For each channel of the result its taps, row by row.
 * @param constants   For each channel of the result its bias.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_depthwise_conv2d_f32(const aboard_depthwise_conv2d_f32_t *p, const float *in, float *out,
                                               const float *weights, const float *constants, int32_t first,
                                               int32_t last) {
    aboard_depthwise_conv2d_f32_any(p, in, out, weights, constants, first, last, false);
}

/** As aboard_depthwise_conv2d_f32, with int8 weights; the constants are bias and scale of the weights per channel. */
ABOARD_INLINE void aboard_depthwise_conv2d_f32_w8(const aboard_depthwise_conv2d_f32_t *p, const float *in, float *out,
                                                  const int8_t *weights, const float *constants, int32_t first,
                                                  int32_t last) {
    aboard_depthwise_conv2d_f32_any(p, in, out, weights, constants, first, last, true);
}

#endif
