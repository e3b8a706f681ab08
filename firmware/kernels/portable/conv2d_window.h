/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/conv2d_window.h
 * Geometry of convolutions: the positions of the results' windows in the operand.
 */
#ifndef ABOARD_KERNELS_PORTABLE_CONV2D_WINDOW_H
#define ABOARD_KERNELS_PORTABLE_CONV2D_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"

/** Geometry of a convolution. */
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
    int32_t groups; /**< Number of groups; divides the channels of input and result. */
} aboard_conv2d_shape_t;

/** Position of the window of a result pixel. */
typedef struct {
    int32_t base; /**< First row of its image in the input's view. */
    int32_t top;  /**< Row of the window's first tap, relative to the image; may be outside. */
    int32_t left; /**< Column of the window's first tap; may be outside. */
} aboard_conv2d_window_t;

/** Taps of a window. */
ABOARD_INLINE int32_t aboard_conv2d_taps(const aboard_conv2d_shape_t *s) {
    return s->window_height * s->window_width * (s->in.channels / s->groups);
}

/** Number of the image that contains row `r` of a view. */
ABOARD_INLINE int32_t aboard_conv2d_image(const aboard_view_t *view, int32_t height, int32_t r) {
    return view->rows == height ? 0 : r / height;
}

/** The window of result pixel (row, col). */
ABOARD_INLINE aboard_conv2d_window_t aboard_conv2d_window(const aboard_conv2d_shape_t *s, int32_t row, int32_t col) {
    const int32_t image = aboard_conv2d_image(&s->out, s->out_height, row);
    const aboard_conv2d_window_t window = {
        image * s->in_height,
        (row - image * s->out_height) * s->stride_h - s->pad_top,
        col * s->stride_w - s->pad_left,
    };
    return window;
}

/** True if a row of a window is within the input from its first to its last column. */
ABOARD_INLINE bool aboard_conv2d_inside(const aboard_conv2d_shape_t *s, int32_t left) {
    return left >= 0 && left + (s->window_width - 1) * s->dilation_w < s->in.cols;
}

/** Rows of a window at equal distances. */
typedef struct {
    const int8_t *from;
    int32_t stride;
} aboard_conv2d_lines_t;

/** Rows of a window where they lie in the input; `from` is NULL if a part of the window is outside the input, or if the
 * taps of a row have gaps. `x` points to the group's first channel. */
ABOARD_INLINE aboard_conv2d_lines_t aboard_conv2d_lines(const aboard_conv2d_shape_t *s, const int8_t *x,
                                                        const aboard_conv2d_window_t *w) {
    aboard_conv2d_lines_t lines = {NULL, s->in.row_stride * s->dilation_h};
    const int32_t depth = s->in.channels / s->groups;
    const int32_t seen = (s->window_height - 1) * s->dilation_h + 1;
    const bool dense = s->window_width == 1 || (s->dilation_w == 1 && s->in.pixel_stride == depth);
    if (dense && aboard_conv2d_inside(s, w->left) && w->top >= 0 && w->top + seen <= s->in_height &&
        aboard_rows_together(&s->in, w->base + w->top, seen) == seen) {
        lines.from = aboard_row_s8(&s->in, x, w->base + w->top) + w->left * s->in.pixel_stride;
    }
    return lines;
}

#endif
