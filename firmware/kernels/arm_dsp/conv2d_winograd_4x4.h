/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conv2d_winograd_4x4.h
 * int8 convolution of 3x3 windows with the DSP extension by Winograd's F(4x4, 3x3): four rows of eight results at a
 * time (dot_winograd_4x4.h).
 */
#ifndef ABOARD_KERNELS_ARM_DSP_CONV2D_WINOGRAD_4X4_H
#define ABOARD_KERNELS_ARM_DSP_CONV2D_WINOGRAD_4X4_H

#include <stddef.h>
#include <stdint.h>

#include "../portable/conv2d_window.h"
#include "../portable/im2col.h"
#include "aboard/config.h"
#include "aboard/view.h"
#include "dot.h"
#include "dot_winograd_4x4.h"
#include "winograd_4x4_inputs.h"

/** Parameters of aboard_conv2d_winograd_4x4_dsp. */
typedef struct {
    aboard_conv2d_shape_t shape;
    int32_t single_rounding; /**< 1: results by a single rounding; 0: by a double rounding. */
    int32_t clamped;         /**< 1: results are clamped to [low, high]. */
    int32_t zero_point;      /**< Zero point of the input, and value of padding. */
    int32_t padding_bytes;   /**< Bytes of a row of a window. */
    int32_t low;
    int32_t high;
} aboard_conv2d_winograd_4x4_dsp_t;

/** Transforms the inputs of two tiles, of which `rows` and `cols` results exist, from the window at `at` on. */
ABOARD_INLINE void aboard_conv2d_winograd_4x4_dsp_fill(const aboard_conv2d_winograd_4x4_dsp_t *p, const int8_t *in,
                                                       const aboard_conv2d_window_t *at, int32_t rows, int32_t cols,
                                                       uint32_t *x, uint32_t *columns, const int8_t *padding) {
    const aboard_view_t *const view = &p->shape.in;
    const int32_t first = ABOARD_MAX(-at->left, 0);
    const int32_t last = ABOARD_MIN(view->cols - at->left, cols + 2);
    aboard_dsp_tile_4x4_window_t window = {
        {padding, padding, padding, padding, padding, padding}, view->pixel_stride, first, last, view->channels};
    /* Behind the last row of results further rows of pixels may not be there yet. */
    for (int32_t i = 0; i < rows + 2; ++i) {
        const int32_t row = at->top + i;
        if (row >= 0 && row < p->shape.in_height && first < last) {
            window.rows[i] = aboard_row_s8(view, in, at->base + row) + (at->left + first) * view->pixel_stride;
        }
    }
    if (last - first < ABOARD_DSP_TILE_4X4_COLUMNS) {
        aboard_dsp_tile_outside(columns, ABOARD_DSP_TILE_4X4_COLUMNS, first, last, ABOARD_DSP_TILE_4X4_ROWS,
                                ABOARD_DSP_TILE_4X4_PADDING * p->zero_point);
    }
    aboard_dsp_tile_4x4_fill(x, columns, &window);
}

/** Results of whole blocks of channels of two tiles. */
ABOARD_INLINE void aboard_conv2d_winograd_4x4_dsp_tiles(const aboard_conv2d_winograd_4x4_dsp_t *p,
                                                        const aboard_dsp_tiles_4x4_t *job) {
    const int32_t depth = aboard_dsp_tile_depth(p->shape.in.channels);
    if (depth == 16) {
        (p->single_rounding ? aboard_dsp_tiles_4x4_single_16 : aboard_dsp_tiles_4x4_double_16)(job);
    } else if (depth % 16 == 0) {
        (p->single_rounding ? aboard_dsp_tiles_4x4_single_32 : aboard_dsp_tiles_4x4_double_32)(job);
    } else {
        (p->single_rounding ? aboard_dsp_tiles_4x4_single : aboard_dsp_tiles_4x4_double)(job);
    }
}

/** Results of the last four channels of two tiles, some of which are among the four before. */
ABOARD_INLINE void aboard_conv2d_winograd_4x4_dsp_last(const aboard_conv2d_winograd_4x4_dsp_t *p,
                                                       const aboard_dsp_tiles_4x4_t *job) {
    aboard_dsp_tiles_4x4_t last = *job;
    last.products.weights +=
        job->blocks * aboard_dsp_tile_block_words(ABOARD_DSP_PLACES_4X4, p->shape.in.channels, p->single_rounding);
    last.blocks = 1;
    for (int32_t i = 0; i < ABOARD_DSP_TILE_4X4_HEIGHT; ++i) {
        last.rows[i] += p->shape.out.channels - ABOARD_DSP_TILE_CHANNELS;
    }
    aboard_conv2d_winograd_4x4_dsp_tiles(p, &last);
}

/** Sets the columns of two tiles of which `cols` results of a row exist. */
ABOARD_INLINE void aboard_conv2d_winograd_4x4_dsp_place(aboard_dsp_tiles_4x4_t *job, int32_t cols, int32_t stride) {
    job->tile = cols > 4 ? 4 * stride : 0;
    for (int32_t i = 1; i < 4; ++i) {
        job->next[0][i - 1] = cols > 4 + i ? i * stride : 0;
        job->next[1][i - 1] = cols > i ? i * stride : 0;
    }
}

/** Results of two tiles with fewer channels than a block, `cols` of each of `rows` rows. */
ABOARD_INLINE void aboard_conv2d_winograd_4x4_dsp_part(const aboard_conv2d_winograd_4x4_dsp_t *p,
                                                       const aboard_dsp_tiles_4x4_t *job, int32_t rows, int32_t cols) {
    const int32_t row_bytes = ABOARD_DSP_TILE_4X4_RESULTS * ABOARD_DSP_TILE_CHANNELS;
    int8_t results[ABOARD_DSP_TILE_4X4_HEIGHT * ABOARD_DSP_TILE_4X4_RESULTS * ABOARD_DSP_TILE_CHANNELS];
    aboard_dsp_tiles_4x4_t whole = *job;
    whole.blocks = 1;
    aboard_conv2d_winograd_4x4_dsp_place(&whole, ABOARD_DSP_TILE_4X4_RESULTS, ABOARD_DSP_TILE_CHANNELS);
    for (int32_t i = 0; i < ABOARD_DSP_TILE_4X4_HEIGHT; ++i) {
        whole.rows[i] = results + i * row_bytes;
    }
    aboard_conv2d_winograd_4x4_dsp_tiles(p, &whole);
    for (int32_t i = 0; i < rows; ++i) {
        aboard_dsp_tile_part(job->rows[i], p->shape.out.pixel_stride, results + i * row_bytes, cols,
                             p->shape.out.channels);
    }
}

/** Results of all channels of two tiles, of which `cols` of each of `rows` rows exist. */
ABOARD_INLINE void aboard_conv2d_winograd_4x4_dsp_all(const aboard_conv2d_winograd_4x4_dsp_t *p,
                                                      const aboard_dsp_tiles_4x4_t *job, int32_t rows, int32_t cols) {
    if (p->shape.out.channels < ABOARD_DSP_TILE_CHANNELS) {
        aboard_conv2d_winograd_4x4_dsp_part(p, job, rows, cols);
        return;
    }
    aboard_conv2d_winograd_4x4_dsp_tiles(p, job);
    if (p->shape.out.channels % ABOARD_DSP_TILE_CHANNELS != 0) {
        aboard_conv2d_winograd_4x4_dsp_last(p, job);
    }
}

/** Clamps the existing results of two tiles. */
ABOARD_INLINE void aboard_conv2d_winograd_4x4_dsp_clamp(const aboard_conv2d_winograd_4x4_dsp_t *p, int8_t *const *y,
                                                        int32_t rows, int32_t cols) {
    for (int32_t i = 0; i < rows * cols; ++i) {
        int8_t *const pixel = y[i / cols] + i % cols * p->shape.out.pixel_stride;
        aboard_dsp_clamp(pixel, p->shape.out.channels, p->low, p->high);
    }
}

/**
 * int8 convolution, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters: 3x3 windows, one pixel apart, without dilation and groups; four channels or more
 * of the operand.
 * @param in, out     As for aboard_conv2d_dsp; `in` is not overwritten.
 * @param weights     See aboard_dsp_products_t and aboard_dsp_tiles_4x4_t.
 * @param scratch     ABOARD_DSP_TILE_4X4_SUMS words, ABOARD_DSP_TILE_4X4_WORDS for every two channels of the operand,
 * and a row of a window, `padding_bytes`.
 * @param first, last Rows [first, last) of the result are computed, four at a time.
 */
ABOARD_INLINE void aboard_conv2d_winograd_4x4_dsp(const aboard_conv2d_winograd_4x4_dsp_t *p, const int8_t *in,
                                                  int8_t *out, const uint32_t *weights, uint32_t *scratch,
                                                  int32_t first, int32_t last) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const aboard_view_t *const view = &s->out;
    uint32_t *const x = scratch + ABOARD_DSP_TILE_4X4_SUMS;
    uint32_t *const x_end = x + aboard_dsp_tile_depth(s->in.channels) / 2 * ABOARD_DSP_TILE_4X4_WORDS;
    int8_t *const padding = (int8_t *)x_end;
    aboard_dsp_tiles_4x4_t job = {
        {x, x_end, scratch, weights}, view->channels / ABOARD_DSP_TILE_CHANNELS, 0, {NULL}, {{0}, {0}}};
    aboard_im2col_fill_shared(padding, p->zero_point, p->padding_bytes);
    for (int32_t row = first, rows = 0; row < last; row += rows) {
        const aboard_conv2d_window_t top = aboard_conv2d_window(s, row, 0);
        rows = ABOARD_MIN(ABOARD_MIN(last - row, s->out_height - (top.top + s->pad_top)), ABOARD_DSP_TILE_4X4_HEIGHT);
        for (int32_t i = 0; i < ABOARD_DSP_TILE_4X4_HEIGHT; ++i) {
            job.rows[i] = aboard_row_out_s8(view, out, i < rows ? row + i : row);
        }
        for (int32_t col = 0; col < view->cols; col += ABOARD_DSP_TILE_4X4_RESULTS) {
            const int32_t cols = ABOARD_MIN(view->cols - col, ABOARD_DSP_TILE_4X4_RESULTS);
            const aboard_conv2d_window_t at = {top.base, top.top, col - s->pad_left};
            aboard_conv2d_winograd_4x4_dsp_fill(p, in, &at, rows, cols, x, scratch, padding);
            aboard_conv2d_winograd_4x4_dsp_place(&job, cols, view->pixel_stride);
            aboard_conv2d_winograd_4x4_dsp_all(p, &job, rows, cols);
            if (p->clamped) {
                aboard_conv2d_winograd_4x4_dsp_clamp(p, job.rows, rows, cols);
            }
            for (int32_t i = 0; i < ABOARD_DSP_TILE_4X4_HEIGHT; ++i) {
                job.rows[i] += ABOARD_DSP_TILE_4X4_RESULTS * view->pixel_stride;
            }
        }
    }
}

#endif
