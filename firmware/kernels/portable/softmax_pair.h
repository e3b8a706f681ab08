/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/softmax_pair.h
 * Softmax of two channels: both results depend on the difference of the channels alone, and come from a table.
 */
#ifndef ABOARD_KERNELS_PORTABLE_SOFTMAX_PAIR_H
#define ABOARD_KERNELS_PORTABLE_SOFTMAX_PAIR_H

#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "requantize.h"

/** Parameters of aboard_softmax_pair_s8. Both views have the same rows and cols, and two channels. */
typedef struct {
    aboard_view_t in;
    aboard_view_t out;
    int32_t reach; /**< Larger differences give the results of this one. */
} aboard_softmax_pair_s8_t;

/**
 * Softmax of int8 elements, two to a pixel.
 *
 * @param p            Parameters.
 * @param in           Operand. Any view.
 * @param out          Result. Any view; may share the operand's memory if both views are equal.
 * @param table        Results of a channel by its difference from the other channel: from -reach to reach.
 * @param first, last  Rows [first, last) of the result are written.
 */
ABOARD_INLINE void aboard_softmax_pair_s8(const aboard_softmax_pair_s8_t *p, const int8_t *in, int8_t *out,
                                          const int8_t *table, int32_t first, int32_t last) {
    for (int32_t r = first; r < last; ++r) {
        const int8_t *x = aboard_row_s8(&p->in, in, r);
        int8_t *y = aboard_row_out_s8(&p->out, out, r);
        for (int32_t col = 0; col < p->out.cols; ++col) {
            const int32_t above = aboard_clamp(x[0] - x[1], -p->reach, p->reach);
            y[0] = table[p->reach + above];
            y[1] = table[p->reach - above];
            x += p->in.pixel_stride;
            y += p->out.pixel_stride;
        }
    }
}

#endif
