/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/pad.h
 * Padding with a constant, on any side of any axis.
 */
#ifndef ABOARD_KERNELS_PORTABLE_PAD_H
#define ABOARD_KERNELS_PORTABLE_PAD_H

#include "gather.h"

/** Largest number of axes that form rows. */
#define ABOARD_PAD_LEAD 5

/** An axis of the result: `before` indices of padding, `size` of the operand, the rest of `total` padding. */
typedef struct {
    int32_t before;
    int32_t size;
    int32_t total;
} aboard_pad_axis_t;

/** Parameters of aboard_pad. */
typedef struct {
    aboard_view_t in;
    aboard_view_t out;
    int32_t element_bytes;                   /**< 1, 2, 4 or 8. */
    int32_t value;                           /**< The bits of a padding element; the lower ones of 64. */
    aboard_pad_axis_t lead[ABOARD_PAD_LEAD]; /**< Axes of the rows, outermost first; {0, 1, 1} for unused entries. */
    aboard_pad_axis_t col;
    aboard_pad_axis_t channel;
} aboard_pad_t;

/** Writes `count` elements of one value, whose sign is extended to 8 bytes. */
ABOARD_INLINE void aboard_fill_run(uint8_t *out, int32_t count, int32_t value, int32_t element_bytes) {
    if (element_bytes == 1) {
        memset(out, value & 0xff, (size_t)count);
        return;
    }
    for (int32_t i = 0; i < count; ++i) {
        if (element_bytes == 2) {
            const int16_t half = (int16_t)value;
            memcpy(ABOARD_AT_MULTIPLE(out + i * 2, 2), &half, 2);
        } else if (element_bytes == 8) {
            const int64_t wide = value;
            memcpy(ABOARD_AT_MULTIPLE(out + i * 8, 8), &wide, 8);
        } else {
            memcpy(ABOARD_AT_MULTIPLE(out + i * 4, 4), &value, 4);
        }
    }
}

/** Writes pixels of one value. */
ABOARD_INLINE void aboard_fill_pixels(const aboard_pad_t *p, uint8_t *out, int32_t cols) {
    if (aboard_row_is_run(&p->out, p->element_bytes)) {
        aboard_fill_run(out, cols * p->out.channels, p->value, p->element_bytes);
        return;
    }
    for (int32_t x = 0; x < cols; ++x) {
        aboard_fill_run(out + x * p->out.pixel_stride, p->out.channels, p->value, p->element_bytes);
    }
}

/** Writes a row of the result that contains a row of the operand. */
ABOARD_INLINE void aboard_pad_row(const aboard_pad_t *p, const uint8_t *in, uint8_t *out) {
    const int32_t size = p->element_bytes;
    const int32_t after = p->col.before + p->col.size;
    aboard_fill_pixels(p, out, p->col.before);
    uint8_t *middle = out + p->col.before * p->out.pixel_stride;
    if (p->channel.total == p->channel.size) {
        aboard_copy_pixels(middle, &p->out, in, &p->in, p->col.size, p->channel.size, size);
    } else {
        const int32_t end = p->channel.before + p->channel.size;
        for (int32_t x = 0; x < p->col.size; ++x) {
            uint8_t *pixel = middle + x * p->out.pixel_stride;
            aboard_fill_run(pixel, p->channel.before, p->value, size);
            aboard_copy_run(pixel + p->channel.before * size, in + x * p->in.pixel_stride, p->channel.size, size);
            aboard_fill_run(pixel + end * size, p->channel.total - end, p->value, size);
        }
    }
    aboard_fill_pixels(p, out + after * p->out.pixel_stride, p->col.total - after);
}

/**
 * Pads.
 *
 * @param p            Parameters.
 * @param in           Operand. Any view.
 * @param out          Result, in other memory than the operand. Any view.
 * @param first, last  Rows [first, last) of the result are written.
 */
ABOARD_INLINE void aboard_pad(const aboard_pad_t *p, const void *in, void *out, int32_t first, int32_t last) {
    const uint8_t *from = in;
    uint8_t *to = out;
    for (int32_t r = first; r < last; ++r) {
        uint32_t rest = (uint32_t)r;
        int32_t row = 0;
        int32_t stride = 1;
        bool inside = true;
        ABOARD_UNROLL(5)
        for (int32_t axis = ABOARD_PAD_LEAD - 1; axis >= 0; --axis) {
            const aboard_pad_axis_t *lead = &p->lead[axis];
            const int32_t index = (int32_t)(rest % (uint32_t)lead->total) - lead->before;
            rest /= (uint32_t)lead->total;
            inside = inside && index >= 0 && index < lead->size;
            row += index * stride;
            stride *= lead->size;
        }
        uint8_t *line = to + aboard_row_offset(&p->out, r);
        if (inside) {
            aboard_pad_row(p, from + aboard_row_offset(&p->in, row), line);
        } else {
            aboard_fill_pixels(p, line, p->out.cols);
        }
    }
}

#endif
