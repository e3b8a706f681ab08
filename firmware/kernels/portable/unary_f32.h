/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/unary_f32.h
 * Functions of one float32, element by element: rectifiers, hard swish, logistic, tanh.
 */
#ifndef ABOARD_KERNELS_PORTABLE_UNARY_F32_H
#define ABOARD_KERNELS_PORTABLE_UNARY_F32_H

#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "float_math.h"

/** Parameters of all kernels of this file. Both views have the same rows, cols and channels. */
typedef struct {
    aboard_view_t in;
    aboard_view_t out;
    float low;   /**< Smallest result of aboard_clamp_f32. */
    float high;  /**< Largest result of aboard_clamp_f32. */
    float slope; /**< Factor of aboard_leaky_relu_f32 for operands that are not above 0. */
} aboard_unary_f32_t;

/** Which function; always a literal. */
typedef enum {
    ABOARD_UNARY_CLAMP,
    ABOARD_UNARY_LEAKY_RELU,
    ABOARD_UNARY_HARD_SWISH,
    ABOARD_UNARY_LOGISTIC,
    ABOARD_UNARY_TANH
} aboard_unary_t;

/** The function of one element. NaN gives NaN. */
ABOARD_INLINE float aboard_unary_element_f32(const aboard_unary_f32_t *p, aboard_unary_t function, float x) {
    switch (function) {
    case ABOARD_UNARY_CLAMP:
        return x > p->high ? p->high : x < p->low ? p->low : x;
    case ABOARD_UNARY_LEAKY_RELU:
        return x > 0.0f ? x : x * p->slope;
    case ABOARD_UNARY_HARD_SWISH: {
        const float gate = x + 3.0f;
        return x * (gate < 0.0f ? 0.0f : gate > 6.0f ? 6.0f : gate) / 6.0f;
    }
    case ABOARD_UNARY_LOGISTIC:
        return ABOARD_LOGISTIC_F32(x);
    case ABOARD_UNARY_TANH:
        return ABOARD_TANH_F32(x);
    default:
        return x;
    }
}

/**
 * Computes out[i] = function(in[i]).
 *
 * @param p            Parameters.
 * @param function     Which function.
 * @param in           Operand. Any view.
 * @param out          Result. Any view; may share the operand's memory if both views are equal.
 * @param first, last  Rows [first, last) of the result are written.
 */
ABOARD_INLINE void aboard_unary_f32(const aboard_unary_f32_t *p, aboard_unary_t function, const float *in, float *out,
                                    int32_t first, int32_t last) {
    for (int32_t r = first; r < last; ++r) {
        const float *x = aboard_row_f32(&p->in, in, r);
        float *y = aboard_row_out_f32(&p->out, out, r);
        for (int32_t col = 0; col < p->out.cols; ++col) {
            for (int32_t c = 0; c < p->out.channels; ++c) {
                y[c] = aboard_unary_element_f32(p, function, x[c]);
            }
            x += p->in.pixel_stride / (int32_t)sizeof(float);
            y += p->out.pixel_stride / (int32_t)sizeof(float);
        }
    }
}

/** min(max(x, low), high); rows [first, last), as aboard_unary_f32. */
ABOARD_INLINE void aboard_clamp_f32(const aboard_unary_f32_t *p, const float *in, float *out, int32_t first,
                                    int32_t last) {
    aboard_unary_f32(p, ABOARD_UNARY_CLAMP, in, out, first, last);
}

/** x where x > 0, else slope * x; rows [first, last), as aboard_unary_f32. */
ABOARD_INLINE void aboard_leaky_relu_f32(const aboard_unary_f32_t *p, const float *in, float *out, int32_t first,
                                         int32_t last) {
    aboard_unary_f32(p, ABOARD_UNARY_LEAKY_RELU, in, out, first, last);
}

/** x * min(max(x + 3, 0), 6) / 6; rows [first, last), as aboard_unary_f32. */
ABOARD_INLINE void aboard_hard_swish_f32(const aboard_unary_f32_t *p, const float *in, float *out, int32_t first,
                                         int32_t last) {
    aboard_unary_f32(p, ABOARD_UNARY_HARD_SWISH, in, out, first, last);
}

/** 1 / (1 + e^-x); rows [first, last), as aboard_unary_f32. */
ABOARD_INLINE void aboard_logistic_f32(const aboard_unary_f32_t *p, const float *in, float *out, int32_t first,
                                       int32_t last) {
    aboard_unary_f32(p, ABOARD_UNARY_LOGISTIC, in, out, first, last);
}

/** Hyperbolic tangent; rows [first, last), as aboard_unary_f32. */
ABOARD_INLINE void aboard_tanh_f32(const aboard_unary_f32_t *p, const float *in, float *out, int32_t first,
                                   int32_t last) {
    aboard_unary_f32(p, ABOARD_UNARY_TANH, in, out, first, last);
}

#endif
