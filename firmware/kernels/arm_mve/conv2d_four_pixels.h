/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/conv2d_four_pixels.h
 * int8 convolution with Helium: four pixels times two channels at once, sixteen taps per instruction.
 *
 * Windows of one run of bytes are read from the input. Other windows are read from a line buffer of input rows
 * (line_buffer.h) if pixels are whole chunks of sixteen bytes, else from im2col columns into which they are copied. For
 * 1x1 and im2col columns, four pixels may be the end of a row and the start of the next.
 * host/aboard/kernels/arm_mve/conv2d_four_pixels.py chooses.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_CONV2D_FOUR_PIXELS_H
#define ABOARD_KERNELS_ARM_MVE_CONV2D_FOUR_PIXELS_H

#include <stddef.h>
#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "four_pixels_columns.h"
#include "four_pixels_last.h"
#include "four_pixels_layer.h"
#include "four_pixels_staged.h"
#include "line_buffer.h"

/** Bytes by which the last load of a window exceeds it. */
ABOARD_INLINE int32_t aboard_four_pixels_excess(const aboard_conv2d_four_pixels_mve_t *p) {
    return p->chunks * ABOARD_MVE_CHUNK - p->back - aboard_mve_line_buffer_run(&p->line_buffer);
}

/**
 * Computes `count` pixels directly from the input. The last pixels are copied to `scratch` if there are fewer than
 * four, or if vectors would exceed the input, as for the last `rest` of them.
 */
ABOARD_INLINE void aboard_four_pixels_direct(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *x, int32_t count,
                                             int32_t rest, const int8_t *weights, int8_t *scratch, int8_t *out) {
    aboard_four_pixels_table_t tables[2];
    aboard_four_pixels_table_t *table = &tables[0];
    const int32_t many = p->distance < aboard_four_pixels_excess(p);
    aboard_four_pixels_fill(p, ABOARD_FOUR_PIXELS, &tables[0]);
    aboard_four_pixels_fill(p, (count - 1) % ABOARD_FOUR_PIXELS + 1, &tables[1]);
    int32_t groups = (many ? ABOARD_MAX(count - rest, 0) : count - rest) / ABOARD_FOUR_PIXELS;
    ABOARD_UNROLL(1)
    while (count > 0) {
        const int8_t *const next = x + ABOARD_FOUR_PIXELS * p->distance;
        const int32_t copies = groups == 0;
        if (copies) {
            for (int32_t i = 0; i < ABOARD_FOUR_PIXELS; ++i) {
                const int32_t pixel = ABOARD_MIN(i, count - 1);
                aboard_mve_copy(scratch + i * p->distance, x + pixel * p->distance,
                                aboard_mve_line_buffer_run(&p->line_buffer));
            }
            x = scratch;
            table = &tables[many && count > ABOARD_FOUR_PIXELS ? 0 : 1];
            groups = 1;
        }
        aboard_four_pixels_groups(p, x, weights, table, out, groups);
        /* More than one group is copied where a load exceeds several pixels. */
        x = many && copies ? next : x + ABOARD_FOUR_PIXELS * p->distance * groups;
        out += ABOARD_FOUR_PIXELS * p->out.pixel_stride * groups;
        count -= ABOARD_FOUR_PIXELS * groups;
        groups = 0;
    }
}

/** Computes a row of pixels whose windows are in the line buffer from `x` on. Four last pixels may overlap with pixels
 * that are done. */
ABOARD_INLINE void aboard_four_pixels_line_buffer(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *x,
                                                  const int8_t *weights, aboard_four_pixels_table_t *table,
                                                  int8_t *out) {
    const int32_t parts = p->out.cols % ABOARD_FOUR_PIXELS == 0 ? 1 : 2;
    ABOARD_UNROLL(1)
    for (int32_t part = 0; part < parts; ++part) {
        const int32_t col = part * (p->out.cols - ABOARD_FOUR_PIXELS);
        const int32_t groups = part == 0 ? p->out.cols / ABOARD_FOUR_PIXELS : 1;
        aboard_four_pixels_groups(p, x + col * p->distance, weights, table, out + col * p->out.pixel_stride, groups);
    }
}

/**
 * int8 convolution, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters; a single group, and contiguous rows of a window.
 * @param in, out     Different memory. Any views, including rolling buffers.
 * @param weights     For every two channels of a group [rows][phases][chunks][taps of a phase][2][16], padded with
 * zeros, and [2][3] words: the constants of the epilogue. By `begun`, [2][4] words of biases come first, and [2][2]
 * words of other constants last. By `ends`, two words follow.
 * @param scratch     The line buffer, four im2col columns, and one more vector; for DIRECT, four pixels if the last
 * ones are copied.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_conv2d_four_pixels_mve(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *in,
                                                 int8_t *out, const int8_t *weights, int8_t *scratch, int32_t first,
                                                 int32_t last) {
    if (p->source == ABOARD_FOUR_PIXELS_IM2COL) {
        aboard_four_pixels_columns(p, in, weights, NULL, scratch, out, first, last);
        return;
    }
    aboard_four_pixels_table_t table;
    aboard_four_pixels_fill(p, ABOARD_FOUR_PIXELS, &table);
    ABOARD_UNROLL(1)
    for (int32_t row = first; row < last;) {
        const int8_t *x = aboard_mve_line_buffer(&p->line_buffer, in, row, scratch);
        if (p->source == ABOARD_FOUR_PIXELS_LINE_BUFFER) {
            const int32_t end = row + aboard_mve_line_buffer_held(&p->line_buffer, row, last);
            ABOARD_UNROLL(1)
            for (; row < end; ++row) {
                aboard_four_pixels_line_buffer(p, x, weights, &table, aboard_row_out_s8(&p->out, out, row));
                x += p->line_buffer.stride_h * aboard_mve_line_buffer_stride(&p->line_buffer);
            }
        } else {
            const int32_t rows = aboard_four_pixels_together(p, row, last);
            const int32_t excess = aboard_four_pixels_excess(p);
            const int32_t end = p->joined == 1 || row + rows == p->out.rows;
            const int32_t rest = aboard_mve_line_buffer_rest(&p->line_buffer, excess, p->distance, end);
            int8_t *const y = aboard_row_out_s8(&p->out, out, row);
            if (p->last > 0) {
                aboard_four_pixels_in_place(p, x, rows * p->out.cols, weights, y);
            } else {
                aboard_four_pixels_direct(p, x, rows * p->out.cols, rest, weights, scratch, y);
            }
            row += rows;
        }
    }
}

/**
 * aboard_conv2d_four_pixels_mve for DIRECT with 1x1 windows of whole chunks, where the result may lie exactly over the
 * operand.
 *
 * @param scratch Four pixels.
 */
ABOARD_INLINE void aboard_conv2d_four_pixels_mve_staged(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *in,
                                                        int8_t *out, const int8_t *weights, int8_t *scratch,
                                                        int32_t first, int32_t last) {
    ABOARD_UNROLL(1)
    while (first < last) {
        const int32_t rows = aboard_four_pixels_together(p, first, last);
        aboard_four_pixels_staged(p, aboard_row_s8(&p->line_buffer.in, in, first), rows * p->out.cols, weights, scratch,
                                  aboard_row_out_s8(&p->out, out, first));
        first += rows;
    }
}

/**
 * aboard_conv2d_four_pixels_mve for IM2COL with windows that are gathered.
 *
 * @param offsets Of all units of a window from its first byte, as numbers of their own size; some may be repeated.
 */
ABOARD_INLINE void aboard_conv2d_four_pixels_mve_gathered(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *in,
                                                          int8_t *out, const int8_t *weights, const int8_t *offsets,
                                                          int8_t *scratch, int32_t first, int32_t last) {
    aboard_four_pixels_columns(p, in, weights, offsets, scratch, out, first, last);
}

/**
 * aboard_conv2d_four_pixels_mve_gathered for rows of four pixels and more, of one group of channels or several.
 *
 * Units are bytes, halfwords or words, without ABOARD_FOUR_PIXELS_FAR. Four last pixels may overlap with pixels that
 * are done.
 *
 * @param weights The offsets, and then the weights.
 */
ABOARD_INLINE void aboard_conv2d_four_pixels_mve_whole_rows(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *in,
                                                            int8_t *out, const int8_t *weights, int8_t *scratch,
                                                            int32_t first, int32_t last) {
    aboard_four_pixels_whole_rows(p, in, weights, scratch, out, first, last);
}

/**
 * aboard_conv2d_four_pixels_mve for windows whose rows are not contiguous: with dilation, or of several groups.
 *
 * Windows are copied, four pixels of a group at a time. Four last pixels may overlap with pixels that are done; a row
 * of fewer than four repeats its last pixel.
 */
ABOARD_INLINE void aboard_conv2d_four_pixels_mve_scattered(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *in,
                                                           int8_t *out, const int8_t *weights, int8_t *scratch,
                                                           int32_t first, int32_t last) {
    int8_t *const columns = scratch + aboard_mve_line_buffer_bytes(&p->line_buffer);
    const int32_t step = p->line_buffer.stride_w * aboard_mve_line_buffer_pixel(&p->line_buffer);
    const int32_t pixels = ABOARD_MIN(p->out.cols, ABOARD_FOUR_PIXELS);
    aboard_four_pixels_table_t table;
    aboard_four_pixels_fill(p, pixels, &table);
    ABOARD_UNROLL(1)
    for (int32_t row = first; row < last; ++row) {
        const int8_t *const x = aboard_mve_line_buffer(&p->line_buffer, in, row, scratch);
        int8_t *const y = aboard_row_out_s8(&p->out, out, row);
        ABOARD_UNROLL(1)
        for (int32_t col = 0; col < p->out.cols; col += ABOARD_FOUR_PIXELS) {
            const int32_t at = ABOARD_MIN(col, p->out.cols - pixels);
            const int8_t *from = x + at * step;
            const int8_t *w = weights;
            int8_t *to = y + at * p->out.pixel_stride;
            ABOARD_UNROLL(1)
            for (int32_t group = 0; group < p->line_buffer.groups; ++group) {
                aboard_four_pixels_scattered(p, from, pixels, columns);
                aboard_four_pixels(p, columns, w, &table, to);
                from += aboard_mve_line_buffer_depth(&p->line_buffer);
                w += aboard_four_pixels_stream(p);
                to += aboard_four_pixels_channels(p);
            }
        }
    }
}

#endif
