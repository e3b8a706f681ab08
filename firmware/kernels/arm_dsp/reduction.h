/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_dsp/reduction.h
 * Averages, sums and extremes of int8 over axes of a tensor with the DSP extension: four elements at once. Results as
 * those of mean.h and extremes.h.
 *
 * Elements next to each other belong to four results, or, if the innermost axis is reduced, to one.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_REDUCTION_H
#define ABOARD_KERNELS_ARM_DSP_REDUCTION_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../portable/extremes.h"
#include "../portable/mean.h"
#include "aboard/config.h"
#include "aboard/view.h"
#include "dot.h"
#include "pool2d.h"

/** Elements of a word. */
#define ABOARD_DSP_REDUCED 4

/** Largest number of elements whose sum fits 16 bits. */
#define ABOARD_DSP_REDUCED_MOST 255

/** True if the innermost axis is reduced. */
ABOARD_INLINE bool aboard_dsp_reduces_innermost(const aboard_mean_t *p) {
    return p->channel.bytes != 1 || p->channel.extent < ABOARD_DSP_REDUCED;
}

/** Address of the elements with the indices i, j, k of the outer axes. */
ABOARD_INLINE const int8_t *aboard_dsp_reduced_from(const aboard_mean_t *p, const int8_t *from, int32_t i, int32_t j,
                                                    int32_t k) {
    return from + i * p->over[0].bytes + j * p->over[1].bytes + k * p->over[2].bytes;
}

/** Adds four times `count` elements, `stride` bytes apart, to four sums. */
ABOARD_INLINE void aboard_dsp_reduced_add(int32_t *sums, const int8_t *x, int32_t count, int32_t stride) {
    for (int32_t done = 0; done < count; done += ABOARD_DSP_REDUCED_MOST) {
        aboard_dsp_sums_t halves = {0, 0};
        aboard_dsp_sums_row(&halves, x + done * stride, ABOARD_MIN(ABOARD_DSP_REDUCED_MOST, count - done), stride);
        sums[0] += (int16_t)halves.even;
        sums[1] += (int16_t)halves.odd;
        sums[2] += (int16_t)(halves.even >> 16);
        sums[3] += (int16_t)(halves.odd >> 16);
    }
}

/** Sum of `count` neighbours. */
ABOARD_INLINE int32_t aboard_dsp_reduced_run(const int8_t *x, int32_t count) {
    /* As unsigned bytes, 128 more each. */
    uint32_t total = 0;
    const int32_t words = count / ABOARD_DSP_REDUCED;
    ABOARD_UNROLL(8)
    for (int32_t i = 0; i < words; ++i) {
        const uint32_t raised = aboard_dsp_load(x + ABOARD_DSP_REDUCED * i) ^ 0x80808080u;
#if ABOARD_DSP_ASM
        __asm__("usada8 %0, %1, %2, %0" : "+r"(total) : "r"(raised), "r"(0));
#else
        total += (raised & 0xffu) + (raised >> 8 & 0xffu) + (raised >> 16 & 0xffu) + (raised >> 24);
#endif
    }
    int32_t sum = (int32_t)total - 128 * ABOARD_DSP_REDUCED * words;
    for (int32_t i = words * ABOARD_DSP_REDUCED; i < count; ++i) {
        sum += x[i];
    }
    return sum;
}

/** Sums of four results if their elements are neighbours, or else of the first. */
ABOARD_INLINE void aboard_dsp_reduced_sums(const aboard_mean_t *p, const int8_t *from, int32_t *sums) {
    for (int32_t i = 0; i < p->over[0].extent; ++i) {
        for (int32_t j = 0; j < p->over[1].extent; ++j) {
            for (int32_t k = 0; k < p->over[2].extent; ++k) {
                const int8_t *const x = aboard_dsp_reduced_from(p, from, i, j, k);
                if (aboard_dsp_reduces_innermost(p)) {
                    sums[0] += aboard_dsp_reduced_run(x, p->over[3].extent);
                } else {
                    aboard_dsp_reduced_add(sums, x, p->over[3].extent, p->over[3].bytes);
                }
            }
        }
    }
}

/**
 * Average of int8 elements; parameters as aboard_mean_s8.
 *
 * The innermost axis of the operand has at least four elements. The last results of a pixel are computed twice if they
 * are no whole word.
 */
ABOARD_INLINE void aboard_mean_dsp_s8(const aboard_mean_s8_t *p, const int8_t *in, int8_t *out, int32_t first,
                                      int32_t last) {
    const int32_t channels = p->axes.channel.extent;
    const int32_t some = aboard_dsp_reduces_innermost(&p->axes) ? 1 : ABOARD_DSP_REDUCED;
    for (int32_t r = first; r < last; ++r) {
        const int8_t *x = in + aboard_mean_row(&p->axes, r);
        int8_t *y = aboard_row_out_s8(&p->axes.out, out, r);
        for (int32_t col = 0; col < p->axes.col.extent; ++col) {
            for (int32_t c = 0; c < channels; c += some) {
                const int32_t at = ABOARD_MIN(c, channels - some);
                int32_t sums[ABOARD_DSP_REDUCED] = {0, 0, 0, 0};
                aboard_dsp_reduced_sums(&p->axes, x + at * p->axes.channel.bytes, sums);
                for (int32_t i = 0; i < some; ++i) {
                    y[at + i] = aboard_mean_result_s8(p, sums[i]);
                }
            }
            x += p->axes.col.bytes;
            y += p->axes.out.pixel_stride;
        }
    }
}

/** The larger or the smaller of each pair of bytes. */
ABOARD_INLINE uint32_t aboard_dsp_extreme(uint32_t a, uint32_t b, bool largest) {
    return largest ? aboard_dsp_larger(a, b) : aboard_dsp_smaller(a, b);
}

/** The extremes of four results if their elements are neighbours, or else of four parts of the elements of one. */
ABOARD_INLINE uint32_t aboard_dsp_extremes(const aboard_mean_t *p, const int8_t *from, bool largest) {
    const int32_t count = p->over[3].extent;
    uint32_t best = aboard_dsp_load(from);
    for (int32_t i = 0; i < p->over[0].extent; ++i) {
        for (int32_t j = 0; j < p->over[1].extent; ++j) {
            for (int32_t k = 0; k < p->over[2].extent; ++k) {
                const int8_t *const x = aboard_dsp_reduced_from(p, from, i, j, k);
                if (aboard_dsp_reduces_innermost(p)) {
                    ABOARD_UNROLL(8)
                    for (int32_t l = 0; l + ABOARD_DSP_REDUCED <= count; l += ABOARD_DSP_REDUCED) {
                        best = aboard_dsp_extreme(best, aboard_dsp_load(x + l), largest);
                    }
                    if (count % ABOARD_DSP_REDUCED != 0) {
                        best = aboard_dsp_extreme(best, aboard_dsp_load(x + count - ABOARD_DSP_REDUCED), largest);
                    }
                } else {
                    ABOARD_UNROLL(8)
                    for (int32_t l = 0; l < count; ++l) {
                        best = aboard_dsp_extreme(best, aboard_dsp_load(x + l * p->over[3].bytes), largest);
                    }
                }
            }
        }
    }
    return best;
}

/** Largest or smallest elements; parameters as aboard_reduce_max_s8, an innermost axis as for aboard_mean_dsp_s8. */
ABOARD_INLINE void aboard_reduce_dsp_s8(const aboard_reduce_t *p, const int8_t *in, int8_t *out, int32_t first,
                                        int32_t last, bool largest) {
    const int32_t channels = p->axes.channel.extent;
    const int32_t some = aboard_dsp_reduces_innermost(&p->axes) ? 1 : ABOARD_DSP_REDUCED;
    for (int32_t r = first; r < last; ++r) {
        const int8_t *x = in + aboard_mean_row(&p->axes, r);
        int8_t *y = aboard_row_out_s8(&p->axes.out, out, r);
        for (int32_t col = 0; col < p->axes.col.extent; ++col) {
            for (int32_t c = 0; c < channels; c += some) {
                const int32_t at = ABOARD_MIN(c, channels - some);
                uint32_t best = aboard_dsp_extremes(&p->axes, x + at * p->axes.channel.bytes, largest);
                if (some == 1) {
                    best = aboard_dsp_extreme(best, best >> 16 | best << 16, largest);
                    best = aboard_dsp_extreme(best, best >> 8 | best << 24, largest);
                    y[at] = (int8_t)best;
                } else {
                    memcpy(y + at, &best, sizeof(best));
                }
            }
            x += p->axes.col.bytes;
            y += p->axes.out.pixel_stride;
        }
    }
}

/** See above. */
ABOARD_INLINE void aboard_reduce_max_dsp_s8(const aboard_reduce_t *p, const int8_t *in, int8_t *out, int32_t first,
                                            int32_t last) {
    aboard_reduce_dsp_s8(p, in, out, first, last, true);
}
ABOARD_INLINE void aboard_reduce_min_dsp_s8(const aboard_reduce_t *p, const int8_t *in, int8_t *out, int32_t first,
                                            int32_t last) {
    aboard_reduce_dsp_s8(p, in, out, first, last, false);
}

#endif
