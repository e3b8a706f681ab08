/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_dsp/batch_matmul.h
 * Products of matrices of int8 with the DSP extension: four columns at once, which all rows then read as packed words.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_BATCH_MATMUL_H
#define ABOARD_KERNELS_ARM_DSP_BATCH_MATMUL_H

#include <stdint.h>
#include <string.h>

#include "../portable/batch_matmul.h"
#include "aboard/config.h"
#include "dot.h"

/** Columns that are multiplied at once, and the elements of a column in a group. */
#define ABOARD_MATMUL_DSP_COLUMNS 4
#define ABOARD_MATMUL_DSP_GROUP 4

/** Words of a group of the four columns: the elements 0 and 2 of each, then 1 and 3 of each. */
#define ABOARD_MATMUL_DSP_WORDS (2 * ABOARD_MATMUL_DSP_COLUMNS)

/* Formatted by hand: one run of loads per line. */
/* clang-format off */

/**
 * Adds the products of a row with four packed columns.
 *
 * @param x       Elements of the row, four of each group.
 * @param columns Packed columns.
 * @param groups  Number of groups.
 * @param sums    Four sums, which wrap.
 */
ABOARD_INLINE void aboard_matmul_dsp_row(const int8_t *x, const uint32_t *columns, int32_t groups, uint32_t *sums) {
#if ABOARD_DSP_ASM
    if (groups == 0) {
        return;
    }
    uint32_t word, pair, a, b, c;
    __asm__ volatile(
        "1:\n\t"
        "ldr %[word], [%[x]], #4\n ldr %[a], [%[w]]\n ldr %[b], [%[w], #4]\n ldr %[c], [%[w], #8]\n\t"
        "sxtb16 %[pair], %[word]\n smlad %[s0], %[pair], %[a], %[s0]\n\t"
        "smlad %[s1], %[pair], %[b], %[s1]\n smlad %[s2], %[pair], %[c], %[s2]\n\t"
        "ldr %[a], [%[w], #12]\n ldr %[b], [%[w], #16]\n ldr %[c], [%[w], #20]\n\t"
        "smlad %[s3], %[pair], %[a], %[s3]\n sxtb16 %[pair], %[word], ror #8\n\t"
        "smlad %[s0], %[pair], %[b], %[s0]\n smlad %[s1], %[pair], %[c], %[s1]\n\t"
        "ldr %[a], [%[w], #24]\n ldr %[b], [%[w], #28]\n add %[w], #32\n\t"
        "smlad %[s2], %[pair], %[a], %[s2]\n smlad %[s3], %[pair], %[b], %[s3]\n\t"
        "subs %[groups], #1\n bne 1b"
        : [x] "+&r"(x), [w] "+&r"(columns), [groups] "+&r"(groups), [s0] "+&r"(sums[0]), [s1] "+&r"(sums[1]),
          [s2] "+&r"(sums[2]), [s3] "+&r"(sums[3]), [word] "=&r"(word), [pair] "=&r"(pair), [a] "=&r"(a), [b] "=&r"(b),
          [c] "=&r"(c)
        :
        : "cc", "memory");
#else
    for (; groups > 0; --groups) {
        const uint32_t word = aboard_dsp_load(x);
        for (int32_t c = 0; c < ABOARD_MATMUL_DSP_COLUMNS; ++c) {
            sums[c] = aboard_dsp_mac(aboard_dsp_even(word), columns[c], sums[c]);
            sums[c] = aboard_dsp_mac(aboard_dsp_odd(word), columns[ABOARD_MATMUL_DSP_COLUMNS + c], sums[c]);
        }
        x += ABOARD_MATMUL_DSP_GROUP;
        columns += ABOARD_MATMUL_DSP_WORDS;
    }
#endif
}

/* clang-format on */

/**
 * Packs four columns of the second operand, less its zero point; there are zeros behind a column.
 *
 * @param p       Parameters.
 * @param y       Second operand.
 * @param first   First of the columns; behind the last column of the operand, this one is packed again.
 * @param columns Packed columns: ABOARD_MATMUL_DSP_WORDS for each four elements of a column, or a part of them.
 * @param starts  What the sums of the columns begin with: the part of the zero point of the first operand.
 */
ABOARD_INLINE void aboard_matmul_dsp_pack(const aboard_batch_matmul_s8_t *p, const int8_t *y, int32_t first,
                                          uint32_t *columns, uint32_t *starts) {
    const aboard_matmul_shape_t *s = &p->shape;
    const int32_t step = s->adj_y ? 1 : s->cols;
    for (int32_t c = 0; c < ABOARD_MATMUL_DSP_COLUMNS; ++c) {
        const int8_t *from = y + ABOARD_MIN(first + c, s->cols - 1) * (s->adj_y ? s->depth : 1);
        uint32_t *to = columns + c;
        int32_t total = 0;
        for (int32_t k = 0; k < s->depth; k += ABOARD_MATMUL_DSP_GROUP) {
            uint32_t elements[ABOARD_MATMUL_DSP_GROUP];
            for (int32_t i = 0; i < ABOARD_MATMUL_DSP_GROUP; ++i) {
                const int32_t element = k + i < s->depth ? from[i * step] - p->y_zero_point : 0;
                total += element;
                elements[i] = (uint32_t)element;
            }
            to[0] = (elements[0] & 0xffffu) | elements[2] << 16;
            to[ABOARD_MATMUL_DSP_COLUMNS] = (elements[1] & 0xffffu) | elements[3] << 16;
            from += ABOARD_MATMUL_DSP_GROUP * step;
            to += ABOARD_MATMUL_DSP_WORDS;
        }
        starts[c] = (uint32_t)-p->x_zero_point * (uint32_t)total;
    }
}

/** The product of two matrices; arguments as for aboard_batch_matmul_dsp. */
ABOARD_INLINE void aboard_matmul_dsp(const aboard_batch_matmul_s8_t *p, const int8_t *x, const int8_t *y, int8_t *out,
                                     uint32_t *columns, int8_t *row) {
    const aboard_matmul_shape_t *s = &p->shape;
    const int32_t groups = s->depth / ABOARD_MATMUL_DSP_GROUP;
    const int32_t rest = s->depth % ABOARD_MATMUL_DSP_GROUP;
    for (int32_t first = 0; first < s->cols; first += ABOARD_MATMUL_DSP_COLUMNS) {
        uint32_t starts[ABOARD_MATMUL_DSP_COLUMNS];
        aboard_matmul_dsp_pack(p, y, first, columns, starts);
        for (int32_t i = 0; i < s->rows; ++i) {
            const int8_t *from = x + i * s->depth;
            if (s->adj_x) {
                for (int32_t k = 0; k < s->depth; ++k) {
                    row[k] = x[k * s->rows + i];
                }
                from = row;
            }
            uint32_t sums[ABOARD_MATMUL_DSP_COLUMNS] = {starts[0], starts[1], starts[2], starts[3]};
            aboard_matmul_dsp_row(from, columns, groups, sums);
            if (rest != 0) {
                int8_t last[ABOARD_MATMUL_DSP_GROUP] = {0};
                memcpy(last, from + groups * ABOARD_MATMUL_DSP_GROUP, (size_t)rest);
                aboard_matmul_dsp_row(last, columns + groups * ABOARD_MATMUL_DSP_WORDS, 1, sums);
            }
            int8_t *to = out + i * s->cols + first;
            ABOARD_UNROLL(4)
            for (int32_t c = 0; c < ABOARD_MATMUL_DSP_COLUMNS; ++c) {
                if (s->cols % ABOARD_MATMUL_DSP_COLUMNS == 0 || first + c < s->cols) {
                    to[c] = aboard_matmul_result_s8(p, (int32_t)sums[c]);
                }
            }
        }
    }
}

/**
 * Products of matrices, equal to those of aboard_batch_matmul_s8.
 *
 * @param p           Parameters.
 * @param x, y        Operands.
 * @param out         Result; other memory than the operands.
 * @param columns     Scratch: ABOARD_MATMUL_DSP_WORDS for each four elements of a column, or a part of them.
 * @param row         Scratch of a row of the first operand, if that is stored by columns.
 * @param first, last All rows.
 */
ABOARD_INLINE void aboard_batch_matmul_dsp(const aboard_batch_matmul_s8_t *p, const int8_t *x, const int8_t *y,
                                           int8_t *out, uint32_t *columns, int8_t *row, int32_t first, int32_t last) {
    const aboard_matmul_shape_t *s = &p->shape;
    (void)first;
    (void)last;
    for (int32_t batch = 0; batch < aboard_matmul_batches(s); ++batch) {
        const aboard_matmul_offsets_t from = aboard_matmul_offsets(s, batch);
        aboard_matmul_dsp(p, x + from.x, y + from.y, out, columns, row);
        out += s->rows * s->cols;
    }
}

#endif
