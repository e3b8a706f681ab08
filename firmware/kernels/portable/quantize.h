/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/quantize.h
 * Between float32 and 8-bit integers.
 */
#ifndef ABOARD_KERNELS_PORTABLE_QUANTIZE_H
#define ABOARD_KERNELS_PORTABLE_QUANTIZE_H

#include <stdint.h>

#include "aboard/config.h"
#include "aboard/quantize.h"
#include "aboard/view.h"
#include "requantize.h"

/** Parameters of all kernels of this file. Both views have the same rows, cols and channels. */
typedef struct {
    aboard_view_t in;
    aboard_view_t out;
    float scale;          /**< Scale of the integers. */
    int32_t zero_point;   /**< Zero point of the integers. */
    int32_t ties_to_even; /**< Of two equally near integers: 1 takes the even number of steps from the zero point, 0
                             the one further from it. */
} aboard_quantize_t;

/** The int8 nearest to x / scale + zero point; saturates, and NaN gives -128. */
ABOARD_INLINE int8_t aboard_quantize_element(const aboard_quantize_t *p, float x) {
    return (int8_t)aboard_quantize_real(x, p->scale, p->zero_point, INT8_MIN, INT8_MAX, p->ties_to_even);
}

/**
 * From float32 to int8.
 *
 * @param p            Parameters.
 * @param in           Operand. Any view.
 * @param out          Result, in other memory than the operand. Any view.
 * @param first, last  Rows [first, last) of the result are written.
 */
ABOARD_INLINE void aboard_quantize_s8(const aboard_quantize_t *p, const float *in, int8_t *out, int32_t first,
                                      int32_t last) {
    for (int32_t r = first; r < last; ++r) {
        const float *x = aboard_row_f32(&p->in, in, r);
        int8_t *y = aboard_row_out_s8(&p->out, out, r);
        for (int32_t col = 0; col < p->out.cols; ++col) {
            for (int32_t c = 0; c < p->out.channels; ++c) {
                y[c] = aboard_quantize_element(p, x[c]);
            }
            x += p->in.pixel_stride / (int32_t)sizeof(float);
            y += p->out.pixel_stride;
        }
    }
}

/** From int8 to float32; parameters as aboard_quantize_s8. */
ABOARD_INLINE void aboard_dequantize_s8(const aboard_quantize_t *p, const int8_t *in, float *out, int32_t first,
                                        int32_t last) {
    for (int32_t r = first; r < last; ++r) {
        const int8_t *x = aboard_row_s8(&p->in, in, r);
        float *y = aboard_row_out_f32(&p->out, out, r);
        for (int32_t col = 0; col < p->out.cols; ++col) {
            for (int32_t c = 0; c < p->out.channels; ++c) {
                y[c] = p->scale * (float)(x[c] - p->zero_point);
            }
            x += p->in.pixel_stride;
            y += p->out.pixel_stride / (int32_t)sizeof(float);
        }
    }
}

/** From uint8 to float32; parameters as aboard_quantize_s8. */
ABOARD_INLINE void aboard_dequantize_u8(const aboard_quantize_t *p, const uint8_t *in, float *out, int32_t first,
                                        int32_t last) {
    for (int32_t r = first; r < last; ++r) {
        const uint8_t *x = in + aboard_row_offset(&p->in, r);
        float *y = aboard_row_out_f32(&p->out, out, r);
        for (int32_t col = 0; col < p->out.cols; ++col) {
            for (int32_t c = 0; c < p->out.channels; ++c) {
                y[c] = p->scale * (float)(x[c] - p->zero_point);
            }
            x += p->in.pixel_stride;
            y += p->out.pixel_stride / (int32_t)sizeof(float);
        }
    }
}

#endif
