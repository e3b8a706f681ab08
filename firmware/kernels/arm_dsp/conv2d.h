/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conv2d.h
 * int8 convolution with the DSP extension: what the windows of two pixels see is staged as halfwords, then all channels
 * are computed for both.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_CONV2D_H
#define ABOARD_KERNELS_ARM_DSP_CONV2D_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../conv2d.h"
#include "../staging.h"
#include "aboard/config.h"
#include "aboard/view.h"
#include "dot.h"

/** Parameters of aboard_conv2d_dsp. */
typedef struct {
    aboard_conv2d_shape_t shape;
    int32_t line;       /**< 1: results by lines; 0: by two roundings. */
    int32_t clamped;    /**< 1: results are kept between low and high. */
    int32_t zero_point; /**< Of the input: what padding holds. */
    int32_t low;
    int32_t high;
} aboard_conv2d_dsp_t;

/** A pixel of the result: where its window lies and where the results go. */
typedef struct {
    int32_t base; /**< First row of its image in the input's view. */
    int32_t top;  /**< Row of the window's first tap within the image; it may lie outside. */
    int32_t left; /**< Column of the window's first tap. */
} aboard_conv2d_dsp_window_t;

/** Taps of a window, up to whole quads. */
ABOARD_INLINE int32_t aboard_conv2d_dsp_taps(const aboard_conv2d_shape_t *s) {
    return (aboard_conv2d_taps(s) + ABOARD_DSP_QUAD - 1) / ABOARD_DSP_QUAD * ABOARD_DSP_QUAD;
}

/** True where the pixels of a window hold whole quads each, and are staged from where they lie. */
ABOARD_INLINE bool aboard_conv2d_dsp_whole(const aboard_conv2d_shape_t *s) {
    return s->in.channels / s->groups % ABOARD_DSP_QUAD == 0;
}

/** Words of a block of two channels. */
ABOARD_INLINE int32_t aboard_conv2d_dsp_block(const aboard_conv2d_dsp_t *p) {
    const int32_t words = aboard_conv2d_dsp_taps(&p->shape) / ABOARD_DSP_QUAD * 2;
    return words + (p->line ? ABOARD_DSP_LINE_WORDS : ABOARD_DSP_ANY_WORDS);
}

/** The window of result pixel (row, col). */
ABOARD_INLINE aboard_conv2d_dsp_window_t aboard_conv2d_dsp_window(const aboard_conv2d_shape_t *s, int32_t row,
                                                                  int32_t col) {
    const int32_t image = aboard_conv2d_image(&s->out, s->out_height, row);
    const aboard_conv2d_dsp_window_t window = {
        image * s->in_height,
        (row - image * s->out_height) * s->stride_h - s->pad_top,
        col * s->stride_w - s->pad_left,
    };
    return window;
}

/** Address of result pixel (row, col), which then becomes the next one. */
ABOARD_INLINE int8_t *aboard_conv2d_dsp_next(const aboard_conv2d_shape_t *s, int8_t *out, int32_t *row, int32_t *col) {
    int8_t *const y = aboard_row_out_s8(&s->out, out, *row) + *col * s->out.pixel_stride;
    if (++*col == s->out.cols) {
        *col = 0;
        ++*row;
    }
    return y;
}

/** True where a row of a window lies within the input from its first to its last column. */
ABOARD_INLINE bool aboard_conv2d_dsp_inside(const aboard_conv2d_shape_t *s, int32_t left) {
    return left >= 0 && left + (s->window_width - 1) * s->dilation_w < s->in.cols;
}

/** Address of tap (ky, kx) of a window, or `padding` where it lies outside the input. */
ABOARD_INLINE const int8_t *aboard_conv2d_dsp_tap(const aboard_conv2d_shape_t *s, const int8_t *x,
                                                  const aboard_conv2d_dsp_window_t *w, int32_t ky, int32_t kx,
                                                  const int8_t *padding) {
    const int32_t row = w->top + ky * s->dilation_h;
    const int32_t col = w->left + kx * s->dilation_w;
    if (row < 0 || row >= s->in_height || col < 0 || col >= s->in.cols) {
        return padding;
    }
    return aboard_row_s8(&s->in, x, w->base + row) + col * s->in.pixel_stride;
}

/** Stages the windows of two pixels from where they lie; `padding` holds a pixel of zero points. */
ABOARD_INLINE void aboard_conv2d_dsp_stage(const aboard_conv2d_dsp_t *p, const int8_t *x,
                                           const aboard_conv2d_dsp_window_t *w, uint32_t *pairs,
                                           const int8_t *padding) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t depth = s->in.channels / s->groups;
    const bool rows = s->dilation_w == 1 && s->in.pixel_stride == depth && aboard_conv2d_dsp_inside(s, w[0].left) &&
                      aboard_conv2d_dsp_inside(s, w[1].left);
    for (int32_t ky = 0; ky < s->window_height; ++ky) {
        const int32_t first = w[0].top + ky * s->dilation_h;
        const int32_t second = w[1].top + ky * s->dilation_h;
        if (rows && first >= 0 && first < s->in_height && second >= 0 && second < s->in_height) {
            const int8_t *const a = aboard_row_s8(&s->in, x, w[0].base + first) + w[0].left * depth;
            const int8_t *const b = aboard_row_s8(&s->in, x, w[1].base + second) + w[1].left * depth;
            pairs = aboard_dsp_stage_pair(pairs, a, b, s->window_width * depth);
            continue;
        }
        for (int32_t kx = 0; kx < s->window_width; ++kx) {
            const int8_t *const a = aboard_conv2d_dsp_tap(s, x, &w[0], ky, kx, padding);
            const int8_t *const b = aboard_conv2d_dsp_tap(s, x, &w[1], ky, kx, padding);
            pairs = aboard_dsp_stage_pair(pairs, a, b, depth);
        }
    }
}

/** Copies a row of a window of which `before` and `after` pixels lie outside the input; `from` is that of the first. */
ABOARD_INLINE int8_t *aboard_conv2d_dsp_gather_row(const aboard_conv2d_dsp_t *p, const int8_t *from, int32_t before,
                                                   int32_t after, int8_t *patch) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t depth = s->in.channels / s->groups;
    const int32_t inside = s->window_width - before - after;
    if (inside == s->window_width) {
        /* In line where the size is a literal. */
        memcpy(patch, from, (size_t)(s->window_width * depth));
        return patch + s->window_width * depth;
    }
    patch = aboard_stage_fill_shared(patch, p->zero_point, before * depth);
    patch = aboard_stage_copy_shared(patch, from + before * depth, inside * depth);
    return aboard_stage_fill_shared(patch, p->zero_point, after * depth);
}

/** Copies what a window sees, pixels of any number of channels. */
ABOARD_INLINE void aboard_conv2d_dsp_gather(const aboard_conv2d_dsp_t *p, const int8_t *x,
                                            const aboard_conv2d_dsp_window_t *w, int8_t *patch) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t depth = s->in.channels / s->groups;
    const int32_t before = ABOARD_MIN(ABOARD_MAX(-w->left, 0), s->window_width);
    const int32_t behind = ABOARD_MAX(w->left + s->window_width - s->in.cols, 0);
    const int32_t after = ABOARD_MIN(behind, s->window_width - before);
    for (int32_t ky = 0; ky < s->window_height; ++ky) {
        const int32_t row = w->top + ky * s->dilation_h;
        if (row < 0 || row >= s->in_height) {
            patch = aboard_stage_fill_shared(patch, p->zero_point, s->window_width * depth);
        } else if (s->dilation_w == 1 && s->in.pixel_stride == depth) {
            const int8_t *const from = aboard_row_s8(&s->in, x, w->base + row) + w->left * depth;
            patch = aboard_conv2d_dsp_gather_row(p, from, before, after, patch);
        } else {
            for (int32_t kx = 0; kx < s->window_width; ++kx) {
                const int8_t *const from = aboard_conv2d_dsp_tap(s, x, w, ky, kx, NULL);
                patch = from ? aboard_stage_copy_shared(patch, from, depth)
                             : aboard_stage_fill_shared(patch, p->zero_point, depth);
            }
        }
    }
}

/** Results of all channels of a group for two pixels, from their staged windows. */
ABOARD_INLINE void aboard_conv2d_dsp_finish(const aboard_conv2d_dsp_t *p, const uint32_t *weights,
                                            const uint32_t *pairs, int8_t *const *y) {
    const int32_t channels = p->shape.out.channels / p->shape.groups;
    const int32_t even = channels / 2 * 2;
    const int32_t quads = aboard_conv2d_dsp_taps(&p->shape) / ABOARD_DSP_QUAD;
    if (even > 0 && p->line) {
        aboard_dsp_pair_line(weights, pairs, y, even, quads);
    } else if (even > 0) {
        aboard_dsp_pair_any(weights, pairs, y, even, quads);
    }
    if (even < channels) {
        /* Of the last block the second channel is none. */
        int8_t last[2][2];
        int8_t *const to[2] = {last[0], last[1]};
        weights += even / 2 * aboard_conv2d_dsp_block(p);
        if (p->line) {
            aboard_dsp_pair_line(weights, pairs, to, 2, quads);
        } else {
            aboard_dsp_pair_any(weights, pairs, to, 2, quads);
        }
        y[1][even] = last[1][0];
        y[0][even] = last[0][0];
    }
    if (p->clamped) {
        aboard_dsp_clamp(y[0], channels, p->low, p->high);
        aboard_dsp_clamp(y[1], channels, p->low, p->high);
    }
}

/** Rows [first, last) of one group of channels; a last single pixel is computed twice. */
ABOARD_INLINE void aboard_conv2d_dsp_group(const aboard_conv2d_dsp_t *p, const int8_t *x, int8_t *out,
                                           const uint32_t *weights, uint32_t *pairs, int8_t *bytes, int32_t first,
                                           int32_t last) {
    const aboard_conv2d_shape_t *s = &p->shape;
    int32_t row = first;
    int32_t col = 0;
    while (row < last) {
        aboard_conv2d_dsp_window_t windows[2];
        int8_t *y[2];
        windows[0] = windows[1] = aboard_conv2d_dsp_window(s, row, col);
        y[0] = y[1] = aboard_conv2d_dsp_next(s, out, &row, &col);
        if (row < last) {
            windows[1] = aboard_conv2d_dsp_window(s, row, col);
            y[1] = aboard_conv2d_dsp_next(s, out, &row, &col);
        }
        if (aboard_conv2d_dsp_whole(s)) {
            aboard_conv2d_dsp_stage(p, x, windows, pairs, bytes);
        } else {
            const int32_t taps = aboard_conv2d_dsp_taps(s);
            aboard_conv2d_dsp_gather(p, x, &windows[0], bytes);
            aboard_conv2d_dsp_gather(p, x, &windows[1], bytes + taps);
            aboard_dsp_stage_pair(pairs, bytes, bytes + taps, taps);
        }
        aboard_conv2d_dsp_finish(p, weights, pairs, y);
    }
}

/**
 * int8 convolution, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Different memory. Any views, rings of rows included.
 * @param weights     Packed, see aboard_dsp_pair_line and aboard_dsp_pair_any; groups after one another.
 * @param pairs       Scratch of ABOARD_DSP_PAIR_WORDS words for each quad of taps.
 * @param bytes       Scratch: a pixel of padding where pixels hold whole quads, otherwise the windows of two pixels.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_conv2d_dsp(const aboard_conv2d_dsp_t *p, const int8_t *in, int8_t *out,
                                     const uint32_t *weights, uint32_t *pairs, int8_t *bytes, int32_t first,
                                     int32_t last) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t depth = s->in.channels / s->groups;
    const int32_t channels = s->out.channels / s->groups;
    const bool padded = s->window_height * s->window_width > 1 || s->pad_top > 0 || s->pad_left > 0;
    if (aboard_conv2d_dsp_whole(s) && padded) {
        aboard_stage_fill_shared(bytes, p->zero_point, depth);
    }
    for (int32_t group = 0; group < s->groups; ++group) {
        aboard_conv2d_dsp_group(p, in + group * depth, out + group * channels, weights, pairs, bytes, first, last);
        weights += (channels + 1) / 2 * aboard_conv2d_dsp_block(p);
    }
}

#endif
