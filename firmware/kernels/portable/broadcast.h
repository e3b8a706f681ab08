/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/broadcast.h
 * Where kernels of several operands find the elements of a row, with broadcasting; and their loops.
 *
 * An operand that has an extent of 1 (or no such axis) where the result has more takes steps of 0 along that axis.
 */
#ifndef ABOARD_KERNELS_PORTABLE_BROADCAST_H
#define ABOARD_KERNELS_PORTABLE_BROADCAST_H

#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"

/** Axes that the rows of a result are made of, at most. */
#define ABOARD_BROADCAST_LEAD 4

/** An operand, as the result sees it. */
typedef struct {
    aboard_view_t view;
    int32_t rows[ABOARD_BROADCAST_LEAD]; /**< Rows per step along each leading axis of the result. */
    int32_t pixel;                       /**< Bytes per pixel of the result. */
    int32_t channel;                     /**< Elements per channel of the result; 0 where it is broadcast. */
} aboard_operand_t;

/** Result and operands. */
typedef struct {
    aboard_operand_t a;
    aboard_operand_t b;
    aboard_view_t out;
    int32_t extent[ABOARD_BROADCAST_LEAD]; /**< Leading axes of the result, outermost first; 1 where there are fewer. */
} aboard_broadcast_t;

/** Byte offsets of a row of the result in both operands. */
typedef struct {
    int32_t a;
    int32_t b;
} aboard_operand_offsets_t;

/** Returns where row `r` of the result begins in both operands. */
ABOARD_INLINE aboard_operand_offsets_t aboard_operand_offsets(const aboard_broadcast_t *over, int32_t r) {
    int32_t a = 0;
    int32_t b = 0;
    int32_t rest = r;
    ABOARD_UNROLL(4)
    for (int32_t axis = ABOARD_BROADCAST_LEAD - 1; axis >= 0; --axis) {
        /* All that is left belongs to the outermost axis. */
        const int32_t index = axis == 0 ? rest : rest % over->extent[axis];
        rest /= over->extent[axis];
        a += index * over->a.rows[axis];
        b += index * over->b.rows[axis];
    }
    const aboard_operand_offsets_t offsets = {aboard_row_offset(&over->a.view, a), aboard_row_offset(&over->b.view, b)};
    return offsets;
}

/** Returns where row `r` of a result begins in one operand; `extent` as in aboard_broadcast_t. */
ABOARD_INLINE int32_t aboard_operand_offset(const aboard_operand_t *operand, const int32_t *extent, int32_t r) {
    int32_t row = 0;
    int32_t rest = r;
    ABOARD_UNROLL(4)
    for (int32_t axis = ABOARD_BROADCAST_LEAD - 1; axis >= 0; --axis) {
        row += (axis == 0 ? rest : rest % extent[axis]) * operand->rows[axis];
        rest /= extent[axis];
    }
    return aboard_row_offset(&operand->view, row);
}

/**
 * Defines a kernel of two operands:
 * `void aboard_<name>(const params_t *p, const a_t *a, const b_t *b, out_t *out, int32_t first, int32_t last)`.
 *
 * @param name      Name of the function, without `aboard_`.
 * @param params_t  Type of its parameters; its field `over` is an aboard_broadcast_t.
 * @param a_t, b_t  Element types of the operands.
 * @param out_t     Element type of the result.
 * @param result    Expression of an element, of `u` and `v`, the elements of the operands, and of the parameters `p`.
 *
 * Operands and result of the function may have any view. The result may be the memory of an operand that is not
 * broadcast and has the same view and element type. Rows [first, last) of the result are written.
 */
#define ABOARD_BINARY_KERNEL(name, params_t, a_t, b_t, out_t, result)                                                  \
    ABOARD_INLINE void aboard_##name(const params_t *p, const a_t *a, const b_t *b, out_t *out, int32_t first,         \
                                     int32_t last) {                                                                   \
        for (int32_t r = first; r < last; ++r) {                                                                       \
            const aboard_operand_offsets_t row = aboard_operand_offsets(&p->over, r);                                  \
            const a_t *x = a + row.a / (int32_t)sizeof(a_t);                                                           \
            const b_t *y = b + row.b / (int32_t)sizeof(b_t);                                                           \
            out_t *z = out + aboard_row_offset(&p->over.out, r) / (int32_t)sizeof(out_t);                              \
            for (int32_t col = 0; col < p->over.out.cols; ++col) {                                                     \
                for (int32_t c = 0; c < p->over.out.channels; ++c) {                                                   \
                    const a_t u = x[c * p->over.a.channel];                                                            \
                    const b_t v = y[c * p->over.b.channel];                                                            \
                    z[c] = (result);                                                                                   \
                }                                                                                                      \
                x += p->over.a.pixel / (int32_t)sizeof(a_t);                                                           \
                y += p->over.b.pixel / (int32_t)sizeof(b_t);                                                           \
                z += p->over.out.pixel_stride / (int32_t)sizeof(out_t);                                                \
            }                                                                                                          \
        }                                                                                                              \
    }

#endif
