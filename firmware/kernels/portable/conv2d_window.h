/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/conv2d_window.h
 * Geometry of convolutions: where the windows of results lie in the operand.
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
    int32_t in_height;     /**< Rows of an image; the view counts those of all images of the batch. */
    int32_t out_height;    /**< Likewise. */
    int32_t window_height; /**< Taps. */
    int32_t window_width;
    int32_t stride_h;
    int32_t stride_w;
    int32_t dilation_h;
    int32_t dilation_w;
    int32_t pad_top;
    int32_t pad_left;
    int32_t groups; /**< Divides the channels of input and result. */
} aboard_conv2d_shape_t;

/** Where the window of a pixel of the result lies. */
typedef struct {
    int32_t base; /**< First row of its image in the input's view. */
    int32_t top;  /**< Row of the window's first tap within the image; it may lie outside. */
    int32_t left; /**< Column of the window's first tap; likewise. */
} aboard_conv2d_window_t;

/** Taps of a window. */
ABOARD_INLINE int32_t aboard_conv2d_taps(const aboard_conv2d_shape_t *s) {
    return s->window_height * s->window_width * (s->in.channels / s->groups);
}

/** Image that row `r` of a view belongs to. */
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
