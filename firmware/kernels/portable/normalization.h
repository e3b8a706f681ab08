/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/normalization.h
 * Functions of all channels of a pixel: logarithms of softmax, and division by the Euclidean norm.
 */
#ifndef ABOARD_KERNELS_PORTABLE_NORMALIZATION_H
#define ABOARD_KERNELS_PORTABLE_NORMALIZATION_H

#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "elements.h"
#include "fixed_point.h"
#include "float_functions.h"
#include "requantize.h"

/** Defines aboard_<name>: `pixel(p, x, y)` for each pixel of rows [first, last). Any views; in place where they are
 * equal. */
#define ABOARD_PIXEL_KERNEL(name, params_t, type, pixel)                                                               \
    ABOARD_INLINE void aboard_##name(const params_t *p, const type *in, type *out, int32_t first, int32_t last) {      \
        for (int32_t r = first; r < last; ++r) {                                                                       \
            const type *x = in + aboard_row_offset(&p->in, r) / (int32_t)sizeof(type);                                 \
            type *y = out + aboard_row_offset(&p->out, r) / (int32_t)sizeof(type);                                     \
            for (int32_t col = 0; col < p->out.cols; ++col) {                                                          \
                pixel(p, x, y);                                                                                        \
                x += p->in.pixel_stride / (int32_t)sizeof(type);                                                       \
                y += p->out.pixel_stride / (int32_t)sizeof(type);                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

/** Logarithm of softmax of one pixel; `x` and `y` may be the same. */
ABOARD_INLINE void aboard_log_softmax_pixel_f32(const aboard_elements_t *p, const float *x, float *y) {
    float largest = x[0];
    for (int32_t c = 1; c < p->out.channels; ++c) {
        largest = x[c] > largest ? x[c] : largest;
    }
    float sum = 0.0f;
    for (int32_t c = 0; c < p->out.channels; ++c) {
        sum += ABOARD_EXP_F32(x[c] - largest);
    }
    const float log = aboard_logf(sum);
    for (int32_t c = 0; c < p->out.channels; ++c) {
        y[c] = x[c] - largest - log;
    }
}

/** Division of one pixel by its norm, at least 1e-6; `x` and `y` may be the same. */
ABOARD_INLINE void aboard_l2_normalization_pixel_f32(const aboard_elements_t *p, const float *x, float *y) {
    float sum = 0.0f;
    for (int32_t c = 0; c < p->out.channels; ++c) {
        sum += x[c] * x[c];
    }
    const float root = aboard_sqrtf(sum);
    const float norm = root < 1e-6f ? 1e-6f : root;
    for (int32_t c = 0; c < p->out.channels; ++c) {
        y[c] = x[c] / norm;
    }
}

/** x - max - ln(sum(e^(x - max))) of float32. */
ABOARD_PIXEL_KERNEL(log_softmax_f32, aboard_elements_t, float, aboard_log_softmax_pixel_f32)
/** x / sqrt(sum(x^2)) of float32. */
ABOARD_PIXEL_KERNEL(l2_normalization_f32, aboard_elements_t, float, aboard_l2_normalization_pixel_f32)

/** Parameters of aboard_l2_normalization_s8. Both views have the same rows, cols and channels. */
typedef struct {
    aboard_view_t in;
    aboard_view_t out;
    int32_t zero_point; /**< Of the operand. */
} aboard_l2_normalization_s8_t;

/** Division of one pixel by its norm, in steps of 1/128; `x` and `y` may be the same. */
ABOARD_INLINE void aboard_l2_normalization_pixel_s8(const aboard_l2_normalization_s8_t *p, const int8_t *x, int8_t *y) {
    int32_t sum = 0;
    for (int32_t c = 0; c < p->out.channels; ++c) {
        sum += (x[c] - p->zero_point) * (x[c] - p->zero_point);
    }
    const aboard_inverse_sqrt_t inverse = aboard_inverse_sqrt(sum);
    for (int32_t c = 0; c < p->out.channels; ++c) {
        const int32_t scaled = aboard_requantize(x[c] - p->zero_point, inverse.multiplier, inverse.shift + 7);
        y[c] = (int8_t)aboard_clamp(scaled, INT8_MIN, INT8_MAX);
    }
}

/** x / sqrt(sum(x^2)) of int8. */
ABOARD_PIXEL_KERNEL(l2_normalization_s8, aboard_l2_normalization_s8_t, int8_t, aboard_l2_normalization_pixel_s8)

/** Parameters of aboard_log_softmax_s8. Both views have the same rows, cols and channels. */
typedef struct {
    aboard_view_t in;
    aboard_view_t out;
    int32_t steps;      /**< Entries of the table. */
    int32_t multiplier; /**< From steps below the maximum to exponents with five integer bits. */
    int32_t shift;
    int32_t back_multiplier; /**< From exponents to steps. */
    int32_t back_shift;
} aboard_log_softmax_s8_t;

/** Logarithm of softmax of one pixel; `x` and `y` may be the same. */
ABOARD_INLINE void aboard_log_softmax_pixel_s8(const aboard_log_softmax_s8_t *p, const int8_t *x, int8_t *y,
                                               const int32_t *table) {
    int32_t largest = x[0];
    for (int32_t c = 1; c < p->out.channels; ++c) {
        largest = ABOARD_MAX(largest, x[c]);
    }
    int32_t sum = 0; /* Twelve integer bits. */
    for (int32_t c = 0; c < p->out.channels; ++c) {
        const int32_t step = largest - x[c];
        sum += step < p->steps ? table[step] : 0;
    }
    const int32_t log = aboard_log_of_sum(sum);
    /* Further below, exponents less the logarithm would leave 32 bits. */
    const int32_t back = -aboard_requantize(log + INT32_MIN, p->back_multiplier, p->back_shift);
    const int32_t last = ABOARD_MIN(back, p->steps);
    for (int32_t c = 0; c < p->out.channels; ++c) {
        const int32_t step = largest - x[c];
        const int32_t exponent = step < last ? aboard_requantize(-step, p->multiplier, p->shift) - log : INT32_MIN;
        y[c] = (int8_t)aboard_clamp(aboard_rounding_shift(exponent, 22) + INT8_MAX, INT8_MIN, INT8_MAX);
    }
}

/**
 * x - max - ln(sum(e^(x - max))) of int8; the result has a scale of 1/16 and a zero point of 127.
 *
 * @param p            Parameters.
 * @param in           Operand. Any view.
 * @param out          Result. Any view; may be the operand's memory where both views are equal.
 * @param table        e^-d with twelve integer bits, by steps d below the largest channel; beyond the table it is 0.
 * @param first, last  Rows [first, last) of the result are written.
 */
ABOARD_INLINE void aboard_log_softmax_s8(const aboard_log_softmax_s8_t *p, const int8_t *in, int8_t *out,
                                         const int32_t *table, int32_t first, int32_t last) {
    for (int32_t r = first; r < last; ++r) {
        const int8_t *x = aboard_row_s8(&p->in, in, r);
        int8_t *y = aboard_row_out_s8(&p->out, out, r);
        for (int32_t col = 0; col < p->out.cols; ++col) {
            aboard_log_softmax_pixel_s8(p, x, y, table);
            x += p->in.pixel_stride;
            y += p->out.pixel_stride;
        }
    }
}

#endif
