/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/softmax.h
 * Exponentials of the channels of each pixel, divided by their sum.
 */
#ifndef ABOARD_KERNELS_PORTABLE_SOFTMAX_H
#define ABOARD_KERNELS_PORTABLE_SOFTMAX_H

#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "fixed_point.h"
#include "float_math.h"
#include "requantize.h"

/** Parameters of aboard_softmax_s8. Both views have the same rows, cols and channels. */
typedef struct {
    aboard_view_t in;
    aboard_view_t out;
    int32_t steps; /**< Entries of the table. */
} aboard_softmax_s8_t;

/** Largest of `count` elements. */
ABOARD_INLINE int32_t aboard_softmax_largest_s8(const int8_t *x, int32_t count) {
    int32_t largest = x[0];
    for (int32_t c = 1; c < count; ++c) {
        largest = ABOARD_MAX(largest, x[c]);
    }
    return largest;
}

/** What exponentials are multiplied with, as a fraction of 2^31, and the bits by which products are moved down. */
typedef struct {
    int32_t reciprocal;
    int32_t exponent; /**< At most 35; of 32 or more, products are 0. */
} aboard_softmax_scale_t;

/** Returns the scale of a pixel, whose exponentials have the sum `sum` with twelve integer bits. */
ABOARD_INLINE aboard_softmax_scale_t aboard_softmax_scale(uint32_t sum, int32_t bits) {
    /* sum = scaled * 2^-headroom with scaled in [1, 2): its reciprocal needs no integer bits. */
    const int32_t headroom = aboard_leading_zeros(sum);
    const int32_t reciprocal = aboard_one_over_one_plus((int32_t)((sum << headroom) - ((uint32_t)1 << 31)));
    const aboard_softmax_scale_t scale = {reciprocal, 12 - headroom + 31 - bits};
    return scale;
}

/** Softmax of one pixel, into int8 or int16 (`bits`, a literal); of int8, `x` and `y` may be the same. */
ABOARD_INLINE void aboard_softmax_pixel_s8(const aboard_softmax_s8_t *p, const int8_t *x, void *y, const int32_t *table,
                                           int32_t bits) {
    const int32_t channels = p->out.channels;
    const int32_t largest = aboard_softmax_largest_s8(x, channels);
    uint32_t sum = 0; /* Twelve integer bits. */
    for (int32_t c = 0; c < channels; ++c) {
        const int32_t step = largest - x[c];
        sum += step < p->steps ? ((uint32_t)table[step] + ((uint32_t)1 << 11)) >> 12 : 0;
    }
    const aboard_softmax_scale_t scale = aboard_softmax_scale(sum, bits);
    for (int32_t c = 0; c < channels; ++c) {
        const int32_t step = largest - x[c];
        int32_t result = bits == 8 ? INT8_MIN : INT16_MIN;
        if (step < p->steps && scale.exponent < 32) {
            const int32_t quotient = aboard_doubling_high_mul(scale.reciprocal, table[step]);
            result += aboard_rounding_shift(quotient, scale.exponent);
        }
        if (bits == 8) {
            ((int8_t *)y)[c] = (int8_t)ABOARD_MIN(result, INT8_MAX);
        } else {
            ((int16_t *)y)[c] = (int16_t)ABOARD_MIN(result, INT16_MAX);
        }
    }
}

/**
 * Defines a softmax of int8 elements:
 * `void name(const aboard_softmax_s8_t *p, const int8_t *in, type *out, const int32_t *table, int32_t first,
 * int32_t last)`, where `table` is e^-d as fractions of 2^31, by steps d below the largest channel; beyond the table it
 * counts as 0. Both views may be any. Rows [first, last) of the result are written.
 *
 * @param name   Name of the function.
 * @param pixel  What computes a pixel, as aboard_softmax_pixel_s8.
 * @param suffix Suffix and type of the result: `s8` with a scale of 1/256 and a zero point of -128, which may share the
 *               operand's memory if both views are equal; `s16` with 1/65536 and -32768.
 * @param type   Likewise.
 * @param bits   Bits of the type.
 */
#define ABOARD_SOFTMAX_S8(name, pixel, suffix, type, bits)                                                             \
    ABOARD_INLINE void name(const aboard_softmax_s8_t *p, const int8_t *in, type *out, const int32_t *table,           \
                            int32_t first, int32_t last) {                                                             \
        for (int32_t r = first; r < last; ++r) {                                                                       \
            const int8_t *x = aboard_row_s8(&p->in, in, r);                                                            \
            type *y = aboard_row_out_##suffix(&p->out, out, r);                                                        \
            for (int32_t col = 0; col < p->out.cols; ++col) {                                                          \
                pixel(p, x, y, table, bits);                                                                           \
                x += p->in.pixel_stride;                                                                               \
                y += p->out.pixel_stride / (int32_t)sizeof(type);                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }
ABOARD_SOFTMAX_S8(aboard_softmax_s8, aboard_softmax_pixel_s8, s8, int8_t, 8)
ABOARD_SOFTMAX_S8(aboard_softmax_s8_s16, aboard_softmax_pixel_s8, s16, int16_t, 16)

/** Parameters of aboard_softmax_f32. Both views have the same rows, cols and channels. */
typedef struct {
    aboard_view_t in;
    aboard_view_t out;
    float beta; /**< Factor of the exponents. */
} aboard_softmax_f32_t;

/** Softmax of one pixel; `x` and `y` may be the same. */
ABOARD_INLINE void aboard_softmax_pixel_f32(const aboard_softmax_f32_t *p, const float *x, float *y) {
    const int32_t channels = p->out.channels;
    float largest = x[0];
    for (int32_t c = 1; c < channels; ++c) {
        largest = x[c] > largest ? x[c] : largest;
    }
    float sum = 0.0f;
    for (int32_t c = 0; c < channels; ++c) {
        const float power = ABOARD_EXP_F32((x[c] - largest) * p->beta);
        y[c] = power;
        sum += power;
    }
    for (int32_t c = 0; c < channels; ++c) {
        y[c] /= sum;
    }
}

/** Softmax of float32 elements; parameters as aboard_softmax_s8, without a table. */
ABOARD_INLINE void aboard_softmax_f32(const aboard_softmax_f32_t *p, const float *in, float *out, int32_t first,
                                      int32_t last) {
    for (int32_t r = first; r < last; ++r) {
        const float *x = aboard_row_f32(&p->in, in, r);
        float *y = aboard_row_out_f32(&p->out, out, r);
        for (int32_t col = 0; col < p->out.cols; ++col) {
            aboard_softmax_pixel_f32(p, x, y);
            x += p->in.pixel_stride / (int32_t)sizeof(float);
            y += p->out.pixel_stride / (int32_t)sizeof(float);
        }
    }
}

#endif
