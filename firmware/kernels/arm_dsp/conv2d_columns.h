/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conv2d_columns.h
 * int8 convolution with the DSP extension of windows three pixels wide, one pixel apart: the columns of four results in
 * a row are copied as halfwords, then all channels of two results at a time are computed (dot_columns.h).
 */
#ifndef ABOARD_KERNELS_ARM_DSP_CONV2D_COLUMNS_H
#define ABOARD_KERNELS_ARM_DSP_CONV2D_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

#include "../portable/conv2d_window.h"
#include "../portable/im2col.h"
#include "aboard/config.h"
#include "aboard/view.h"
#include "dot.h"
#include "dot_columns.h"

/** Parameters of aboard_conv2d_columns_dsp. */
typedef struct {
    aboard_conv2d_shape_t shape;
    int32_t single_rounding; /**< 1: results by a single rounding; 0: by a double rounding. */
    int32_t clamped;         /**< 1: results are clamped to [low, high]. */
    int32_t zero_point;      /**< Zero point of the input, and value of padding. */
    int32_t low;
    int32_t high;
} aboard_conv2d_columns_dsp_t;

/** Copies the columns of the window at `w` and of the three behind it; `padding` contains a pixel of zero points. */
ABOARD_INLINE void aboard_conv2d_columns_dsp_fill(const aboard_conv2d_shape_t *s, const int8_t *x,
                                                  const aboard_conv2d_window_t *w, uint32_t *columns,
                                                  const int8_t *padding) {
    const int32_t depth = s->in.channels;
    for (int32_t ky = 0; ky < s->window_height; ++ky) {
        const int32_t row = w->top + ky * s->dilation_h;
        const bool inside = row >= 0 && row < s->in_height;
        const int8_t *const from = inside ? aboard_row_s8(&s->in, x, w->base + row) : padding;
        const int8_t *ends[ABOARD_DSP_COLUMNS];
        ABOARD_UNROLL(6)
        for (int32_t i = 0; i < ABOARD_DSP_COLUMNS; ++i) {
            const int32_t col = w->left + i;
            const bool is_pixel = inside && col >= 0 && col < s->in.cols;
            ends[i] = (is_pixel ? from + col * s->in.pixel_stride : padding) + depth;
        }
        columns = aboard_dsp_fill_columns(columns, ends, depth);
    }
}

/** Results of all channels of a job for two neighbours. */
ABOARD_INLINE void aboard_conv2d_columns_dsp_pair(const aboard_conv2d_columns_dsp_t *p, const aboard_dsp_pair_t *job) {
    if (p->single_rounding) {
        aboard_dsp_column_single(job);
    } else {
        aboard_dsp_column_double(job);
    }
    if (p->clamped) {
        aboard_dsp_clamp(job->y0, p->shape.out.channels, p->low, p->high);
        if (job->y1 != job->y0) {
            aboard_dsp_clamp(job->y1, p->shape.out.channels, p->low, p->high);
        }
    }
}

/**
 * int8 convolution, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters: windows three pixels wide, one pixel apart, without dilation of columns and groups; a
 *                    multiple of four channels of the operand and of the result.
 * @param in, out     As for aboard_conv2d_dsp.
 * @param weights     Blocks of four channels, see aboard_dsp_column_single.
 * @param columns     Scratch: ABOARD_DSP_COLUMNS words for every two channels of each row of a window.
 * @param padding     Scratch: a pixel.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_conv2d_columns_dsp(const aboard_conv2d_columns_dsp_t *p, const int8_t *in, int8_t *out,
                                             const uint32_t *weights, uint32_t *columns, int8_t *padding, int32_t first,
                                             int32_t last) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t words = s->window_height * s->in.channels / 2 * ABOARD_DSP_COLUMNS;
    const int32_t tap_groups = s->window_height * s->window_width * s->in.channels / ABOARD_DSP_TAP_GROUP;
    aboard_im2col_fill_shared(padding, p->zero_point, s->in.channels);
    for (int32_t row = first; row < last; ++row) {
        int8_t *y = aboard_row_out_s8(&s->out, out, row);
        for (int32_t col = 0; col < s->out.cols; col += ABOARD_DSP_COLUMN_RESULTS) {
            const aboard_conv2d_window_t window = aboard_conv2d_window(s, row, col);
            const int32_t results = ABOARD_MIN(s->out.cols - col, ABOARD_DSP_COLUMN_RESULTS);
            aboard_conv2d_columns_dsp_fill(s, in, &window, columns, padding);
            for (int32_t i = 0; i < results; i += 2) {
                /* A last single result takes the place of its neighbour too, whose result is overwritten. */
                int8_t *const next = i + 1 < results ? y + s->out.pixel_stride : y;
                const uint32_t *const x = columns + i;
                const aboard_dsp_pair_t job = {y,         next,    y + s->out.channels, x, x + words,
                                               {0, 0, 0}, weights, tap_groups};
                aboard_conv2d_columns_dsp_pair(p, &job);
                y += 2 * s->out.pixel_stride;
            }
        }
    }
}

#endif
