/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/four_pixels_columns.h
 * Windows of conv2d_four_pixels.h that are copied into im2col columns: row by row, or gathered in units.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_FOUR_PIXELS_COLUMNS_H
#define ABOARD_KERNELS_ARM_MVE_FOUR_PIXELS_COLUMNS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "four_pixels_layer.h"
#include "helium.h"
#include "length.h"
#include "line_buffer.h"

/** Copies a window, given its first byte in the line buffer, into an im2col column. */
ABOARD_INLINE void aboard_four_pixels_im2col(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *x, int8_t *to) {
    const int32_t bytes = p->line_buffer.window_width * p->line_buffer.in.channels;
    const int32_t stride = aboard_mve_line_buffer_stride(&p->line_buffer);
    ABOARD_UNROLL(16)
    for (int32_t row = 0; row < p->line_buffer.window_height; ++row) {
        if (p->line_buffer.cols == 0) {
            aboard_mve_copy(to, x, bytes);
        } else {
            /* The line buffer and the im2col columns are followed by free bytes. Excess bytes are overwritten, or are
             * multiplied by 0. */
            aboard_mve_copy_and_more(to, x, bytes);
        }
        to += bytes;
        x += stride;
    }
}

/** Copies four neighbouring windows: as aboard_four_pixels_im2col for each, with fewer addresses. */
ABOARD_INLINE void aboard_four_pixels_four(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *x, int8_t *to) {
    const int32_t bytes = p->line_buffer.window_width * p->line_buffer.in.channels;
    const int32_t step = p->line_buffer.stride_w * aboard_mve_line_buffer_pixel(&p->line_buffer);
    ABOARD_UNROLL(16)
    for (int32_t row = 0; row < p->line_buffer.window_height; ++row) {
        ABOARD_UNROLL(4)
        for (int32_t i = 0; i < ABOARD_FOUR_PIXELS; ++i) {
            aboard_mve_copy_and_more(to + i * p->distance, x + i * step, bytes);
        }
        to += bytes;
        x += aboard_mve_line_buffer_stride(&p->line_buffer);
    }
}

#if ABOARD_MVE_ASM

/* Formatted by hand: one instruction per line. */
/* clang-format off */

#define ABOARD_FOUR_PIXELS_GATHER(load, length) \
    __asm__ volatile(".set aboard_chunk, 0\n\t" \
                     ".rept %c[chunks]\n\t" \
                     "vldrw.32 q0, [%[offsets], #16 * aboard_chunk]\n\t" \
                     load " q1, [%[x0], q0]\n\t" \
                     load " q2, [%[x1], q0]\n\t" \
                     "vstrw.32 q1, [%[y0], #16 * aboard_chunk]\n\t" \
                     "vstrw.32 q2, [%[y1], #16 * aboard_chunk]\n\t" \
                     ".set aboard_chunk, aboard_chunk + 1\n\t" \
                     ".endr" length \
                     : : [x0] "r"(w.from[0]), [x1] "r"(w.from[1]), [y0] "r"(w.to[0]), [y1] "r"(w.to[1]), \
                         [offsets] "r"(offsets), [chunks] "i"(p->chunks) \
                     : "q0", "q1", "q2", "memory")

/** Bytes with offsets of 16 bits, eight at once. */
#define ABOARD_FOUR_PIXELS_GATHER_FAR(length) \
    __asm__ volatile(".set aboard_chunk, 0\n\t" \
                     ".rept 2 * %c[chunks]\n\t" \
                     "vldrw.32 q0, [%[offsets], #16 * aboard_chunk]\n\t" \
                     "vldrb.u16 q1, [%[x0], q0]\n\t" \
                     "vldrb.u16 q2, [%[x1], q0]\n\t" \
                     "vstrb.16 q1, [%[y0], #8 * aboard_chunk]\n\t" \
                     "vstrb.16 q2, [%[y1], #8 * aboard_chunk]\n\t" \
                     ".set aboard_chunk, aboard_chunk + 1\n\t" \
                     ".endr" length \
                     : : [x0] "r"(w.from[0]), [x1] "r"(w.from[1]), [y0] "l"(w.to[0]), [y1] "l"(w.to[1]), \
                         [offsets] "r"(offsets), [chunks] "i"(p->chunks) \
                     : "q0", "q1", "q2", "memory")

/* clang-format on */

#define ABOARD_FOUR_PIXELS_GATHER_BYTES(length) ABOARD_FOUR_PIXELS_GATHER("vldrb.u8", length)
#define ABOARD_FOUR_PIXELS_GATHER_HALVES(length) ABOARD_FOUR_PIXELS_GATHER("vldrh.u16", length)
#define ABOARD_FOUR_PIXELS_GATHER_WORDS(length) ABOARD_FOUR_PIXELS_GATHER("vldrw.u32", length)

/**
 * Gathers two windows into im2col columns, in units whose offsets are `offsets`.
 *
 * Four windows would read the offsets once, but their nine addresses are more than gcc finds registers for in some
 * layers.
 */
ABOARD_INLINE void aboard_four_pixels_gather(const aboard_conv2d_four_pixels_mve_t *p, aboard_mve_windows_t w,
                                             const int8_t *offsets) {
    const int32_t repeated = 5 * (p->chunks - 1);
    if (p->unit == ABOARD_FOUR_PIXELS_FAR) {
        ABOARD_MVE_SIZED(repeated + 5 * p->chunks, ABOARD_FOUR_PIXELS_GATHER_FAR);
    } else if (p->unit == 1) {
        ABOARD_MVE_SIZED(repeated, ABOARD_FOUR_PIXELS_GATHER_BYTES);
    } else if (p->unit == 2) {
        ABOARD_MVE_SIZED(repeated, ABOARD_FOUR_PIXELS_GATHER_HALVES);
    } else {
        ABOARD_MVE_SIZED(repeated, ABOARD_FOUR_PIXELS_GATHER_WORDS);
    }
}

#else

/** The function above in C. */
ABOARD_INLINE void aboard_four_pixels_gather(const aboard_conv2d_four_pixels_mve_t *p, aboard_mve_windows_t w,
                                             const int8_t *offsets) {
    const int32_t far = p->unit == ABOARD_FOUR_PIXELS_FAR;
    const int32_t unit = far ? 1 : p->unit;
    for (int32_t at = 0; at < p->chunks * ABOARD_MVE_CHUNK; at += unit) {
        uint32_t offset = 0;
        memcpy(&offset, offsets + (1 + far) * at, (size_t)(unit + far));
        memcpy(w.to[0] + at, w.from[0] + offset, (size_t)unit);
        memcpy(w.to[1] + at, w.from[1] + offset, (size_t)unit);
    }
}

/** Computes all channels of a group of four pixels, whose windows are gathered from `x` on in units; if there is one
 * group, offsets are at `w`, and before the weights. */
ABOARD_INLINE void aboard_four_pixels_gathered(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *x,
                                               const int8_t *w, const aboard_four_pixels_gather_t *gather,
                                               int8_t *out) {
    const int32_t step = p->line_buffer.stride_w * aboard_mve_line_buffer_pixel(&p->line_buffer);
    for (int32_t i = 0; i < ABOARD_FOUR_PIXELS; i += 2) {
        int8_t *const to = gather->columns + i * p->distance;
        const aboard_mve_windows_t windows = {{x + i * step, x + (i + 1) * step}, {to, to + p->distance}};
        aboard_four_pixels_gather(p, windows, gather->offsets);
    }
    w += p->line_buffer.groups == 1 ? p->chunks * ABOARD_MVE_CHUNK : 0;
    aboard_four_pixels(p, gather->columns, w, &gather->table, out);
}

#endif

/**
 * Copies the next windows of a row into im2col columns, of which `waiting` are full.
 *
 * The last window is also copied to the columns behind it, which the windows of the next row overwrite.
 *
 * @return Number of windows, up to `left`, that the columns had room for.
 */
ABOARD_INLINE int32_t aboard_four_pixels_more(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *x, int32_t left,
                                              int32_t waiting, const int8_t *offsets, int8_t *columns) {
    const int32_t step = p->line_buffer.stride_w * aboard_mve_line_buffer_pixel(&p->line_buffer);
    /* Without an address for each of four windows where none of them needs its own. */
    const int32_t whole = p->out.cols % ABOARD_FOUR_PIXELS == 0 || (waiting == 0 && left >= ABOARD_FOUR_PIXELS);
    if (p->unit > 0) {
        const int32_t more = whole ? ABOARD_FOUR_PIXELS : ABOARD_MIN(left, ABOARD_FOUR_PIXELS - waiting);
        ABOARD_UNROLL(2)
        for (int32_t i = 0; i < ABOARD_FOUR_PIXELS; i += 2) {
            const int32_t from[2] = {whole ? i : ABOARD_MIN(i, more - 1), whole ? i + 1 : ABOARD_MIN(i + 1, more - 1)};
            const int32_t to[2] = {whole ? i : ABOARD_MIN(waiting + i, ABOARD_FOUR_PIXELS - 1),
                                   whole ? i + 1 : ABOARD_MIN(waiting + i + 1, ABOARD_FOUR_PIXELS - 1)};
            const aboard_mve_windows_t windows = {{x + from[0] * step, x + from[1] * step},
                                                  {columns + to[0] * p->distance, columns + to[1] * p->distance}};
            aboard_four_pixels_gather(p, windows, offsets);
        }
        return more;
    }
    if (p->line_buffer.cols > 0 && waiting == 0 && left >= ABOARD_FOUR_PIXELS) {
        aboard_four_pixels_four(p, x, columns);
        return ABOARD_FOUR_PIXELS;
    }
    aboard_four_pixels_im2col(p, x, columns + waiting * p->distance);
    return 1;
}

/** Computes rows of pixels with copied windows: whenever four are copied, and the rest at the end of a run. */
ABOARD_INLINE void aboard_four_pixels_columns(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *in,
                                              const int8_t *weights, const int8_t *offsets, int8_t *scratch,
                                              int8_t *out, int32_t first, int32_t last) {
    int8_t *const columns = scratch + aboard_mve_line_buffer_bytes(&p->line_buffer);
    const int32_t step = p->line_buffer.stride_w * aboard_mve_line_buffer_pixel(&p->line_buffer);
    aboard_four_pixels_table_t tables[2];
    int8_t *y = out;
    int32_t waiting = 0;
    int32_t left = 0;
    aboard_four_pixels_fill(p, ABOARD_FOUR_PIXELS, &tables[0]);
    aboard_four_pixels_fill_last(p, aboard_four_pixels_together(p, first, last), &tables[1]);
    ABOARD_UNROLL(1)
    for (int32_t row = first; row < last; ++row) {
        const int8_t *x = aboard_mve_line_buffer_from(&p->line_buffer, in, row, first, scratch);
        if (left == 0) {
            const int32_t rows = aboard_four_pixels_together(p, row, last);
            y = aboard_row_out_s8(&p->out, out, row);
            left = rows * p->out.cols;
            if (p->joined == 2) {
                aboard_four_pixels_fill_last(p, rows, &tables[1]);
            }
        }
        ABOARD_UNROLL(1)
        for (int32_t col = p->out.cols; col > 0;) {
            const int32_t more = aboard_four_pixels_more(p, x, col, waiting, offsets, columns);
            x += more * step;
            waiting += more;
            left -= more;
            col -= more;
            if (waiting < ABOARD_FOUR_PIXELS && left > 0) {
                continue;
            }
            for (int32_t i = waiting; i < ABOARD_FOUR_PIXELS && p->unit == 0; ++i) {
                aboard_mve_copy(columns + i * p->distance, columns + (waiting - 1) * p->distance, p->distance);
            }
            aboard_four_pixels(p, columns, weights, &tables[waiting < ABOARD_FOUR_PIXELS], y);
            y += waiting * p->out.pixel_stride;
            waiting = 0;
        }
    }
}

/** Computes rows of four pixels and more with gathered windows: four of a group at a time. Four last pixels may overlap
 * with pixels that are done. Offsets come before the weights. */
ABOARD_INLINE void aboard_four_pixels_whole_rows(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *in,
                                                 const int8_t *weights, int8_t *scratch, int8_t *out, int32_t first,
                                                 int32_t last) {
    const int32_t step = p->line_buffer.stride_w * aboard_mve_line_buffer_pixel(&p->line_buffer);
    const int32_t over = -p->out.cols & (ABOARD_FOUR_PIXELS - 1);
    const int32_t offsets = p->line_buffer.groups == 1 ? 0 : p->chunks * ABOARD_MVE_CHUNK;
    aboard_four_pixels_gather_t gather;
    gather.columns = scratch + aboard_mve_line_buffer_bytes(&p->line_buffer);
    gather.offsets = weights;
    aboard_four_pixels_fill(p, ABOARD_FOUR_PIXELS, &gather.table);
    ABOARD_UNROLL(1)
    for (int32_t row = first; row < last; ++row) {
        const int8_t *x = aboard_mve_line_buffer_from(&p->line_buffer, in, row, first, scratch);
        int8_t *y = aboard_row_out_s8(&p->out, out, row);
        ABOARD_UNROLL(1)
        for (int32_t col = 0; col < p->out.cols; col += ABOARD_FOUR_PIXELS) {
            if (over > 0 && col + ABOARD_FOUR_PIXELS > p->out.cols) {
                x -= over * step;
                y -= over * p->out.pixel_stride;
            }
            const int8_t *from = x;
            const int8_t *w = weights + offsets;
            int8_t *to = y;
            ABOARD_UNROLL(1)
            for (int32_t group = 0; group < p->line_buffer.groups; ++group) {
                aboard_four_pixels_gathered(p, from, w, &gather, to);
                from += aboard_mve_line_buffer_depth(&p->line_buffer);
                w += aboard_four_pixels_stream(p);
                to += aboard_four_pixels_channels(p);
            }
            x += ABOARD_FOUR_PIXELS * step;
            y += ABOARD_FOUR_PIXELS * p->out.pixel_stride;
        }
    }
}

/** Copies four neighbouring windows that are no contiguous rows; the last of `pixels` stands for further ones. */
ABOARD_INLINE void aboard_four_pixels_scattered(const aboard_conv2d_four_pixels_mve_t *p, const int8_t *x,
                                                int32_t pixels, int8_t *to) {
    const int32_t step = p->line_buffer.stride_w * aboard_mve_line_buffer_pixel(&p->line_buffer);
    ABOARD_UNROLL(2)
    for (int32_t i = 0; i < ABOARD_FOUR_PIXELS; i += 2) {
        const aboard_mve_windows_t windows = {
            {x + ABOARD_MIN(i, pixels - 1) * step, x + ABOARD_MIN(i + 1, pixels - 1) * step},
            {to + i * p->distance, to + (i + 1) * p->distance}};
        aboard_mve_line_buffer_windows(&p->line_buffer, windows);
    }
}

#endif
