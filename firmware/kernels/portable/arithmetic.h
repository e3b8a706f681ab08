/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/arithmetic.h
 * Sums, differences and products of two operands, with broadcasting.
 */
#ifndef ABOARD_KERNELS_PORTABLE_ARITHMETIC_H
#define ABOARD_KERNELS_PORTABLE_ARITHMETIC_H

#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "broadcast.h"
#include "requantize.h"
#include "scaling.h"

/** The operation on two int8 elements; always a literal. */
typedef enum {
    ABOARD_SUM,           /**< TFLite's sum of two rescaled operands. */
    ABOARD_SUM_SHORT,     /**< The short form, proven by the host to be equal for all operands. */
    ABOARD_PRODUCT,       /**< TFLite's rescaled product. */
    ABOARD_PRODUCT_SHORT, /**< The short form, proven by the host to be equal for all operands. */
    ABOARD_SUM_EXACT,     /**< The sum rounded once, ties to even. */
    ABOARD_PRODUCT_EXACT  /**< The product rounded once, ties to even. */
} aboard_arithmetic_t;

/** Parameters of the int8 kernels. */
typedef struct {
    aboard_broadcast_t over;
    aboard_scaling_t a;   /**< Long sum: from the operand, shifted left by 20 bits, to the common scale. Exact sum: the
                             multiplier is the operand's factor. */
    aboard_scaling_t b;   /**< The same for b; the multiplier is negative in a difference. */
    aboard_scaling_t out; /**< Long forms: from the sum or product to the result. */
    int32_t a_factor;     /**< Short forms: result = (a_factor * a + b_factor * b + constant) >> shift, */
    int32_t b_factor;     /**< or (a_factor * (a - zero) * (b - zero) + constant) >> shift. */
    int64_t constant;
    int32_t shift;
    int32_t low;  /**< Smallest result. */
    int32_t high; /**< Largest result. */
} aboard_arithmetic_s8_t;

/** An operand of a long sum in the common scale. */
ABOARD_INLINE int32_t aboard_sum_operand(const aboard_scaling_t *s, int32_t x) {
    const int32_t shifted = (x - s->zero_point) * ((int32_t)1 << 20);
    const int32_t magnitude = s->multiplier < 0 ? -s->multiplier : s->multiplier;
    const int32_t scaled = aboard_rounding_shift(aboard_doubling_high_mul(shifted, magnitude), -s->shift);
    return s->multiplier < 0 ? -scaled : scaled;
}

/** The result of two int8 elements. */
ABOARD_INLINE int8_t aboard_arithmetic_element_s8(const aboard_arithmetic_s8_t *p, aboard_arithmetic_t form, int32_t x,
                                                  int32_t y) {
    int32_t result;
    if (form == ABOARD_SUM_SHORT) {
        result = ((int32_t)p->constant + p->a_factor * x + p->b_factor * y) >> p->shift;
    } else if (form == ABOARD_SUM) {
        const int32_t sum = aboard_sum_operand(&p->a, x) + aboard_sum_operand(&p->b, y);
        result = aboard_requantize(sum, p->out.multiplier, p->out.shift) + p->out.zero_point;
    } else if (form == ABOARD_SUM_EXACT) {
        const int64_t sum =
            (int64_t)p->a.multiplier * (x - p->a.zero_point) + (int64_t)p->b.multiplier * (y - p->b.zero_point);
        result = aboard_requantize_exactly(sum, p->out.multiplier, p->out.shift) + p->out.zero_point;
    } else {
        const int32_t product = (x - p->a.zero_point) * (y - p->b.zero_point);
        if (form == ABOARD_PRODUCT_SHORT) {
            result = (int32_t)(((int64_t)product * p->a_factor + p->constant) >> p->shift);
        } else if (form == ABOARD_PRODUCT_EXACT) {
            result = aboard_requantize_exactly(product, p->out.multiplier, p->out.shift) + p->out.zero_point;
        } else {
            result = aboard_requantize(product, p->out.multiplier, p->out.shift) + p->out.zero_point;
        }
    }
    return (int8_t)aboard_clamp(result, p->low, p->high);
}

/** Computes the channels of a pixel. */
ABOARD_INLINE void aboard_arithmetic_channels_s8(const aboard_arithmetic_s8_t *p, aboard_arithmetic_t form,
                                                 const int8_t *x, const int8_t *y, int8_t *z) {
    ABOARD_UNROLL(4)
    for (int32_t c = 0; c < p->over.out.channels; ++c) {
        z[c] = aboard_arithmetic_element_s8(p, form, x[c * p->over.a.channel], y[c * p->over.b.channel]);
    }
}

/**
 * Defines a sum, difference or product of int8 elements:
 * `void name(const aboard_arithmetic_s8_t *p, aboard_arithmetic_t form, const int8_t *a, const int8_t *b, int8_t *out,
 * int32_t first, int32_t last)`.
 *
 * Operands and result of the function may have any view. The result may share the memory of an operand that is not
 * broadcast and has the same view. Rows [first, last) of the result are written.
 *
 * @param name     Name of the function.
 * @param channels_of_pixel What computes the channels of a pixel, as aboard_arithmetic_channels_s8.
 */
#define ABOARD_ARITHMETIC_S8(name, channels_of_pixel)                                                                  \
    ABOARD_INLINE void name(const aboard_arithmetic_s8_t *p, aboard_arithmetic_t form, const int8_t *a,                \
                            const int8_t *b, int8_t *out, int32_t first, int32_t last) {                               \
        for (int32_t r = first; r < last; ++r) {                                                                       \
            const aboard_operand_offsets_t row = aboard_operand_offsets(&p->over, r);                                  \
            const int8_t *x = a + row.a;                                                                               \
            const int8_t *y = b + row.b;                                                                               \
            int8_t *z = aboard_row_out_s8(&p->over.out, out, r);                                                       \
            for (int32_t col = 0; col < p->over.out.cols; ++col) {                                                     \
                channels_of_pixel(p, form, x, y, z);                                                                   \
                x += p->over.a.pixel;                                                                                  \
                y += p->over.b.pixel;                                                                                  \
                z += p->over.out.pixel_stride;                                                                         \
            }                                                                                                          \
        }                                                                                                              \
    }
ABOARD_ARITHMETIC_S8(aboard_arithmetic_s8, aboard_arithmetic_channels_s8)

/** Sum or difference as TFLite computes it; rows [first, last), as aboard_arithmetic_s8. */
ABOARD_INLINE void aboard_sum_s8(const aboard_arithmetic_s8_t *p, const int8_t *a, const int8_t *b, int8_t *out,
                                 int32_t first, int32_t last) {
    aboard_arithmetic_s8(p, ABOARD_SUM, a, b, out, first, last);
}

/** Sum or difference by the short form; rows [first, last), as aboard_arithmetic_s8. */
ABOARD_INLINE void aboard_sum_short_s8(const aboard_arithmetic_s8_t *p, const int8_t *a, const int8_t *b, int8_t *out,
                                       int32_t first, int32_t last) {
    aboard_arithmetic_s8(p, ABOARD_SUM_SHORT, a, b, out, first, last);
}

/** Product as TFLite computes it; rows [first, last), as aboard_arithmetic_s8. */
ABOARD_INLINE void aboard_product_s8(const aboard_arithmetic_s8_t *p, const int8_t *a, const int8_t *b, int8_t *out,
                                     int32_t first, int32_t last) {
    aboard_arithmetic_s8(p, ABOARD_PRODUCT, a, b, out, first, last);
}

/** Product by the short form; rows [first, last), as aboard_arithmetic_s8. */
ABOARD_INLINE void aboard_product_short_s8(const aboard_arithmetic_s8_t *p, const int8_t *a, const int8_t *b,
                                           int8_t *out, int32_t first, int32_t last) {
    aboard_arithmetic_s8(p, ABOARD_PRODUCT_SHORT, a, b, out, first, last);
}

/** Sum or difference, rounded once; rows [first, last), as aboard_arithmetic_s8. */
ABOARD_INLINE void aboard_sum_exact_s8(const aboard_arithmetic_s8_t *p, const int8_t *a, const int8_t *b, int8_t *out,
                                       int32_t first, int32_t last) {
    aboard_arithmetic_s8(p, ABOARD_SUM_EXACT, a, b, out, first, last);
}

/** Product, rounded once; rows [first, last), as aboard_arithmetic_s8. */
ABOARD_INLINE void aboard_product_exact_s8(const aboard_arithmetic_s8_t *p, const int8_t *a, const int8_t *b,
                                           int8_t *out, int32_t first, int32_t last) {
    aboard_arithmetic_s8(p, ABOARD_PRODUCT_EXACT, a, b, out, first, last);
}

/** The operation on two floats; always a literal. */
typedef enum { ABOARD_ADD, ABOARD_SUB, ABOARD_MUL } aboard_arithmetic_f32_op_t;

/** Parameters of the float32 kernels. */
typedef struct {
    aboard_broadcast_t over;
    int32_t clamped; /**< 1: the result is clamped; 0: there are no limits. */
    float low;
    float high;
} aboard_arithmetic_f32_t;

/**
 * Computes a sum, difference or product of float32 elements.
 *
 * @param p            Parameters.
 * @param op           The operation.
 * @param a, b         Operands. Any views.
 * @param out          Result. Any view; may share the memory of an operand that is not broadcast and has the same view.
 * @param first, last  Rows [first, last) of the result are written.
 */
ABOARD_INLINE void aboard_arithmetic_f32(const aboard_arithmetic_f32_t *p, aboard_arithmetic_f32_op_t op,
                                         const float *a, const float *b, float *out, int32_t first, int32_t last) {
    const int32_t size = (int32_t)sizeof(float);
    for (int32_t r = first; r < last; ++r) {
        const aboard_operand_offsets_t row = aboard_operand_offsets(&p->over, r);
        const float *x = a + row.a / size;
        const float *y = b + row.b / size;
        float *z = aboard_row_out_f32(&p->over.out, out, r);
        for (int32_t col = 0; col < p->over.out.cols; ++col) {
            for (int32_t c = 0; c < p->over.out.channels; ++c) {
                const float u = x[c * p->over.a.channel];
                const float v = y[c * p->over.b.channel];
                const float value = op == ABOARD_ADD ? u + v : op == ABOARD_SUB ? u - v : u * v;
                const float limited = value < p->low ? p->low : value > p->high ? p->high : value;
                z[c] = p->clamped ? limited : value;
            }
            x += p->over.a.pixel / size;
            y += p->over.b.pixel / size;
            z += p->over.out.pixel_stride / size;
        }
    }
}

/** a + b; rows [first, last), as aboard_arithmetic_f32. */
ABOARD_INLINE void aboard_add_f32(const aboard_arithmetic_f32_t *p, const float *a, const float *b, float *out,
                                  int32_t first, int32_t last) {
    aboard_arithmetic_f32(p, ABOARD_ADD, a, b, out, first, last);
}

/** a - b; rows [first, last), as aboard_arithmetic_f32. */
ABOARD_INLINE void aboard_sub_f32(const aboard_arithmetic_f32_t *p, const float *a, const float *b, float *out,
                                  int32_t first, int32_t last) {
    aboard_arithmetic_f32(p, ABOARD_SUB, a, b, out, first, last);
}

/** a * b; rows [first, last), as aboard_arithmetic_f32. */
ABOARD_INLINE void aboard_mul_f32(const aboard_arithmetic_f32_t *p, const float *a, const float *b, float *out,
                                  int32_t first, int32_t last) {
    aboard_arithmetic_f32(p, ABOARD_MUL, a, b, out, first, last);
}

#endif
