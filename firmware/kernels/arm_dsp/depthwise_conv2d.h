/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file depthwise_conv2d.h
 * int8 depthwise convolution of 3x3 with the DSP extension: strips of rows of four channels are copied to line buffers.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_DEPTHWISE_CONV2D_H
#define ABOARD_KERNELS_ARM_DSP_DEPTHWISE_CONV2D_H

#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "line_buffer.h"
#include "line_buffer_narrow.h"
#include "row_apart.h"
#include "row_pairs.h"
#include "row_single.h"

/** Parameters of aboard_depthwise_conv2d_dsp: windows of 3x3 without dilation, one result channel per channel. */
typedef struct {
    aboard_view_t in;   /**< Any view; a multiple of four channels. */
    aboard_view_t out;  /**< Any view. */
    int32_t in_height;  /**< Rows of an image of the input; the view counts the rows of all images of the batch. */
    int32_t out_height; /**< Rows of an image of the result. */
    int32_t stride;     /**< In both directions: 1 or 2. */
    int32_t pad_top;
    int32_t pad_left;   /**< 0 or 1. */
    int32_t strip;      /**< Rows of the result per strip. */
    int32_t pitch;      /**< Bytes of a row of a line buffer. */
    int32_t count;      /**< Results of a block, see aboard_dsp_rows. */
    int32_t blocks;     /**< Blocks of a row. */
    int32_t rest;       /**< Results of a last, smaller block; 0: no such block. */
    int32_t narrow;     /**< 1: rows are narrow, see aboard_dsp_narrow; line buffers contain no padding on the sides. */
    int32_t at_once;    /**< 1 or 2: strips are so many rows, see row_single.h, row_apart.h and row_pairs.h; 0: line
                           buffers. */
    int32_t zero_point; /**< Zero point of the input. */
    int32_t single_rounding; /**< 1: results by a single rounding; 2: by an unshifted one; 0: by a double rounding. */
    int32_t clamped;         /**< 1: results are clamped to [low, high]. */
    int32_t low;
    int32_t high;
} aboard_depthwise_conv2d_dsp_t;

/** Rows of the input in the receptive field of `rows` rows of the result. */
ABOARD_INLINE int32_t aboard_depthwise_conv2d_dsp_span(const aboard_depthwise_conv2d_dsp_t *p, int32_t rows) {
    return (rows - 1) * p->stride + 3;
}

/** Largest number of pieces of a strip's input rows: a rolling buffer contains all rows, and wraps around once. */
#define ABOARD_DEPTHWISE_CONV2D_DSP_PIECES 2

/** The same for rows in blocks: every row may be a piece. Strips have no more rows then. */
#define ABOARD_DEPTHWISE_CONV2D_DSP_ROWS 8

/** The copy of a piece; `from` is the first channel. */
ABOARD_INLINE aboard_dsp_fill_t aboard_depthwise_conv2d_dsp_piece(const aboard_depthwise_conv2d_dsp_t *p,
                                                                  const int8_t *from, int32_t rows, uint32_t *buffers,
                                                                  int32_t buffer) {
    const int32_t lead = p->narrow ? 0 : p->pad_left;
    const int32_t pixels = ABOARD_MIN(p->in.cols, p->pitch / 2 - lead) - lead;
    const int32_t words = lead + pixels / 2 + pixels % 2;
    const aboard_dsp_fill_t stage = {
        from, p->in.row_stride, rows,       p->in.pixel_stride,   buffers, buffer, 0x10001u * (uint16_t)-p->zero_point,
        lead, pixels / 2 * 4,   pixels % 2, p->pitch - 4 * words,
    };
    return stage;
}

/**
 * Finds the copies of a strip's input rows; clears rows outside the image, which are the same for all channels.
 *
 * @param p      Parameters.
 * @param in     First channel.
 * @param image  First row of the image in the input's view.
 * @param top     First row of the receptive field, relative to the image; may be outside.
 * @param count   Rows of the receptive field.
 * @param buffers Four line buffers of `count` rows.
 * @param pieces  Receives the copies.
 * @return Number of pieces.
 */
ABOARD_INLINE int32_t aboard_depthwise_conv2d_dsp_find(const aboard_depthwise_conv2d_dsp_t *p, const int8_t *in,
                                                       int32_t image, int32_t top, int32_t count, uint32_t *buffers,
                                                       aboard_dsp_fill_t *pieces) {
    const int32_t words = p->pitch / 4;
    const int32_t begin = ABOARD_MIN(ABOARD_MAX(-top, 0), count);
    const int32_t end = ABOARD_MAX(ABOARD_MIN(p->in_height - top, count), begin);
    for (int32_t channel = 0; channel < ABOARD_DSP_LINE_BUFFERS; ++channel) {
        uint32_t *const buffer = buffers + channel * count * words;
        if (begin > 0) {
            memset(buffer, 0, (size_t)(begin * p->pitch));
        }
        if (end < count) {
            memset(buffer + end * words, 0, (size_t)((count - end) * p->pitch));
        }
    }
    int32_t found = 0;
    for (int32_t row = begin; row < end; ++found) {
        const int32_t rows = aboard_rows_together(&p->in, image + top + row, end - row);
        pieces[found] = aboard_depthwise_conv2d_dsp_piece(p, aboard_row_s8(&p->in, in, image + top + row), rows,
                                                          buffers + row * words, count * p->pitch);
        row += rows;
    }
    return found;
}

/** Computes the rows of `job` of four channels from their line buffers. */
ABOARD_INLINE void aboard_depthwise_conv2d_dsp_channels(const aboard_depthwise_conv2d_dsp_t *p,
                                                        const aboard_dsp_rows_t *job) {
    if (p->narrow) {
        aboard_dsp_narrow(job, p->count, p->single_rounding);
        return;
    }
    if (p->blocks > 0) {
        aboard_dsp_rows(job, p->count, p->stride, p->single_rounding);
    }
    if (p->rest > 0) {
        aboard_dsp_rows_t last = *job;
        const int32_t done = p->blocks * p->count;
        last.x += done * p->stride / 2;
        last.y += done * p->out.pixel_stride;
        last.blocks = 1;
        aboard_dsp_rows(&last, p->rest, p->stride, p->single_rounding);
    }
}

/**
 * Computes contiguous rows of the result of one image.
 *
 * @param p       Parameters.
 * @param in      Input.
 * @param image   First row of the image in the input's view.
 * @param top     First row of the receptive field, relative to the image; may be outside.
 * @param y       First row of the result.
 * @param rows    Rows of the result, at most a strip.
 * @param weights Weights of all channels.
 * @param buffers Scratch.
 * @param pieces  Room for the pieces of the input's rows.
 */
ABOARD_INLINE void aboard_depthwise_conv2d_dsp_pieces(const aboard_depthwise_conv2d_dsp_t *p, const int8_t *in,
                                                      int32_t image, int32_t top, int8_t *y, int32_t rows,
                                                      const uint32_t *weights, uint32_t *buffers,
                                                      aboard_dsp_fill_t *pieces) {
    const int32_t span = aboard_depthwise_conv2d_dsp_span(p, rows);
    const int32_t found = aboard_depthwise_conv2d_dsp_find(p, in, image, top, span, buffers, pieces);
    aboard_dsp_rows_t job = {
        weights,   buffers,         y, p->out.pixel_stride, p->out.row_stride, p->pitch, rows * p->stride * p->pitch,
        p->blocks, span * p->pitch,
    };
    for (int32_t channel = 0; channel < p->out.channels; channel += ABOARD_DSP_LINE_BUFFERS) {
        for (int32_t i = 0; i < found; ++i) {
            if (p->narrow) {
                aboard_dsp_fill_narrow(&pieces[i], p->count);
            } else {
                aboard_dsp_fill_line_buffers(&pieces[i]);
            }
            pieces[i].from += ABOARD_DSP_LINE_BUFFERS;
        }
        aboard_depthwise_conv2d_dsp_channels(p, &job);
        job.weights += ABOARD_DSP_LINE_BUFFERS * ABOARD_DSP_LINE_BUFFER_WORDS(p->single_rounding);
        job.y += ABOARD_DSP_LINE_BUFFERS;
    }
}

/** Like aboard_depthwise_conv2d_dsp_pieces, with as much of the stack as the view of the input needs. */
ABOARD_INLINE void aboard_depthwise_conv2d_dsp_strip(const aboard_depthwise_conv2d_dsp_t *p, const int8_t *in,
                                                     int32_t image, int32_t top, int8_t *y, int32_t rows,
                                                     const uint32_t *weights, uint32_t *buffers) {
    if (p->in.table != NULL) {
        aboard_dsp_fill_t pieces[ABOARD_DEPTHWISE_CONV2D_DSP_ROWS];
        aboard_depthwise_conv2d_dsp_pieces(p, in, image, top, y, rows, weights, buffers, pieces);
    } else {
        aboard_dsp_fill_t pieces[ABOARD_DEPTHWISE_CONV2D_DSP_PIECES];
        aboard_depthwise_conv2d_dsp_pieces(p, in, image, top, y, rows, weights, buffers, pieces);
    }
}

/** Computes one or two rows of the result of one image, whose places are `y0` and `y1`; other parameters as above. */
ABOARD_INLINE void aboard_depthwise_conv2d_dsp_few(const aboard_depthwise_conv2d_dsp_t *p, const int8_t *in,
                                                   int32_t image, int32_t top, int8_t *y0, int8_t *y1,
                                                   const uint32_t *weights, uint32_t *scratch) {
    aboard_dsp_row_pairs_t job = {
        .pixel_stride = p->in.pixel_stride,
        .offset = 0x10001u * (uint16_t)-p->zero_point,
        .x = scratch,
        .cols = p->out.cols,
        .weights = weights,
        .end = weights + p->out.channels * ABOARD_DSP_LINE_BUFFER_WORDS(p->single_rounding),
        .y0 = y0,
        .y1 = y1,
        .y_stride = p->out.pixel_stride,
        .lead = p->pad_left,
        .last = p->stride * p->out.cols - p->pad_left < p->in.cols,
    };
    for (int32_t i = 0; i < p->at_once + 2; ++i) {
        const int32_t row = ABOARD_MIN(ABOARD_MAX(top + i, 0), p->in_height - 1);
        job.rows[i] = aboard_row_s8(&p->in, in, image + row);
        job.outside |= row != top + i ? 1u << i : 0u;
    }
    if (p->stride == 2) {
        aboard_dsp_row_apart(&job, p->single_rounding);
    } else if (p->at_once == 1) {
        aboard_dsp_row_of_results(&job, p->single_rounding);
    } else {
        aboard_dsp_row_pairs(&job, p->single_rounding);
    }
}

/** Clamps the results of a row to the range of the activation. */
ABOARD_INLINE void aboard_depthwise_conv2d_dsp_clamp(const aboard_depthwise_conv2d_dsp_t *p, int8_t *y) {
    for (int32_t col = 0; col < p->out.cols; ++col) {
        aboard_dsp_clamp(y + col * p->out.pixel_stride, p->out.channels, p->low, p->high);
    }
}

/**
 * int8 depthwise convolution, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Any views, including rolling buffers. In different memory, or the operand starts after the result
 * by at least the minimum in-place offset (host/aboard/kernels/overlap.py).
 * @param weights     ABOARD_DSP_LINE_BUFFER_WORDS words per channel.
 * @param buffers     Scratch of four line buffers with the input rows of a strip, `pitch` bytes each.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_depthwise_conv2d_dsp(const aboard_depthwise_conv2d_dsp_t *p, const int8_t *in, int8_t *out,
                                               const uint32_t *weights, uint32_t *buffers, int32_t first,
                                               int32_t last) {
    int32_t r = first;
    while (r < last) {
        const int32_t image = p->out.rows == p->out_height ? 0 : r / p->out_height;
        const int32_t y = r - image * p->out_height;
        const int32_t left = ABOARD_MIN(ABOARD_MIN(last - r, p->strip), p->out_height - y);
        const int32_t rows = p->at_once ? left : aboard_rows_together(&p->out, r, left);
        const int32_t top = y * p->stride - p->pad_top;
        int8_t *const to = aboard_row_out_s8(&p->out, out, r);
        if (p->at_once) {
            int8_t *const last_row = aboard_row_out_s8(&p->out, out, r + rows - 1);
            aboard_depthwise_conv2d_dsp_few(p, in, image * p->in_height, top, to, last_row, weights, buffers);
        } else {
            aboard_depthwise_conv2d_dsp_strip(p, in, image * p->in_height, top, to, rows, weights, buffers);
        }
        for (int32_t row = 0; p->clamped && row < rows; ++row) {
            aboard_depthwise_conv2d_dsp_clamp(p, aboard_row_out_s8(&p->out, out, r + row));
        }
        r += rows;
    }
}

#endif
