/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/conv2d_f32.h
 * Convolution of float32, with weights of float32 or int8, in portable C.
 */
#ifndef ABOARD_KERNELS_PORTABLE_CONV2D_F32_H
#define ABOARD_KERNELS_PORTABLE_CONV2D_F32_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "conv2d_window.h"

/** Parameters of aboard_conv2d_f32 and aboard_conv2d_f32_w8. */
typedef struct {
    aboard_conv2d_shape_t shape;
    int32_t clamped; /**< 1: results are clamped to [low, high]. */
    float low;
    float high;
} aboard_conv2d_f32_t;

/** Sums of four channels. */
typedef struct {
    float sum[4];
} aboard_conv2d_sums_t;

/** Weight `i` of a float layer as a number; int8 weights are not scaled yet. */
ABOARD_INLINE float aboard_conv2d_weight(const void *weights, int32_t i, bool is_int8) {
    return is_int8 ? (float)((const int8_t *)weights)[i] : ((const float *)weights)[i];
}

/** Adds the products of one pixel with four channels; weights from `at` on. */
ABOARD_INLINE void aboard_conv2d_f32_pixel(aboard_conv2d_sums_t *sums, const float *x, int32_t depth,
                                           const void *weights, int32_t at, bool is_int8) {
    for (int32_t c = 0; c < depth; ++c) {
        ABOARD_UNROLL(4)
        for (int32_t i = 0; i < 4; ++i) {
            sums->sum[i] += x[c] * aboard_conv2d_weight(weights, at + 4 * c + i, is_int8);
        }
    }
}

/** Sums of products of four channels for result pixel (row, col); taps in the padding are left out. */
ABOARD_INLINE aboard_conv2d_sums_t aboard_conv2d_f32_sums(const aboard_conv2d_shape_t *s, const float *x, int32_t row,
                                                          int32_t col, const void *weights, int32_t at, bool is_int8) {
    const int32_t depth = s->in.channels / s->groups;
    const aboard_conv2d_window_t w = aboard_conv2d_window(s, row, col);
    aboard_conv2d_sums_t sums = {{0.0f, 0.0f, 0.0f, 0.0f}};
    for (int32_t ky = 0; ky < s->window_height; ++ky) {
        const int32_t iy = w.top + ky * s->dilation_h;
        if (iy < 0 || iy >= s->in_height) {
            continue;
        }
        const float *const line = aboard_row_f32(&s->in, x, w.base + iy);
        for (int32_t kx = 0; kx < s->window_width; ++kx) {
            const int32_t ix = w.left + kx * s->dilation_w;
            if (ix >= 0 && ix < s->in.cols) {
                aboard_conv2d_f32_pixel(&sums, line + ix * (s->in.pixel_stride / 4), depth, weights,
                                        at + (ky * s->window_width + kx) * depth * 4, is_int8);
            }
        }
    }
    return sums;
}

/** Both float forms; see aboard_conv2d_f32 and aboard_conv2d_f32_w8. */
ABOARD_INLINE void aboard_conv2d_f32_any(const aboard_conv2d_f32_t *p, const float *in, float *out, const void *weights,
                                         const float *constants, int32_t first, int32_t last, bool is_int8) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t depth = s->in.channels / s->groups;
    const int32_t channels = s->out.channels / s->groups;
    const int32_t taps = s->window_height * s->window_width * depth;
    const int32_t words = is_int8 ? 8 : 4;
    for (int32_t row = first; row < last; ++row) {
        for (int32_t col = 0; col < s->out.cols; ++col) {
            float *const y = aboard_row_out_f32(&s->out, out, row) + col * (s->out.pixel_stride / 4);
            int32_t block = 0;
            for (int32_t n = 0; n < s->out.channels; ++block) {
                const int32_t group = n / channels;
                const aboard_conv2d_sums_t sums =
                    aboard_conv2d_f32_sums(s, in + group * depth, row, col, weights, block * taps * 4, is_int8);
                const int32_t end = ABOARD_MIN(n + 4, (group + 1) * channels);
                for (int32_t i = 0; n < end; ++i, ++n) {
                    const float *const c = constants + block * words + i;
                    const float sum = (is_int8 ? sums.sum[i] * c[4] : sums.sum[i]) + c[0];
                    const float above = p->clamped && sum < p->low ? p->low : sum;
                    y[n] = p->clamped && above > p->high ? p->high : above;
                }
            }
        }
    }
}

/**
 * float32 convolution.
 *
 * @param p           Parameters.
 * @param in, out     Any views, including rolling buffers. In different memory, or the operand starts after the result
 * by at least the minimum in-place offset (host/aboard/kernels/overlap.py).
 * @param weights     [channels / 4][taps][4], the last block of a group padded with zeros; one group after another.
 * @param constants   Four biases per block of four channels.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_conv2d_f32(const aboard_conv2d_f32_t *p, const float *in, float *out, const float *weights,
                                     const float *constants, int32_t first, int32_t last) {
    aboard_conv2d_f32_any(p, in, out, weights, constants, first, last, false);
}

/** As aboard_conv2d_f32, with int8 weights; the constants are four biases and four scales of the weights per block. */
ABOARD_INLINE void aboard_conv2d_f32_w8(const aboard_conv2d_f32_t *p, const float *in, float *out,
                                        const int8_t *weights, const float *constants, int32_t first, int32_t last) {
    aboard_conv2d_f32_any(p, in, out, weights, constants, first, last, true);
}

#endif
