/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/reduction.h
 * Averages, sums and extremes of int8 over axes of a tensor with Helium: eight sums or sixteen extremes at once.
 * Results as those of mean.h and extremes.h.
 *
 * Elements next to each other belong to different results, or, if the innermost axis is reduced, to one.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_REDUCTION_H
#define ABOARD_KERNELS_ARM_MVE_REDUCTION_H

#include <stdbool.h>
#include <stdint.h>

#include "../portable/extremes.h"
#include "../portable/mean.h"
#include "aboard/config.h"
#include "aboard/view.h"
#include "helium.h"
#include "rescale.h"

#if ABOARD_MVE_ASM

/** Largest number of elements whose sum fits 16 bits. */
#define ABOARD_MVE_REDUCED_MOST 255

/** Results of which a vector of 16 bits and one of 8 bits have an element each. */
#define ABOARD_MVE_SUMS_AT_ONCE 8
#define ABOARD_MVE_EXTREMES_AT_ONCE 16

/** True if the innermost axis is reduced, whose elements are neighbours. */
ABOARD_INLINE bool aboard_mve_reduces_innermost(const aboard_mean_t *p) {
    return p->over[3].bytes == 1;
}

/** Address of the elements with the indices i, j, k of the outer axes. */
ABOARD_INLINE const int8_t *aboard_mve_reduced_from(const aboard_mean_t *p, const int8_t *from, int32_t i, int32_t j,
                                                    int32_t k) {
    return from + i * p->over[0].bytes + j * p->over[1].bytes + k * p->over[2].bytes;
}

/** Sums of eight results: even lanes and odd lanes. */
typedef struct {
    int32x4_t even;
    int32x4_t odd;
} aboard_mve_reduced_t;

/** Sums of eight results whose elements are neighbours; lanes outside `some` are 0. */
ABOARD_INLINE aboard_mve_reduced_t aboard_mve_reduced_sums(const aboard_mean_t *p, const int8_t *from,
                                                           mve_pred16_t some) {
    aboard_mve_reduced_t sums = {vdupq_n_s32(0), vdupq_n_s32(0)};
    for (int32_t i = 0; i < p->over[0].extent; ++i) {
        for (int32_t j = 0; j < p->over[1].extent; ++j) {
            for (int32_t k = 0; k < p->over[2].extent; ++k) {
                const int8_t *x = aboard_mve_reduced_from(p, from, i, j, k);
                for (int32_t left = p->over[3].extent; left > 0; left -= ABOARD_MVE_REDUCED_MOST) {
                    int16x8_t part = vdupq_n_s16(0);
                    for (int32_t l = ABOARD_MIN(left, ABOARD_MVE_REDUCED_MOST); l > 0; --l) {
                        part = vaddq_s16(part, vldrbq_z_s16(x, some));
                        x += p->over[3].bytes;
                    }
                    sums.even = vaddq_s32(sums.even, vmovlbq_s16(part));
                    sums.odd = vaddq_s32(sums.odd, vmovltq_s16(part));
                }
            }
        }
    }
    return sums;
}

/** Results of four sums, saturated to int16. */
ABOARD_INLINE int32x4_t aboard_mean_mve_results(const aboard_mean_s8_t *p, int32x4_t sums) {
    const int32x4_t scaled =
        aboard_mve_rescale(vsubq_n_s32(sums, p->correction), p->multiplier, p->shift, ABOARD_MVE_MOST_TO_INT8);
    return vqaddq_n_s32(scaled, p->zero_point);
}

/** Sum of all elements of a result, of which those of the innermost axis are neighbours. */
ABOARD_INLINE int32_t aboard_mve_reduced_run(const aboard_mean_t *p, const int8_t *from) {
    int32_t sum = 0;
    for (int32_t i = 0; i < p->over[0].extent; ++i) {
        for (int32_t j = 0; j < p->over[1].extent; ++j) {
            for (int32_t k = 0; k < p->over[2].extent; ++k) {
                const int8_t *x = aboard_mve_reduced_from(p, from, i, j, k);
                for (int32_t left = p->over[3].extent; left > 0; left -= ABOARD_MVE_EXTREMES_AT_ONCE) {
                    sum = vaddvaq_s8(sum, vldrbq_z_s8(x, vctp8q((uint32_t)left)));
                    x += ABOARD_MVE_EXTREMES_AT_ONCE;
                }
            }
        }
    }
    return sum;
}

/** Averages of the results of a pixel. */
ABOARD_INLINE void aboard_mean_mve_pixel(const aboard_mean_s8_t *p, const int8_t *x, int8_t *y) {
    const int32_t channels = p->axes.channel.extent;
    if (aboard_mve_reduces_innermost(&p->axes)) {
        for (int32_t c = 0; c < channels; ++c) {
            y[c] = aboard_mean_result_s8(p, aboard_mve_reduced_run(&p->axes, x + c * p->axes.channel.bytes));
        }
        return;
    }
    for (int32_t c = 0; c < channels; c += ABOARD_MVE_SUMS_AT_ONCE) {
        const mve_pred16_t some = vctp16q((uint32_t)(channels - c));
        const aboard_mve_reduced_t sums = aboard_mve_reduced_sums(&p->axes, x + c, some);
        const int16x8_t wide =
            aboard_mve_halfwords(aboard_mean_mve_results(p, sums.even), aboard_mean_mve_results(p, sums.odd));
        const int16x8_t limited = vmaxq_s16(vminq_s16(wide, vdupq_n_s16(INT8_MAX)), vdupq_n_s16(INT8_MIN));
        vstrbq_p_s16(y + c, limited, some);
    }
}

/** Average of int8 elements; parameters as aboard_mean_s8, rounded as TFLite does. */
ABOARD_INLINE void aboard_mean_mve_s8(const aboard_mean_s8_t *p, const int8_t *in, int8_t *out, int32_t first,
                                      int32_t last) {
    for (int32_t r = first; r < last; ++r) {
        const int8_t *x = in + aboard_mean_row(&p->axes, r);
        int8_t *y = aboard_row_out_s8(&p->axes.out, out, r);
        for (int32_t col = 0; col < p->axes.col.extent; ++col) {
            aboard_mean_mve_pixel(p, x, y);
            x += p->axes.col.bytes;
            y += p->axes.out.pixel_stride;
        }
    }
}

/** The larger or the smaller of each pair of lanes. */
ABOARD_INLINE int8x16_t aboard_mve_extreme(int8x16_t a, int8x16_t b, bool largest) {
    return largest ? vmaxq_s8(a, b) : vminq_s8(a, b);
}

/** Extremes of sixteen results whose elements are neighbours, in the lanes of `some`. */
ABOARD_INLINE int8x16_t aboard_mve_extremes(const aboard_mean_t *p, const int8_t *from, mve_pred16_t some,
                                            bool largest) {
    int8x16_t best = vdupq_n_s8(largest ? INT8_MIN : INT8_MAX);
    for (int32_t i = 0; i < p->over[0].extent; ++i) {
        for (int32_t j = 0; j < p->over[1].extent; ++j) {
            for (int32_t k = 0; k < p->over[2].extent; ++k) {
                const int8_t *x = aboard_mve_reduced_from(p, from, i, j, k);
                for (int32_t l = p->over[3].extent; l > 0; --l) {
                    best = aboard_mve_extreme(best, vldrbq_z_s8(x, some), largest);
                    x += p->over[3].bytes;
                }
            }
        }
    }
    return best;
}

/** Extreme of all elements of a result, of which those of the innermost axis are neighbours. */
ABOARD_INLINE int8_t aboard_mve_extreme_run(const aboard_mean_t *p, const int8_t *from, bool largest) {
    int8_t best = largest ? INT8_MIN : INT8_MAX;
    for (int32_t i = 0; i < p->over[0].extent; ++i) {
        for (int32_t j = 0; j < p->over[1].extent; ++j) {
            for (int32_t k = 0; k < p->over[2].extent; ++k) {
                const int8_t *x = aboard_mve_reduced_from(p, from, i, j, k);
                for (int32_t left = p->over[3].extent; left > 0; left -= ABOARD_MVE_EXTREMES_AT_ONCE) {
                    const mve_pred16_t some = vctp8q((uint32_t)left);
                    const int8x16_t values = vldrbq_z_s8(x, some);
                    best = largest ? vmaxvq_p_s8(best, values, some) : vminvq_p_s8(best, values, some);
                    x += ABOARD_MVE_EXTREMES_AT_ONCE;
                }
            }
        }
    }
    return best;
}

/** Largest or smallest elements; parameters as aboard_reduce_max_s8. */
ABOARD_INLINE void aboard_reduce_mve_s8(const aboard_reduce_t *p, const int8_t *in, int8_t *out, int32_t first,
                                        int32_t last, bool largest) {
    const int32_t channels = p->axes.channel.extent;
    const bool innermost = aboard_mve_reduces_innermost(&p->axes);
    for (int32_t r = first; r < last; ++r) {
        const int8_t *x = in + aboard_mean_row(&p->axes, r);
        int8_t *y = aboard_row_out_s8(&p->axes.out, out, r);
        for (int32_t col = 0; col < p->axes.col.extent; ++col) {
            for (int32_t c = 0; innermost && c < channels; ++c) {
                y[c] = aboard_mve_extreme_run(&p->axes, x + c * p->axes.channel.bytes, largest);
            }
            for (int32_t c = 0; !innermost && c < channels; c += ABOARD_MVE_EXTREMES_AT_ONCE) {
                const mve_pred16_t some = vctp8q((uint32_t)(channels - c));
                vstrbq_p_s8(y + c, aboard_mve_extremes(&p->axes, x + c, some, largest), some);
            }
            x += p->axes.col.bytes;
            y += p->axes.out.pixel_stride;
        }
    }
}

/** See above. */
ABOARD_INLINE void aboard_reduce_max_mve_s8(const aboard_reduce_t *p, const int8_t *in, int8_t *out, int32_t first,
                                            int32_t last) {
    aboard_reduce_mve_s8(p, in, out, first, last, true);
}
ABOARD_INLINE void aboard_reduce_min_mve_s8(const aboard_reduce_t *p, const int8_t *in, int8_t *out, int32_t first,
                                            int32_t last) {
    aboard_reduce_mve_s8(p, in, out, first, last, false);
}

#else

/** The functions above in C. */
ABOARD_INLINE void aboard_mean_mve_s8(const aboard_mean_s8_t *p, const int8_t *in, int8_t *out, int32_t first,
                                      int32_t last) {
    aboard_mean_s8(p, in, out, first, last);
}
ABOARD_INLINE void aboard_reduce_max_mve_s8(const aboard_reduce_t *p, const int8_t *in, int8_t *out, int32_t first,
                                            int32_t last) {
    aboard_reduce_max_s8(p, in, out, first, last);
}
ABOARD_INLINE void aboard_reduce_min_mve_s8(const aboard_reduce_t *p, const int8_t *in, int8_t *out, int32_t first,
                                            int32_t last) {
    aboard_reduce_min_s8(p, in, out, first, last);
}

#endif

#endif
