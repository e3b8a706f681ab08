/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conv2d.h
 * int8 convolution with two products a multiplication (dot.h): the windows of two pixels are copied into the same
 * words, then all channels of both are computed.
 */
#ifndef ABOARD_KERNELS_ARM_MLA_CONV2D_H
#define ABOARD_KERNELS_ARM_MLA_CONV2D_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../portable/conv2d_window.h"
#include "../portable/two_pixels.h"
#include "aboard/config.h"
#include "aboard/view.h"
#include "dot.h"

/** Parameters of aboard_conv2d_mla. */
typedef struct {
    aboard_conv2d_shape_t shape;
    int32_t single_rounding; /**< 1: results by a single rounding; 0: by a double rounding. */
    int32_t clamped;         /**< 1: results are clamped to [low, high]. */
    int32_t zero_point;      /**< Zero point of the input, and value of padding. */
    int32_t low;
    int32_t high;
} aboard_conv2d_mla_t;

/** Words of a copied window: one per tap, in whole pairs. */
ABOARD_INLINE int32_t aboard_conv2d_mla_words(const aboard_conv2d_shape_t *s) {
    return (aboard_conv2d_taps(s) + 1) / 2 * 2;
}

/** Number of taps of a row that are copied without a loop. */
#define ABOARD_MLA_FEW 12

/** Like aboard_two_pixels_words, for a literal number of taps up to ABOARD_MLA_FEW. */
ABOARD_INLINE int32_t *aboard_mla_few_words(int32_t *to, const int8_t *a, const int8_t *b, int32_t taps) {
    ABOARD_UNROLL(12)
    for (int32_t k = 0; k < taps; ++k) {
        to[k] = aboard_two_pixels_word(a[k], b[k]);
    }
    return to + taps;
}

/**
 * Writes taps of one pixel into words; returns their end.
 *
 * @param second False: as the first pixel, without a second one; true: as the second pixel, beside the first.
 * @param step   1: one tap after another; 0: one tap repeated.
 */
ABOARD_SHARED int32_t *aboard_mla_put(int32_t *to, const int8_t *from, int32_t step, int32_t taps, bool second) {
    int32_t *const end = to + taps;
    if (second) {
        for (; to != end; from += step) {
            *to++ += aboard_two_pixels_word(0, *from);
            ABOARD_OPAQUE(to);
        }
    } else {
        for (; to != end; from += step) {
            *to++ = *from;
            ABOARD_OPAQUE(to);
        }
    }
    return end;
}

/** Writes one row of a window into words; `row` is NULL for padding. */
ABOARD_INLINE int32_t *aboard_conv2d_mla_row(const aboard_conv2d_mla_t *p, const int8_t *row, int32_t left, int32_t *to,
                                             bool second) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t depth = s->in.channels / s->groups;
    const int8_t padding = (int8_t)p->zero_point;
    if (row == NULL) {
        return aboard_mla_put(to, &padding, 0, s->window_width * depth, second);
    }
    if (s->dilation_w == 1 && s->in.pixel_stride == depth) {
        const int32_t before = ABOARD_MIN(ABOARD_MAX(-left, 0), s->window_width);
        const int32_t after = ABOARD_MIN(ABOARD_MAX(left + s->window_width - s->in.cols, 0), s->window_width - before);
        if (before > 0) {
            to = aboard_mla_put(to, &padding, 0, before * depth, second);
        }
        to = aboard_mla_put(to, row + (left + before) * depth, 1, (s->window_width - before - after) * depth, second);
        return after > 0 ? aboard_mla_put(to, &padding, 0, after * depth, second) : to;
    }
    for (int32_t tap = 0; tap < s->window_width; ++tap) {
        const int32_t x = left + tap * s->dilation_w;
        if (x >= 0 && x < s->in.cols) {
            to = aboard_mla_put(to, row + x * s->in.pixel_stride, 1, depth, second);
        } else {
            to = aboard_mla_put(to, &padding, 0, depth, second);
        }
    }
    return to;
}

/** Address of row `tap` of a window at the input's first column, or NULL for padding. */
ABOARD_INLINE const int8_t *aboard_conv2d_mla_single(const aboard_conv2d_shape_t *s, const int8_t *x,
                                                     const aboard_conv2d_window_t *w, int32_t tap) {
    const int32_t row = w->top + tap * s->dilation_h;
    return row >= 0 && row < s->in_height ? aboard_row_s8(&s->in, x, w->base + row) : NULL;
}

/** True if a row of a window is contiguous and within the input. */
ABOARD_INLINE bool aboard_conv2d_mla_inside(const aboard_conv2d_shape_t *s, const aboard_conv2d_window_t *w) {
    return w->left >= 0 && w->left + s->window_width <= s->in.cols && s->dilation_w == 1 &&
           s->in.pixel_stride == s->in.channels / s->groups;
}

/** Copies the windows of two pixels, row by row. */
ABOARD_INLINE void aboard_conv2d_mla_windows(const aboard_conv2d_mla_t *p, const int8_t *x,
                                             const aboard_conv2d_window_t *w, int32_t *words) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t depth = s->in.channels / s->groups;
    const int32_t taps = s->window_width * depth;
    const bool inside = aboard_conv2d_mla_inside(s, &w[0]) && aboard_conv2d_mla_inside(s, &w[1]);
    for (int32_t tap = 0; tap < s->window_height; ++tap) {
        const int8_t *const a = aboard_conv2d_mla_single(s, x, &w[0], tap);
        const int8_t *const b = aboard_conv2d_mla_single(s, x, &w[1], tap);
        if (inside && a != NULL && b != NULL && taps <= ABOARD_MLA_FEW) {
            words = aboard_mla_few_words(words, a + w[0].left * depth, b + w[1].left * depth, taps);
        } else if (inside && a != NULL && b != NULL) {
            words = aboard_two_pixels_words(words, a + w[0].left * depth, b + w[1].left * depth, taps);
        } else {
            aboard_conv2d_mla_row(p, a, w[0].left, words, false);
            words = aboard_conv2d_mla_row(p, b, w[1].left, words, true);
        }
    }
}

/** Results of all channels of a group for two pixels, from their copied windows. */
ABOARD_INLINE void aboard_conv2d_mla_epilogue(const aboard_conv2d_mla_t *p, aboard_mla_pair_t *job, int8_t *const *y) {
    const int32_t channels = p->shape.out.channels / p->shape.groups;
    const int32_t whole = channels / ABOARD_MLA_BLOCK * ABOARD_MLA_BLOCK;
    void (*const pair)(const aboard_mla_pair_t *) =
        p->single_rounding ? aboard_mla_pair_single : aboard_mla_pair_double;
    if (whole > 0) {
        job->y0 = y[0];
        job->y1 = y[1];
        job->end = y[0] + whole;
        pair(job);
    }
    const int32_t rest = channels - whole;
    if (rest > 0) {
        /* The last block may have fewer channels. */
        void (*const small_pair)(const aboard_mla_pair_t *) =
            p->single_rounding ? aboard_mla_small_pair_single : aboard_mla_small_pair_double;
        int8_t last[2][ABOARD_MLA_BLOCK];
        aboard_mla_pair_t one = *job;
        one.y0 = last[0];
        one.y1 = last[1];
        one.end = last[0] + ABOARD_MLA_BLOCK;
        one.weights += aboard_mla_words(whole, job->steps, p->single_rounding != 0);
        if (rest <= ABOARD_MLA_SMALL_BLOCK) {
            small_pair(&one);
        } else {
            pair(&one);
        }
        memcpy(y[1] + whole, last[1], (size_t)rest);
        memcpy(y[0] + whole, last[0], (size_t)rest);
    }
    for (int32_t i = 0; p->clamped && i < 2; ++i) {
        for (int32_t n = 0; n < channels; ++n) {
            y[i][n] = (int8_t)ABOARD_MIN(ABOARD_MAX(y[i][n], p->low), p->high);
        }
    }
}

/** Address of result pixel (row, col); advances (row, col) by one pixel. */
ABOARD_INLINE int8_t *aboard_conv2d_mla_next(const aboard_conv2d_shape_t *s, int8_t *out, int32_t *row, int32_t *col) {
    int8_t *const y = aboard_row_out_s8(&s->out, out, *row) + *col * s->out.pixel_stride;
    if (++*col == s->out.cols) {
        *col = 0;
        ++*row;
    }
    return y;
}

/** Rows [first, last) of one group of channels; a last single pixel is computed twice. */
ABOARD_INLINE void aboard_conv2d_mla_group(const aboard_conv2d_mla_t *p, const int8_t *x, int8_t *out,
                                           const int32_t *weights, int32_t *words, int32_t first, int32_t last) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t count = aboard_conv2d_mla_words(s);
    aboard_mla_pair_t job = {NULL, NULL, NULL, words, words + count, count / 2, weights};
    int32_t row = first;
    int32_t col = 0;
    while (row < last) {
        aboard_conv2d_window_t windows[2];
        int8_t *y[2];
        windows[0] = windows[1] = aboard_conv2d_window(s, row, col);
        y[0] = y[1] = aboard_conv2d_mla_next(s, out, &row, &col);
        if (row < last) {
            windows[1] = aboard_conv2d_window(s, row, col);
            y[1] = aboard_conv2d_mla_next(s, out, &row, &col);
        }
        aboard_conv2d_mla_windows(p, x, windows, words);
        aboard_conv2d_mla_epilogue(p, &job, y);
    }
}

/** True if windows are single pixels at the positions of the result pixels. */
ABOARD_INLINE bool aboard_conv2d_mla_flat(const aboard_conv2d_shape_t *s) {
    return s->window_height == 1 && s->window_width == 1 && s->stride_h == 1 && s->stride_w == 1 && s->pad_top == 0 &&
           s->pad_left == 0 && s->out.cols == s->in.cols && s->out.rows == s->in.rows;
}

/** Like aboard_conv2d_mla_group, if aboard_conv2d_mla_flat is true: rows without gaps are one long row. */
ABOARD_INLINE void aboard_conv2d_mla_pixels(const aboard_conv2d_mla_t *p, const int8_t *x, int8_t *out,
                                            const int32_t *weights, int32_t *words, int32_t first, int32_t last) {
    const aboard_view_t *in = &p->shape.in;
    const aboard_view_t *to = &p->shape.out;
    const int32_t count = aboard_conv2d_mla_words(&p->shape);
    const bool dense = in->row_stride == in->cols * in->pixel_stride && to->row_stride == to->cols * to->pixel_stride;
    aboard_mla_pair_t job = {NULL, NULL, NULL, words, words + count, count / 2, weights};
    int32_t row = first;
    while (row < last) {
        const int32_t rows = aboard_rows_together(in, row, aboard_rows_together(to, row, dense ? last - row : 1));
        const int8_t *a = aboard_row_s8(in, x, row);
        int8_t *y[2] = {aboard_row_out_s8(to, out, row), NULL};
        for (int32_t left = rows * in->cols; left > 0; left -= 2) {
            const bool both = left > 1;
            aboard_two_pixels_words(words, a, both ? a + in->pixel_stride : a, aboard_conv2d_taps(&p->shape));
            y[1] = both ? y[0] + to->pixel_stride : y[0];
            aboard_conv2d_mla_epilogue(p, &job, y);
            a += 2 * in->pixel_stride;
            y[0] += 2 * to->pixel_stride;
        }
        row += rows;
    }
}

/**
 * int8 convolution, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Any views, including rolling buffers. In different memory, or the operand starts after the result
 * by at least the minimum in-place offset (host/aboard/kernels/overlap.py).
 * @param weights     Packed, see aboard_mla_pair_t; one group after another.
 * @param words       Scratch of one word per tap of a window, in whole pairs.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_conv2d_mla(const aboard_conv2d_mla_t *p, const int8_t *in, int8_t *out,
                                     const int32_t *weights, int32_t *words, int32_t first, int32_t last) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t depth = s->in.channels / s->groups;
    const int32_t channels = s->out.channels / s->groups;
    const int32_t count = aboard_conv2d_mla_words(s);
    /* Three channels at the end fill a block, one fills a small block: both are a multiple of two. */
    const int32_t filled = (channels + 1) / ABOARD_MLA_SMALL_BLOCK * ABOARD_MLA_SMALL_BLOCK;
    const int32_t group_words = aboard_mla_words(filled, count / 2, p->single_rounding != 0);
    /* The tap after an odd number of taps, with weights of 0. */
    words[count - 1] = 0;
    for (int32_t group = 0; group < s->groups; ++group) {
        if (aboard_conv2d_mla_flat(s)) {
            aboard_conv2d_mla_pixels(p, in + group * depth, out + group * channels, weights, words, first, last);
        } else {
            aboard_conv2d_mla_group(p, in + group * depth, out + group * channels, weights, words, first, last);
        }
        weights += group_words;
    }
}

#endif
