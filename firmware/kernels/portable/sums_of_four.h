/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/sums_of_four.h
 * Sums of products of int8 for four channels at once: one load of the input feeds four products.
 */
#ifndef ABOARD_KERNELS_PORTABLE_SUMS_OF_FOUR_H
#define ABOARD_KERNELS_PORTABLE_SUMS_OF_FOUR_H

#include <stdint.h>

#include "aboard/config.h"

/**
 * Adds the products of `count` inputs with the weights of four channels.
 *
 * @param sums    Four sums.
 * @param x       Inputs.
 * @param weights [count][4].
 * @param count   At least 0.
 */
ABOARD_INLINE void aboard_sums_of_four_s8(int32_t *sums, const int8_t *x, const int8_t *weights, int32_t count) {
    const int8_t *const end = x + count;
    while (x != end) {
        const int32_t value = *x++;
        ABOARD_UNROLL(4)
        for (int32_t i = 0; i < 4; ++i) {
            sums[i] += weights[i] * value;
        }
        weights += 4;
        ABOARD_OPAQUE(weights);
    }
}

#endif
