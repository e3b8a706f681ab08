/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/conv2d_window.h
 * Geometry of convolutions: the positions of the results' windows in the operand.
 */
#ifndef ABOARD_KERNELS_PORTABLE_CONV2D_WINDOW_H
#define ABOARD_KERNELS_PORTABLE_CONV2D_WINDOW_H

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

#endif
