/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file depthwise_conv2d.h
 * int8 depthwise convolution of 3x3 with the DSP extension: strips of rows of four channels are staged as planes.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_DEPTHWISE_CONV2D_H
#define ABOARD_KERNELS_ARM_DSP_DEPTHWISE_CONV2D_H

#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "planes.h"

/** Parameters of aboard_depthwise_conv2d_dsp: windows of 3x3 without dilation, one result channel for each channel. */
typedef struct {
    aboard_view_t in;   /**< Any view; a multiple of four channels. */
    aboard_view_t out;  /**< Any view. */
    int32_t in_height;  /**< Rows of an image; the view counts those of all images of the batch. */
    int32_t out_height; /**< Likewise. */
    int32_t stride;     /**< In both directions: 1 or 2. */
    int32_t pad_top;
    int32_t pad_left;   /**< 0 or 1. */
    int32_t strip;      /**< Rows of the result for which rows are staged at once. */
    int32_t pitch;      /**< Bytes of a row of a plane. */
    int32_t count;      /**< Results of a block, see aboard_dsp_rows. */
    int32_t blocks;     /**< Blocks of a row. */
    int32_t rest;       /**< Results of a last, smaller block; 0: there is none. */
    int32_t zero_point; /**< Of the input. */
    int32_t line;       /**< 1: results by lines; 0: by two roundings. */
    int32_t clamped;    /**< 1: results are kept between low and high. */
    int32_t low;
    int32_t high;
} aboard_depthwise_conv2d_dsp_t;

/** Rows of input that `rows` rows of the result see. */
ABOARD_INLINE int32_t aboard_depthwise_conv2d_dsp_span(const aboard_depthwise_conv2d_dsp_t *p, int32_t rows) {
    return (rows - 1) * p->stride + 3;
}

/** Rows from `r` on that lie one after another in a view, at most `count`. */
ABOARD_INLINE int32_t aboard_depthwise_conv2d_dsp_run(const aboard_view_t *view, int32_t r, int32_t count) {
    return view->depth >= view->rows ? count : ABOARD_MIN(count, view->depth - r % view->depth);
}

/**
 * Stages what a strip sees of four channels.
 *
 * @param p      Parameters.
 * @param in     First of the four channels.
 * @param image  First row of the image in the input's view.
 * @param top    First row seen, within the image; it may lie outside.
 * @param count  Rows seen.
 * @param planes Four planes.
 */
ABOARD_INLINE void aboard_depthwise_conv2d_dsp_stage(const aboard_depthwise_conv2d_dsp_t *p, const int8_t *in,
                                                     int32_t image, int32_t top, int32_t count, uint32_t *planes) {
    const int32_t plane = aboard_depthwise_conv2d_dsp_span(p, p->strip) * p->pitch;
    const int32_t pixels = ABOARD_MIN(p->in.cols, p->pitch / 2 - p->pad_left) - p->pad_left;
    const int32_t words = p->pad_left + pixels / 2 + pixels % 2;
    aboard_dsp_stage_t stage = {
        NULL,
        p->in.row_stride,
        0,
        p->in.pixel_stride,
        planes,
        plane,
        0x10001u * (uint16_t)-p->zero_point,
        p->pad_left,
        pixels / 2 * 4,
        pixels % 2,
        p->pitch - 4 * words,
    };
    const int32_t words_of_row = p->pitch / 4;
    int32_t row = 0;
    while (row < count) {
        const int32_t y = top + row;
        if (y < 0 || y >= p->in_height) {
            for (int32_t channel = 0; channel < ABOARD_DSP_PLANES; ++channel) {
                memset(planes + channel * (plane / 4) + row * words_of_row, 0, (size_t)p->pitch);
            }
            ++row;
            continue;
        }
        stage.from = aboard_row_s8(&p->in, in, image + y);
        stage.rows = aboard_depthwise_conv2d_dsp_run(&p->in, image + y, ABOARD_MIN(count - row, p->in_height - y));
        stage.to = planes + row * words_of_row;
        aboard_dsp_stage_planes(&stage);
        row += stage.rows;
    }
}

/** Computes rows [r, r + rows) of the result of four channels, which lie one after another and belong to one image. */
ABOARD_INLINE void aboard_depthwise_conv2d_dsp_channels(const aboard_depthwise_conv2d_dsp_t *p, const uint32_t *weights,
                                                        const uint32_t *planes, int8_t *y, int32_t rows) {
    const int32_t plane = aboard_depthwise_conv2d_dsp_span(p, p->strip) * p->pitch / 4;
    aboard_dsp_rows_t job = {
        weights, planes, y, p->out.pixel_stride, p->out.row_stride, p->pitch, rows * p->stride * p->pitch, p->blocks,
    };
    for (int32_t channel = 0; channel < ABOARD_DSP_PLANES; ++channel) {
        if (p->blocks > 0) {
            aboard_dsp_rows(&job, p->count, p->stride, p->line);
        }
        if (p->rest > 0) {
            aboard_dsp_rows_t last = job;
            const int32_t done = p->blocks * p->count;
            last.x += done * p->stride / 2;
            last.y += done * p->out.pixel_stride;
            last.blocks = 1;
            aboard_dsp_rows(&last, p->rest, p->stride, p->line);
        }
        job.weights += ABOARD_DSP_PLANE_WORDS;
        job.x += plane;
        ++job.y;
    }
}

/** Keeps the results of a row within the range of the activation. */
ABOARD_INLINE void aboard_depthwise_conv2d_dsp_clamp(const aboard_depthwise_conv2d_dsp_t *p, int8_t *y) {
    for (int32_t col = 0; col < p->out.cols; ++col) {
        aboard_dsp_clamp(y + col * p->out.pixel_stride, p->out.channels, p->low, p->high);
    }
}

/**
 * int8 depthwise convolution, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Different memory. Any views, rings of rows included.
 * @param weights     ABOARD_DSP_PLANE_WORDS words for each channel.
 * @param planes      Scratch of four planes of the rows that a strip sees, `pitch` bytes each.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_depthwise_conv2d_dsp(const aboard_depthwise_conv2d_dsp_t *p, const int8_t *in, int8_t *out,
                                               const uint32_t *weights, uint32_t *planes, int32_t first, int32_t last) {
    int32_t r = first;
    while (r < last) {
        const int32_t image = p->out.rows == p->out_height ? 0 : r / p->out_height;
        const int32_t y = r - image * p->out_height;
        const int32_t left = ABOARD_MIN(ABOARD_MIN(last - r, p->strip), p->out_height - y);
        const int32_t rows = aboard_depthwise_conv2d_dsp_run(&p->out, r, left);
        int8_t *const to = aboard_row_out_s8(&p->out, out, r);
        for (int32_t channel = 0; channel < p->out.channels; channel += ABOARD_DSP_PLANES) {
            aboard_depthwise_conv2d_dsp_stage(p, in + channel, image * p->in_height, y * p->stride - p->pad_top,
                                              aboard_depthwise_conv2d_dsp_span(p, rows), planes);
            aboard_depthwise_conv2d_dsp_channels(p, weights + channel * ABOARD_DSP_PLANE_WORDS, planes, to + channel,
                                                 rows);
        }
        for (int32_t row = 0; p->clamped && row < rows; ++row) {
            aboard_depthwise_conv2d_dsp_clamp(p, to + row * p->out.row_stride);
        }
        r += rows;
    }
}

#endif
