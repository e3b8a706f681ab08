/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/elements.h
 * The loop of kernels of one operand, element by element.
 */
#ifndef ABOARD_KERNELS_PORTABLE_ELEMENTS_H
#define ABOARD_KERNELS_PORTABLE_ELEMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"

/** Parameters of kernels that need nothing but the views, which have the same rows, cols and channels. */
typedef struct {
    aboard_view_t in;
    aboard_view_t out;
} aboard_elements_t;

/**
 * Defines a kernel of one operand:
 * `void aboard_<name>(const params_t *p, const in_t *in, out_t *out, int32_t first, int32_t last)`.
 *
 * @param name      Name of the function, without `aboard_`.
 * @param params_t  Type of its parameters; its fields `in` and `out` are views with the same rows, cols and channels.
 * @param in_t      Element type of the operand.
 * @param out_t     Element type of the result.
 * @param result    Expression of an element, of `u`, the element of the operand, and of the parameters `p`.
 *
 * Operand and result of the function may have any view. The result may be the memory of the operand where types and
 * views are equal. Rows [first, last) of the result are written.
 */
#define ABOARD_UNARY_KERNEL(name, params_t, in_t, out_t, result)                                                       \
    ABOARD_INLINE void aboard_##name(const params_t *p, const in_t *in, out_t *out, int32_t first, int32_t last) {     \
        for (int32_t r = first; r < last; ++r) {                                                                       \
            const in_t *x = in + aboard_row_offset(&p->in, r) / (int32_t)sizeof(in_t);                                 \
            out_t *y = out + aboard_row_offset(&p->out, r) / (int32_t)sizeof(out_t);                                   \
            for (int32_t col = 0; col < p->out.cols; ++col) {                                                          \
                for (int32_t c = 0; c < p->out.channels; ++c) {                                                        \
                    const in_t u = x[c];                                                                               \
                    y[c] = (result);                                                                                   \
                }                                                                                                      \
                x += p->in.pixel_stride / (int32_t)sizeof(in_t);                                                       \
                y += p->out.pixel_stride / (int32_t)sizeof(out_t);                                                     \
            }                                                                                                          \
        }                                                                                                              \
    }

/** Not a. */
ABOARD_UNARY_KERNEL(logical_not_bool, aboard_elements_t, bool, bool, !u)

#endif
