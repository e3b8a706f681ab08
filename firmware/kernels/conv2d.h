/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conv2d.h
 * Convolution in portable C, for cores without SIMD: int8, float32, and float32 with int8 weights.
 *
 * int8: the pixels that a window sees are copied side by side into a patch (a window of 1x1 reads the input where it
 * lies), then blocks of two pixels and four channels are computed, so that six loads feed eight products.
 */
#ifndef ABOARD_KERNELS_CONV2D_H
#define ABOARD_KERNELS_CONV2D_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "finish.h"
#include "staging.h"

/** Geometry of a convolution. */
typedef struct {
    aboard_view_t in;      /**< Any view. */
    aboard_view_t out;     /**< Any view. */
    int32_t in_height;     /**< Rows of an image; the view counts those of all images of the batch. */
    int32_t out_height;    /**< Likewise. */
    int32_t window_height; /**< Taps. */
    int32_t window_width;
    int32_t stride_h;
    int32_t stride_w;
    int32_t dilation_h;
    int32_t dilation_w;
    int32_t pad_top;
    int32_t pad_left;
    int32_t groups; /**< Divides the channels of input and result. */
} aboard_conv2d_shape_t;

/** Parameters of aboard_conv2d_s8. */
typedef struct {
    aboard_conv2d_shape_t shape;
    int32_t direct;         /**< 1: a window of 1x1 without padding; pixels that lie side by side are read there. */
    int32_t zero_point;     /**< Of the input: what padding holds. */
    aboard_finish_t finish; /**< Of the result. */
} aboard_conv2d_s8_t;

/** Taps computed per turn of the inner loop. */
#define ABOARD_CONV2D_TAPS 8

/** Image that row `r` of a view belongs to. */
ABOARD_INLINE int32_t aboard_conv2d_image(const aboard_view_t *view, int32_t height, int32_t r) {
    return view->rows == height ? 0 : r / height;
}

/** Copies one row of a window: `left` is the column of its first tap, which may lie outside the input. */
ABOARD_INLINE int8_t *aboard_conv2d_s8_patch_row(const aboard_conv2d_s8_t *p, const int8_t *row, int32_t left,
                                                 int8_t *patch) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t depth = s->in.channels / s->groups;
    if (s->dilation_w == 1 && s->in.pixel_stride == depth) {
        if (left >= 0 && left + s->window_width <= s->in.cols) {
            return aboard_stage_copy(patch, row + left * depth, s->window_width * depth);
        }
        const int32_t before = ABOARD_MIN(ABOARD_MAX(-left, 0), s->window_width);
        const int32_t after = ABOARD_MIN(ABOARD_MAX(left + s->window_width - s->in.cols, 0), s->window_width);
        patch = aboard_stage_fill(patch, p->zero_point, before * depth);
        patch = aboard_stage_copy(patch, row + (left + before) * depth, (s->window_width - before - after) * depth);
        return aboard_stage_fill(patch, p->zero_point, after * depth);
    }
    for (int32_t tap = 0; tap < s->window_width; ++tap) {
        const int32_t x = left + tap * s->dilation_w;
        if (x >= 0 && x < s->in.cols) {
            patch = aboard_stage_copy(patch, row + x * s->in.pixel_stride, depth);
        } else {
            patch = aboard_stage_fill(patch, p->zero_point, depth);
        }
    }
    return patch;
}

/** Copies what the window of result pixel (row, col) sees; `x` points at the group's first channel. */
ABOARD_INLINE void aboard_conv2d_s8_patch(const aboard_conv2d_s8_t *p, const int8_t *x, int32_t row, int32_t col,
                                          int8_t *patch) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t image = aboard_conv2d_image(&s->out, s->out_height, row);
    const int32_t top = (row - image * s->out_height) * s->stride_h - s->pad_top;
    const int32_t left = col * s->stride_w - s->pad_left;
    for (int32_t tap = 0; tap < s->window_height; ++tap) {
        const int32_t y = top + tap * s->dilation_h;
        if (y >= 0 && y < s->in_height) {
            const int8_t *from = aboard_row_s8(&s->in, x, image * s->in_height + y);
            patch = aboard_conv2d_s8_patch_row(p, from, left, patch);
        } else {
            patch = aboard_stage_fill(patch, p->zero_point, s->window_width * (s->in.channels / s->groups));
        }
    }
}

/** Address of the pixel that a window of 1x1 sees for result pixel (row, col). */
ABOARD_INLINE const int8_t *aboard_conv2d_s8_pixel(const aboard_conv2d_shape_t *s, const int8_t *x, int32_t row,
                                                   int32_t col) {
    const int32_t image = aboard_conv2d_image(&s->out, s->out_height, row);
    const int32_t y = image * s->in_height + (row - image * s->out_height) * s->stride_h;
    return aboard_row_s8(&s->in, x, y) + col * s->stride_w * s->in.pixel_stride;
}

/** Returns the patches of two pixels, one behind the other: in the input where they lie so, else in `patches`. */
ABOARD_INLINE const int8_t *aboard_conv2d_s8_source(const aboard_conv2d_s8_t *p, const int8_t *x, int32_t row0,
                                                    int32_t col0, int32_t row1, int32_t col1, int8_t *patches) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t taps = s->window_height * s->window_width * (s->in.channels / s->groups);
    if (p->direct) {
        const int8_t *const x0 = aboard_conv2d_s8_pixel(s, x, row0, col0);
        const int8_t *const x1 = aboard_conv2d_s8_pixel(s, x, row1, col1);
        if (x1 == x0 + taps) {
            return x0;
        }
        aboard_stage_copy(patches, x0, taps);
        aboard_stage_copy(patches + taps, x1, taps);
    } else {
        aboard_conv2d_s8_patch(p, x, row0, col0, patches);
        aboard_conv2d_s8_patch(p, x, row1, col1, patches + taps);
    }
    return patches;
}

/** Adds the products of one tap of four channels with two pixels. */
ABOARD_INLINE void aboard_conv2d_s8_tap(int32_t *sums, int32_t a, int32_t b, const int8_t *weights) {
    sums[0] += weights[0] * a;
    sums[4] += weights[0] * b;
    sums[1] += weights[1] * a;
    sums[5] += weights[1] * b;
    sums[2] += weights[2] * a;
    sums[6] += weights[2] * b;
    sums[3] += weights[3] * a;
    sums[7] += weights[3] * b;
}

/**
 * Computes all channels of a group for two pixels.
 *
 * @param x         Patch of the first pixel; that of the second follows it.
 * @param weights   [channels / 4][taps][4], the last block filled up with zeros.
 * @param constants ABOARD_FINISH_BLOCK words for each block of four channels.
 * @param y0, y1    Results; y1 is written before y0 and may be the same.
 */
ABOARD_INLINE void aboard_conv2d_s8_pair(const aboard_conv2d_s8_t *p, const int8_t *x, const int8_t *weights,
                                         const int32_t *constants, int8_t *y0, int8_t *y1) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t taps = s->window_height * s->window_width * (s->in.channels / s->groups);
    const int32_t channels = s->out.channels / s->groups;
    for (int32_t n = 0; n < channels; n += 4) {
        int32_t sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        const int8_t *const end = weights + taps / ABOARD_CONV2D_TAPS * ABOARD_CONV2D_TAPS * 4;
        const int8_t *a = x;
        while (weights != end) {
            ABOARD_UNROLL(8)
            for (int32_t k = 0; k < ABOARD_CONV2D_TAPS; ++k) {
                aboard_conv2d_s8_tap(sums, a[k], a[taps + k], weights + 4 * k);
            }
            a += ABOARD_CONV2D_TAPS;
            weights += 4 * ABOARD_CONV2D_TAPS;
            ABOARD_OPAQUE(a);
            ABOARD_OPAQUE(weights);
        }
        for (int32_t k = 0; k < taps % ABOARD_CONV2D_TAPS; ++k) {
            aboard_conv2d_s8_tap(sums, a[k], a[taps + k], weights);
            weights += 4;
        }
        ABOARD_UNROLL(4)
        for (int32_t i = 0; i < 4; ++i) {
            if (channels % 4 == 0 || n + i < channels) {
                y1[n + i] = aboard_finish_in_block(&p->finish, sums[4 + i], constants, i);
                y0[n + i] = aboard_finish_in_block(&p->finish, sums[i], constants, i);
            }
        }
        constants += ABOARD_FINISH_BLOCK;
    }
}

/**
 * int8 convolution, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Different memory. Any views, rings of rows included.
 * @param weights     Packed, see aboard_conv2d_s8_pair; groups after one another.
 * @param constants   Likewise.
 * @param patches     Scratch of two patches, window height * window width * channels of a group each. Not used
 *                    where `direct` is set, the input has no gaps and the pixels of the call are even in number.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_conv2d_s8(const aboard_conv2d_s8_t *p, const int8_t *in, int8_t *out, const int8_t *weights,
                                    const int32_t *constants, int8_t *patches, int32_t first, int32_t last) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t depth = s->in.channels / s->groups;
    const int32_t channels = s->out.channels / s->groups;
    const int32_t taps = s->window_height * s->window_width * depth;
    const int32_t blocks = (channels + 3) / 4;
    for (int32_t group = 0; group < s->groups; ++group) {
        const int8_t *const x = in + group * depth;
        int8_t *const y = out + group * channels;
        int32_t row = first;
        int32_t col = 0;
        while (row < last) {
            const int32_t row0 = row;
            const int32_t col0 = col;
            int8_t *const y0 = aboard_row_out_s8(&s->out, y, row) + col * s->out.pixel_stride;
            if (++col == s->out.cols) {
                col = 0;
                ++row;
            }
            const bool single = row >= last;
            int8_t *const y1 = single ? y0 : aboard_row_out_s8(&s->out, y, row) + col * s->out.pixel_stride;
            const int8_t *const x0 =
                aboard_conv2d_s8_source(p, x, row0, col0, single ? row0 : row, single ? col0 : col, patches);
            aboard_conv2d_s8_pair(p, x0, weights + group * blocks * taps * 4,
                                  constants + group * blocks * ABOARD_FINISH_BLOCK, y0, y1);
            if (!single && ++col == s->out.cols) {
                col = 0;
                ++row;
            }
        }
    }
}

/** Parameters of aboard_conv2d_f32 and aboard_conv2d_f32_w8. */
typedef struct {
    aboard_conv2d_shape_t shape;
    int32_t clamped; /**< 1: results are kept between low and high. */
    float low;
    float high;
} aboard_conv2d_f32_t;

/** Sums of four channels. */
typedef struct {
    float sum[4];
} aboard_conv2d_sums_t;

/** Weight `i` of a float layer as a number; those of int8 still lack their scale. */
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
    const int32_t image = aboard_conv2d_image(&s->out, s->out_height, row);
    const int32_t top = (row - image * s->out_height) * s->stride_h - s->pad_top;
    const int32_t left = col * s->stride_w - s->pad_left;
    aboard_conv2d_sums_t sums = {{0.0f, 0.0f, 0.0f, 0.0f}};
    for (int32_t ky = 0; ky < s->window_height; ++ky) {
        const int32_t iy = top + ky * s->dilation_h;
        if (iy < 0 || iy >= s->in_height) {
            continue;
        }
        const float *const line = aboard_row_f32(&s->in, x, image * s->in_height + iy);
        for (int32_t kx = 0; kx < s->window_width; ++kx) {
            const int32_t ix = left + kx * s->dilation_w;
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
 * @param in, out     Different memory. Any views, rings of rows included.
 * @param weights     [channels / 4][taps][4], the last block of a group filled up with zeros; groups after one another.
 * @param constants   Four biases for each block of four channels.
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
