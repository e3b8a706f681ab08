/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/resize_nearest_neighbor.h
 * Resize by nearest neighbour. Which pixel is nearest was worked out on the host, in the reference's float arithmetic.
 */
#ifndef ABOARD_KERNELS_PORTABLE_RESIZE_NEAREST_NEIGHBOR_H
#define ABOARD_KERNELS_PORTABLE_RESIZE_NEAREST_NEIGHBOR_H

#include "gather.h"

/** Parameters of aboard_resize_nearest_neighbor. */
typedef struct {
    aboard_view_t in;
    aboard_view_t out;
    int32_t element_bytes; /**< 1, 2, 4 or 8. */
    int32_t in_height;     /**< Rows of an image of the operand. */
    int32_t out_height;    /**< Rows of an image of the result. */
} aboard_resize_nearest_neighbor_t;

/**
 * Resizes a batch of images.
 *
 * @param p            Parameters.
 * @param in           Operand. Any view.
 * @param rows         For each row of an image of the result, the row of the operand's image.
 * @param cols         For each pixel of a row of the result, the pixel of the operand's row.
 * @param out          Result, in other memory than the operand. Any view.
 * @param first, last  Rows [first, last) of the result are written, counted over all images.
 */
ABOARD_INLINE void aboard_resize_nearest_neighbor(const aboard_resize_nearest_neighbor_t *p, const void *in,
                                                  const uint16_t *rows, const uint16_t *cols, void *out, int32_t first,
                                                  int32_t last) {
    for (int32_t r = first; r < last; ++r) {
        const int32_t image = (int32_t)((uint32_t)r / (uint32_t)p->out_height);
        const int32_t from = image * p->in_height + rows[(uint32_t)r % (uint32_t)p->out_height];
        const uint8_t *line = (const uint8_t *)in + aboard_row_offset(&p->in, from);
        uint8_t *to = (uint8_t *)out + aboard_row_offset(&p->out, r);
        for (int32_t x = 0; x < p->out.cols; ++x) {
            aboard_copy_run(to, line + cols[x] * p->in.pixel_stride, p->out.channels, p->element_bytes);
            to += p->out.pixel_stride;
        }
    }
}

#endif
