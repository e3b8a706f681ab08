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
#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "depthwise_conv2d.h"
#include "epilogue.h"
#include "im2col.h"
#include "sums_of_four.h"

/** Parameters of aboard_expanded_depthwise_conv2d_s8. */
typedef struct {
    aboard_depthwise_conv2d_s8_t depthwise; /**< The depthwise convolution: reads line buffers of `buffered_channels`, 1
                                               to 4. Of `shape.in` only the sizes count. */
    aboard_view_t in;                       /**< The narrow image. Any view. */
    aboard_epilogue_t epilogue;             /**< Epilogue of the expansion. */
} aboard_expanded_depthwise_conv2d_s8_t;

/**
 * Computes a row of some expanded channels with its padding.
 *
 * @param p         Parameters.
 * @param row       The row of the narrow image; NULL for a row of padding.
 * @param weights   [channels of the narrow image][4].
 * @param constants ABOARD_EPILOGUE_BLOCK words.
 * @param to        Receives `buffered_cols` pixels of `buffered_channels`.
 */
ABOARD_INLINE void aboard_expanded_depthwise_conv2d_s8_row(const aboard_expanded_depthwise_conv2d_s8_t *p,
                                                           const int8_t *row, const int8_t *weights,
                                                           const int32_t *constants, int8_t *to) {
    const aboard_depthwise_conv2d_s8_t *d = &p->depthwise;
    const int32_t channels = d->buffered_channels;
    if (row == NULL) {
        aboard_im2col_fill_shared(to, d->zero_point, d->buffered_cols * channels);
        return;
    }
    const int32_t left = ABOARD_MIN(d->shape.pad_left, d->buffered_cols);
    const int32_t cols = ABOARD_MIN(p->in.cols, d->buffered_cols - left);
    to = aboard_im2col_fill_shared(to, d->zero_point, left * channels);
    for (int32_t x = 0; x < cols; ++x) {
        int32_t sums[4] = {0, 0, 0, 0};
        aboard_sums_of_four_s8(sums, row, weights, p->in.channels);
        aboard_epilogue_block(&p->epilogue, sums, constants, to, channels);
        row += p->in.pixel_stride;
        to += channels;
    }
    aboard_im2col_fill_shared(to, d->zero_point, (d->buffered_cols - left - cols) * channels);
}

/** Computes the rows of some expanded channels that row `y` of the result needs: all if `is_first`, the first row of a
 * call, else those that row `y - 1` did not need. */
ABOARD_INLINE void aboard_expanded_depthwise_conv2d_s8_rows(const aboard_expanded_depthwise_conv2d_s8_t *p,
                                                            const int8_t *in, const int8_t *weights,
                                                            const int32_t *constants, int32_t image, int32_t y,
                                                            bool is_first, int8_t *lines) {
    const aboard_depthwise_conv2d_shape_t *s = &p->depthwise.shape;
    const int32_t depth = aboard_depthwise_conv2d_extent(s);
    const int32_t pitch = p->depthwise.buffered_cols * p->depthwise.buffered_channels;
    const int32_t end = y * s->stride_h + depth;
    for (int32_t row = end - (is_first || y == 0 ? depth : ABOARD_MIN(depth, s->stride_h)); row < end; ++row) {
        const int32_t from = row - s->pad_top;
        const bool inside = from >= 0 && from < s->in_height;
        const int8_t *const pixels = inside ? aboard_row_s8(&p->in, in, image * s->in_height + from) : NULL;
        aboard_expanded_depthwise_conv2d_s8_row(p, pixels, weights, constants, lines + row % depth * pitch);
    }
}

/**
 * int8 1x1 convolution and depthwise convolution of its result, equal to TFLite's reference kernels one after another.
 *
 * @param p           Parameters.
 * @param in, out     Any views, including rolling buffers, in different memory.
 * @param expansion   Weights of the expansion: for each `buffered_channels` [channels of the narrow image][4].
 * @param expanded    ABOARD_EPILOGUE_BLOCK words for each `buffered_channels`.
 * @param weights     As for aboard_depthwise_conv2d_s8.
 * @param constants   Likewise.
 * @param lines       Scratch of the rows of a window (including dilation) times `buffered_cols` pixels of
 * `buffered_channels`.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_expanded_depthwise_conv2d_s8(const aboard_expanded_depthwise_conv2d_s8_t *p, const int8_t *in,
                                                       int8_t *out, const int8_t *expansion, const int32_t *expanded,
                                                       const int8_t *weights, const int32_t *constants, int8_t *lines,
                                                       int32_t first, int32_t last) {
    const aboard_depthwise_conv2d_shape_t *s = &p->depthwise.shape;
    const int32_t channels = p->depthwise.buffered_channels;
    const int32_t results = channels * s->multiplier;
    const bool single = p->depthwise.epilogue.fast == 3;
    for (int32_t begin = 0; begin < s->in.channels; begin += channels) {
        for (int32_t r = first; r < last; ++r) {
            const int32_t image = s->out.rows == s->out_height ? 0 : r / s->out_height;
            const int32_t y = r - image * s->out_height;
            aboard_expanded_depthwise_conv2d_s8_rows(p, in, expansion, expanded, image, y, r == first, lines);
            aboard_depthwise_conv2d_s8_result_row(&p->depthwise, in, weights, constants, lines, image, y,
                                                  aboard_row_out_s8(&s->out, out, r));
        }
        expansion += 4 * p->in.channels;
        expanded += ABOARD_EPILOGUE_BLOCK;
        weights += results * (s->window_height * s->window_width + (single ? 0 : 1));
        constants += results * (single ? 3 : 2);
        out += results;
    }
}

#endif
