/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/broadcast_args.h
 * The shape to which two shapes broadcast.
 */
#ifndef ABOARD_KERNELS_PORTABLE_BROADCAST_ARGS_H
#define ABOARD_KERNELS_PORTABLE_BROADCAST_ARGS_H

#include <stdint.h>

#include "aboard/config.h"

/** Parameters of aboard_broadcast_args_s32 and aboard_broadcast_args_s64. */
typedef struct {
    int32_t one;   /**< Axes of the first shape. */
    int32_t other; /**< Axes of the second. */
} aboard_broadcast_args_t;

/**
 * For each axis, counted from the last, writes the extent that is not 1. Where both are not and differ, no shape is
 * right: that of the first operand is written.
 *
 *     aboard_broadcast_args_s32(const aboard_broadcast_args_t *p, const int32_t *x0, const int32_t *x1, int32_t *y,
 *                               int32_t first, int32_t last)
 *
 * `y` has as many axes as the longer of the shapes `x0` and `x1`; `first` and `last` are 0 and 1.
 */
#define ABOARD_BROADCAST_ARGS(name, type)                                                                              \
    ABOARD_INLINE void name(const aboard_broadcast_args_t *p, const type *x0, const type *x1, type *y, int32_t first,  \
                            int32_t last) {                                                                            \
        const int32_t axes = ABOARD_MAX(p->one, p->other);                                                             \
        (void)first;                                                                                                   \
        (void)last;                                                                                                    \
        for (int32_t i = 0; i < axes; ++i) {                                                                           \
            const int32_t i0 = i - axes + p->one;                                                                      \
            const int32_t i1 = i - axes + p->other;                                                                    \
            const type from0 = i0 < 0 ? 1 : x0[i0];                                                                    \
            const type from1 = i1 < 0 ? 1 : x1[i1];                                                                    \
            y[i] = from0 == 1 ? from1 : from0;                                                                         \
        }                                                                                                              \
    }
ABOARD_BROADCAST_ARGS(aboard_broadcast_args_s32, int32_t)
ABOARD_BROADCAST_ARGS(aboard_broadcast_args_s64, int64_t)

#endif
