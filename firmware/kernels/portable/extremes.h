/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/extremes.h
 * The largest and smallest elements over any axes, and their places along one.
 */
#ifndef ABOARD_KERNELS_PORTABLE_EXTREMES_H
#define ABOARD_KERNELS_PORTABLE_EXTREMES_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "mean.h"

/** Parameters of the reductions below. */
typedef struct {
    aboard_mean_t axes; /**< What goes into which element; `count` is not read. */
} aboard_reduce_t;

/**
 * Defines a reduction of elements to one of them.
 *
 *     aboard_reduce_max_s8(const aboard_reduce_t *p, const int8_t *in, int8_t *out, int32_t first, int32_t last)
 *
 * and likewise _min_ and _f32, and aboard_reduce_all for bool.
 *
 * `in` is any view that is no rolling buffer, `out` another memory and any view; rows [first, last) of the result are
 * written. Elements are taken in the order of memory: `best` begins as `start`, and `next` is an expression of `best`
 * and `element`. Of comparisons NaN has no part.
 */
#define ABOARD_REDUCE(name, type, start, next)                                                                         \
    ABOARD_INLINE type name##_of(const aboard_mean_t *p, const type *from) {                                           \
        const int32_t size = (int32_t)sizeof(type);                                                                    \
        const aboard_mean_axis_t *over = p->over;                                                                      \
        type best = start;                                                                                             \
        for (int32_t i = 0; i < over[0].extent; ++i) {                                                                 \
            for (int32_t j = 0; j < over[1].extent; ++j) {                                                             \
                for (int32_t k = 0; k < over[2].extent; ++k) {                                                         \
                    const type *x = from + (i * over[0].bytes + j * over[1].bytes + k * over[2].bytes) / size;         \
                    for (int32_t l = 0; l < over[3].extent; ++l) {                                                     \
                        const type element = x[l * (over[3].bytes / size)];                                            \
                        best = (next);                                                                                 \
                    }                                                                                                  \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        return best;                                                                                                   \
    }                                                                                                                  \
    ABOARD_INLINE void name(const aboard_reduce_t *p, const type *in, type *out, int32_t first, int32_t last) {        \
        const int32_t size = (int32_t)sizeof(type);                                                                    \
        for (int32_t r = first; r < last; ++r) {                                                                       \
            const type *x = in + aboard_mean_row(&p->axes, r) / size;                                                  \
            type *y = out + aboard_row_offset(&p->axes.out, r) / size;                                                 \
            for (int32_t col = 0; col < p->axes.col.extent; ++col) {                                                   \
                for (int32_t c = 0; c < p->axes.channel.extent; ++c) {                                                 \
                    y[c] = name##_of(&p->axes, x + c * (p->axes.channel.bytes / size));                                \
                }                                                                                                      \
                x += p->axes.col.bytes / size;                                                                         \
                y += p->axes.out.pixel_stride / size;                                                                  \
            }                                                                                                          \
        }                                                                                                              \
    }

/** Defines the reductions of an integer type: the largest, the smallest, sums and products, which wrap. */
#define ABOARD_REDUCTIONS(name, type, bits, least, most)                                                               \
    ABOARD_REDUCE(aboard_reduce_max_##name, type, least, element > best ? element : best)                              \
    ABOARD_REDUCE(aboard_reduce_min_##name, type, most, element < best ? element : best)                               \
    ABOARD_REDUCE(aboard_reduce_sum_##name, type, 0, (type)((bits)best + (bits)element))                               \
    ABOARD_REDUCE(aboard_reduce_prod_##name, type, 1, (type)((bits)best * (bits)element))

ABOARD_REDUCTIONS(s8, int8_t, uint32_t, INT8_MIN, INT8_MAX)
ABOARD_REDUCTIONS(u8, uint8_t, uint32_t, 0, UINT8_MAX)
ABOARD_REDUCTIONS(s16, int16_t, uint32_t, INT16_MIN, INT16_MAX)
ABOARD_REDUCTIONS(s32, int32_t, uint32_t, INT32_MIN, INT32_MAX)
ABOARD_REDUCTIONS(u32, uint32_t, uint32_t, 0, UINT32_MAX)
ABOARD_REDUCTIONS(s64, int64_t, uint64_t, INT64_MIN, INT64_MAX)
ABOARD_REDUCTIONS(u64, uint64_t, uint64_t, 0, UINT64_MAX)
ABOARD_REDUCE(aboard_reduce_max_f32, float, -3.402823466e+38f, element > best ? element : best)
ABOARD_REDUCE(aboard_reduce_min_f32, float, 3.402823466e+38f, element < best ? element : best)
/** As above, where the extreme of infinite elements is infinite. */
ABOARD_REDUCE(aboard_reduce_max_infinite_f32, float, -ABOARD_INFINITY, element > best ? element : best)
ABOARD_REDUCE(aboard_reduce_min_infinite_f32, float, ABOARD_INFINITY, element < best ? element : best)
ABOARD_REDUCE(aboard_reduce_prod_f32, float, 1.0f, best *element)
ABOARD_REDUCE(aboard_reduce_all, bool, true, best &&element)

/** Parameters of the places below: operand {outer, extent, inner}, result {outer, inner}, both without gaps. */
typedef struct {
    int32_t outer;
    int32_t extent; /**< Of the axis along which places are counted. */
    int32_t inner;
} aboard_place_t;

/**
 * Defines a search for the first of the largest or smallest elements along an axis.
 *
 *     aboard_arg_max_s8(const aboard_place_t *p, const int8_t *in, int32_t *out, int32_t first, int32_t last)
 *
 * and likewise _min_ and _f32. `first` and `last` are all rows of the result. A NaN is the result only where it is
 * first.
 */
#define ABOARD_PLACE(name, type, better)                                                                               \
    ABOARD_INLINE void name(const aboard_place_t *p, const type *in, int32_t *out, int32_t first, int32_t last) {      \
        (void)first;                                                                                                   \
        (void)last;                                                                                                    \
        for (int32_t o = 0; o < p->outer; ++o) {                                                                       \
            for (int32_t i = 0; i < p->inner; ++i) {                                                                   \
                const type *x = in + o * p->extent * p->inner + i;                                                     \
                type best = x[0];                                                                                      \
                int32_t place = 0;                                                                                     \
                for (int32_t a = 1; a < p->extent; ++a) {                                                              \
                    const type element = x[a * p->inner];                                                              \
                    if (better) {                                                                                      \
                        best = element;                                                                                \
                        place = a;                                                                                     \
                    }                                                                                                  \
                }                                                                                                      \
                out[o * p->inner + i] = place;                                                                         \
            }                                                                                                          \
        }                                                                                                              \
    }
ABOARD_PLACE(aboard_arg_max_s8, int8_t, element > best)
ABOARD_PLACE(aboard_arg_min_s8, int8_t, element < best)
ABOARD_PLACE(aboard_arg_max_f32, float, element > best)
ABOARD_PLACE(aboard_arg_min_f32, float, element < best)

#endif
