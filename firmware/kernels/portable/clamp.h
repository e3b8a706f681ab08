/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/clamp.h
 * Elements clamped to two limits: rectifiers whose operand and result have the same quantisation, or none.
 */
#ifndef ABOARD_KERNELS_PORTABLE_CLAMP_H
#define ABOARD_KERNELS_PORTABLE_CLAMP_H

#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "requantize.h"

/** Parameters of aboard_clamp_s8. Both views have the same rows, cols and channels. */
typedef struct {
    aboard_view_t in;
    aboard_view_t out;
    int32_t low;  /**< Smallest result. */
    int32_t high; /**< Largest result. */
} aboard_clamp_s8_t;

/**
 * Computes out[i] = min(max(in[i], low), high).
 *
 * @param p            Parameters.
 * @param in           Operand. Any view.
 * @param out          Result. Any view; may share the operand's memory if both views are equal.
 * @param first, last  Rows [first, last) of the result are written.
 */
ABOARD_INLINE void aboard_clamp_s8(const aboard_clamp_s8_t *p, const int8_t *in, int8_t *out, int32_t first,
                                   int32_t last) {
    for (int32_t r = first; r < last; ++r) {
        const int8_t *x = aboard_row_s8(&p->in, in, r);
        int8_t *y = aboard_row_out_s8(&p->out, out, r);
        for (int32_t col = 0; col < p->out.cols; ++col) {
            ABOARD_UNROLL(4)
            for (int32_t c = 0; c < p->out.channels; ++c) {
                y[c] = (int8_t)aboard_clamp(x[c], p->low, p->high);
            }
            x += p->in.pixel_stride;
            y += p->out.pixel_stride;
        }
    }
}

#endif
