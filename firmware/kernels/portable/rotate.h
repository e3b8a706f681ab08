/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/rotate.h
 * Rotation of rows in place: it brings the rows of a rolling window into their order.
 */
#ifndef ABOARD_KERNELS_PORTABLE_ROTATE_H
#define ABOARD_KERNELS_PORTABLE_ROTATE_H

#include <stdint.h>

#include "aboard/config.h"

/** Reverses the order of `count` bytes. */
ABOARD_SHARED void aboard_reverse(uint8_t *data, int32_t count) {
    for (uint8_t *end = data + count; end - data > 1; ++data) {
        const uint8_t byte = *data;
        *data = *--end;
        *end = byte;
    }
}

/**
 * Rotates rows such that another row becomes the first.
 *
 * @param data      The rows, without gaps.
 * @param rows      Their number, at least 1.
 * @param row_bytes Bytes of a row.
 * @param first     Number of the row that becomes row 0, modulo `rows`; not negative.
 */
ABOARD_SHARED void aboard_rotate_rows(uint8_t *data, int32_t rows, int32_t row_bytes, int32_t first) {
    const int32_t before = first % rows * row_bytes;
    aboard_reverse(data, before);
    aboard_reverse(data + before, rows * row_bytes - before);
    aboard_reverse(data, rows * row_bytes);
}

#endif
