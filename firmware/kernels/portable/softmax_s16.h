/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/softmax_s16.h
 * Softmax of int16: exponentials and the reciprocal of their sum are looked up in tables, as TFLite does;
 * host/aboard/ops/softmax_wide.py is the same in numpy.
 */
#ifndef ABOARD_KERNELS_PORTABLE_SOFTMAX_S16_H
#define ABOARD_KERNELS_PORTABLE_SOFTMAX_S16_H

#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"
#include "epilogue_s16.h"
#include "requantize.h"

/** Parameters of aboard_softmax_s16. Both views have the same rows, cols and channels. */
typedef struct {
    aboard_view_t in;
    aboard_view_t out;
    int32_t multiplier; /**< From differences to the maximum to steps of 10 / 65535, see aboard_requantize. */
    int32_t shift;
} aboard_softmax_s16_t;

/** Entries of a table of 512 steps. */
#define ABOARD_SOFTMAX_S16_TABLE 513

/** The interpolated value of a table for x in [-32768, 32767]. */
ABOARD_INLINE int32_t aboard_softmax_look_up(int32_t x, const int16_t *table) {
    const int16_t *const at = table + 256 + (x >> 7);
    return at[0] + (((at[1] - at[0]) * (x & 127) + 64) >> 7);
}

/** Softmax of one pixel; `x` and `y` may be the same. */
ABOARD_INLINE void aboard_softmax_pixel_s16(const aboard_softmax_s16_t *p, const int16_t *x, int16_t *y,
                                            const int16_t *tables) {
    const int32_t channels = p->out.channels;
    int32_t largest = x[0];
    for (int32_t c = 1; c < channels; ++c) {
        largest = ABOARD_MAX(largest, x[c]);
    }
    uint32_t sum = 0;
    for (int32_t c = 0; c < channels; ++c) {
        const int32_t scaled = aboard_requantize(x[c] - largest, p->multiplier, p->shift);
        const int32_t power = aboard_softmax_look_up(ABOARD_MAX(scaled + INT16_MAX, INT16_MIN), tables);
        y[c] = (int16_t)power;
        sum += (uint32_t)power;
    }
    /* The sum is in [2^(bits - 1), 2^bits), so it is 1 + x with 16 bits of x. */
    const int32_t bits = 32 - aboard_leading_zeros(sum);
    const uint32_t normal = ((sum << (31 - bits)) + ((uint32_t)1 << 13)) >> 14;
    const int32_t centred = (int32_t)normal - ((int32_t)1 << 15) - ((int32_t)1 << 16);
    const int32_t scale = aboard_softmax_look_up(ABOARD_MIN(centred, INT16_MAX), tables + ABOARD_SOFTMAX_S16_TABLE);
    for (int32_t c = 0; c < channels; ++c) {
        const int32_t result = (y[c] * scale + ((int32_t)1 << (bits - 2))) >> (bits - 1);
        y[c] = (int16_t)aboard_clamp(result, 0, INT16_MAX);
    }
}

/**
 * Softmax over the channels of each pixel.
 *
 * @param p            Parameters.
 * @param in           Operand. Any view.
 * @param out          Result. Any view; may share the operand's memory if both views are equal.
 * @param tables       ABOARD_SOFTMAX_S16_TABLE exponentials, and as many reciprocals.
 * @param first, last  Rows [first, last) of the result are written.
 */
ABOARD_INLINE void aboard_softmax_s16(const aboard_softmax_s16_t *p, const int16_t *in, int16_t *out,
                                      const int16_t *tables, int32_t first, int32_t last) {
    for (int32_t r = first; r < last; ++r) {
        const int16_t *x = aboard_row_s16(&p->in, in, r);
        int16_t *y = aboard_row_out_s16(&p->out, out, r);
        for (int32_t col = 0; col < p->out.cols; ++col) {
            aboard_softmax_pixel_s16(p, x, y, tables);
            x += p->in.pixel_stride / (int32_t)sizeof(int16_t);
            y += p->out.pixel_stride / (int32_t)sizeof(int16_t);
        }
    }
}

#endif
