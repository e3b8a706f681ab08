/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conv2d_winograd.h
 * int8 convolution of 3x3 windows with the DSP extension by Winograd's F(2x2, 3x3): two rows of four results at a time
 * (dot_winograd.h).
 */
#ifndef ABOARD_KERNELS_ARM_DSP_CONV2D_WINOGRAD_H
#define ABOARD_KERNELS_ARM_DSP_CONV2D_WINOGRAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../portable/conv2d_window.h"
#include "../portable/im2col.h"
#include "aboard/config.h"
#include "aboard/view.h"
#include "dot.h"
#include "dot_winograd.h"
#include "winograd_inputs.h"

/** Parameters of aboard_conv2d_winograd_dsp. */
typedef struct {
    aboard_conv2d_shape_t shape;
    int32_t single_rounding; /**< 1: results by a single rounding; 0: by a double rounding. */
    int32_t clamped;         /**< 1: results are clamped to [low, high]. */
    int32_t zero_point;      /**< Zero point of the input, and value of padding. */
    int32_t padding_bytes;   /**< Bytes of a row of a window. */
    int32_t overwrites;      /**< 1: rows of the result may lie exactly over rows of `in` that nothing reads later. */
    int32_t low;
    int32_t high;
} aboard_conv2d_winograd_dsp_t;

/** Words of the columns of two tiles, and most channels of which two pixels find room behind them. */
#define ABOARD_DSP_TILE_COLUMN_WORDS (8 * ABOARD_DSP_TILE_COLUMNS)
#define ABOARD_DSP_TILE_EDGE (2 * (ABOARD_DSP_TILE_SUMS - ABOARD_DSP_TILE_COLUMN_WORDS))

/** Transforms the inputs of two tiles, of which `rows` and `cols` results exist, from the window at `at` on. */
ABOARD_INLINE void aboard_conv2d_winograd_dsp_fill(const aboard_conv2d_winograd_dsp_t *p, const int8_t *in,
                                                   const aboard_conv2d_window_t *at, int32_t rows, int32_t cols,
                                                   uint32_t *x, uint32_t *columns, const int8_t *padding) {
    const aboard_view_t *const view = &p->shape.in;
    const int32_t first = ABOARD_MAX(-at->left, 0);
    const int32_t last = ABOARD_MIN(view->cols - at->left, cols + 2);
    aboard_dsp_tile_window_t window = {
        {padding, padding, padding, padding}, view->pixel_stride, first, last, view->channels};
    /* Of a single row of results the last row of pixels may not be there yet. */
    for (int32_t i = 0; i < rows + 2; ++i) {
        const int32_t row = at->top + i;
        if (row >= 0 && row < p->shape.in_height && first < last) {
            window.rows[i] = aboard_row_s8(view, in, at->base + row) + (at->left + first) * view->pixel_stride;
        }
    }
    if (last - first < ABOARD_DSP_TILE_COLUMNS) {
        aboard_dsp_tile_outside(columns, ABOARD_DSP_TILE_COLUMNS, first, last, ABOARD_DSP_TILE_ROWS, 2 * p->zero_point);
    }
    aboard_dsp_tile_fill(x, columns, &window);
}

/** Results of whole blocks of channels of two tiles. */
ABOARD_INLINE void aboard_conv2d_winograd_dsp_tiles(const aboard_conv2d_winograd_dsp_t *p,
                                                    const aboard_dsp_tiles_t *job) {
    const int32_t depth = aboard_dsp_tile_depth(p->shape.in.channels);
    if (depth == 16) {
        (p->single_rounding ? aboard_dsp_tiles_single_16 : aboard_dsp_tiles_double_16)(job);
    } else if (depth % 16 == 0) {
        (p->single_rounding ? aboard_dsp_tiles_single_32 : aboard_dsp_tiles_double_32)(job);
    } else {
        (p->single_rounding ? aboard_dsp_tiles_single : aboard_dsp_tiles_double)(job);
    }
}

/** Results of the last four channels of two tiles, some of which are among the four before. */
ABOARD_INLINE void aboard_conv2d_winograd_dsp_last(const aboard_conv2d_winograd_dsp_t *p,
                                                   const aboard_dsp_tiles_t *job) {
    const int32_t channels = p->shape.out.channels;
    aboard_dsp_tiles_t last = *job;
    last.products.weights += channels / ABOARD_DSP_TILE_CHANNELS *
                             aboard_dsp_tile_block_words(ABOARD_DSP_PLACES, p->shape.in.channels, p->single_rounding);
    last.y = job->y + channels - ABOARD_DSP_TILE_CHANNELS;
    last.y_end = job->y + channels;
    aboard_conv2d_winograd_dsp_tiles(p, &last);
}

/** Results of two tiles with fewer channels than a block, `cols` of a row of them. */
ABOARD_INLINE void aboard_conv2d_winograd_dsp_part(const aboard_conv2d_winograd_dsp_t *p, const aboard_dsp_tiles_t *job,
                                                   int32_t rows, int32_t cols) {
    const int32_t row_bytes = ABOARD_DSP_TILE_RESULTS * ABOARD_DSP_TILE_CHANNELS;
    int8_t results[ABOARD_DSP_TILE_HEIGHT * ABOARD_DSP_TILE_RESULTS * ABOARD_DSP_TILE_CHANNELS];
    const aboard_dsp_tiles_t whole = {job->products,
                                      results,
                                      results + ABOARD_DSP_TILE_CHANNELS,
                                      2 * ABOARD_DSP_TILE_CHANNELS,
                                      {ABOARD_DSP_TILE_CHANNELS, ABOARD_DSP_TILE_CHANNELS},
                                      row_bytes};
    aboard_conv2d_winograd_dsp_tiles(p, &whole);
    for (int32_t i = 0; i < rows; ++i) {
        aboard_dsp_tile_part(job->y + i * job->below, p->shape.out.pixel_stride, results + i * row_bytes, cols,
                             p->shape.out.channels);
    }
}

/** Results of all channels of two tiles, of which `cols` of each of `rows` rows exist. */
ABOARD_INLINE void aboard_conv2d_winograd_dsp_all(const aboard_conv2d_winograd_dsp_t *p, const aboard_dsp_tiles_t *job,
                                                  int32_t rows, int32_t cols) {
    if (p->shape.out.channels < ABOARD_DSP_TILE_CHANNELS) {
        aboard_conv2d_winograd_dsp_part(p, job, rows, cols);
        return;
    }
    aboard_conv2d_winograd_dsp_tiles(p, job);
    if (p->shape.out.channels % ABOARD_DSP_TILE_CHANNELS != 0) {
        aboard_conv2d_winograd_dsp_last(p, job);
    }
}

/** Clamps the existing results of two tiles. */
ABOARD_INLINE void aboard_conv2d_winograd_dsp_clamp(const aboard_conv2d_winograd_dsp_t *p, int8_t *y, int32_t below,
                                                    int32_t rows, int32_t cols) {
    for (int32_t i = 0; i < rows * cols; ++i) {
        int8_t *const pixel = y + i / cols * below + i % cols * p->shape.out.pixel_stride;
        aboard_dsp_clamp(pixel, p->shape.out.channels, p->low, p->high);
    }
}

/** The last column of two tiles whose results lie over the operand: the next two tiles read the bytes under it. */
typedef struct {
    int8_t *place;   /**< That column in the first row. */
    int8_t *kept;    /**< The bytes of the operand in both rows. */
    int8_t *results; /**< The results in both rows, while inputs are transformed. */
    int32_t below;   /**< From the first to the second row. */
    int32_t depth;   /**< Channels. */
} aboard_conv2d_winograd_dsp_edge_t;

/** Copies a pixel of each row. */
ABOARD_SHARED void aboard_conv2d_winograd_dsp_copy(int8_t *to, int32_t below_to, const int8_t *from, int32_t below_from,
                                                   int32_t depth) {
    aboard_im2col_copy(to, from, depth);
    aboard_im2col_copy(to + below_to, from + below_from, depth);
}

/** Keeps the results, and puts the bytes of the operand back. */
ABOARD_INLINE void aboard_conv2d_winograd_dsp_uncover(const aboard_conv2d_winograd_dsp_edge_t *e) {
    aboard_conv2d_winograd_dsp_copy(e->results, e->depth, e->place, e->below, e->depth);
    aboard_conv2d_winograd_dsp_copy(e->place, e->below, e->kept, e->depth, e->depth);
}

/** True if one of two rows of results lies over a row of the operand that is read for them. */
ABOARD_INLINE bool aboard_conv2d_winograd_dsp_covers(const aboard_conv2d_winograd_dsp_t *p, const int8_t *in,
                                                     const aboard_conv2d_window_t *at, int32_t rows, const int8_t *y,
                                                     int32_t below) {
    bool found = false;
    for (int32_t i = 0; i < rows + 2; ++i) {
        const int32_t row = at->top + i;
        if (row >= 0 && row < p->shape.in_height) {
            const int8_t *const from = aboard_row_s8(&p->shape.in, in, at->base + row);
            found = found || from == y || from == y + below;
        }
    }
    return found;
}

/**
 * int8 convolution, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters: 3x3 windows, one pixel apart, without dilation and groups; four channels or more
 * of the operand.
 * @param in, out     As for aboard_conv2d_dsp; `in` is not overwritten, but for what `overwrites` allows: then a call
 * computes at most two rows.
 * @param weights     See aboard_dsp_products_t and aboard_dsp_tiles_t.
 * @param scratch     ABOARD_DSP_TILE_SUMS words, ABOARD_DSP_TILE_WORDS for every two channels of the operand, a row
 * of a window, `padding_bytes`, and if `overwrites` then two pixels, of at most
 * ABOARD_DSP_TILE_EDGE channels.
 * @param first, last Rows [first, last) of the result are computed, two at a time.
 */
ABOARD_INLINE void aboard_conv2d_winograd_dsp(const aboard_conv2d_winograd_dsp_t *p, const int8_t *in, int8_t *out,
                                              const uint32_t *weights, uint32_t *scratch, int32_t first, int32_t last) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const aboard_view_t *const view = &s->out;
    uint32_t *const x = scratch + ABOARD_DSP_TILE_SUMS;
    uint32_t *const x_end = x + aboard_dsp_tile_depth(s->in.channels) / 2 * ABOARD_DSP_TILE_WORDS;
    int8_t *const padding = (int8_t *)x_end;
    /* Behind the columns nothing is stored while inputs are transformed. */
    int8_t *const results = (int8_t *)(scratch + ABOARD_DSP_TILE_COLUMN_WORDS);
    aboard_conv2d_winograd_dsp_edge_t edge = {NULL, padding + p->padding_bytes, results, 0, view->channels};
    aboard_im2col_fill_shared(padding, p->zero_point, p->padding_bytes);
    for (int32_t row = first, rows = 0; row < last; row += rows) {
        const aboard_conv2d_window_t top = aboard_conv2d_window(s, row, 0);
        rows = ABOARD_MIN(ABOARD_MIN(last - row, s->out_height - (top.top + s->pad_top)), ABOARD_DSP_TILE_HEIGHT);
        int8_t *y = aboard_row_out_s8(view, out, row);
        const int32_t below = rows > 1 ? aboard_row_offset(view, row + 1) - aboard_row_offset(view, row) : 0;
        const bool covers = p->overwrites && aboard_conv2d_winograd_dsp_covers(p, in, &top, rows, y, below);
        edge.below = below;
        for (int32_t col = 0; col < view->cols; col += ABOARD_DSP_TILE_RESULTS) {
            const int32_t cols = ABOARD_MIN(view->cols - col, ABOARD_DSP_TILE_RESULTS);
            const aboard_conv2d_window_t at = {top.base, top.top, col - s->pad_left};
            if (covers && col > 0) {
                aboard_conv2d_winograd_dsp_uncover(&edge);
            }
            aboard_conv2d_winograd_dsp_fill(p, in, &at, rows, cols, x, scratch, padding);
            if (covers && col > 0) {
                aboard_conv2d_winograd_dsp_copy(edge.place, below, edge.results, edge.depth, edge.depth);
            }
            if (covers && cols == ABOARD_DSP_TILE_RESULTS) {
                edge.place = y + (ABOARD_DSP_TILE_RESULTS - 1) * view->pixel_stride;
                aboard_conv2d_winograd_dsp_copy(edge.kept, edge.depth, edge.place, below, edge.depth);
            }
            const int32_t next = cols > 1 ? view->pixel_stride : 0;
            const aboard_dsp_tiles_t job = {{x, x_end, scratch, weights},
                                            y,
                                            y + view->channels / ABOARD_DSP_TILE_CHANNELS * ABOARD_DSP_TILE_CHANNELS,
                                            cols > 2 ? 2 * view->pixel_stride : 0,
                                            {next, cols == 3 ? 0 : next},
                                            below};
            aboard_conv2d_winograd_dsp_all(p, &job, rows, cols);
            if (p->clamped) {
                aboard_conv2d_winograd_dsp_clamp(p, y, below, rows, cols);
            }
            y += ABOARD_DSP_TILE_RESULTS * view->pixel_stride;
        }
    }
}

#endif
