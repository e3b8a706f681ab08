/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/packed_stripes.h
 * int8 depthwise convolution with Helium in stripes of up to eight rows, for images of few columns.
 *
 * Pixels are packed as in packed_columns.h: a word contains four neighbouring columns, and the words of a strip are
 * rows. Eight rows of two columns are two groups of eight results, and those of a last single column are one. The rows
 * that the next stripe reads again are kept, so that every row of the operand is read once, and the result may
 * overwrite it. Four channels are packed at once; a run of instructions computes them all.
 * host/aboard/kernels/arm_mve/packed_stripes.py chooses.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_PACKED_STRIPES_H
#define ABOARD_KERNELS_ARM_MVE_PACKED_STRIPES_H

#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "packed_stripes_channels.h"

/** Fills the offsets of results of rows `first` to `last - 1`, and returns the offset that they count from. */
ABOARD_INLINE int32_t aboard_depthwise_stripes_results(const aboard_depthwise_stripes_mve_t *p, int32_t first,
                                                       int32_t last, aboard_depthwise_stripes_table_t *table) {
    int32_t lowest = aboard_row_offset(&p->out, first);
    if (aboard_rows_together(&p->out, first, last - first) < last - first) {
        ABOARD_UNROLL(1)
        for (int32_t row = first + 1; row < last; ++row) {
            lowest = ABOARD_MIN(lowest, aboard_row_offset(&p->out, row));
        }
    }
    /* The last group of results overwrites what the others write for rows that there are none of. */
    const int32_t dump =
        aboard_row_offset(&p->out, first) - lowest + (p->out.cols - 2 + p->out.cols % 2) * p->out.pixel_stride;
    ABOARD_UNROLL(1)
    for (int32_t row = 0; row < ABOARD_DEPTHWISE_STRIPES_ROWS; ++row) {
        const int32_t there = first + row < last;
        const int32_t step = there ? p->out.pixel_stride : 0;
        int32_t at = there ? aboard_row_offset(&p->out, first + row) - lowest : dump;
        uint16_t *const results = table->results + row * 2 + (row >= 4 ? 16 : 0);
        uint16_t *const single = table->results + p->out.cols / 2 * 8 + row * 2 - (row >= 4 ? 7 : 0);
        ABOARD_UNROLL(6)
        for (int32_t col = 0; col < p->out.cols; ++col) {
            *(col == p->out.cols - 1 && col % 2 == 0 ? single : results + col / 2 * 8 + col % 2) = (uint16_t)at;
            at += step;
        }
    }
    if (p->out.cols > 3 && last - first < 7) {
        memcpy(table->results + 28, table->results + 32, 8);
    }
    return lowest;
}

/** Bits of two for each lane of the last group of results with one of the first `rows` rows. */
ABOARD_INLINE uint32_t aboard_depthwise_stripes_last(const aboard_depthwise_stripes_mve_t *p, int32_t rows) {
    const uint32_t four = (1u << 4 * ABOARD_MIN(rows, 4)) - 1;
    if (p->out.cols % 2 == 0) {
        return four;
    }
    return (four & 0x3333) | (((1u << 4 * ABOARD_MAX(rows - 4, 0)) - 1) & 0xcccc);
}

/** Fills the addresses of the rows that a stripe reads and keeps, and the places of padding. */
ABOARD_INLINE void aboard_depthwise_stripes_rows(const aboard_depthwise_stripes_mve_t *p, const int8_t *in,
                                                 int8_t *kept, int32_t first, int32_t last,
                                                 aboard_depthwise_stripes_rows_t *rows) {
    const int32_t bytes = p->in.cols * p->in.pixel_stride;
    const int32_t again = p->taps - 1;
    const int32_t count = last - first + again;
    const int32_t top = first - p->pad_top;
    const int8_t **from = rows->from;
    ABOARD_UNROLL(1)
    for (int32_t row = top; row < top + ABOARD_MAX(count, 4); ++row) {
        /* Any address for a row that there is none of. */
        *from++ = aboard_row_s8(&p->in, in, ABOARD_MAX(ABOARD_MIN(row, p->in.rows - 1), 0));
    }
    if (first > 0) {
        for (int32_t number = 0; number < again; ++number) {
            rows->from[number] = kept + number * bytes;
        }
    }
    const int32_t lane = ABOARD_MIN(count, 4) - again;
    ABOARD_UNROLL(4)
    for (int32_t i = 0; i < 4; ++i) {
        rows->kept[i] = kept + (i - lane) * bytes;
    }
    rows->kept_lanes = last < p->out.rows ? ((1u << 4 * again) - 1) << 4 * lane : 0;
    rows->whole = ABOARD_MAX(count / 4, 1);
    rows->back = count < 4 ? 0 : (4 - count % 4) % 4 * (int32_t)sizeof(*rows->from);
    rows->before = ABOARD_MIN(ABOARD_MAX(-top, 0), count);
    rows->behind = ABOARD_MIN(ABOARD_MAX(p->in.rows - top, 0), count);
    rows->count = count;
}

/** Writes padding of four channels to places `first` to `last - 1` of all strips. */
ABOARD_INLINE void aboard_depthwise_stripes_padding(const aboard_depthwise_stripes_mve_t *p, int8_t *strips,
                                                    int32_t first, int32_t last) {
    ABOARD_UNROLL(1)
    for (; first < last; ++first) {
        aboard_depthwise_stripes_pad(p, strips + first * ABOARD_DEPTHWISE_STRIPES_PITCH);
    }
}

/** Computes rows `first` to `last - 1`, at most eight. */
ABOARD_INLINE void aboard_depthwise_stripes_stripe(const aboard_depthwise_stripes_mve_t *p, const int8_t *in,
                                                   int8_t *out, const int8_t *records, int8_t *kept, int8_t *scratch,
                                                   int32_t first, int32_t last) {
    aboard_depthwise_stripes_table_t table;
    aboard_depthwise_stripes_rows_t rows;
    out += aboard_depthwise_stripes_results(p, first, last, &table);
    aboard_depthwise_stripes_rows(p, in, kept, first, last, &rows);
    table.last = aboard_depthwise_stripes_last(p, last - first);
    table.more = (last - first - 3) / 2;
    ABOARD_UNROLL(4)
    for (int32_t lane = 0; lane < 4; ++lane) {
        /* A load advances to the next channel before it reads. */
        table.words[lane] = scratch + lane * ABOARD_DEPTHWISE_STRIPES_PITCH - 4;
    }
    const int32_t padded = rows.behind - rows.before < rows.count;
    ABOARD_UNROLL(1)
    for (int32_t n = 0; n < p->in.channels; n += ABOARD_DEPTHWISE_STRIPES_CHANNELS) {
        aboard_depthwise_stripes_pack(p, &rows, n, scratch);
        if (padded) {
            aboard_depthwise_stripes_padding(p, scratch, 0, rows.before);
            aboard_depthwise_stripes_padding(p, scratch, rows.behind, rows.count);
        }
        aboard_depthwise_stripes_channels(p, &table, last - first, &records, &out);
    }
}

/**
 * int8 depthwise convolution, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Any views of one image, including rolling buffers. Rows of the result may lie exactly over rows of
 *                    the operand that no later stripe reads for the first time.
 * @param records     [channels][ABOARD_DEPTHWISE_PACKED_RECORD], weights packed for ABOARD_DEPTHWISE_PACKED_FOUR.
 * @param kept        The rows that the next stripe reads again.
 * @param scratch     Strips of four channels.
 * @param first, last Rows [first, last) of the result are computed, after all rows before them.
 */
ABOARD_INLINE void aboard_depthwise_stripes_mve(const aboard_depthwise_stripes_mve_t *p, const int8_t *in, int8_t *out,
                                                const int8_t *records, int8_t *kept, int8_t *scratch, int32_t first,
                                                int32_t last) {
    ABOARD_UNROLL(1)
    for (; first < last; first += ABOARD_DEPTHWISE_STRIPES_ROWS) {
        const int32_t end = ABOARD_MIN(first + ABOARD_DEPTHWISE_STRIPES_ROWS, last);
        aboard_depthwise_stripes_stripe(p, in, out, records, kept, scratch, first, end);
    }
}

#endif
