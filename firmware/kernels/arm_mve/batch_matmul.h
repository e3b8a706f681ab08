/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/batch_matmul.h
 * Products of matrices of int8 with Helium: a row and four columns at once, sixteen elements of each in a vector.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_BATCH_MATMUL_H
#define ABOARD_KERNELS_ARM_MVE_BATCH_MATMUL_H

#include <stdint.h>

#include "../portable/batch_matmul.h"
#include "aboard/config.h"
#include "fully_connected_rows.h"
#include "helium.h"
#include "rescale.h"

/** Columns that are multiplied at once. */
#define ABOARD_MATMUL_MVE_COLUMNS 4

#if ABOARD_MVE_ASM

/** Moves `count` elements `step` bytes apart, at most 8191, to neighbouring ones. */
ABOARD_INLINE void aboard_matmul_mve_gather(const int8_t *from, int32_t step, int8_t *to, int32_t count) {
    const uint16x8_t offsets = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)step);
    for (int32_t vectors = count / 8; vectors > 0; --vectors) {
        vstrbq_s16(to, vldrbq_gather_offset_s16(from, offsets));
        from += 8 * step;
        to += 8;
    }
    if (count % 8 != 0) {
        const mve_pred16_t some = vctp16q((uint32_t)(count % 8));
        vstrbq_p_s16(to, vldrbq_gather_offset_z_s16(from, offsets, some), some);
    }
}

/** Sum of `count` elements. */
ABOARD_INLINE int32_t aboard_matmul_mve_total(const int8_t *x, int32_t count) {
    int32_t total = 0;
    for (int32_t vectors = count / 16; vectors > 0; --vectors) {
        total = vaddvaq_s8(total, vldrbq_s8(x));
        x += 16;
    }
    return count % 16 == 0 ? total : vaddvaq_s8(total, vldrbq_z_s8(x, vctp8q((uint32_t)(count % 16))));
}

/** Sums of products of a row with four columns, without zero points: not inlined, because all other registers are
 * needed where the sums are. */
ABOARD_SHARED int32x4_t aboard_matmul_mve_sums(const int8_t *x, const int8_t *const *columns, int32_t depth) {
    return aboard_mve_row_sums(x, columns[0], columns[1], columns[2], columns[3], depth);
}

/**
 * Finds four columns of the second operand, and gathers them if they are stored by rows.
 *
 * @param p       Parameters.
 * @param y       Second operand.
 * @param first   First of the columns; behind the last column of the operand, this one is taken again.
 * @param scratch For the elements of four columns, if they are stored by rows.
 * @param columns The columns.
 * @return What their sums begin with: the part of both zero points that a row does not change.
 */
ABOARD_INLINE int32x4_t aboard_matmul_mve_columns(const aboard_batch_matmul_s8_t *p, const int8_t *y, int32_t first,
                                                  int8_t *scratch, const int8_t **columns) {
    const aboard_matmul_shape_t *s = &p->shape;
    int32_t starts[ABOARD_MATMUL_MVE_COLUMNS];
    for (int32_t c = 0; c < ABOARD_MATMUL_MVE_COLUMNS; ++c) {
        const int32_t column = ABOARD_MIN(first + c, s->cols - 1);
        columns[c] = y + column * s->depth;
        if (!s->adj_y) {
            aboard_matmul_mve_gather(y + column, s->cols, scratch + c * s->depth, s->depth);
            columns[c] = scratch + c * s->depth;
        }
        const uint32_t total = (uint32_t)aboard_matmul_mve_total(columns[c], s->depth);
        const uint32_t zeros = (uint32_t)s->depth * (uint32_t)p->y_zero_point;
        starts[c] = (int32_t)((uint32_t)p->x_zero_point * (zeros - total));
    }
    return vldrwq_s32(starts);
}

/** The product of two matrices; arguments as for aboard_batch_matmul_mve. */
ABOARD_INLINE void aboard_matmul_mve(const aboard_batch_matmul_s8_t *p, const int8_t *x, const int8_t *y, int8_t *out,
                                     int8_t *scratch, int8_t *row, uint32_t *totals) {
    const aboard_matmul_shape_t *s = &p->shape;
    for (int32_t first = 0; first < s->cols; first += ABOARD_MATMUL_MVE_COLUMNS) {
        const mve_pred16_t some = vctp32q((uint32_t)(s->cols - first));
        const int8_t *columns[ABOARD_MATMUL_MVE_COLUMNS];
        const int32x4_t starts = aboard_matmul_mve_columns(p, y, first, scratch, columns);
        for (int32_t i = 0; i < s->rows; ++i) {
            const int8_t *from = x + i * s->depth;
            if (s->adj_x) {
                aboard_matmul_mve_gather(x + i, s->rows, row, s->depth);
                from = row;
            }
            int32x4_t sums = aboard_matmul_mve_sums(from, columns, s->depth);
            sums = vaddq_s32(sums, starts);
            if (p->y_zero_point != 0) {
                if (first == 0) {
                    const uint32_t total = (uint32_t)aboard_matmul_mve_total(from, s->depth);
                    totals[i] = total * (uint32_t)p->y_zero_point;
                }
                sums = vsubq_n_s32(sums, (int32_t)totals[i]);
            }
            sums =
                vaddq_n_s32(aboard_mve_rescale(sums, p->multiplier, p->shift, ABOARD_MVE_MOST_TO_INT8), p->zero_point);
            sums = vminq_s32(vmaxq_s32(sums, vdupq_n_s32(INT8_MIN)), vdupq_n_s32(INT8_MAX));
            vstrbq_p_s32(out + i * s->cols + first, sums, some);
        }
    }
}

#else

/** The function above in C. */
ABOARD_INLINE void aboard_matmul_mve(const aboard_batch_matmul_s8_t *p, const int8_t *x, const int8_t *y, int8_t *out,
                                     int8_t *scratch, int8_t *row, uint32_t *totals) {
    (void)scratch;
    (void)row;
    (void)totals;
    aboard_matmul_s8(p, x, y, out);
}

#endif

/**
 * Products of matrices, equal to those of aboard_batch_matmul_s8.
 *
 * @param p           Parameters.
 * @param x, y        Operands. One that is stored by columns has at most 8191 of them.
 * @param out         Result; other memory than the operands.
 * @param scratch     For the elements of four columns of the second operand, if it is stored by rows.
 * @param row         For a row of the first operand, if that is stored by columns.
 * @param totals      A word for each row, if the zero point of the second operand is not 0.
 * @param first, last All rows.
 */
ABOARD_INLINE void aboard_batch_matmul_mve(const aboard_batch_matmul_s8_t *p, const int8_t *x, const int8_t *y,
                                           int8_t *out, int8_t *scratch, int8_t *row, uint32_t *totals, int32_t first,
                                           int32_t last) {
    const aboard_matmul_shape_t *s = &p->shape;
    (void)first;
    (void)last;
    for (int32_t batch = 0; batch < aboard_matmul_batches(s); ++batch) {
        const aboard_matmul_offsets_t from = aboard_matmul_offsets(s, batch);
        aboard_matmul_mve(p, x + from.x, y + from.y, out, scratch, row, totals);
        out += s->rows * s->cols;
    }
}

#endif
