/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/sigmoid_s16.h
 * Logistic function and hyperbolic tangent of int16, interpolated in a table as TFLite does;
 * host/aboard/ops/sigmoid_wide.py is the same in numpy.
 */
#ifndef ABOARD_KERNELS_PORTABLE_SIGMOID_S16_H
#define ABOARD_KERNELS_PORTABLE_SIGMOID_S16_H

#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"

/** Parameters of both kernels. Both views have the same rows, cols and channels. */
typedef struct {
    aboard_view_t in;
    aboard_view_t out;
    int32_t
        multiplier; /**< From an operand to its argument of the table: (x * multiplier + half of 2^shift) >> shift. */
    int32_t shift;
} aboard_sigmoid_s16_t;

/** Which function, and into how many steps (a power of two) an interval of the table is divided; always a literal. */
typedef enum { ABOARD_LOGISTIC_BITS = 9, ABOARD_TANH_BITS = 8 } aboard_sigmoid_bits_t;

/** The table's value for an argument of `bits` fractional bits, in as many more; `end` beyond the table. */
ABOARD_INLINE int32_t aboard_sigmoid_look_up(uint32_t size, int32_t bits, const uint16_t *table, int32_t end) {
    const uint32_t index = size >> bits;
    if (index >= 255) {
        return end << bits;
    }
    const int32_t below = table[index];
    const int32_t above = table[index + 1];
    return (below << bits) + (int32_t)(size & (((uint32_t)1 << bits) - 1u)) * (above - below);
}

/** The result of one element. */
ABOARD_INLINE int16_t aboard_sigmoid_element(const aboard_sigmoid_s16_t *p, int32_t x, const uint16_t *table,
                                             aboard_sigmoid_bits_t bits) {
    const int32_t half = p->shift > 0 ? (int32_t)1 << (p->shift - 1) : 0;
    const int32_t argument = (x * p->multiplier + half) >> p->shift;
    const uint32_t size = argument < 0 ? 0u - (uint32_t)argument : (uint32_t)argument;
    if (bits == ABOARD_LOGISTIC_BITS) {
        const int32_t value = aboard_sigmoid_look_up(size, (int32_t)bits, table, 0xfffe);
        return (
            int16_t)((argument >= 0 ? value + ((int32_t)1 << 9) : ((int32_t)1 << 25) - value + ((int32_t)1 << 9) - 1) >>
                     10);
    }
    const int32_t value = aboard_sigmoid_look_up(size, (int32_t)bits, table, 0xffff);
    const int32_t result = argument >= 0 ? value - ((int32_t)1 << 23) + ((int32_t)1 << 7)
                                         : ((int32_t)1 << 23) - value + ((int32_t)1 << 7) - 1;
    return (int16_t)(result >> 8);
}

/** Both kernels; see aboard_logistic_s16. */
ABOARD_INLINE void aboard_sigmoid_s16(const aboard_sigmoid_s16_t *p, const int16_t *in, int16_t *out,
                                      const uint16_t *table, aboard_sigmoid_bits_t bits, int32_t first, int32_t last) {
    for (int32_t r = first; r < last; ++r) {
        const int16_t *x = aboard_row_s16(&p->in, in, r);
        int16_t *y = aboard_row_out_s16(&p->out, out, r);
        for (int32_t col = 0; col < p->out.cols; ++col) {
            for (int32_t c = 0; c < p->out.channels; ++c) {
                y[c] = aboard_sigmoid_element(p, x[c], table, bits);
            }
            x += p->in.pixel_stride / (int32_t)sizeof(int16_t);
            y += p->out.pixel_stride / (int32_t)sizeof(int16_t);
        }
    }
}

/**
 * Logistic function.
 *
 * @param p            Parameters.
 * @param in           Operand. Any view.
 * @param out          Result. Any view; may share the operand's memory if both views are equal.
 * @param table        The function of 0, 1/24, 2/24 ...: 256 values; 65536 represents 1.
 * @param first, last  Rows [first, last) of the result are written.
 */
ABOARD_INLINE void aboard_logistic_s16(const aboard_sigmoid_s16_t *p, const int16_t *in, int16_t *out,
                                       const uint16_t *table, int32_t first, int32_t last) {
    aboard_sigmoid_s16(p, in, out, table, ABOARD_LOGISTIC_BITS, first, last);
}

/** Hyperbolic tangent, by the table of the logistic function; parameters as aboard_logistic_s16. */
ABOARD_INLINE void aboard_tanh_s16(const aboard_sigmoid_s16_t *p, const int16_t *in, int16_t *out,
                                   const uint16_t *table, int32_t first, int32_t last) {
    aboard_sigmoid_s16(p, in, out, table, ABOARD_TANH_BITS, first, last);
}

#endif
