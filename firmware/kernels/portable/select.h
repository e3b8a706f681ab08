/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/select.h
 * The choice between two elements by a third, with broadcasting.
 */
#ifndef ABOARD_KERNELS_PORTABLE_SELECT_H
#define ABOARD_KERNELS_PORTABLE_SELECT_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "broadcast.h"

/** Parameters of the kernels of this file. */
typedef struct {
    aboard_operand_t a; /**< Condition. */
    aboard_operand_t b; /**< Where it is true. */
    aboard_operand_t c; /**< Where it is false. */
    aboard_view_t out;
    int32_t extent[ABOARD_BROADCAST_LEAD]; /**< As in aboard_broadcast_t. */
} aboard_select_t;

/**
 * Defines out = a ? b : c for an element type:
 * `void aboard_<name>(const aboard_select_t *p, const bool *a, const type *b, const type *c, type *out, first, last)`.
 *
 * Any views. The result may be the memory of b or c where that is not broadcast and has the same view. Rows
 * [first, last) of the result are written.
 */
#define ABOARD_SELECT(name, type)                                                                                      \
    ABOARD_INLINE void aboard_##name(const aboard_select_t *p, const bool *a, const type *b, const type *c, type *out, \
                                     int32_t first, int32_t last) {                                                    \
        const int32_t size = (int32_t)sizeof(type);                                                                    \
        for (int32_t r = first; r < last; ++r) {                                                                       \
            const bool *condition = a + aboard_operand_offset(&p->a, p->extent, r);                                    \
            const type *x = b + aboard_operand_offset(&p->b, p->extent, r) / size;                                     \
            const type *y = c + aboard_operand_offset(&p->c, p->extent, r) / size;                                     \
            type *z = out + aboard_row_offset(&p->out, r) / size;                                                      \
            for (int32_t col = 0; col < p->out.cols; ++col) {                                                          \
                for (int32_t k = 0; k < p->out.channels; ++k) {                                                        \
                    z[k] = condition[k * p->a.channel] ? x[k * p->b.channel] : y[k * p->c.channel];                    \
                }                                                                                                      \
                condition += p->a.pixel;                                                                               \
                x += p->b.pixel / size;                                                                                \
                y += p->c.pixel / size;                                                                                \
                z += p->out.pixel_stride / size;                                                                       \
            }                                                                                                          \
        }                                                                                                              \
    }

/** Of each element type. */
ABOARD_SELECT(select_s8, int8_t)
ABOARD_SELECT(select_u8, uint8_t)
ABOARD_SELECT(select_s16, int16_t)
ABOARD_SELECT(select_s32, int32_t)
ABOARD_SELECT(select_u32, uint32_t)
ABOARD_SELECT(select_s64, int64_t)
ABOARD_SELECT(select_u64, uint64_t)
ABOARD_SELECT(select_bool, bool)
ABOARD_SELECT(select_f32, float)

#endif
