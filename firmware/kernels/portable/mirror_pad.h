/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/mirror_pad.h
 * Padding with the operand's own elements, mirrored, on any side of any axis.
 */
#ifndef ABOARD_KERNELS_PORTABLE_MIRROR_PAD_H
#define ABOARD_KERNELS_PORTABLE_MIRROR_PAD_H

#include "gather.h"
#include "pad.h"

/** Parameters of aboard_mirror_pad. On no axis is more padding than the mirror reaches. */
typedef struct {
    aboard_view_t in;
    aboard_view_t out;
    int32_t element_bytes;                   /**< 1, 2, 4 or 8. */
    int32_t edge;                            /**< 1: the element at an end is mirrored too; 0: it is the mirror. */
    aboard_pad_axis_t lead[ABOARD_PAD_LEAD]; /**< Axes of the rows, outermost first; {0, 1, 1} where there are fewer. */
    aboard_pad_axis_t col;
    aboard_pad_axis_t channel;
} aboard_mirror_pad_t;

/** Returns which index of the operand is at an index of the result, along one axis. */
ABOARD_INLINE int32_t aboard_mirrored(const aboard_pad_axis_t *axis, int32_t index, int32_t edge) {
    const int32_t at = index - axis->before;
    return at < 0 ? -at - edge : at >= axis->size ? 2 * axis->size - 2 + edge - at : at;
}

/** Writes a pixel of the result. */
ABOARD_INLINE void aboard_mirror_pixel(const aboard_mirror_pad_t *p, const uint8_t *in, uint8_t *out) {
    if (p->channel.total == p->channel.size) {
        aboard_copy_run(out, in, p->channel.size, p->element_bytes);
        return;
    }
    for (int32_t c = 0; c < p->channel.total; ++c) {
        const int32_t from = aboard_mirrored(&p->channel, c, p->edge);
        aboard_copy_run(out + c * p->element_bytes, in + from * p->element_bytes, 1, p->element_bytes);
    }
}

/**
 * Pads.
 *
 * @param p            Parameters.
 * @param in           Operand. Any view.
 * @param out          Result, another memory than the operand. Any view.
 * @param first, last  Rows [first, last) of the result are written.
 */
ABOARD_INLINE void aboard_mirror_pad(const aboard_mirror_pad_t *p, const void *in, void *out, int32_t first,
                                     int32_t last) {
    for (int32_t r = first; r < last; ++r) {
        uint32_t rest = (uint32_t)r;
        int32_t row = 0;
        int32_t stride = 1;
        ABOARD_UNROLL(5)
        for (int32_t axis = ABOARD_PAD_LEAD - 1; axis >= 0; --axis) {
            const aboard_pad_axis_t *lead = &p->lead[axis];
            row += aboard_mirrored(lead, (int32_t)(rest % (uint32_t)lead->total), p->edge) * stride;
            rest /= (uint32_t)lead->total;
            stride *= lead->size;
        }
        const uint8_t *from = (const uint8_t *)in + aboard_row_offset(&p->in, row);
        uint8_t *to = (uint8_t *)out + aboard_row_offset(&p->out, r);
        for (int32_t x = 0; x < p->col.total; ++x) {
            const int32_t col = aboard_mirrored(&p->col, x, p->edge);
            aboard_mirror_pixel(p, from + col * p->in.pixel_stride, to + x * p->out.pixel_stride);
        }
    }
}

#endif
