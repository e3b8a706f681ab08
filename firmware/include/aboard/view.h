/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file view.h
 * The view of a kernel on a tensor: rows at an address, not necessarily the whole tensor.
 *
 * A tensor is `rows` rows of `cols` pixels of `channels` elements. Rows are counted over the whole tensor, batches
 * after one another. For a whole tensor `buffer_rows` equals `rows`. In a cascade the view is a rolling buffer of
 * `buffer_rows` rows, and row r overwrites row r - buffer_rows; or its rows lie in blocks anywhere, and a table has the
 * offset of each. In place it is the memory of another tensor. A slice of the channels of a wider tensor has a
 * `pixel_stride` larger than its own pixels. One kernel serves all of these.
 *
 * The geometry of a view is always known at compile time; only its base address is an argument. The base already
 * includes the channel offset.
 */
#ifndef ABOARD_VIEW_H
#define ABOARD_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include "aboard/config.h"

/** Geometry of a view. All strides are in bytes. */
typedef struct {
    int32_t rows;          /**< Rows of the tensor. */
    int32_t cols;          /**< Pixels of a row. */
    int32_t channels;      /**< Elements of a pixel. */
    int32_t row_stride;    /**< From a row to the next; negative if rows are stored backwards. */
    int32_t pixel_stride;  /**< From a pixel to the next. */
    int32_t buffer_rows;   /**< Height of the buffer in rows; `rows` for a whole tensor, fewer for a rolling buffer. */
    int32_t start_row;     /**< Row of a rolling buffer that stores row 0, so that rows of one call are contiguous. */
    const uint16_t *table; /**< For rows in blocks the offset of each from the base, in units; else NULL. */
    int32_t table_unit;    /**< Bytes of a unit. */
} aboard_view_t;

/** Byte offset of row `r` from the base of a view. */
ABOARD_INLINE int32_t aboard_row_offset(const aboard_view_t *view, int32_t r) {
    if (view->table != NULL) {
        return view->table[r] * view->table_unit;
    }
    return (view->buffer_rows >= view->rows ? r : (r + view->start_row) % view->buffer_rows) * view->row_stride;
}

/** Byte offset of row `r` of a view; row `r - count` is at `before`, and `count` is at most `buffer_rows`. */
ABOARD_INLINE int32_t aboard_row_offset_after(const aboard_view_t *view, int32_t before, int32_t r, int32_t count) {
    if (view->table != NULL) {
        return view->table[r] * view->table_unit;
    }
    const int32_t end = view->buffer_rows * view->row_stride;
    const int32_t next = before + count * view->row_stride;
    return view->buffer_rows < view->rows && next >= end ? next - end : next;
}

/** Number of rows from `r` on that are contiguous in memory, at most `count`. */
ABOARD_INLINE int32_t aboard_rows_together(const aboard_view_t *view, int32_t r, int32_t count) {
    if (view->table != NULL) {
        const int32_t step = view->row_stride / view->table_unit;
        int32_t together = 1;
        while (together < count && view->table[r + together] == view->table[r] + together * step) {
            ++together;
        }
        return together;
    }
    return view->buffer_rows >= view->rows
               ? count
               : ABOARD_MIN(count, view->buffer_rows - (r + view->start_row) % view->buffer_rows);
}

/** Address of row `r` of a readable view of int8. */
ABOARD_INLINE const int8_t *aboard_row_s8(const aboard_view_t *view, const int8_t *base, int32_t r) {
    return base + aboard_row_offset(view, r);
}

/** Address of row `r` of a writable view of int8. */
ABOARD_INLINE int8_t *aboard_row_out_s8(const aboard_view_t *view, int8_t *base, int32_t r) {
    return base + aboard_row_offset(view, r);
}

/** Address of row `r` of a readable view of int16; strides are still bytes and multiples of 2. */
ABOARD_INLINE const int16_t *aboard_row_s16(const aboard_view_t *view, const int16_t *base, int32_t r) {
    return base + aboard_row_offset(view, r) / (int32_t)sizeof(int16_t);
}

/** Address of row `r` of a writable view of int16; strides are still bytes and multiples of 2. */
ABOARD_INLINE int16_t *aboard_row_out_s16(const aboard_view_t *view, int16_t *base, int32_t r) {
    return base + aboard_row_offset(view, r) / (int32_t)sizeof(int16_t);
}

/** Address of row `r` of a readable view of float; strides are still bytes and multiples of 4. */
ABOARD_INLINE const float *aboard_row_f32(const aboard_view_t *view, const float *base, int32_t r) {
    return base + aboard_row_offset(view, r) / (int32_t)sizeof(float);
}

/** Address of row `r` of a writable view of float; strides are still bytes and multiples of 4. */
ABOARD_INLINE float *aboard_row_out_f32(const aboard_view_t *view, float *base, int32_t r) {
    return base + aboard_row_offset(view, r) / (int32_t)sizeof(float);
}

#endif
