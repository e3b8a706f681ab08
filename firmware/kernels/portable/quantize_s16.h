/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/quantize_s16.h
 * Between float32 and int16; there are no zero points.
 */
#ifndef ABOARD_KERNELS_PORTABLE_QUANTIZE_S16_H
#define ABOARD_KERNELS_PORTABLE_QUANTIZE_S16_H

#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "quantize.h"

/** The int16 nearest to x / scale; saturates, and NaN gives -32768. */
ABOARD_INLINE int16_t aboard_quantize_element_s16(const aboard_quantize_t *p, float x) {
    return (int16_t)aboard_quantize_real(x, p->scale, 0, INT16_MIN, INT16_MAX, p->ties_to_even);
}

/**
 * From float32 to int16.
 *
 * @param p            Parameters; zero_point is 0.
 * @param in           Operand. Any view.
 * @param out          Result, in other memory than the operand. Any view.
 * @param first, last  Rows [first, last) of the result are written.
 */
ABOARD_INLINE void aboard_quantize_s16(const aboard_quantize_t *p, const float *in, int16_t *out, int32_t first,
                                       int32_t last) {
    for (int32_t r = first; r < last; ++r) {
        const float *x = aboard_row_f32(&p->in, in, r);
        int16_t *y = aboard_row_out_s16(&p->out, out, r);
        for (int32_t col = 0; col < p->out.cols; ++col) {
            for (int32_t c = 0; c < p->out.channels; ++c) {
                y[c] = aboard_quantize_element_s16(p, x[c]);
            }
            x += p->in.pixel_stride / (int32_t)sizeof(float);
            y += p->out.pixel_stride / (int32_t)sizeof(int16_t);
        }
    }
}

/** From int16 to float32; parameters as aboard_quantize_s16. */
ABOARD_INLINE void aboard_dequantize_s16(const aboard_quantize_t *p, const int16_t *in, float *out, int32_t first,
                                         int32_t last) {
    for (int32_t r = first; r < last; ++r) {
        const int16_t *x = aboard_row_s16(&p->in, in, r);
        float *y = aboard_row_out_f32(&p->out, out, r);
        for (int32_t col = 0; col < p->out.cols; ++col) {
            for (int32_t c = 0; c < p->out.channels; ++c) {
                y[c] = p->scale * (float)x[c];
            }
            x += p->in.pixel_stride / (int32_t)sizeof(int16_t);
            y += p->out.pixel_stride / (int32_t)sizeof(float);
        }
    }
}

#endif
