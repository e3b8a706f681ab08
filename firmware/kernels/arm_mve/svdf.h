/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/svdf.h
 * Singular value decomposition filters of int8 with Helium, with a state of int8 or int16: features of eight filters at
 * once, a vector of a state at once, and results of four units at once. Results as those of aboard_svdf_s8.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_SVDF_H
#define ABOARD_KERNELS_ARM_MVE_SVDF_H

#include <stdbool.h>
#include <stdint.h>

#include "../portable/svdf.h"
#include "aboard/config.h"
#include "helium.h"
#include "line_buffer.h"
#include "rescale.h"
#include "sums.h"

/** Parameters of both kernels. Literals. */
typedef struct {
    aboard_svdf_s8_t filter;
    aboard_mve_reach_t reach; /**< Chunks of the inputs of a row. */
    int32_t units; /**< Units of a block, which divide those of the layer: all, or a multiple of four with a multiple of
                        eight filters. */
    int32_t sums;  /**< Words of the scratch before the features: units of a block, rounded up to four. */
    int32_t copy;  /**< Bytes of the scratch before the inputs: sums and features, rounded up to chunks. */
} aboard_svdf_mve_t;

#if ABOARD_MVE_ASM

/** Writes four features from their sums; `wide`: the state is of int16. */
ABOARD_INLINE void aboard_svdf_mve_features(const aboard_svdf_s8_t *p, aboard_mve_packed_words_t sums,
                                            const int32_t *bias, int16_t *to, bool wide) {
    const int32_t most = wide ? ABOARD_MVE_MOST_TO_INT16 : ABOARD_MVE_MOST_TO_INT8;
    const int32x4_t x =
        aboard_mve_rescale(vaddq_s32(sums, vld1q_s32(bias)), p->feature_multiplier, p->feature_shift, most);
    int16x8_t features = vqmovnbq_s32((int16x8_t)x, x);
    if (wide) {
        features = vaddq_n_s16(features, (int16_t)p->state_zero_point);
    } else {
        const int8x16_t narrow = vqmovnbq_s16((int8x16_t)features, features);
        features = vmovlbq_s8(vaddq_n_s8(narrow, (int8_t)p->state_zero_point));
    }
    vstrhq_s32(to, (int32x4_t)features);
}

/** Moves `count` elements of a state, and adds their products with the time weights to a sum. */
ABOARD_INLINE int32_t aboard_svdf_mve_move_s8(const int8_t *state, int8_t *next, const int8_t *time, int32_t count,
                                              int32_t sum) {
    for (int32_t i = 0; i < count; i += 16) {
        const mve_pred16_t some = vctp8q((uint32_t)(count - i));
        const int8x16_t moved = vldrbq_z_s8(state + i, some);
        vstrbq_p_s8(next + i, moved, some);
        sum = vmladavaq_s8(sum, moved, vldrbq_z_s8(time + i, some));
    }
    return sum;
}

/** As aboard_svdf_mve_move_s8, of int16. */
ABOARD_INLINE int32_t aboard_svdf_mve_move_s16(const int16_t *state, int16_t *next, const int16_t *time, int32_t count,
                                               int32_t sum) {
    for (int32_t i = 0; i < count; i += 8) {
        const mve_pred16_t some = vctp16q((uint32_t)(count - i));
        const int16x8_t moved = vldrhq_z_s16(state + i, some);
        vstrhq_p_s16(next + i, moved, some);
        sum = vmladavaq_s16(sum, moved, vldrhq_z_s16(time + i, some));
    }
    return sum;
}

/** Writes the results of four units, or of the first `count` if this is fewer. */
ABOARD_INLINE void aboard_svdf_mve_results(const aboard_svdf_s8_t *p, const int32_t *sums, const int32_t *bias,
                                           int8_t *y, int32_t count) {
    const int32x4_t sum = vaddq_s32(vld1q_s32(sums), vld1q_s32(bias));
    const int32x4_t x = vqaddq_n_s32(
        aboard_mve_rescale(sum, p->result_multiplier, p->result_shift, ABOARD_MVE_MOST_TO_INT8), p->result_zero_point);
    const int32x4_t limited = vmaxq_s32(vminq_s32(x, vdupq_n_s32(INT8_MAX)), vdupq_n_s32(INT8_MIN));
    vstrbq_p_s32(y, limited, vctp32q((uint32_t)count));
}

#else

/** The function above in C. */
ABOARD_INLINE void aboard_svdf_mve_features(const aboard_svdf_s8_t *p, aboard_mve_packed_words_t sums,
                                            const int32_t *bias, int16_t *to, bool wide) {
    for (int32_t i = 0; i < 4; ++i) {
        const int32_t sum = (int32_t)((uint32_t)sums.lanes[i] + (uint32_t)bias[i]);
        const int32_t x = aboard_requantize(sum, p->feature_multiplier, p->feature_shift);
        const int32_t limit = wide ? INT16_MAX : INT8_MAX;
        const int32_t feature = aboard_clamp(x, -limit - 1, limit) + p->state_zero_point;
        to[i] = wide ? (int16_t)feature : (int8_t)feature;
    }
}

/** The function above in C. */
ABOARD_INLINE int32_t aboard_svdf_mve_move_s8(const int8_t *state, int8_t *next, const int8_t *time, int32_t count,
                                              int32_t sum) {
    uint32_t wrapped = (uint32_t)sum;
    for (int32_t i = 0; i < count; ++i) {
        next[i] = state[i];
        wrapped += (uint32_t)(next[i] * time[i]);
    }
    return (int32_t)wrapped;
}

/** The function above in C. */
ABOARD_INLINE int32_t aboard_svdf_mve_move_s16(const int16_t *state, int16_t *next, const int16_t *time, int32_t count,
                                               int32_t sum) {
    uint32_t wrapped = (uint32_t)sum;
    for (int32_t i = 0; i < count; ++i) {
        next[i] = state[i];
        wrapped += (uint32_t)(next[i] * time[i]);
    }
    return (int32_t)wrapped;
}

/** The function above in C. */
ABOARD_INLINE void aboard_svdf_mve_results(const aboard_svdf_s8_t *p, const int32_t *sums, const int32_t *bias,
                                           int8_t *y, int32_t count) {
    for (int32_t i = 0; i < ABOARD_MIN(count, 4); ++i) {
        y[i] = aboard_svdf_s8_result(p, (uint32_t)sums[i] + (uint32_t)bias[i]);
    }
}

#endif

/** Writes the features of `left` filters of a row; `weights` is advanced. */
ABOARD_INLINE void aboard_svdf_mve_inputs(const aboard_svdf_mve_t *p, const int8_t *x, const int8_t **weights,
                                          const int32_t *bias, int16_t *features, int32_t left, bool wide) {
    ABOARD_UNROLL(1)
    for (; left > 4; left -= 8) {
        const aboard_mve_sums_t sums = aboard_mve_eight(p->reach, x, weights);
        aboard_svdf_mve_features(&p->filter, sums.a, bias, features, wide);
        aboard_svdf_mve_features(&p->filter, sums.b, bias + 4, features + 4, wide);
        bias += 8;
        features += 8;
    }
    if (left > 0) {
        const aboard_mve_sums_t sums = aboard_mve_pair(p->reach, x, x, weights);
        aboard_svdf_mve_features(&p->filter, sums.a, bias, features, wide);
    }
}

/** Moves the states of the filters of `units` units from element `at` on, appends their features, and writes the sums
 * of the units. */
ABOARD_INLINE void aboard_svdf_mve_states(const aboard_svdf_s8_t *p, const void *state, void *next, const void *time,
                                          const int16_t *features, int32_t *sums, int32_t at, int32_t units,
                                          bool wide) {
    const int32_t last = p->memory - 1;
    ABOARD_UNROLL(1)
    for (int32_t unit = 0; unit < units; ++unit) {
        int32_t sum = 0;
        for (int32_t i = 0; i < p->rank; ++i) {
            const int32_t feature = *features++;
            int32_t product;
            if (wide) {
                int16_t *const to = (int16_t *)next + at;
                const int16_t *const w = (const int16_t *)time + at;
                sum = aboard_svdf_mve_move_s16((const int16_t *)state + at + 1, to, w, last, sum);
                to[last] = (int16_t)feature;
                product = feature * w[last];
            } else {
                int8_t *const to = (int8_t *)next + at;
                const int8_t *const w = (const int8_t *)time + at;
                sum = aboard_svdf_mve_move_s8((const int8_t *)state + at + 1, to, w, last, sum);
                to[last] = (int8_t)feature;
                product = feature * w[last];
            }
            sum = (int32_t)((uint32_t)sum + (uint32_t)product);
            at += p->memory;
        }
        sums[unit] = sum;
    }
}

/** Both kernels; see aboard_svdf_mve. */
ABOARD_INLINE void aboard_svdf_mve_any(const aboard_svdf_mve_t *p, const int8_t *in, const void *state, int8_t *out,
                                       void *next, const int8_t *weights, const void *time, const int32_t *feature_bias,
                                       const int32_t *bias, int32_t *scratch, int32_t first, int32_t last, bool wide) {
    const aboard_svdf_s8_t *const f = &p->filter;
    const int32_t units = f->filters / f->rank;
    const int32_t bytes = f->filters * f->memory * (wide ? 2 : 1);
    int16_t *const features = (int16_t *)(scratch + p->sums);
    int8_t *const copy = (int8_t *)scratch + p->copy;
    for (int32_t row = first; row < last; ++row) {
        const int8_t *x = in + row * f->inputs;
        if (f->inputs % ABOARD_MVE_CHUNK != 0) {
            aboard_mve_copy(copy, x, f->inputs);
            x = copy;
        }
        const int8_t *w = weights;
        int32_t end = units;
        if (p->units < units) {
            /* gcc would repeat the code of two blocks. */
            ABOARD_OPAQUE(end);
        }
        for (int32_t unit = 0; unit < end; unit += p->units) {
            aboard_svdf_mve_inputs(p, x, &w, feature_bias + unit * f->rank, features, p->units * f->rank, wide);
            aboard_svdf_mve_states(f, (const uint8_t *)state + row * bytes, (uint8_t *)next + row * bytes, time,
                                   features, scratch, unit * f->rank * f->memory, p->units, wide);
            ABOARD_UNROLL(1)
            for (int32_t n = 0; n < p->units; n += 4) {
                aboard_svdf_mve_results(f, scratch + n, bias + unit + n, out + row * units + unit + n, p->units - n);
            }
        }
    }
}

/**
 * One step of an int8 filter with a state of int8; parameters are those of aboard_svdf_s8 but:
 *
 * @param weights      Blocks of eight filters, as for aboard_fully_connected_mve.
 * @param feature_bias Filled up with zeros to whole blocks.
 * @param bias         Filled up with zeros to a multiple of four.
 * @param scratch      Of a block: sums of units, and features of filters in int16; a row's inputs, unless these are
 *                     whole chunks.
 */
ABOARD_INLINE void aboard_svdf_mve(const aboard_svdf_mve_t *p, const int8_t *in, const int8_t *state, int8_t *out,
                                   int8_t *next, const int8_t *weights, const int8_t *time, const int32_t *feature_bias,
                                   const int32_t *bias, int32_t *scratch, int32_t first, int32_t last) {
    aboard_svdf_mve_any(p, in, state, out, next, weights, time, feature_bias, bias, scratch, first, last, false);
}

/** As aboard_svdf_mve, with state and time weights of int16. */
ABOARD_INLINE void aboard_svdf_mve_s16(const aboard_svdf_mve_t *p, const int8_t *in, const int16_t *state, int8_t *out,
                                       int16_t *next, const int8_t *weights, const int16_t *time,
                                       const int32_t *feature_bias, const int32_t *bias, int32_t *scratch,
                                       int32_t first, int32_t last) {
    aboard_svdf_mve_any(p, in, state, out, next, weights, time, feature_bias, bias, scratch, first, last, true);
}

#endif
