/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/depthwise_conv2d.h
 * int8 depthwise convolution with Helium: sixteen channels of a pixel at once.
 *
 * Products of int8 are computed eight at a time in 16 bits. The host computes how many taps can be summed before the
 * sum could overflow; then the sum is widened and added to 32-bit sums.
 *
 * As many input rows as a window has are first copied into a line buffer, with padding. There each block of sixteen
 * channels is separate, so that neighbouring pixels are sixteen bytes apart. If a pixel has only two, four or eight
 * channels, a vector contains neighbouring pixels instead.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_DEPTHWISE_CONV2D_H
#define ABOARD_KERNELS_ARM_MVE_DEPTHWISE_CONV2D_H

#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "depthwise_block.h"
#include "helium.h"
#include "line_buffer.h"

/** Bytes of a row of the line buffer, of one block. A vector of several pixels may exceed the last pixel. */
ABOARD_INLINE int32_t aboard_depthwise_mve_row_bytes(const aboard_depthwise_conv2d_mve_t *p) {
    return p->cols * p->pixel + ABOARD_DEPTHWISE_MVE_BLOCK - p->pixel;
}

#if ABOARD_MVE_ASM

/** Writes `pixels` pixels of padding. */
ABOARD_INLINE int8_t *aboard_depthwise_mve_pad(const aboard_depthwise_conv2d_mve_t *p, int8_t *to, int32_t pixels) {
    if (p->pixel == ABOARD_DEPTHWISE_MVE_BLOCK) {
        const int8x16_t padding = vdupq_n_s8((int8_t)p->zero_point);
        for (int32_t x = 0; x < pixels; ++x) {
            vstrbq_s8(to, padding);
            to += ABOARD_DEPTHWISE_MVE_BLOCK;
        }
        return to;
    }
    aboard_mve_fill(to, p->zero_point, pixels * p->pixel);
    return to + pixels * p->pixel;
}

/** Copies pixels of a block of `count` channels. */
ABOARD_INLINE int8_t *aboard_depthwise_mve_pixels(const aboard_depthwise_conv2d_mve_t *p, int8_t *to,
                                                  const int8_t *from, int32_t pixels, int32_t count) {
    if (p->in.pixel_stride == p->pixel) {
        aboard_mve_copy(to, from, pixels * p->pixel);
        return to + pixels * p->pixel;
    }
    const mve_pred16_t some = vctp8q((uint32_t)count);
    const int32_t full = p->pixel == ABOARD_DEPTHWISE_MVE_BLOCK && p->in.channels % ABOARD_DEPTHWISE_MVE_BLOCK == 0;
    for (int32_t x = 0; x < pixels; ++x) {
        if (full) {
            vstrbq_s8(to, vldrbq_s8(from));
        } else {
            vstrbq_p_s8(to, vldrbq_z_s8(from, some), some);
        }
        to += p->pixel;
        from += p->in.pixel_stride;
    }
    return to;
}

#else

/** Writes `pixels` pixels of padding. */
ABOARD_INLINE int8_t *aboard_depthwise_mve_pad(const aboard_depthwise_conv2d_mve_t *p, int8_t *to, int32_t pixels) {
    aboard_mve_fill(to, p->zero_point, pixels * p->pixel);
    return to + pixels * p->pixel;
}

/** Copies pixels of a block of `count` channels. */
ABOARD_INLINE int8_t *aboard_depthwise_mve_pixels(const aboard_depthwise_conv2d_mve_t *p, int8_t *to,
                                                  const int8_t *from, int32_t pixels, int32_t count) {
    for (int32_t x = 0; x < pixels; ++x) {
        aboard_mve_copy(to, from, count);
        to += p->pixel;
        from += p->in.pixel_stride;
    }
    return to;
}

#endif

/** Copies input row `y` of an image, or padding, into a row of the line buffer: channels from `channel` on. */
ABOARD_INLINE void aboard_depthwise_mve_fill(const aboard_depthwise_conv2d_mve_t *p, const int8_t *in, int32_t image,
                                             int32_t y, int32_t channel, int8_t *to) {
    if (y < 0 || y >= p->in_height) {
        aboard_depthwise_mve_pad(p, to, p->cols);
        return;
    }
    const int32_t pixels = ABOARD_MIN(p->in.cols, p->cols - p->pad_left);
    const int8_t *from = aboard_row_s8(&p->in, in, image * p->in_height + y) + channel;
    to = aboard_depthwise_mve_pad(p, to, p->pad_left);
    to = aboard_depthwise_mve_pixels(p, to, from, pixels, ABOARD_MIN(p->in.channels - channel, p->pixel));
    aboard_depthwise_mve_pad(p, to, p->cols - p->pad_left - pixels);
}

/**
 * int8 depthwise convolution with as many output as input channels, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Different memory. Any views, including rolling buffers.
 * @param weights     [blocks of 16 channels][taps][16], padded with zeros.
 * @param constants   [blocks][4][kinds][4], see aboard_depthwise_mve_vector.
 * @param lines       Scratch: [blocks][window height][a row of the line buffer]; keeps its content between calls.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_depthwise_conv2d_mve(const aboard_depthwise_conv2d_mve_t *p, const int8_t *in, int8_t *out,
                                               const int8_t *weights, const int32_t *constants, int8_t *lines,
                                               int32_t first, int32_t last) {
    const int32_t row_bytes = aboard_depthwise_mve_row_bytes(p);
    const int32_t height = p->window_height;
    const int32_t kept = ABOARD_MAX(height - p->stride_h, 0);
    for (int32_t row = first; row < last; ++row) {
        const int32_t image = p->in.rows == p->in_height ? 0 : row / p->out_height;
        const int32_t line = row - image * p->out_height;
        const int32_t top = line * p->stride_h;
        const int8_t *w = weights;
        const int32_t *c = constants;
        int8_t *slots = lines;
        int8_t *y = aboard_row_out_s8(&p->out, out, row);
        ABOARD_OPAQUE(c);
        ABOARD_UNROLL(1)
        for (int32_t channel = 0; channel < p->in.channels; channel += ABOARD_DEPTHWISE_MVE_BLOCK) {
            const int8_t *rows[ABOARD_DEPTHWISE_MVE_ROWS];
            int32_t slot = top % height;
            ABOARD_UNROLL(16)
            for (int32_t i = 0; i < height; ++i) {
                if (line == 0 || i >= kept) {
                    aboard_depthwise_mve_fill(p, in, image, top + i - p->pad_top, channel, slots + slot * row_bytes);
                }
                rows[i] = slots + slot * row_bytes;
                slot = slot + 1 == height ? 0 : slot + 1;
            }
            aboard_depthwise_mve_row(p, rows, w, c, p->in.channels - channel, y + channel);
            w += ABOARD_DEPTHWISE_MVE_BLOCK * height * p->window_width;
            c += 4 * aboard_mve_epilogue_words(&p->epilogue);
            slots += height * row_bytes;
        }
    }
}

#endif
