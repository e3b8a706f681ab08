/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/gather.h
 * Moving elements between views, for every op that computes nothing: reshape, slices, transposes, split, and parts of
 * concatenation, padding and resizing.
 *
 * Elements have 1, 2, 4 or 8 bytes and no type. Runs that are contiguous on both sides are one memcpy; with literal
 * parameters all other decisions fold away.
 */
#ifndef ABOARD_KERNELS_PORTABLE_GATHER_H
#define ABOARD_KERNELS_PORTABLE_GATHER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "aboard/view.h"

/** Largest number of the result's axes that form its rows. */
#define ABOARD_GATHER_LEAD 5

/** Copies `count` elements that are contiguous on both sides; both addresses are multiples of the element's size. */
ABOARD_INLINE void aboard_copy_run(uint8_t *out, const uint8_t *in, int32_t count, int32_t element_bytes) {
    const size_t bytes = (size_t)count * (size_t)element_bytes;
    if (bytes == 1) {
        *out = *in;
    } else if (element_bytes >= 4) {
        memcpy(ABOARD_AT_MULTIPLE(out, 4), ABOARD_AT_MULTIPLE(in, 4), bytes);
    } else if (element_bytes == 2) {
        memcpy(ABOARD_AT_MULTIPLE(out, 2), ABOARD_AT_MULTIPLE(in, 2), bytes);
    } else {
        memcpy(out, in, bytes);
    }
}

/** True if the pixels of a view's row are contiguous. */
ABOARD_INLINE bool aboard_row_is_run(const aboard_view_t *view, int32_t element_bytes) {
    return view->cols == 1 || view->pixel_stride == view->channels * element_bytes;
}

/**
 * Copies a row of pixels into (or out of) a row of another view that is at least as wide.
 *
 * @param out, out_view  Address of the first pixel to write; only the pixel stride of the view is used.
 * @param in, in_view    Address of the first pixel to read; only the pixel stride of the view is used.
 * @param cols           Pixels.
 * @param channels       Elements of a pixel.
 */
ABOARD_INLINE void aboard_copy_pixels(uint8_t *out, const aboard_view_t *out_view, const uint8_t *in,
                                      const aboard_view_t *in_view, int32_t cols, int32_t channels,
                                      int32_t element_bytes) {
    const int32_t pixel = channels * element_bytes;
    if (cols == 1 || (out_view->pixel_stride == pixel && in_view->pixel_stride == pixel)) {
        aboard_copy_run(out, in, cols * channels, element_bytes);
        return;
    }
    for (int32_t x = 0; x < cols; ++x) {
        aboard_copy_run(out + x * out_view->pixel_stride, in + x * in_view->pixel_stride, channels, element_bytes);
    }
}

/** The step in the operand along one axis of the result. */
typedef struct {
    int32_t extent; /**< Indices of the axis. */
    int32_t rows;   /**< Rows of the operand per step; may be negative. */
    int32_t bytes;  /**< Bytes within a row of the operand per step; may be negative. */
} aboard_gather_axis_t;

/** Parameters of aboard_gather. */
typedef struct {
    aboard_view_t in;
    aboard_view_t out;
    int32_t element_bytes; /**< 1, 2, 4 or 8. */
    int32_t row;           /**< Row of the operand with the first element. */
    int32_t byte;          /**< Offset of the first element in that row, in bytes. */
    int32_t flat;          /**< 1: both sides are contiguous and in the same order. */
    aboard_gather_axis_t
        lead[ABOARD_GATHER_LEAD]; /**< The rows of the result, outermost axis first; extent 1 for unused entries. */
    aboard_gather_axis_t col;     /**< The pixels of a row. */
    aboard_gather_axis_t channel; /**< The elements of a pixel. */
} aboard_gather_t;

/** Copies one row of the result; `row` and `byte` are the position of its first element in the operand. */
ABOARD_INLINE void aboard_gather_row(const aboard_gather_t *p, const uint8_t *in, uint8_t *out, int32_t row,
                                     int32_t byte) {
    const int32_t size = p->element_bytes;
    const bool run = p->channel.extent == 1 || (p->channel.rows == 0 && p->channel.bytes == size);
    const bool long_run = run && p->col.rows == 0 && p->col.bytes == p->channel.extent * size;
    if (p->col.extent == 1 ? run : long_run && aboard_row_is_run(&p->out, size)) {
        aboard_copy_run(out, in + aboard_row_offset(&p->in, row) + byte, p->col.extent * p->channel.extent, size);
        return;
    }
    for (int32_t x = 0; x < p->col.extent; ++x) {
        uint8_t *pixel = out + x * p->out.pixel_stride;
        const int32_t pixel_row = row + x * p->col.rows;
        const int32_t pixel_byte = byte + x * p->col.bytes;
        if (run) {
            aboard_copy_run(pixel, in + aboard_row_offset(&p->in, pixel_row) + pixel_byte, p->channel.extent, size);
            continue;
        }
        for (int32_t c = 0; c < p->channel.extent; ++c) {
            const int32_t from = aboard_row_offset(&p->in, pixel_row + c * p->channel.rows);
            aboard_copy_run(pixel + c * size, in + from + pixel_byte + c * p->channel.bytes, 1, size);
        }
    }
}

/**
 * Copies elements at regular distances in the operand along every axis of the result.
 *
 * @param p            Parameters.
 * @param in           Operand. Any view, including a rolling buffer.
 * @param out          Result, in other memory than the operand. Any view.
 * @param first, last  Rows [first, last) of the result are written.
 */
ABOARD_INLINE void aboard_gather(const aboard_gather_t *p, const void *in, void *out, int32_t first, int32_t last) {
    const uint8_t *from = in;
    uint8_t *to = out;
    if (p->flat) {
        const int32_t per_row = p->out.cols * p->out.channels;
        const int32_t skipped = first * per_row * p->element_bytes;
        aboard_copy_run(to + skipped, from + p->row * p->in.row_stride + p->byte + skipped, (last - first) * per_row,
                        p->element_bytes);
        return;
    }
    for (int32_t r = first; r < last; ++r) {
        uint32_t rest = (uint32_t)r;
        int32_t row = p->row;
        int32_t byte = p->byte;
        ABOARD_UNROLL(5)
        for (int32_t axis = ABOARD_GATHER_LEAD - 1; axis >= 0; --axis) {
            const uint32_t extent = (uint32_t)p->lead[axis].extent;
            const int32_t index = (int32_t)(rest % extent);
            rest /= extent;
            row += index * p->lead[axis].rows;
            byte += index * p->lead[axis].bytes;
        }
        aboard_gather_row(p, from, to + aboard_row_offset(&p->out, r), row, byte);
    }
}

#endif
