/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/concatenation.h
 * Concatenation: 1 to 16 operands one after the other along an axis.
 *
 * For n operands there are aboard_concatenation_<n>_t and
 *
 *     aboard_concatenation_<n>(const aboard_concatenation_<n>_t *p, const void *x0, ..., void *out, int32_t first,
 *                              int32_t last)
 *
 * which writes rows [first, last) of the result. Operands and result may have any view; none overlap.
 */
#ifndef ABOARD_KERNELS_PORTABLE_CONCATENATION_H
#define ABOARD_KERNELS_PORTABLE_CONCATENATION_H

#include "arity.h"
#include "gather.h"

/** An operand, and the position of its rows in the result. */
typedef struct {
    aboard_view_t view;
    int32_t start;  /**< First index along the axis if rows are joined; else 0. */
    int32_t extent; /**< Indices along the axis if rows are joined; else 1. */
    int32_t byte;   /**< Offset of the operand in a row of the result. */
} aboard_concatenation_part_t;

/** The rows of the result. */
typedef struct {
    aboard_view_t out;
    int32_t element_bytes; /**< 1, 2, 4 or 8. */
    int32_t extent;        /**< Indices of the axis if rows are joined; else 1. */
    int32_t inner;         /**< Rows per index of the axis if rows are joined; else all rows. */
} aboard_concatenation_rows_t;

/** Joins the rows; `parts` and `in` have `count` entries. */
ABOARD_INLINE void aboard_concatenation_parts(const aboard_concatenation_rows_t *p,
                                              const aboard_concatenation_part_t *parts, const void *const *in,
                                              int32_t count, uint8_t *out, int32_t first, int32_t last) {
    for (int32_t r = first; r < last; ++r) {
        const uint32_t inner = (uint32_t)r % (uint32_t)p->inner;
        const uint32_t group = (uint32_t)r / (uint32_t)p->inner;
        const int32_t index = (int32_t)(group % (uint32_t)p->extent);
        const int32_t outer = (int32_t)(group / (uint32_t)p->extent);
        uint8_t *row = out + aboard_row_offset(&p->out, r);
        ABOARD_UNROLL(16)
        for (int32_t i = 0; i < count; ++i) {
            const aboard_concatenation_part_t *part = &parts[i];
            const int32_t within = index - part->start;
            if (within >= 0 && within < part->extent) {
                const int32_t from = (outer * part->extent + within) * p->inner + (int32_t)inner;
                aboard_copy_pixels(row + part->byte, &p->out,
                                   (const uint8_t *)in[i] + aboard_row_offset(&part->view, from), &part->view,
                                   part->view.cols, part->view.channels, p->element_bytes);
            }
        }
    }
}

#define ABOARD_CONCATENATION_PARAMETER(i) const void *x##i
#define ABOARD_CONCATENATION_ARGUMENT(i) x##i
#define ABOARD_CONCATENATION(n, list)                                                                                  \
    typedef struct {                                                                                                   \
        aboard_concatenation_rows_t rows;                                                                              \
        aboard_concatenation_part_t part[n];                                                                           \
    } aboard_concatenation_##n##_t;                                                                                    \
    ABOARD_INLINE void aboard_concatenation_##n(const aboard_concatenation_##n##_t *p,                                 \
                                                list(ABOARD_CONCATENATION_PARAMETER), void *out, int32_t first,        \
                                                int32_t last) {                                                        \
        const void *const in[n] = {list(ABOARD_CONCATENATION_ARGUMENT)};                                               \
        aboard_concatenation_parts(&p->rows, p->part, in, n, out, first, last);                                        \
    }
ABOARD_FOR_EACH_ARITY(ABOARD_CONCATENATION)

#endif
