/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/im2col.h
 * Copies int8 pixels into scratch in the order in which a kernel reads them. It uses loops, because a call of memcpy
 * would cost more than most of the copies.
 */
#ifndef ABOARD_KERNELS_PORTABLE_IM2COL_H
#define ABOARD_KERNELS_PORTABLE_IM2COL_H

#include <stdint.h>
#include <string.h>

#include "aboard/config.h"

/** Copies `count` bytes (0 or less: none) and returns the address after the last one written. No alignment needed. */
ABOARD_INLINE int8_t *aboard_im2col_copy(int8_t *to, const int8_t *from, int32_t count) {
    for (; count >= 16; count -= 16) {
        memcpy(to, from, 16);
        to += 16;
        from += 16;
    }
    for (; count >= 4; count -= 4) {
        memcpy(to, from, 4);
        to += 4;
        from += 4;
    }
    for (; count > 0; --count) {
        *to++ = *from++;
        ABOARD_OPAQUE(to);
    }
    return to;
}

/** Writes `count` bytes (0 or less: none) of one value and returns the address after the last one. */
ABOARD_INLINE int8_t *aboard_im2col_fill(int8_t *to, int32_t value, int32_t count) {
    const uint32_t word = 0x01010101u * (uint8_t)value;
    for (; count >= 4; count -= 4) {
        memcpy(to, &word, 4);
        to += 4;
    }
    for (; count > 0; --count) {
        *to++ = (int8_t)value;
        ABOARD_OPAQUE(to);
    }
    return to;
}

/** As aboard_im2col_copy, not inlined. */
ABOARD_SHARED int8_t *aboard_im2col_copy_shared(int8_t *to, const int8_t *from, int32_t count) {
    return aboard_im2col_copy(to, from, count);
}

/** As aboard_im2col_fill, not inlined. */
ABOARD_SHARED int8_t *aboard_im2col_fill_shared(int8_t *to, int32_t value, int32_t count) {
    return aboard_im2col_fill(to, value, count);
}

#endif
