/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/top_k.h
 * The largest or smallest elements of each row, in order, and their indices.
 */
#ifndef ABOARD_KERNELS_PORTABLE_TOP_K_H
#define ABOARD_KERNELS_PORTABLE_TOP_K_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard/config.h"

/** Parameters of the kernels of this file: operand {samples, extent}, results {samples, count}, all without gaps. */
typedef struct {
    int32_t samples;
    int32_t extent;
    int32_t count;   /**< In [1, extent]. */
    bool is_largest; /**< Whether the largest elements are wanted, or the smallest. */
} aboard_top_k_t;

/**
 * Defines the search for an element type.
 *
 *     aboard_top_k_f32(const aboard_top_k_t *p, const float *in, float *values, int32_t *indices, first, last)
 *
 * Takes time extent * count for each sample and no memory. Among equal elements the lower index comes first; NaN comes
 * last. `first` and `last` are all rows of the results.
 */
#define ABOARD_TOP_K(name, type)                                                                                       \
    /* Whether the element at i comes before the one at j. */                                                          \
    ABOARD_INLINE bool name##_before(const aboard_top_k_t *p, const type *x, int32_t i, int32_t j) {                   \
        const type a = x[i];                                                                                           \
        const type b = x[j];                                                                                           \
        const bool before = p->is_largest ? a > b : a < b;                                                             \
        const bool behind = p->is_largest ? b > a : b < a;                                                             \
        const bool a_is_last = a != a;                                                                                 \
        const bool b_is_last = b != b;                                                                                 \
        if (a_is_last != b_is_last) {                                                                                  \
            return b_is_last;                                                                                          \
        }                                                                                                              \
        return before || (!behind && i < j);                                                                           \
    }                                                                                                                  \
    ABOARD_INLINE void name(const aboard_top_k_t *p, const type *in, type *values, int32_t *indices, int32_t first,    \
                            int32_t last) {                                                                            \
        (void)first;                                                                                                   \
        (void)last;                                                                                                    \
        for (int32_t s = 0; s < p->samples; ++s) {                                                                     \
            const type *x = in + s * p->extent;                                                                        \
            int32_t previous = -1;                                                                                     \
            for (int32_t k = 0; k < p->count; ++k) {                                                                   \
                int32_t best = -1;                                                                                     \
                for (int32_t i = 0; i < p->extent; ++i) {                                                              \
                    const bool is_left = previous < 0 || name##_before(p, x, previous, i);                             \
                    if (i != previous && is_left && (best < 0 || name##_before(p, x, i, best))) {                      \
                        best = i;                                                                                      \
                    }                                                                                                  \
                }                                                                                                      \
                values[s * p->count + k] = x[best];                                                                    \
                indices[s * p->count + k] = best;                                                                      \
                previous = best;                                                                                       \
            }                                                                                                          \
        }                                                                                                              \
    }
ABOARD_TOP_K(aboard_top_k_s8, int8_t)
ABOARD_TOP_K(aboard_top_k_u8, uint8_t)
ABOARD_TOP_K(aboard_top_k_s16, int16_t)
ABOARD_TOP_K(aboard_top_k_s32, int32_t)
ABOARD_TOP_K(aboard_top_k_u32, uint32_t)
ABOARD_TOP_K(aboard_top_k_s64, int64_t)
ABOARD_TOP_K(aboard_top_k_u64, uint64_t)
ABOARD_TOP_K(aboard_top_k_f32, float)

#endif
