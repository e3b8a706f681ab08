/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/mean.h
 * Averages and sums over any axes of a tensor that lies in memory as a whole.
 */
#ifndef ABOARD_KERNELS_PORTABLE_MEAN_H
#define ABOARD_KERNELS_PORTABLE_MEAN_H

#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "requantize.h"

/** Largest number of axes that form the rows of a result, and of averaged axes. */
#define ABOARD_MEAN_AXES 4

/** An axis: its number of indices, and the bytes between these in the operand. */
typedef struct {
    int32_t extent;
    int32_t bytes;
} aboard_mean_axis_t;

/** The elements of the operand for each element of the result. Unused axes have an extent of 1. */
typedef struct {
    aboard_view_t out;
    aboard_mean_axis_t lead[ABOARD_MEAN_AXES]; /**< Axes of the result's rows, outermost first. */
    aboard_mean_axis_t col;                    /**< Pixels of a row of the result. */
    aboard_mean_axis_t channel;                /**< Channels of a pixel of the result. */
    aboard_mean_axis_t over[ABOARD_MEAN_AXES]; /**< Axes that are averaged over, outermost first. */
    int32_t count;                             /**< What float sums are divided by. */
} aboard_mean_t;

/** Byte offset in the operand of the first element of row `r` of the result. */
ABOARD_INLINE int32_t aboard_mean_row(const aboard_mean_t *p, int32_t r) {
    int32_t offset = 0;
    int32_t rest = r;
    ABOARD_UNROLL(4)
    for (int32_t axis = ABOARD_MEAN_AXES - 1; axis >= 0; --axis) {
        const int32_t index = axis == 0 ? rest : rest % p->lead[axis].extent;
        rest /= p->lead[axis].extent;
        offset += index * p->lead[axis].bytes;
    }
    return offset;
}

/** Parameters of aboard_mean_s8. */
typedef struct {
    aboard_mean_t axes;
    int32_t correction; /**< Subtracted from the sum: the operand's zero point, count times. */
    int32_t multiplier; /**< From the sum to the result's scale; includes the division by count. */
    int32_t shift;      /**< Shift of `multiplier`. */
    int32_t zero_point; /**< Zero point of the result. */
    int32_t exact;      /**< 1: rounded once, ties to even; 0: as TFLite does. */
} aboard_mean_s8_t;

/** Sum over the averaged axes, from an address on. */
ABOARD_INLINE int32_t aboard_mean_sum_s8(const aboard_mean_t *p, const int8_t *from) {
    const aboard_mean_axis_t *over = p->over;
    int32_t sum = 0;
    for (int32_t i = 0; i < over[0].extent; ++i) {
        for (int32_t j = 0; j < over[1].extent; ++j) {
            for (int32_t k = 0; k < over[2].extent; ++k) {
                const int8_t *x = from + i * over[0].bytes + j * over[1].bytes + k * over[2].bytes;
                ABOARD_UNROLL(8)
                for (int32_t l = 0; l < over[3].extent; ++l) {
                    sum += x[l * over[3].bytes];
                }
            }
        }
    }
    return sum;
}

/** The result of a sum. */
ABOARD_INLINE int8_t aboard_mean_result_s8(const aboard_mean_s8_t *p, int32_t sum) {
    const int32_t centred = sum - p->correction;
    const int32_t result = p->exact ? aboard_requantize_exactly(centred, p->multiplier, p->shift)
                                    : aboard_requantize(centred, p->multiplier, p->shift);
    return (int8_t)aboard_clamp(result + p->zero_point, INT8_MIN, INT8_MAX);
}

/**
 * Average of int8 elements.
 *
 * @param p            Parameters.
 * @param in           Operand. Any view except a rolling buffer.
 * @param out          Result, in other memory than the operand. Any view.
 * @param first, last  Rows [first, last) of the result are written.
 */
ABOARD_INLINE void aboard_mean_s8(const aboard_mean_s8_t *p, const int8_t *in, int8_t *out, int32_t first,
                                  int32_t last) {
    for (int32_t r = first; r < last; ++r) {
        const int8_t *x = in + aboard_mean_row(&p->axes, r);
        int8_t *y = aboard_row_out_s8(&p->axes.out, out, r);
        for (int32_t col = 0; col < p->axes.col.extent; ++col) {
            for (int32_t c = 0; c < p->axes.channel.extent; ++c) {
                y[c] = aboard_mean_result_s8(p, aboard_mean_sum_s8(&p->axes, x + c * p->axes.channel.bytes));
            }
            x += p->axes.col.bytes;
            y += p->axes.out.pixel_stride;
        }
    }
}

/** Parameters of aboard_mean_f32. */
typedef struct {
    aboard_mean_t axes;
} aboard_mean_f32_t;

/** Sum over the averaged axes, from an address on, in the order of memory. */
ABOARD_INLINE float aboard_mean_sum_f32(const aboard_mean_t *p, const float *from) {
    const int32_t size = (int32_t)sizeof(float);
    const aboard_mean_axis_t *over = p->over;
    float sum = 0.0f;
    for (int32_t i = 0; i < over[0].extent; ++i) {
        for (int32_t j = 0; j < over[1].extent; ++j) {
            for (int32_t k = 0; k < over[2].extent; ++k) {
                const float *x = from + (i * over[0].bytes + j * over[1].bytes + k * over[2].bytes) / size;
                for (int32_t l = 0; l < over[3].extent; ++l) {
                    sum += x[l * (over[3].bytes / size)];
                }
            }
        }
    }
    return sum;
}

/** Average of float32 elements; parameters as aboard_mean_s8. */
ABOARD_INLINE void aboard_mean_f32(const aboard_mean_f32_t *p, const float *in, float *out, int32_t first,
                                   int32_t last) {
    const int32_t size = (int32_t)sizeof(float);
    for (int32_t r = first; r < last; ++r) {
        const float *x = in + aboard_mean_row(&p->axes, r) / size;
        float *y = aboard_row_out_f32(&p->axes.out, out, r);
        for (int32_t col = 0; col < p->axes.col.extent; ++col) {
            for (int32_t c = 0; c < p->axes.channel.extent; ++c) {
                y[c] = aboard_mean_sum_f32(&p->axes, x + c * (p->axes.channel.bytes / size)) / (float)p->axes.count;
            }
            x += p->axes.col.bytes / size;
            y += p->axes.out.pixel_stride / size;
        }
    }
}

#endif
