/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conv2d_winograd.h
 * int8 convolution of 3x3 windows with the DSP extension by Winograd's F(2x2, 3x3): two rows of four results at a time
 * (dot_winograd.h).
 */
#ifndef ABOARD_KERNELS_ARM_DSP_CONV2D_WINOGRAD_H
#define ABOARD_KERNELS_ARM_DSP_CONV2D_WINOGRAD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

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
        aboard_dsp_tile_outside(columns, first, last, p->zero_point);
    }
    aboard_dsp_tile_fill(x, columns, &window);
}

/** Results of all channels of two tiles. */
ABOARD_INLINE void aboard_conv2d_winograd_dsp_tiles(const aboard_conv2d_winograd_dsp_t *p,
                                                    const aboard_dsp_tiles_t *job) {
    const int32_t depth = p->shape.in.channels;
    if (depth == 16) {
        (p->single_rounding ? aboard_dsp_tiles_single_16 : aboard_dsp_tiles_double_16)(job);
    } else if (depth % 16 == 0) {
        (p->single_rounding ? aboard_dsp_tiles_single_32 : aboard_dsp_tiles_double_32)(job);
    } else {
        (p->single_rounding ? aboard_dsp_tiles_single : aboard_dsp_tiles_double)(job);
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

/** The bytes of the operand under the last column of two tiles, which the next two tiles read. */
typedef struct {
    int8_t *place;   /**< That column in the first row; NULL without tiles on the left. */
    uint32_t *under; /**< The bytes of both rows. */
    int32_t below;   /**< From the first to the second row. */
    int32_t depth;   /**< Channels. */
} aboard_conv2d_winograd_dsp_edge_t;

/** Keeps the bytes of the operand before results are written there. */
ABOARD_SHARED void aboard_conv2d_winograd_dsp_keep(const aboard_conv2d_winograd_dsp_edge_t *edge) {
    for (int32_t i = 0; i < edge->depth; i += 4) {
        memcpy(&edge->under[i / 2], edge->place + i, 4);
        memcpy(&edge->under[i / 2 + 1], edge->place + edge->below + i, 4);
    }
}

/** Exchanges the bytes in memory with those that are kept. */
ABOARD_SHARED void aboard_conv2d_winograd_dsp_exchange(const aboard_conv2d_winograd_dsp_edge_t *edge) {
    for (int32_t i = 0; i < edge->depth; i += 4) {
        const uint32_t first = edge->under[i / 2];
        const uint32_t second = edge->under[i / 2 + 1];
        memcpy(&edge->under[i / 2], edge->place + i, 4);
        memcpy(&edge->under[i / 2 + 1], edge->place + edge->below + i, 4);
        memcpy(edge->place + i, &first, 4);
        memcpy(edge->place + edge->below + i, &second, 4);
    }
}

/**
 * int8 convolution, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters: 3x3 windows, one pixel apart, without dilation and groups; a multiple of four channels
 * of the operand and of the result.
 * @param in, out     As for aboard_conv2d_dsp; `in` is not overwritten, but for what `overwrites` allows: then a call
 * computes at most two rows.
 * @param weights     See aboard_dsp_tiles_t.
 * @param scratch     ABOARD_DSP_TILE_SUMS words, ABOARD_DSP_TILE_WORDS for every two channels of the operand, a row
 * of a window, `padding_bytes`, and if `overwrites` then two pixels, in whole words.
 * @param first, last Rows [first, last) of the result are computed, two at a time.
 */
ABOARD_INLINE void aboard_conv2d_winograd_dsp(const aboard_conv2d_winograd_dsp_t *p, const int8_t *in, int8_t *out,
                                              const uint32_t *weights, uint32_t *scratch, int32_t first, int32_t last) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const aboard_view_t *const view = &s->out;
    uint32_t *const x = scratch + ABOARD_DSP_TILE_SUMS;
    uint32_t *const x_end = x + s->in.channels / 2 * ABOARD_DSP_TILE_WORDS;
    int8_t *const padding = (int8_t *)x_end;
    aboard_conv2d_winograd_dsp_edge_t edge = {NULL, x_end + (p->padding_bytes + 3) / 4, 0, view->channels};
    aboard_im2col_fill_shared(padding, p->zero_point, p->padding_bytes);
    for (int32_t row = first, rows = 0; row < last; row += rows) {
        const aboard_conv2d_window_t top = aboard_conv2d_window(s, row, 0);
        rows = ABOARD_MIN(ABOARD_MIN(last - row, s->out_height - (top.top + s->pad_top)), ABOARD_DSP_TILE_HEIGHT);
        int8_t *y = aboard_row_out_s8(view, out, row);
        const int32_t below = rows > 1 ? aboard_row_offset(view, row + 1) - aboard_row_offset(view, row) : 0;
        edge.place = NULL;
        edge.below = below;
        for (int32_t col = 0; col < view->cols; col += ABOARD_DSP_TILE_RESULTS) {
            const int32_t cols = ABOARD_MIN(view->cols - col, ABOARD_DSP_TILE_RESULTS);
            const aboard_conv2d_window_t at = {top.base, top.top, col - s->pad_left};
            if (p->overwrites && edge.place != NULL) {
                aboard_conv2d_winograd_dsp_exchange(&edge);
            }
            aboard_conv2d_winograd_dsp_fill(p, in, &at, rows, cols, x, scratch, padding);
            if (p->overwrites && edge.place != NULL) {
                aboard_conv2d_winograd_dsp_exchange(&edge);
            }
            if (p->overwrites && cols == ABOARD_DSP_TILE_RESULTS) {
                edge.place = y + (ABOARD_DSP_TILE_RESULTS - 1) * view->pixel_stride;
                aboard_conv2d_winograd_dsp_keep(&edge);
            }
            const int32_t next = cols > 1 ? view->pixel_stride : 0;
            const aboard_dsp_tiles_t job = {x,
                                            x_end,
                                            scratch,
                                            y,
                                            y + view->channels,
                                            cols > 2 ? 2 * view->pixel_stride : 0,
                                            {next, cols == 3 ? 0 : next},
                                            below,
                                            weights};
            aboard_conv2d_winograd_dsp_tiles(p, &job);
            if (p->clamped) {
                aboard_conv2d_winograd_dsp_clamp(p, y, below, rows, cols);
            }
            y += ABOARD_DSP_TILE_RESULTS * view->pixel_stride;
        }
    }
}

#endif
