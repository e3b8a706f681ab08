/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/split.h
 * Split: one operand cut into 1 to 16 parts. Each part is a separate gather.
 *
 * For n parts there are aboard_split_<n>_t and
 *
 *     aboard_split_<n>(const aboard_split_<n>_t *p, const void *in, void *y0, ..., int32_t first, int32_t last)
 *
 * which writes rows [first, last) of every part. If the parts have different numbers of rows, any call writes all
 * rows of all parts.
 */
#ifndef ABOARD_KERNELS_PORTABLE_SPLIT_H
#define ABOARD_KERNELS_PORTABLE_SPLIT_H

#include "arity.h"
#include "gather.h"

/** Copies the rows of all parts; `out` has `count` addresses. */
ABOARD_INLINE void aboard_split_parts(const aboard_gather_t *parts, const void *in, void *const *out, int32_t count,
                                      int32_t first, int32_t last) {
    bool equal = true;
    ABOARD_UNROLL(16)
    for (int32_t i = 1; i < count; ++i) {
        equal = equal && parts[i].out.rows == parts[0].out.rows;
    }
    ABOARD_UNROLL(16)
    for (int32_t i = 0; i < count; ++i) {
        aboard_gather(&parts[i], in, out[i], equal ? first : 0, equal ? last : parts[i].out.rows);
    }
}

#define ABOARD_SPLIT_PARAMETER(i) void *y##i
#define ABOARD_SPLIT_ARGUMENT(i) y##i
#define ABOARD_SPLIT(n, list)                                                                                          \
    typedef struct {                                                                                                   \
        aboard_gather_t part[n];                                                                                       \
    } aboard_split_##n##_t;                                                                                            \
    ABOARD_INLINE void aboard_split_##n(const aboard_split_##n##_t *p, const void *in, list(ABOARD_SPLIT_PARAMETER),   \
                                        int32_t first, int32_t last) {                                                 \
        void *const out[n] = {list(ABOARD_SPLIT_ARGUMENT)};                                                            \
        aboard_split_parts(p->part, in, out, n, first, last);                                                          \
    }
ABOARD_FOR_EACH_ARITY(ABOARD_SPLIT)

#endif
