/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/expanded_depthwise_conv2d.h
 * int8 depthwise convolution of an image that a 1x1 convolution expands, in portable C. The expanded image is stored
 * nowhere: of a few channels after others, the rows of a window are computed into line buffers, with their padding, and
 * then the results of these channels as in portable/depthwise_conv2d.h. Rows that two calls need are computed twice.
 */
#ifndef ABOARD_KERNELS_PORTABLE_EXPANDED_DEPTHWISE_CONV2D_H
#define ABOARD_KERNELS_PORTABLE_EXPANDED_DEPTHWISE_CONV2D_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "depthwise_conv2d.h"
#include "epilogue.h"
#include "im2col.h"
#include "sums_of_four.h"

/** The expansion of some channels. */
typedef struct {
    const aboard_view_t *in;    /**< The narrow image. Any view. */
    const void *p;              /**< Parameters of the function that computes pixels. */
    const int8_t *weights;      /**< Weights of these channels. */
    const int32_t *constants;   /**< Their constants, if they are not with the weights. */
    uint32_t *scratch;          /**< Scratch of the function. */
    int32_t bytes_of_weights;   /**< From the weights of these channels to those of the next. */
    int32_t words_of_constants; /**< Likewise. */
} aboard_expansion_t;

/** Computes some expanded channels of `cols` pixels of a row, one pixel after another. */
typedef void (*aboard_expansion_pixels_t)(const aboard_expansion_t *e, const int8_t *row, int32_t cols, int8_t *to);

/**
 * Computes a row of some expanded channels with its padding.
 *
 * @param d      The depthwise convolution.
 * @param e      The expansion.
 * @param pixels Computes pixels, a literal.
 * @param row    The row of the narrow image; NULL for a row of padding.
 * @param to     Receives `buffered_cols` pixels of `buffered_channels`.
 */
ABOARD_INLINE void aboard_expansion_row(const aboard_depthwise_conv2d_s8_t *d, const aboard_expansion_t *e,
                                        aboard_expansion_pixels_t pixels, const int8_t *row, int8_t *to) {
    const int32_t channels = d->buffered_channels;
    if (row == NULL) {
        aboard_im2col_fill_shared(to, d->zero_point, d->buffered_cols * channels);
        return;
    }
    const int32_t left = ABOARD_MIN(d->shape.pad_left, d->buffered_cols);
    const int32_t cols = ABOARD_MIN(e->in->cols, d->buffered_cols - left);
    to = aboard_im2col_fill_shared(to, d->zero_point, left * channels);
    pixels(e, row, cols, to);
    aboard_im2col_fill_shared(to + cols * channels, d->zero_point, (d->buffered_cols - left - cols) * channels);
}

/** Computes the rows of some expanded channels that row `y` of the result needs: all if `is_first`, the first row of a
 * call, else those that row `y - 1` did not need. */
ABOARD_INLINE void aboard_expansion_rows(const aboard_depthwise_conv2d_s8_t *d, const aboard_expansion_t *e,
                                         aboard_expansion_pixels_t pixels, const int8_t *in, int32_t image, int32_t y,
                                         bool is_first, int8_t *lines) {
    const aboard_depthwise_conv2d_shape_t *s = &d->shape;
    const int32_t depth = aboard_depthwise_conv2d_extent(s);
    const int32_t end = y * s->stride_h + depth;
    for (int32_t row = end - (is_first || y == 0 ? depth : ABOARD_MIN(depth, s->stride_h)); row < end; ++row) {
        const int32_t from = row - s->pad_top;
        const bool inside = from >= 0 && from < s->in_height;
        const int8_t *const first = inside ? aboard_row_s8(e->in, in, image * s->in_height + from) : NULL;
        aboard_expansion_row(d, e, pixels, first, lines + row % depth * (d->buffered_cols * d->buffered_channels));
    }
}

/**
 * int8 1x1 convolution and depthwise convolution of its result, equal to TFLite's reference kernels one after another.
 *
 * @param d           The depthwise convolution: reads line buffers of `buffered_channels`. Of `shape.in` only the sizes
 * count.
 * @param first_of    The expansion of the first channels.
 * @param pixels      Computes its pixels, a literal.
 * @param in, out     Any views, including rolling buffers, in different memory.
 * @param weights     As for aboard_depthwise_conv2d_s8.
 * @param constants   Likewise.
 * @param lines       Scratch of the rows of a window (including dilation) times `buffered_cols` pixels of
 * `buffered_channels`.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_expanded_depthwise_conv2d(const aboard_depthwise_conv2d_s8_t *d,
                                                    const aboard_expansion_t *first_of,
                                                    aboard_expansion_pixels_t pixels, const int8_t *in, int8_t *out,
                                                    const int8_t *weights, const int32_t *constants, int8_t *lines,
                                                    int32_t first, int32_t last) {
    const aboard_depthwise_conv2d_shape_t *s = &d->shape;
    const int32_t results = d->buffered_channels * s->multiplier;
    const bool single = d->epilogue.fast == 3;
    aboard_expansion_t e = *first_of;
    for (int32_t begin = 0; begin < s->in.channels; begin += d->buffered_channels) {
        for (int32_t r = first; r < last; ++r) {
            const int32_t image = s->out.rows == s->out_height ? 0 : r / s->out_height;
            const int32_t y = r - image * s->out_height;
            aboard_expansion_rows(d, &e, pixels, in, image, y, r == first, lines);
            aboard_depthwise_conv2d_s8_result_row(d, in, weights, constants, lines, image, y,
                                                  aboard_row_out_s8(&s->out, out, r));
        }
        e.weights += e.bytes_of_weights;
        e.constants += e.words_of_constants;
        weights += results * (s->window_height * s->window_width + (single ? 0 : 1));
        constants += results * (single ? 3 : 2);
        out += results;
    }
}

/** Parameters of aboard_expanded_depthwise_conv2d_s8. */
typedef struct {
    aboard_depthwise_conv2d_s8_t depthwise; /**< As for aboard_expanded_depthwise_conv2d, 1 to 4 channels at once. */
    aboard_view_t in;                       /**< The narrow image. Any view. */
    aboard_epilogue_t epilogue;             /**< Epilogue of the expansion. */
} aboard_expanded_depthwise_conv2d_s8_t;

/** Computes pixels of up to four expanded channels; constants are ABOARD_EPILOGUE_BLOCK words. */
ABOARD_INLINE void aboard_expanded_depthwise_conv2d_s8_pixels(const aboard_expansion_t *e, const int8_t *row,
                                                              int32_t cols, int8_t *to) {
    const aboard_expanded_depthwise_conv2d_s8_t *p = (const aboard_expanded_depthwise_conv2d_s8_t *)e->p;
    for (int32_t x = 0; x < cols; ++x) {
        int32_t sums[4] = {0, 0, 0, 0};
        aboard_sums_of_four_s8(sums, row, e->weights, p->in.channels);
        aboard_epilogue_block(&p->epilogue, sums, e->constants, to, p->depthwise.buffered_channels);
        row += p->in.pixel_stride;
        to += p->depthwise.buffered_channels;
    }
}

/**
 * aboard_expanded_depthwise_conv2d in portable C.
 *
 * @param expansion Weights of the expansion: for each `buffered_channels` [channels of the narrow image][4].
 * @param expanded  ABOARD_EPILOGUE_BLOCK words for each `buffered_channels`.
 */
ABOARD_INLINE void aboard_expanded_depthwise_conv2d_s8(const aboard_expanded_depthwise_conv2d_s8_t *p, const int8_t *in,
                                                       int8_t *out, const int8_t *expansion, const int32_t *expanded,
                                                       const int8_t *weights, const int32_t *constants, int8_t *lines,
                                                       int32_t first, int32_t last) {
    const aboard_expansion_t e = {&p->in, p, expansion, expanded, NULL, 4 * p->in.channels, ABOARD_EPILOGUE_BLOCK};
    aboard_expanded_depthwise_conv2d(&p->depthwise, &e, aboard_expanded_depthwise_conv2d_s8_pixels, in, out, weights,
                                     constants, lines, first, last);
}

#endif
