/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/arithmetic_s16.h
 * Sums, differences and products of two operands of int16, with broadcasting; there are no zero points.
 */
#ifndef ABOARD_KERNELS_PORTABLE_ARITHMETIC_S16_H
#define ABOARD_KERNELS_PORTABLE_ARITHMETIC_S16_H

#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "arithmetic.h"
#include "epilogue_s16.h"
#include "requantize.h"

/** Parameters of aboard_sum_s16 and aboard_product_s16; zero points are not read. */
typedef struct {
    aboard_broadcast_t over;
    aboard_scaling_t a;   /**< Sum: from the operand, shifted left by 15 bits, to the common scale. */
    aboard_scaling_t b;   /**< The same for b; the multiplier is negative in a difference. */
    aboard_scaling_t out; /**< From the sum or product to the result. */
    int32_t low;          /**< Smallest result. */
    int32_t high;         /**< Largest result. */
} aboard_arithmetic_s16_t;

/** An operand of a sum in the common scale, at most 2^29 in magnitude. */
ABOARD_INLINE int32_t aboard_sum_operand_s16(const aboard_scaling_t *s, int32_t x) {
    const int32_t magnitude = s->multiplier < 0 ? -s->multiplier : s->multiplier;
    /* The operand of the larger scale is halved: nothing is rounded. */
    const int32_t scaled = magnitude == (int32_t)1 << 30 && s->shift == 0
                               ? x * ((int32_t)1 << 14)
                               : aboard_rounded_high_mul_shift(x * ((int32_t)1 << 16), magnitude, -s->shift);
    return s->multiplier < 0 ? -scaled : scaled;
}

/** The sum or difference of two elements. */
ABOARD_INLINE int16_t aboard_sum_element_s16(const aboard_arithmetic_s16_t *p, int32_t x, int32_t y) {
    const int32_t sum = aboard_sum_operand_s16(&p->a, x) + aboard_sum_operand_s16(&p->b, y);
    const int32_t scaled = aboard_rounded_high_mul_shift(2 * sum, p->out.multiplier, -p->out.shift);
    return aboard_clamp_s16(scaled, p->low, p->high);
}

/** The product of two elements. */
ABOARD_INLINE int16_t aboard_product_element_s16(const aboard_arithmetic_s16_t *p, int32_t x, int32_t y) {
    const int32_t high = aboard_doubling_high_mul(x * y, p->out.multiplier);
    return aboard_clamp_s16(aboard_rounding_shift_small(high, -p->out.shift), p->low, p->high);
}

/**
 * Computes a sum, difference or product of int16 elements.
 *
 * @param p            Parameters.
 * @param is_sum       1: sum or difference; 0: product. A literal.
 * @param a, b         Operands. Any views.
 * @param out          Result. Any view; may share the memory of an operand that is not broadcast and has the same view.
 * @param first, last  Rows [first, last) of the result are written.
 */
ABOARD_INLINE void aboard_arithmetic_s16(const aboard_arithmetic_s16_t *p, int32_t is_sum, const int16_t *a,
                                         const int16_t *b, int16_t *out, int32_t first, int32_t last) {
    const int32_t size = (int32_t)sizeof(int16_t);
    for (int32_t r = first; r < last; ++r) {
        const aboard_operand_offsets_t row = aboard_operand_offsets(&p->over, r);
        const int16_t *x = a + row.a / size;
        const int16_t *y = b + row.b / size;
        int16_t *z = aboard_row_out_s16(&p->over.out, out, r);
        for (int32_t col = 0; col < p->over.out.cols; ++col) {
            ABOARD_UNROLL(4)
            for (int32_t c = 0; c < p->over.out.channels; ++c) {
                const int32_t u = x[c * p->over.a.channel];
                const int32_t v = y[c * p->over.b.channel];
                z[c] = is_sum ? aboard_sum_element_s16(p, u, v) : aboard_product_element_s16(p, u, v);
            }
            x += p->over.a.pixel / size;
            y += p->over.b.pixel / size;
            z += p->over.out.pixel_stride / size;
        }
    }
}

/** Sum or difference; rows [first, last), as aboard_arithmetic_s16. */
ABOARD_INLINE void aboard_sum_s16(const aboard_arithmetic_s16_t *p, const int16_t *a, const int16_t *b, int16_t *out,
                                  int32_t first, int32_t last) {
    aboard_arithmetic_s16(p, 1, a, b, out, first, last);
}

/** Product; rows [first, last), as aboard_arithmetic_s16. */
ABOARD_INLINE void aboard_product_s16(const aboard_arithmetic_s16_t *p, const int16_t *a, const int16_t *b,
                                      int16_t *out, int32_t first, int32_t last) {
    aboard_arithmetic_s16(p, 0, a, b, out, first, last);
}

#endif
