/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/batch_matmul.h
 * Products of matrices. All tensors lie in memory as a whole, without gaps.
 */
#ifndef ABOARD_KERNELS_PORTABLE_BATCH_MATMUL_H
#define ABOARD_KERNELS_PORTABLE_BATCH_MATMUL_H

#include <stdint.h>

#include "aboard/config.h"
#include "requantize.h"

/** Axes of batches. */
#define ABOARD_MATMUL_BATCHES 3

/** Which matrices are multiplied. */
typedef struct {
    int32_t batches[ABOARD_MATMUL_BATCHES]; /**< Extents of the result's axes of batches. */
    int32_t x_step[ABOARD_MATMUL_BATCHES];  /**< Elements of the first operand from a batch to the next; 0: repeated. */
    int32_t y_step[ABOARD_MATMUL_BATCHES];  /**< Likewise of the second. */
    int32_t rows;
    int32_t depth; /**< Products that are added. */
    int32_t cols;
    int32_t adj_x; /**< 1: the first operand is stored as [depth, rows], not [rows, depth]. */
    int32_t adj_y; /**< 1: the second operand is stored as [cols, depth], not [depth, cols]. */
} aboard_matmul_shape_t;

/** Where a batch begins in both operands, in elements. */
typedef struct {
    int32_t x;
    int32_t y;
} aboard_matmul_offsets_t;

/** Number of products. */
ABOARD_INLINE int32_t aboard_matmul_batches(const aboard_matmul_shape_t *s) {
    return s->batches[0] * s->batches[1] * s->batches[2];
}

/** Returns where the matrices of a product begin; `batch` is its number in the result. */
ABOARD_INLINE aboard_matmul_offsets_t aboard_matmul_offsets(const aboard_matmul_shape_t *s, int32_t batch) {
    aboard_matmul_offsets_t from = {0, 0};
    for (int32_t axis = ABOARD_MATMUL_BATCHES - 1; axis >= 0; --axis) {
        const int32_t index = batch % s->batches[axis];
        batch /= s->batches[axis];
        from.x += index * s->x_step[axis];
        from.y += index * s->y_step[axis];
    }
    return from;
}

/** Parameters of aboard_batch_matmul_s8. */
typedef struct {
    aboard_matmul_shape_t shape;
    int32_t x_zero_point;
    int32_t y_zero_point;
    int32_t zero_point; /**< Of the result. */
    int32_t multiplier; /**< From sums to the result's scale, for aboard_requantize. */
    int32_t shift;      /**< Likewise. */
} aboard_batch_matmul_s8_t;

/** Parameters of aboard_batch_matmul_s16. There are no zero points. */
typedef struct {
    aboard_matmul_shape_t shape;
    int32_t multiplier; /**< 15 bits. */
    int32_t shift;      /**< To the right, at least 8. */
} aboard_batch_matmul_s16_t;

/** Parameters of aboard_batch_matmul_f32. */
typedef struct {
    aboard_matmul_shape_t shape;
} aboard_batch_matmul_f32_t;

/** An element of the result from a sum of products; the sum wraps as in TFLite. */
ABOARD_INLINE int8_t aboard_matmul_result_s8(const aboard_batch_matmul_s8_t *p, int32_t sum) {
    return (int8_t)aboard_clamp(aboard_requantize(sum, p->multiplier, p->shift) + p->zero_point, INT8_MIN, INT8_MAX);
}

/** An element of the result from a sum of products, with TFLite's one rounding for sums of 64 bits. */
ABOARD_INLINE int16_t aboard_matmul_result_s16(const aboard_batch_matmul_s16_t *p, int64_t sum) {
    const int64_t rounded = sum * p->multiplier + (INT64_C(1) << (p->shift - 1));
    return (int16_t)aboard_clamp((int32_t)(uint32_t)(uint64_t)(rounded >> p->shift), INT16_MIN, INT16_MAX);
}

/** An element of the result from a sum of products. */
ABOARD_INLINE float aboard_matmul_result_f32(const aboard_batch_matmul_f32_t *p, float sum) {
    (void)p;
    return sum;
}

#define ABOARD_MATMUL_PRODUCT_S8(p, a, b) (((a) - (p)->x_zero_point) * ((b) - (p)->y_zero_point))
#define ABOARD_MATMUL_PRODUCT_S16(p, a, b) ((int32_t)(a) * (b))
#define ABOARD_MATMUL_PRODUCT(p, a, b) ((a) * (b))

/**
 * Defines the product of matrices of one type.
 *
 *     aboard_batch_matmul_s8(const aboard_batch_matmul_s8_t *p, const int8_t *x, const int8_t *y, int8_t *out,
 *                            int32_t first, int32_t last)
 *
 * and likewise _s16 and _f32. `out` is another memory than the operands; `first` and `last` are all rows.
 */
#define ABOARD_BATCH_MATMUL(suffix, type, sum_type, product)                                                           \
    ABOARD_INLINE void aboard_matmul_##suffix(const aboard_batch_matmul_##suffix##_t *p, const type *x, const type *y, \
                                              type *out) {                                                             \
        const aboard_matmul_shape_t *s = &p->shape;                                                                    \
        const int32_t x_step = s->adj_x ? s->rows : 1;                                                                 \
        const int32_t y_step = s->adj_y ? 1 : s->cols;                                                                 \
        for (int32_t i = 0; i < s->rows; ++i) {                                                                        \
            for (int32_t j = 0; j < s->cols; ++j) {                                                                    \
                const type *a = x + i * (s->adj_x ? 1 : s->depth);                                                     \
                const type *b = y + j * (s->adj_y ? s->depth : 1);                                                     \
                sum_type sum = 0;                                                                                      \
                for (int32_t k = 0; k < s->depth; ++k) {                                                               \
                    sum += product(p, a[k * x_step], b[k * y_step]);                                                   \
                }                                                                                                      \
                out[i * s->cols + j] = aboard_matmul_result_##suffix(p, sum);                                          \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    ABOARD_INLINE void aboard_batch_matmul_##suffix(const aboard_batch_matmul_##suffix##_t *p, const type *x,          \
                                                    const type *y, type *out, int32_t first, int32_t last) {           \
        const aboard_matmul_shape_t *s = &p->shape;                                                                    \
        (void)first;                                                                                                   \
        (void)last;                                                                                                    \
        for (int32_t batch = 0; batch < aboard_matmul_batches(s); ++batch) {                                           \
            const aboard_matmul_offsets_t from = aboard_matmul_offsets(s, batch);                                      \
            aboard_matmul_##suffix(p, x + from.x, y + from.y, out);                                                    \
            out += s->rows * s->cols;                                                                                  \
        }                                                                                                              \
    }
ABOARD_BATCH_MATMUL(s8, int8_t, int32_t, ABOARD_MATMUL_PRODUCT_S8)
ABOARD_BATCH_MATMUL(s16, int16_t, int64_t, ABOARD_MATMUL_PRODUCT_S16)
ABOARD_BATCH_MATMUL(f32, float, float, ABOARD_MATMUL_PRODUCT)

#endif
