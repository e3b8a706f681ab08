/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/two_pixels.h
 * Words that hold an int8 input of two pixels, a + 2^16 b, so that a product with such a word is two products.
 * host/aboard/kernels/two_products.py proves that sums of two of them keep apart.
 */
#ifndef ABOARD_KERNELS_PORTABLE_TWO_PIXELS_H
#define ABOARD_KERNELS_PORTABLE_TWO_PIXELS_H

#include <stdint.h>

#include "aboard/config.h"

/** Bits of a pixel's field. */
#define ABOARD_TWO_PIXELS_BITS 16

/** Input `a` of the first pixel and `b` of the second in a word. */
ABOARD_INLINE int32_t aboard_two_pixels_word(int32_t a, int32_t b) {
    return (int32_t)((uint32_t)a + ((uint32_t)b << ABOARD_TWO_PIXELS_BITS));
}

/** Writes `taps` inputs of two pixels into words; returns their end. Not inlined: one copy serves all layers of a
 * model. */
ABOARD_SHARED int32_t *aboard_two_pixels_words(int32_t *to, const int8_t *a, const int8_t *b, int32_t taps) {
    int32_t *const end = to + taps;
    int32_t *const whole = to + taps / 4 * 4;
    while (to != whole) {
        ABOARD_UNROLL(4)
        for (int32_t k = 0; k < 4; ++k) {
            to[k] = aboard_two_pixels_word(*a++, *b++);
        }
        to += 4;
        ABOARD_OPAQUE(to);
    }
    while (to != end) {
        *to++ = aboard_two_pixels_word(*a++, *b++);
        ABOARD_OPAQUE(to);
    }
    return to;
}

#endif
