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

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "packed_stripes_channels.h"

/** Fills the offsets of results of four rows from `row` on; those behind `last` are all `dump`. */
ABOARD_INLINE void aboard_depthwise_stripes_four(const aboard_depthwise_stripes_mve_t *p, int32_t row, int32_t last,
                                                 int32_t lowest, uint32_t dump, uint16_t *results, uint16_t *single) {
    ABOARD_UNROLL(1)
    for (const int32_t end = row + 4; row < end; ++row) {
        const uint32_t step = row < last ? (uint32_t)p->out.pixel_stride : 0;
        const uint32_t at = row < last ? (uint32_t)(aboard_row_offset(&p->out, row) - lowest) : dump;
        /* Two neighbours as a word. */
        uint32_t two = at * 0x10001 + (step << 16);
        ABOARD_UNROLL(3)
        for (int32_t pair = 0; pair < p->out.cols / 2; ++pair) {
            memcpy(results + 8 * pair, &two, sizeof(two));
            two += 2 * step * 0x10001;
        }
        if (p->out.cols % 2 == 1) {
            *single = (uint16_t)two;
        }
        results += 2;
        single += 2;
    }
}

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
    for (int32_t half = 0; half < 2; ++half) {
        aboard_depthwise_stripes_four(p, first + 4 * half, last, lowest, (uint32_t)dump, table->results + 24 * half,
                                      table->results + p->out.cols / 2 * 8 + half);
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
                                                 aboard_depthwise_stripes_table_t *table) {
    const int32_t bytes = p->in.cols * p->in.pixel_stride;
    const int32_t again = p->taps - 1;
    const int32_t count = last - first + again;
    const int32_t top = first - p->pad_top;
    int8_t **padding = table->padding;
    ABOARD_UNROLL(1)
    for (int32_t place = 0; place < ABOARD_MAX(count, 4); ++place) {
        const int32_t row = top + place;
        const int32_t there = ABOARD_MAX(ABOARD_MIN(row, p->in.rows - 1), 0);
        /* Any address for a row that there is none of. */
        table->from[place] = aboard_row_s8(&p->in, in, there);
        if (row != there && place < count) {
            *padding++ = table->strips + place * ABOARD_DEPTHWISE_STRIPES_PITCH;
        }
    }
    *padding = NULL;
    if (first > 0) {
        for (int32_t number = 0; number < again; ++number) {
            table->from[number] = kept + number * bytes;
        }
    }
    const int32_t lane = ABOARD_MIN(count, 4) - again;
    ABOARD_UNROLL(4)
    for (int32_t i = 0; i < 4; ++i) {
        table->kept[i] = kept + (i - lane) * bytes;
    }
    table->kept_lanes = last < p->out.rows ? ((1u << 4 * again) - 1) << 4 * lane : 0;
    table->whole = ABOARD_MAX(count / 4, 1);
    table->back = count < 4 ? 0 : (4 - count % 4) % 4 * (int32_t)sizeof(*table->from);
}

/** Computes rows `first` to `last - 1`, at most eight. */
ABOARD_INLINE void aboard_depthwise_stripes_stripe(const aboard_depthwise_stripes_mve_t *p, const int8_t *in,
                                                   int8_t *out, const int8_t *records, int8_t *kept, int8_t *scratch,
                                                   int32_t first, int32_t last) {
    aboard_depthwise_stripes_table_t table;
    out += aboard_depthwise_stripes_results(p, first, last, &table);
    table.strips = scratch;
    table.last = aboard_depthwise_stripes_last(p, last - first);
    ABOARD_UNROLL(4)
    for (int32_t lane = 0; lane < 4; ++lane) {
        /* A load advances to the next channel before it reads. */
        table.words[lane] = scratch + lane * ABOARD_DEPTHWISE_STRIPES_PITCH - 4;
    }
    aboard_depthwise_stripes_rows(p, in, kept, first, last, &table);
    aboard_depthwise_stripes_all(p, &table, last - first, records, out);
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
