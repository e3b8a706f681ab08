/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/add_n.h
 * Sums of up to 16 tensors of one shape: aboard_add_n_s8_<n> and aboard_add_n_f32_<n>.
 */
#ifndef ABOARD_KERNELS_PORTABLE_ADD_N_H
#define ABOARD_KERNELS_PORTABLE_ADD_N_H

#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "arity.h"
#include "requantize.h"
#include "scaling.h"

/** Where the result goes, and how an int8 sum becomes one; all views have the same rows, cols and channels. */
typedef struct {
    aboard_view_t out;
    int32_t offset;       /**< Of int8: start of the sum. */
    aboard_scaling_t sum; /**< Of int8: from the sum, moved up by 19 bits, to the result. */
} aboard_add_n_t;

/** Address of a pixel of a view. */
#define ABOARD_ADD_N_PIXEL(view, base, r, col) (base + aboard_row_offset(view, r) + (col) * (view)->pixel_stride)

/** Adds int8; `views` and `in` have `count` entries, at most 15, of which the sum fits 32 bits. */
ABOARD_INLINE void aboard_add_n_s8(const aboard_add_n_t *p, const aboard_view_t *views, const void *const *in,
                                   int32_t count, uint8_t *out, int32_t first, int32_t last) {
    for (int32_t r = first; r < last; ++r) {
        for (int32_t col = 0; col < p->out.cols; ++col) {
            int8_t *y = (int8_t *)ABOARD_ADD_N_PIXEL(&p->out, out, r, col);
            for (int32_t c = 0; c < p->out.channels; ++c) {
                int32_t sum = p->offset;
                ABOARD_UNROLL(16)
                for (int32_t i = 0; i < count; ++i) {
                    sum += ((const int8_t *)ABOARD_ADD_N_PIXEL(&views[i], (const uint8_t *)in[i], r, col))[c];
                }
                const int32_t scaled = aboard_rescaled(&p->sum, sum * ((int32_t)1 << 19));
                y[c] = (int8_t)aboard_clamp(scaled + p->sum.zero_point, INT8_MIN, INT8_MAX);
            }
        }
    }
}

/** Adds float32, in the order of the operands; as aboard_add_n_s8. */
ABOARD_INLINE void aboard_add_n_f32(const aboard_add_n_t *p, const aboard_view_t *views, const void *const *in,
                                    int32_t count, uint8_t *out, int32_t first, int32_t last) {
    for (int32_t r = first; r < last; ++r) {
        for (int32_t col = 0; col < p->out.cols; ++col) {
            float *y = (float *)(void *)ABOARD_ADD_N_PIXEL(&p->out, out, r, col);
            for (int32_t c = 0; c < p->out.channels; ++c) {
                float sum = 0.0f;
                ABOARD_UNROLL(16)
                for (int32_t i = 0; i < count; ++i) {
                    const void *x = ABOARD_ADD_N_PIXEL(&views[i], (const uint8_t *)in[i], r, col);
                    sum += ((const float *)x)[c];
                }
                y[c] = sum;
            }
        }
    }
}

#define ABOARD_ADD_N_PARAMETER(i) const void *x##i
#define ABOARD_ADD_N_ARGUMENT(i) x##i
#define ABOARD_ADD_N(n, list)                                                                                          \
    typedef struct {                                                                                                   \
        aboard_add_n_t sum;                                                                                            \
        aboard_view_t in[n];                                                                                           \
    } aboard_add_n_##n##_t;                                                                                            \
    ABOARD_INLINE void aboard_add_n_s8_##n(const aboard_add_n_##n##_t *p, list(ABOARD_ADD_N_PARAMETER), void *out,     \
                                           int32_t first, int32_t last) {                                              \
        const void *const in[n] = {list(ABOARD_ADD_N_ARGUMENT)};                                                       \
        aboard_add_n_s8(&p->sum, p->in, in, n, out, first, last);                                                      \
    }                                                                                                                  \
    ABOARD_INLINE void aboard_add_n_f32_##n(const aboard_add_n_##n##_t *p, list(ABOARD_ADD_N_PARAMETER), void *out,    \
                                            int32_t first, int32_t last) {                                             \
        const void *const in[n] = {list(ABOARD_ADD_N_ARGUMENT)};                                                       \
        aboard_add_n_f32(&p->sum, p->in, in, n, out, first, last);                                                     \
    }
ABOARD_FOR_EACH_ARITY(ABOARD_ADD_N)

#endif
