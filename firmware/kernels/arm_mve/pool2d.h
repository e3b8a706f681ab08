/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/pool2d.h
 * Averages and maxima over a window with Helium: eight and sixteen channels at once.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_POOL2D_H
#define ABOARD_KERNELS_ARM_MVE_POOL2D_H

#include <stdint.h>

#include "../portable/pool2d.h"
#include "aboard/config.h"
#include "aboard/view.h"
#include "helium.h"

#if ABOARD_MVE_ASM

/**
 * Quotients of sums, rounded to nearest with ties away from zero.
 *
 * With n < 2^16 and count of at most 2^8, n / count is the upper half of n * ceil(2^32 / count).
 *
 * @param sums       At least -2^15 and below 2^15.
 * @param half       count / 2.
 * @param reciprocal 2^32 / count, rounded up.
 */
ABOARD_INLINE int32x4_t aboard_average_mve_divide(int32x4_t sums, uint32_t half, uint32_t reciprocal) {
    const uint32x4_t n = vaddq_n_u32((uint32x4_t)vabsq_s32(sums), half);
    const int32x4_t quotient = (int32x4_t)vmulhq_u32(n, vdupq_n_u32(reciprocal));
    const int32x4_t sign = vshrq_n_s32(sums, 31);
    return vsubq_s32(veorq_s32(quotient, sign), sign);
}

/** Sums of eight channels over a window of at most 256 pixels; lanes outside `some` are 0. */
ABOARD_INLINE int16x8_t aboard_average_mve_sums(const aboard_pool2d_t *p, const aboard_pool2d_window_t *w,
                                                const int8_t *in, mve_pred16_t some) {
    int16x8_t sums = vdupq_n_s16(0);
    for (int32_t y = 0; y < w->rows; ++y) {
        const int8_t *x = aboard_row_s8(&p->in, in, w->row + y) + w->offset;
        for (int32_t left = w->cols; left > 0; --left) {
            sums = vaddq_s16(sums, p->in.channels % 8 == 0 ? vldrbq_s16(x) : vldrbq_z_s16(x, some));
            x += p->in.pixel_stride;
        }
    }
    return sums;
}

/** Averages of eight channels over `count` pixels, given their sums. */
ABOARD_INLINE int16x8_t aboard_average_mve(const aboard_pool2d_s8_t *p, int16x8_t sums, uint32_t count,
                                           uint32_t reciprocal) {
    int16x8_t result = sums;
    if (count > 1) {
        const int32x4_t even = aboard_average_mve_divide(vmovlbq_s16(result), count / 2, reciprocal);
        const int32x4_t odd = aboard_average_mve_divide(vmovltq_s16(result), count / 2, reciprocal);
        result = vmovntq_s32((int16x8_t)even, odd);
    }
    return vminq_s16(vmaxq_s16(result, vdupq_n_s16((int16_t)p->low)), vdupq_n_s16((int16_t)p->high));
}

/** Averages of a pixel, see ABOARD_POOL2D. */
ABOARD_INLINE void aboard_average_pixel_mve(const aboard_pool2d_s8_t *p, const aboard_pool2d_window_t *w,
                                            const int8_t *in, int8_t *y) {
    const uint32_t count = (uint32_t)(w->rows * w->cols);
    const uint32_t reciprocal = UINT32_MAX / count + 1u;
    for (int32_t c = 0; c < p->pool.out.channels; c += 8) {
        const mve_pred16_t some = vctp16q((uint32_t)(p->pool.out.channels - c));
        const int16x8_t sums = aboard_average_mve_sums(&p->pool, w, in + c, some);
        vstrbq_p_s16(y + c, aboard_average_mve(p, sums, count, reciprocal), some);
    }
}

/** Average over each window of at most 256 pixels, rounded to nearest with ties away from zero; the result is in other
 * memory than the operand. */
ABOARD_POOL2D(aboard_average_pool2d_mve, aboard_average_pixel_mve, s8, int8_t)

/**
 * Average over an image of at most 256 pixels that arrives row by row: like aboard_average_pool2d_rows_s8.
 *
 * @param p            Parameters; the result is one pixel.
 * @param in, out      As for aboard_average_pool2d_rows_s8.
 * @param sums         Scratch of a halfword per channel; keeps its content between calls.
 * @param first, last  Rows [first, last) of the operand are accumulated, in order; row 0 begins an image.
 */
ABOARD_INLINE void aboard_average_pool2d_rows_mve(const aboard_pool2d_s8_t *p, const int8_t *in, int8_t *out,
                                                  int16_t *sums, int32_t first, int32_t last) {
    const aboard_view_t *from = &p->pool.in;
    const uint32_t count = (uint32_t)(from->rows * from->cols);
    for (int32_t c = 0; c < from->channels; c += 8) {
        const mve_pred16_t some = vctp16q((uint32_t)(from->channels - c));
        int16x8_t more = first == 0 ? vdupq_n_s16(0) : vldrhq_z_s16(sums + c, some);
        for (int32_t r = first; r < last; ++r) {
            const int8_t *x = aboard_row_s8(from, in, r) + c;
            for (int32_t left = from->cols; left > 0; --left) {
                more = vaddq_s16(more, from->channels % 8 == 0 ? vldrbq_s16(x) : vldrbq_z_s16(x, some));
                x += from->pixel_stride;
            }
        }
        if (last == from->rows) {
            vstrbq_p_s16(out + c, aboard_average_mve(p, more, count, UINT32_MAX / count + 1u), some);
        } else {
            vstrhq_p_s16(sums + c, more, some);
        }
    }
}

/** Maximum of sixteen channels over a window. */
ABOARD_INLINE int8x16_t aboard_max_mve(const aboard_pool2d_s8_t *p, const aboard_pool2d_window_t *w, const int8_t *in,
                                       mve_pred16_t some) {
    int8x16_t largest = vdupq_n_s8((int8_t)p->low);
    for (int32_t line = 0; line < w->rows; ++line) {
        const int8_t *x = aboard_row_s8(&p->pool.in, in, w->row + line) + w->offset;
        for (int32_t left = w->cols; left > 0; --left) {
            largest = vmaxq_s8(largest, vldrbq_z_s8(x, some));
            x += p->pool.in.pixel_stride;
        }
    }
    return vminq_s8(largest, vdupq_n_s8((int8_t)p->high));
}

/** Maxima of a pixel, see ABOARD_POOL2D. */
ABOARD_INLINE void aboard_max_pixel_mve(const aboard_pool2d_s8_t *p, const aboard_pool2d_window_t *w, const int8_t *in,
                                        int8_t *y) {
    for (int32_t c = 0; c < p->pool.out.channels; c += 16) {
        const mve_pred16_t some = vctp8q((uint32_t)(p->pool.out.channels - c));
        vstrbq_p_s8(y + c, aboard_max_mve(p, w, in + c, some), some);
    }
}

/** Maximum over each window; the result is in other memory than the operand. */
ABOARD_POOL2D(aboard_max_pool2d_mve, aboard_max_pixel_mve, s8, int8_t)

#else

/** The function above in C. */
ABOARD_INLINE void aboard_average_pool2d_mve(const aboard_pool2d_s8_t *p, const int8_t *in, int8_t *out, int32_t first,
                                             int32_t last) {
    aboard_average_pool2d_s8(p, in, out, first, last);
}

/** The function above in C. */
ABOARD_INLINE void aboard_average_pool2d_rows_mve(const aboard_pool2d_s8_t *p, const int8_t *in, int8_t *out,
                                                  int16_t *sums, int32_t first, int32_t last) {
    const aboard_view_t *from = &p->pool.in;
    for (int32_t c = 0; c < from->channels; ++c) {
        int32_t sum = first == 0 ? 0 : sums[c];
        for (int32_t r = first; r < last; ++r) {
            const int8_t *const row = aboard_row_s8(from, in, r) + c;
            for (int32_t x = 0; x < from->cols; ++x) {
                sum += row[x * from->pixel_stride];
            }
        }
        sums[c] = (int16_t)sum;
        if (last == from->rows) {
            out[c] = aboard_average_s8(p, sum, from->rows * from->cols);
        }
    }
}

/** The function above in C. */
ABOARD_INLINE void aboard_max_pool2d_mve(const aboard_pool2d_s8_t *p, const int8_t *in, int8_t *out, int32_t first,
                                         int32_t last) {
    aboard_max_pool2d_s8(p, in, out, first, last);
}

#endif

#endif
