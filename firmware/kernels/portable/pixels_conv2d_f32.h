/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/pixels_conv2d_f32.h
 * float32 convolution by blocks of four pixels: the loop over pixels, which conv2d_f32.h and depthwise_conv2d_f32.h of
 * arm_dsp and arm_mve share.
 */
#ifndef ABOARD_KERNELS_PORTABLE_PIXELS_CONV2D_F32_H
#define ABOARD_KERNELS_PORTABLE_PIXELS_CONV2D_F32_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "conv2d_window.h"
#include "pixels_f32.h"

/** Parameters of aboard_conv2d_f32_dsp, aboard_conv2d_f32_mve, and of the depthwise ones. */
typedef struct {
    aboard_conv2d_shape_t shape; /**< For a depthwise layer with one group. */
    int32_t padded;              /**< 1: some taps are in the padding. */
    int32_t depthwise;           /**< 1: each channel is the sum of its own products. */
    int32_t clamped;             /**< 1: results are clamped to [low, high]. */
    float low;
    float high;
} aboard_pixels_conv2d_f32_t;

/** What table entries count from, and the entry of a tap in the padding. */
typedef struct {
    int32_t origin;
    int32_t outside;
} aboard_pixels_origin_t;

/** Whether the rows of the windows of `count` pixels from column `col` on are contiguous and inside of the operand. */
ABOARD_INLINE bool aboard_pixels_f32_joined(const aboard_pixels_conv2d_f32_t *p, int32_t col, int32_t count) {
    const aboard_conv2d_shape_t *s = &p->shape;
    bool joined = !p->depthwise && s->window_width > 1 && s->dilation_w == 1 && s->groups == 1 &&
                  s->in.pixel_stride == s->in.channels * (int32_t)sizeof(float);
    for (int32_t i = 0; joined && p->padded && i < count; ++i) {
        const int32_t left = col * s->stride_w - s->pad_left;
        joined = left >= 0 && left + s->window_width <= s->in.cols;
        col = col + 1 < s->out.cols ? col + 1 : 0;
    }
    return joined;
}

/** Fills the column of the table of one pixel, the window of result pixel (row, col); one entry a row if joined. */
ABOARD_INLINE void aboard_pixels_f32_fill(const aboard_conv2d_shape_t *s, int32_t row, int32_t col, bool joined,
                                          aboard_pixels_origin_t from, int32_t *column) {
    const aboard_conv2d_window_t w = aboard_conv2d_window(s, row, col);
    for (int32_t ky = 0; ky < s->window_height; ++ky) {
        const int32_t iy = w.top + ky * s->dilation_h;
        const bool inside = iy >= 0 && iy < s->in_height;
        const int32_t line = inside ? from.origin + aboard_row_offset(&s->in, w.base + iy) : from.outside;
        for (int32_t kx = 0; kx < (joined ? 1 : s->window_width); ++kx) {
            const int32_t ix = w.left + kx * s->dilation_w;
            const bool found = inside && (joined || (ix >= 0 && ix < s->in.cols));
            *column = found ? line + ix * s->in.pixel_stride : from.outside;
            column += ABOARD_PIXELS_F32;
        }
    }
}

/** Rows [first, last) of one group; arguments as for aboard_pixels_conv2d_f32. */
ABOARD_INLINE void aboard_pixels_conv2d_f32_group(const aboard_pixels_conv2d_f32_t *p, aboard_pixels_f32_t *job,
                                                  aboard_pixels_origin_t from, float *out, int32_t *table,
                                                  int32_t first, int32_t last, aboard_pixels_f32_function_t *four,
                                                  aboard_pixels_f32_function_t *one) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t depth = s->in.channels / s->groups;
    const int32_t channels = s->out.channels / s->groups;
    int32_t row = first;
    int32_t col = 0;
    ABOARD_UNROLL(1)
    for (int32_t left = (last - first) * s->out.cols; left > 0;) {
        const int32_t count = left >= ABOARD_PIXELS_F32 ? ABOARD_PIXELS_F32 : 1;
        const bool joined = aboard_pixels_f32_joined(p, col, count);
        job->positions = s->window_height * (joined ? 1 : s->window_width);
        job->depth = depth * (joined ? s->window_width : 1);
        ABOARD_UNROLL(1)
        for (int32_t i = 0; i < count; ++i) {
            aboard_pixels_f32_fill(s, row, col, joined, from, table + i);
            job->results[i] = aboard_row_out_f32(&s->out, out, row) + col * (s->out.pixel_stride / 4);
            col = col + 1 < s->out.cols ? col + 1 : 0;
            row += col == 0;
        }
        aboard_pixels_f32_run(job, count, channels, four, one);
        left -= count;
    }
}

/**
 * Convolution by blocks of four pixels, and single ones at the end.
 *
 * @param p           Parameters.
 * @param in, out, weights, constants, first, last  As for aboard_conv2d_f32 (portable/conv2d_f32.h).
 * @param scratch     Four words for each tap position; with padding more, zeros for a row of a window, or for a pixel
 * of a depthwise layer.
 * @param four, one   Compute a block.
 * @param addresses   True if these functions read addresses, false if they read offsets.
 */
ABOARD_INLINE void aboard_pixels_conv2d_f32(const aboard_pixels_conv2d_f32_t *p, const float *in, float *out,
                                            const float *weights, const float *constants, int32_t *scratch,
                                            int32_t first, int32_t last, aboard_pixels_f32_function_t *four,
                                            aboard_pixels_f32_function_t *one, bool addresses) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t depth = s->in.channels / s->groups;
    const int32_t positions = s->window_height * s->window_width;
    const int32_t channels = s->out.channels / s->groups;
    const int32_t padded = (channels + 3) / 4 * 4;
    int32_t *const zeros = scratch + ABOARD_PIXELS_F32 * positions;
    if (p->padded) {
        for (int32_t k = 0; k < (p->depthwise ? 1 : s->window_width) * depth; ++k) {
            zeros[k] = 0;
        }
    }
    for (int32_t group = 0; group < s->groups; ++group) {
        const float *const x = in + group * depth;
        const aboard_pixels_origin_t from = {
            addresses ? aboard_pixels_f32_address(x) : 0,
            addresses ? aboard_pixels_f32_address(zeros) : ABOARD_PIXELS_OUTSIDE,
        };
        aboard_pixels_f32_t job = {
            scratch,
            weights + group * padded * positions * depth,
            constants + group * padded,
            {out, out, out, out},
            positions,
            depth,
            channels,
            aboard_pixels_f32_limits(p->clamped, p->high),
            p->low,
            p->high,
            x,
        };
        aboard_pixels_conv2d_f32_group(p, &job, from, out + group * channels, scratch, first, last, four, one);
    }
}

#endif
