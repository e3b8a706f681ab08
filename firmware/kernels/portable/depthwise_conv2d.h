/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/depthwise_conv2d.h
 * int8 depthwise convolution in portable C, for cores without SIMD.
 *
 * If there is padding, the input rows of a window are copied with their padding to a line buffer in scratch. Then
 * a channel is computed for several pixels of a row at once, which share each load of a weight and an input: input
 * after input, while the weights of a row of taps stay in registers, or, if these are too many, tap after tap. If all
 * channels of the line buffer would take much memory, some are copied and computed after others.
 */
#ifndef ABOARD_KERNELS_PORTABLE_DEPTHWISE_CONV2D_H
#define ABOARD_KERNELS_PORTABLE_DEPTHWISE_CONV2D_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "epilogue.h"
#include "im2col.h"

/** Geometry of a depthwise convolution. */
typedef struct {
    aboard_view_t in;      /**< Any view. */
    aboard_view_t out;     /**< Any view. */
    int32_t in_height;     /**< Rows of an image of the input; the view counts the rows of all images of the batch. */
    int32_t out_height;    /**< Rows of an image of the result. */
    int32_t window_height; /**< Taps. */
    int32_t window_width;
    int32_t stride_h;
    int32_t stride_w;
    int32_t dilation_h;
    int32_t dilation_w;
    int32_t pad_top;
    int32_t pad_left;
    int32_t multiplier; /**< Channels of the result per channel of the input. */
} aboard_depthwise_conv2d_shape_t;

/** Largest number of pixels of a row that are computed at once. */
#define ABOARD_DEPTHWISE_BLOCK 8

/** Largest number of taps of a row whose weights stay in registers. */
#define ABOARD_DEPTHWISE_KEPT 5

/** Largest height of a window whose row addresses are computed once per row of the result. */
#define ABOARD_DEPTHWISE_ROWS 16

/** Parameters of aboard_depthwise_conv2d_s8. */
typedef struct {
    aboard_depthwise_conv2d_shape_t shape;
    int32_t block;     /**< Pixels computed at once: 1 to ABOARD_DEPTHWISE_BLOCK, at most the columns of `out`. */
    int32_t by_inputs; /**< 1: a row of taps is computed input after input, for at most ABOARD_DEPTHWISE_KEPT taps; 0:
                          tap after tap. */
    int32_t buffered_cols;     /**< Pixels of a copied row; 0 without padding, if rows are read in place. */
    int32_t buffered_channels; /**< Input channels that are copied together; they divide those of `in`. */
    int32_t strip;      /**< Rows of the result that are computed of these channels before other channels are copied. */
    int32_t zero_point; /**< Zero point of the input, and value of padding. */
    aboard_epilogue_t epilogue; /**< Epilogue of the result. */
} aboard_depthwise_conv2d_s8_t;

/** Rows of the line buffer: the rows of a window, including dilation. */
ABOARD_INLINE int32_t aboard_depthwise_conv2d_extent(const aboard_depthwise_conv2d_shape_t *s) {
    return (s->window_height - 1) * s->dilation_h + 1;
}

/** The operand of a layer with padding, and how its rows are copied. Not the parameters themselves: gcc would load each
 * of them again after a call that has their address, unless they are static. */
typedef struct {
    aboard_view_t in;   /**< Any view. */
    int32_t in_height;  /**< Rows of an image of the input. */
    int32_t depth;      /**< Rows of the line buffer. */
    int32_t cols;       /**< Pixels of a copied row. */
    int32_t stride_h;   /**< Rows from one window to the next. */
    int32_t pad_top;    /**< Rows of padding before the first. */
    int32_t pad_left;   /**< Pixels of padding before the first. */
    int32_t zero_point; /**< Value of padding. */
} aboard_depthwise_conv2d_lines_t;

/** Copies row `y` of an image, which may be outside the image. With its padding if it is `whole`: a row that replaces
 * another finds the same padding there. */
ABOARD_INLINE void aboard_depthwise_conv2d_s8_fill_row(const aboard_depthwise_conv2d_lines_t *p, const int8_t *in,
                                                       int32_t image, int32_t y, bool whole, int8_t *to) {
    const int32_t channels = p->in.channels;
    if (y < 0 || y >= p->in_height) {
        aboard_im2col_fill_shared(to, p->zero_point, p->cols * channels);
        return;
    }
    const int32_t left = ABOARD_MIN(p->pad_left, p->cols);
    const int32_t cols = ABOARD_MIN(p->in.cols, p->cols - left);
    const int8_t *from = aboard_row_s8(&p->in, in, image * p->in_height + y);
    if (whole) {
        aboard_im2col_fill_shared(to, p->zero_point, left * channels);
    }
    to += left * channels;
    if (p->in.pixel_stride == channels) {
        to = aboard_im2col_copy_shared(to, from, cols * channels);
    } else {
        for (int32_t x = 0; x < cols; ++x) {
            to = aboard_im2col_copy_shared(to, from + x * p->in.pixel_stride, channels);
        }
    }
    if (whole) {
        aboard_im2col_fill_shared(to, p->zero_point, (p->cols - left - cols) * channels);
    }
}

/** Copies the rows that row `y` of the result needs: all if `whole`, else those that row `y - 1` did not. */
ABOARD_INLINE void aboard_depthwise_conv2d_s8_fill_rows(const aboard_depthwise_conv2d_lines_t *p, const int8_t *in,
                                                        int32_t image, int32_t y, bool whole, int8_t *lines) {
    const int32_t fresh = whole ? p->depth : ABOARD_MIN(p->depth, p->stride_h);
    for (int32_t row = y * p->stride_h + p->depth - fresh; row < y * p->stride_h + p->depth; ++row) {
        aboard_depthwise_conv2d_s8_fill_row(p, in, image, row - p->pad_top, whole,
                                            lines + row % p->depth * (p->cols * p->in.channels));
    }
}

/** Copies the rows that row `y` of the result needs and row `y - 1` did not; calls come in order within an image.
 * Not inlined: one copy serves all layers of a model. */
ABOARD_SHARED void aboard_depthwise_conv2d_s8_fill(const aboard_depthwise_conv2d_lines_t *p, const int8_t *in,
                                                   int32_t image, int32_t y, int8_t *lines) {
    aboard_depthwise_conv2d_s8_fill_rows(p, in, image, y, y == 0, lines);
}

/** As aboard_depthwise_conv2d_s8_fill, for a part of the channels: all rows if `is_first`, the first row of a strip. */
ABOARD_SHARED void aboard_depthwise_conv2d_s8_fill_part(const aboard_depthwise_conv2d_lines_t *p, const int8_t *in,
                                                        int32_t image, int32_t y, bool is_first, int8_t *lines) {
    aboard_depthwise_conv2d_s8_fill_rows(p, in, image, y, is_first || y == 0, lines);
}

/** Address of the input row for window row `tap` and row `y` of the result. */
ABOARD_INLINE const int8_t *aboard_depthwise_conv2d_s8_row(const aboard_depthwise_conv2d_s8_t *p, const int8_t *in,
                                                           const int8_t *lines, int32_t image, int32_t y, int32_t tap) {
    const aboard_depthwise_conv2d_shape_t *s = &p->shape;
    if (p->buffered_cols > 0) {
        const int32_t extent = aboard_depthwise_conv2d_extent(s);
        const int32_t slot = y * s->stride_h % extent + tap * s->dilation_h;
        return lines + (slot < extent ? slot : slot - extent) * (p->buffered_cols * p->buffered_channels);
    }
    return aboard_row_s8(&s->in, in, image * s->in_height + y * s->stride_h + tap * s->dilation_h);
}

/** The pixel of a block whose tap `tap` is the input `at` inputs after the first; -1 if there is none. */
ABOARD_INLINE int32_t aboard_depthwise_conv2d_s8_pixel(const aboard_depthwise_conv2d_s8_t *p, int32_t at, int32_t tap) {
    const int32_t from = at - tap * p->shape.dilation_w;
    const bool meets = from >= 0 && from % p->shape.stride_w == 0 && from / p->shape.stride_w < p->block;
    return meets ? from / p->shape.stride_w : -1;
}

/** True if a pixel of a block reads the input `at` inputs after the first. */
ABOARD_INLINE bool aboard_depthwise_conv2d_s8_reads(const aboard_depthwise_conv2d_s8_t *p, int32_t at) {
    bool reads = false;
    ABOARD_UNROLL(5)
    for (int32_t tap = 0; tap < p->shape.window_width; ++tap) {
        reads = reads || aboard_depthwise_conv2d_s8_pixel(p, at, tap) >= 0;
    }
    return reads;
}

/**
 * As aboard_depthwise_conv2d_s8_taps, input after input: each is loaded once.
 *
 * The order of the source is that of the instructions, because else compilers load inputs early and find too few
 * registers.
 */
ABOARD_INLINE void aboard_depthwise_conv2d_s8_inputs(const aboard_depthwise_conv2d_s8_t *p, int32_t *sums,
                                                     const int8_t *x, const int8_t *weights, int32_t pixel) {
    const aboard_depthwise_conv2d_shape_t *s = &p->shape;
    int32_t w[ABOARD_DEPTHWISE_KEPT];
    ABOARD_UNROLL(5)
    for (int32_t tap = 0; tap < s->window_width; ++tap) {
        w[tap] = weights[tap];
    }
    ABOARD_UNROLL(64)
    for (int32_t at = 0; at <= (p->block - 1) * s->stride_w + (s->window_width - 1) * s->dilation_w; ++at) {
        if (!aboard_depthwise_conv2d_s8_reads(p, at)) {
            continue;
        }
        int32_t value = x[at * pixel];
        ABOARD_OPAQUE(value);
        ABOARD_UNROLL(5)
        for (int32_t tap = 0; tap < s->window_width; ++tap) {
            const int32_t j = aboard_depthwise_conv2d_s8_pixel(p, at, tap);
            if (j >= 0) {
                sums[j] += w[tap] * value;
                ABOARD_OPAQUE(sums[j]);
            }
        }
    }
}

/** Adds the products of one row of a window for `block` pixels; `x` points to the first pixel's first tap. */
ABOARD_INLINE void aboard_depthwise_conv2d_s8_taps(const aboard_depthwise_conv2d_s8_t *p, int32_t *sums,
                                                   const int8_t *x, const int8_t *weights) {
    const aboard_depthwise_conv2d_shape_t *s = &p->shape;
    const int32_t pixel = p->buffered_cols > 0 ? p->buffered_channels : s->in.pixel_stride;
    if (p->by_inputs) {
        aboard_depthwise_conv2d_s8_inputs(p, sums, x, weights, pixel);
        return;
    }
    ABOARD_UNROLL(8)
    for (int32_t tap = 0; tap < s->window_width; ++tap) {
        const int32_t w = weights[tap];
        ABOARD_UNROLL(6)
        for (int32_t j = 0; j < p->block; ++j) {
            sums[j] += w * x[(j * s->stride_w + tap * s->dilation_w) * pixel];
        }
    }
    ABOARD_UNROLL(6)
    for (int32_t j = 0; j < p->block; ++j) {
        ABOARD_OPAQUE(sums[j]);
    }
}

/** Addresses of the rows of a window. */
typedef struct {
    const int8_t *rows[ABOARD_DEPTHWISE_ROWS]; /**< Addresses of rows, for windows of at most this many rows. */
    const int8_t *top;                         /**< Address of the first row. */
} aboard_depthwise_conv2d_rows_t;

/** True if windows are read from the operand, with rows at equal distances. */
ABOARD_INLINE bool aboard_depthwise_conv2d_s8_direct(const aboard_depthwise_conv2d_s8_t *p) {
    return p->buffered_cols == 0 && p->shape.in.buffer_rows >= p->shape.in.rows;
}

/** Adds the products of the windows of `block` pixels; `from` is the offset of the first pixel's channel in a row. */
ABOARD_INLINE void aboard_depthwise_conv2d_s8_window(const aboard_depthwise_conv2d_s8_t *p, int32_t *sums,
                                                     const int8_t *in, const int8_t *lines,
                                                     const aboard_depthwise_conv2d_rows_t *at, int32_t image, int32_t y,
                                                     int32_t from, const int8_t *weights) {
    const aboard_depthwise_conv2d_shape_t *s = &p->shape;
    const bool direct = aboard_depthwise_conv2d_s8_direct(p);
    if (s->window_width == 1 && (direct || s->window_height <= ABOARD_DEPTHWISE_ROWS)) {
        const int8_t *top = at->top + from;
        ABOARD_OPAQUE(top);
        ABOARD_UNROLL(16)
        for (int32_t tap = 0; tap < s->window_height; ++tap) {
            const int8_t *const x = direct ? top + tap * s->dilation_h * s->in.row_stride : at->rows[tap] + from;
            aboard_depthwise_conv2d_s8_taps(p, sums, x, weights + tap);
        }
        return;
    }
    ABOARD_UNROLL(3)
    for (int32_t tap = 0; tap < s->window_height; ++tap) {
        const int8_t *x = s->window_height <= ABOARD_DEPTHWISE_ROWS
                              ? at->rows[tap]
                              : aboard_depthwise_conv2d_s8_row(p, in, lines, image, y, tap);
        x += from;
        ABOARD_OPAQUE(x);
        aboard_depthwise_conv2d_s8_taps(p, sums, x, weights + tap * s->window_width);
    }
}

/**
 * Computes row `r` of the result, of the channels whose weights begin at `weights`.
 *
 * Pixels are computed in blocks; the last block ends with the row and may recompute pixels of the previous block.
 */
ABOARD_INLINE void aboard_depthwise_conv2d_s8_result_row(const aboard_depthwise_conv2d_s8_t *p, const int8_t *in,
                                                         const int8_t *weights, const int32_t *constants,
                                                         const int8_t *lines, int32_t image, int32_t y, int8_t *out) {
    const aboard_depthwise_conv2d_shape_t *s = &p->shape;
    const int32_t taps = s->window_height * s->window_width;
    const int32_t step = (p->buffered_cols > 0 ? p->buffered_channels : s->in.pixel_stride) * s->stride_w;
    const bool single = p->epilogue.fast == 3;
    const bool from_bias = p->epilogue.fast >= 1 && p->epilogue.fast <= 3;
    aboard_depthwise_conv2d_rows_t at;
    at.top = aboard_depthwise_conv2d_s8_row(p, in, lines, image, y, 0);
    for (int32_t tap = 0; s->window_height <= ABOARD_DEPTHWISE_ROWS && tap < s->window_height; ++tap) {
        at.rows[tap] = aboard_depthwise_conv2d_s8_row(p, in, lines, image, y, tap);
    }
    for (int32_t n = 0; n < p->buffered_channels * s->multiplier; ++n) {
        const int32_t channel = n / s->multiplier;
        for (int32_t begin = 0; begin < s->out.cols; begin += p->block) {
            const int32_t col = ABOARD_MIN(begin, s->out.cols - p->block);
            /* Loaded again for each block, because no registers are free. */
            const int8_t *w = weights;
            const int32_t *c = constants;
            ABOARD_OPAQUE(w);
            ABOARD_OPAQUE(c);
            const int32_t start = from_bias ? c[0] : 0;
            int32_t sums[ABOARD_DEPTHWISE_BLOCK] = {start, start, start, start, start, start, start, start};
            aboard_depthwise_conv2d_s8_window(p, sums, in, lines, &at, image, y, channel + col * step, w);
            int8_t *to = out + n + col * s->out.pixel_stride;
            ABOARD_OPAQUE(to);
            const int32_t factor = c[1];
            const int32_t last = single ? c[2] : w[taps];
            const int32_t bias = from_bias ? 0 : c[0];
            ABOARD_UNROLL(8)
            for (int32_t j = 0; j < p->block; ++j) {
                to[j * s->out.pixel_stride] = single ? aboard_epilogue_single(&p->epilogue, sums[j], factor, last)
                                                     : aboard_epilogue(&p->epilogue, sums[j], bias, factor, last);
            }
        }
        weights += taps + (single ? 0 : 1);
        constants += single ? 3 : 2;
    }
}

/** Computes rows [first, last) of the result, some channels after others; see aboard_depthwise_conv2d_s8. */
ABOARD_INLINE void aboard_depthwise_conv2d_s8_parts(const aboard_depthwise_conv2d_s8_t *p,
                                                    const aboard_depthwise_conv2d_lines_t *copied, const int8_t *in,
                                                    int8_t *out, const int8_t *weights, const int32_t *constants,
                                                    int8_t *lines, int32_t first, int32_t last) {
    const aboard_depthwise_conv2d_shape_t *s = &p->shape;
    const bool single = p->epilogue.fast == 3;
    const int32_t taps = s->window_height * s->window_width + (single ? 0 : 1);
    for (int32_t begin = 0; begin < s->in.channels; begin += p->buffered_channels) {
        const int32_t n = begin * s->multiplier;
        for (int32_t r = first; r < last; ++r) {
            const int32_t image = s->out.rows == s->out_height ? 0 : r / s->out_height;
            const int32_t y = r - image * s->out_height;
            aboard_depthwise_conv2d_s8_fill_part(copied, in + begin, image, y, r == first, lines);
            aboard_depthwise_conv2d_s8_result_row(p, in, weights + n * taps, constants + n * (single ? 3 : 2), lines,
                                                  image, y, aboard_row_out_s8(&s->out, out, r) + n);
        }
    }
}

/**
 * int8 depthwise convolution, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Any views, including rolling buffers. In different memory, or the operand starts after the result
 * by at least the minimum in-place offset (host/aboard/kernels/overlap.py).
 * @param weights     For each channel of the result its taps, row by row, and then its shift for double rounding.
 * @param constants   For each channel of the result bias and multiplier; for single rounding bias, factor and constant.
 * The bias of the short form is not doubled.
 * @param lines       Scratch of the rows of a window (including dilation) times `buffered_cols` pixels of
 * `buffered_channels`; keeps its content between calls if these are all channels. Unused if `buffered_cols` is 0.
 * @param first, last Rows [first, last) of the result are computed; calls come in ascending order.
 */
ABOARD_INLINE void aboard_depthwise_conv2d_s8(const aboard_depthwise_conv2d_s8_t *p, const int8_t *in, int8_t *out,
                                              const int8_t *weights, const int32_t *constants, int8_t *lines,
                                              int32_t first, int32_t last) {
    const aboard_depthwise_conv2d_shape_t *s = &p->shape;
    aboard_depthwise_conv2d_lines_t copied = {.in = s->in,
                                              .in_height = s->in_height,
                                              .depth = aboard_depthwise_conv2d_extent(s),
                                              .cols = p->buffered_cols,
                                              .stride_h = s->stride_h,
                                              .pad_top = s->pad_top,
                                              .pad_left = s->pad_left,
                                              .zero_point = p->zero_point};
    if (p->buffered_channels < s->in.channels) {
        copied.in.channels = p->buffered_channels;
        for (int32_t row = first; row < last; row += p->strip) {
            aboard_depthwise_conv2d_s8_parts(p, &copied, in, out, weights, constants, lines, row,
                                             ABOARD_MIN(row + p->strip, last));
        }
        return;
    }
    for (int32_t r = first; r < last; ++r) {
        const int32_t image = s->out.rows == s->out_height ? 0 : r / s->out_height;
        const int32_t y = r - image * s->out_height;
        if (p->buffered_cols > 0) {
            aboard_depthwise_conv2d_s8_fill(&copied, in, image, y, lines);
        }
        aboard_depthwise_conv2d_s8_result_row(p, in, weights, constants, lines, image, y,
                                              aboard_row_out_s8(&s->out, out, r));
    }
}

#endif
