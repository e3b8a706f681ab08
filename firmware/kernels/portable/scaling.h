/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/scaling.h
 * A zero point with multiplier and shift of a requantisation, as kernels of several operands have for each of them.
 */
#ifndef ABOARD_KERNELS_PORTABLE_SCALING_H
#define ABOARD_KERNELS_PORTABLE_SCALING_H

#include <stdint.h>

#include "aboard/config.h"
#include "requantize.h"

/** A zero point, multiplier and shift of a requantisation. */
typedef struct {
    int32_t zero_point;
    int32_t multiplier;
    int32_t shift;
} aboard_scaling_t;

/** x, less its zero point, in the other scale; see aboard_requantize. */
ABOARD_INLINE int32_t aboard_rescaled(const aboard_scaling_t *s, int32_t x) {
    return aboard_requantize(x, s->multiplier, s->shift);
}

#endif
