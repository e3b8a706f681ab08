/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/clamp_s16.h
 * Elements of int16 clamped to two limits: rectifiers whose operand and result have the same quantisation.
 */
#ifndef ABOARD_KERNELS_PORTABLE_CLAMP_S16_H
#define ABOARD_KERNELS_PORTABLE_CLAMP_S16_H

#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "epilogue_s16.h"

/** Parameters of aboard_elements_clamp_s16. Both views have the same rows, cols and channels. */
typedef struct {
    aboard_view_t in;
    aboard_view_t out;
    int32_t low;  /**< Smallest result. */
    int32_t high; /**< Largest result. */
} aboard_elements_clamp_s16_t;

/**
 * Computes out[i] = min(max(in[i], low), high).
 *
 * @param p            Parameters.
 * @param in           Operand. Any view.
 * @param out          Result. Any view; may share the operand's memory if both views are equal.
 * @param first, last  Rows [first, last) of the result are written.
 */
ABOARD_INLINE void aboard_elements_clamp_s16(const aboard_elements_clamp_s16_t *p, const int16_t *in, int16_t *out,
                                             int32_t first, int32_t last) {
    for (int32_t r = first; r < last; ++r) {
        const int16_t *x = aboard_row_s16(&p->in, in, r);
        int16_t *y = aboard_row_out_s16(&p->out, out, r);
        for (int32_t col = 0; col < p->out.cols; ++col) {
            ABOARD_UNROLL(4)
            for (int32_t c = 0; c < p->out.channels; ++c) {
                y[c] = aboard_clamp_s16(x[c], p->low, p->high);
            }
            x += p->in.pixel_stride / (int32_t)sizeof(int16_t);
            y += p->out.pixel_stride / (int32_t)sizeof(int16_t);
        }
    }
}

#endif
