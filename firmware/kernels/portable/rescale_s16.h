/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/rescale_s16.h
 * Conversions between quantisations with int16, with a clamp; and leaky rectifiers.
 */
#ifndef ABOARD_KERNELS_PORTABLE_RESCALE_S16_H
#define ABOARD_KERNELS_PORTABLE_RESCALE_S16_H

#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "requantize.h"

/** Parameters of the kernels of this file. Both views have the same rows, cols and channels. */
typedef struct {
    aboard_view_t in;
    aboard_view_t out;
    int32_t in_zero_point;
    int32_t out_zero_point;
    int32_t multiplier; /**< From the operand's scale to the result's, see aboard_requantize. */
    int32_t shift;
    int32_t low;  /**< Smallest result. */
    int32_t high; /**< Largest result. */
} aboard_rescale_s16_t;

/** The result of one element. */
ABOARD_INLINE int32_t aboard_rescale_element(const aboard_rescale_s16_t *p, int32_t x) {
    const int32_t scaled = aboard_requantize(x - p->in_zero_point, p->multiplier, p->shift);
    return aboard_clamp(scaled + p->out_zero_point, p->low, p->high);
}

/**
 * From int16 to int16: rescales and clamps.
 *
 * @param p            Parameters.
 * @param in           Operand. Any view.
 * @param out          Result. Any view; may share the operand's memory if both views are equal.
 * @param first, last  Rows [first, last) of the result are written.
 */
ABOARD_INLINE void aboard_rescale_s16(const aboard_rescale_s16_t *p, const int16_t *in, int16_t *out, int32_t first,
                                      int32_t last) {
    for (int32_t r = first; r < last; ++r) {
        const int16_t *x = aboard_row_s16(&p->in, in, r);
        int16_t *y = aboard_row_out_s16(&p->out, out, r);
        for (int32_t col = 0; col < p->out.cols; ++col) {
            for (int32_t c = 0; c < p->out.channels; ++c) {
                y[c] = (int16_t)aboard_rescale_element(p, x[c]);
            }
            x += p->in.pixel_stride / (int32_t)sizeof(int16_t);
            y += p->out.pixel_stride / (int32_t)sizeof(int16_t);
        }
    }
}

/** From int8 to int16, in other memory; parameters as aboard_rescale_s16. */
ABOARD_INLINE void aboard_rescale_s8_to_s16(const aboard_rescale_s16_t *p, const int8_t *in, int16_t *out,
                                            int32_t first, int32_t last) {
    for (int32_t r = first; r < last; ++r) {
        const int8_t *x = aboard_row_s8(&p->in, in, r);
        int16_t *y = aboard_row_out_s16(&p->out, out, r);
        for (int32_t col = 0; col < p->out.cols; ++col) {
            for (int32_t c = 0; c < p->out.channels; ++c) {
                y[c] = (int16_t)aboard_rescale_element(p, x[c]);
            }
            x += p->in.pixel_stride;
            y += p->out.pixel_stride / (int32_t)sizeof(int16_t);
        }
    }
}

/** From int16 to int8, in other memory; parameters as aboard_rescale_s16. */
ABOARD_INLINE void aboard_rescale_s16_to_s8(const aboard_rescale_s16_t *p, const int16_t *in, int8_t *out,
                                            int32_t first, int32_t last) {
    for (int32_t r = first; r < last; ++r) {
        const int16_t *x = aboard_row_s16(&p->in, in, r);
        int8_t *y = aboard_row_out_s8(&p->out, out, r);
        for (int32_t col = 0; col < p->out.cols; ++col) {
            for (int32_t c = 0; c < p->out.channels; ++c) {
                y[c] = (int8_t)aboard_rescale_element(p, x[c]);
            }
            x += p->in.pixel_stride / (int32_t)sizeof(int16_t);
            y += p->out.pixel_stride;
        }
    }
}

/** Parameters of aboard_leaky_relu_s16. Both views have the same rows, cols and channels. */
typedef struct {
    aboard_view_t in;
    aboard_view_t out;
    int32_t above_multiplier; /**< For operands of at least 0, see aboard_requantize. */
    int32_t above_shift;
    int32_t below_multiplier; /**< For operands below 0. */
    int32_t below_shift;
    int32_t sign; /**< Sign of results for negative operands: 1, or -1 for a negative slope. */
} aboard_leaky_relu_s16_t;

/** Leaky rectifier of int16; as aboard_rescale_s16. */
ABOARD_INLINE void aboard_leaky_relu_s16(const aboard_leaky_relu_s16_t *p, const int16_t *in, int16_t *out,
                                         int32_t first, int32_t last) {
    for (int32_t r = first; r < last; ++r) {
        const int16_t *x = aboard_row_s16(&p->in, in, r);
        int16_t *y = aboard_row_out_s16(&p->out, out, r);
        for (int32_t col = 0; col < p->out.cols; ++col) {
            for (int32_t c = 0; c < p->out.channels; ++c) {
                const int32_t scaled = x[c] >= 0
                                           ? aboard_requantize(x[c], p->above_multiplier, p->above_shift)
                                           : p->sign * aboard_requantize(x[c], p->below_multiplier, p->below_shift);
                y[c] = (int16_t)aboard_clamp(scaled, INT16_MIN, INT16_MAX);
            }
            x += p->in.pixel_stride / (int32_t)sizeof(int16_t);
            y += p->out.pixel_stride / (int32_t)sizeof(int16_t);
        }
    }
}

#endif
