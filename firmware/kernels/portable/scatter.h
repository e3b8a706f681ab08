/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/scatter.h
 * A copy of a tensor in which runs are replaced by others, or combined with them. All tensors lie in memory without
 * gaps. Indices are data of a run: one out of range stands for the nearest in range, so that nothing else is written.
 */
#ifndef ABOARD_KERNELS_PORTABLE_SCATTER_H
#define ABOARD_KERNELS_PORTABLE_SCATTER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "indices.h"

/** Parameters of the kernels of this file. */
typedef struct {
    int32_t elements;                   /**< Of the operand. */
    int32_t tuples;                     /**< How many runs are written. */
    int32_t length;                     /**< Indices of a tuple, at most ABOARD_MAX_INDICES. */
    int32_t extent[ABOARD_MAX_INDICES]; /**< Of the axis that each index of a tuple counts. */
    int32_t count[ABOARD_MAX_INDICES];  /**< Elements from an index of that axis to the next. */
    int32_t run;                        /**< Elements behind the last of these axes. */
} aboard_scatter_t;

/**
 * Defines a scatter of an element type.
 *
 *     aboard_scatter_add_f32(const aboard_scatter_t *p, const float *in, const int32_t *indices, const float *updates,
 *                            float *out, int32_t first, int32_t last)
 *
 * `out` is another memory than the operands; `first` and `last` are all rows of the result. Updates are applied in
 * their order: `result` is an expression of `u`, the element at the place, and `v`, the update.
 */
#define ABOARD_SCATTER(name, type, result)                                                                             \
    ABOARD_INLINE void aboard_scatter_##name(const aboard_scatter_t *p, const type *in, const int32_t *indices,        \
                                             const type *updates, type *out, int32_t first, int32_t last) {            \
        (void)first;                                                                                                   \
        (void)last;                                                                                                    \
        memcpy(out, in, (size_t)p->elements * sizeof(type));                                                           \
        for (int32_t t = 0; t < p->tuples; ++t) {                                                                      \
            int32_t place = 0;                                                                                         \
            for (int32_t i = 0; i < p->length; ++i) {                                                                  \
                place += aboard_index_within(indices[t * p->length + i], p->extent[i]) * p->count[i];                  \
            }                                                                                                          \
            for (int32_t i = 0; i < p->run; ++i) {                                                                     \
                const type u = out[place + i];                                                                         \
                const type v = updates[t * p->run + i];                                                                \
                (void)u;                                                                                               \
                out[place + i] = (result);                                                                             \
            }                                                                                                          \
        }                                                                                                              \
    }

/** Defines the scatters of a type of numbers, whose sums and products wrap in `bits` where they are integers. */
#define ABOARD_SCATTERS(name, type, bits)                                                                              \
    ABOARD_SCATTER(none_##name, type, v)                                                                               \
    ABOARD_SCATTER(add_##name, type, (type)((bits)u + (bits)v))                                                        \
    ABOARD_SCATTER(mul_##name, type, (type)((bits)u * (bits)v))                                                        \
    ABOARD_SCATTER(max_##name, type, u > v ? u : v)                                                                    \
    ABOARD_SCATTER(min_##name, type, u < v ? u : v)

ABOARD_SCATTERS(s8, int8_t, uint32_t)
ABOARD_SCATTERS(u8, uint8_t, uint32_t)
ABOARD_SCATTERS(s16, int16_t, uint32_t)
ABOARD_SCATTERS(s32, int32_t, uint32_t)
ABOARD_SCATTERS(u32, uint32_t, uint32_t)
ABOARD_SCATTERS(s64, int64_t, uint64_t)
ABOARD_SCATTERS(u64, uint64_t, uint64_t)
ABOARD_SCATTERS(f32, float, float)
ABOARD_SCATTER(none_bool, bool, v)

#endif
