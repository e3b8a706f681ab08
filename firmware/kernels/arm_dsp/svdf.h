/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_dsp/svdf.h
 * Singular value decomposition filters of int8 with the DSP extension: features of four filters at once, and four
 * elements of a state in a word.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_SVDF_H
#define ABOARD_KERNELS_ARM_DSP_SVDF_H

#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "four_channels.h"
#include "fully_connected.h"

/** Parameters of aboard_svdf_dsp. A row is a batch; all operands and results are stored whole and without gaps. */
typedef struct {
    int32_t inputs;
    int32_t filters; /**< A multiple of `rank`. */
    int32_t memory;  /**< Features of a filter in the state. */
    int32_t rank;    /**< Filters of a unit. */
    aboard_dsp_scale_t feature;
    aboard_dsp_scale_t result;
    int32_t state_zero_point; /**< Added to a saturated feature, modulo the state's type. */
    int32_t result_zero_point;
} aboard_svdf_dsp_t;

/** Moves the state of a filter, appends a feature, and adds the products with the time weights to a sum, which wraps.
 */
ABOARD_INLINE uint32_t aboard_svdf_dsp_filter(const int8_t *state, int8_t *next, const int8_t *time, int32_t memory,
                                              int32_t feature, uint32_t sum) {
    int32_t i = 0;
    for (; i + 4 < memory; i += 4) {
        const uint32_t moved = aboard_dsp_load(state + i + 1);
        memcpy(next + i, &moved, sizeof(moved));
        sum = aboard_dsp_products_of_four(moved, aboard_dsp_load(time + i), sum);
    }
    if (i + 4 == memory) {
        const uint32_t moved = aboard_dsp_load(state + i) >> 8 | (uint32_t)feature << 24;
        memcpy(next + i, &moved, sizeof(moved));
        return aboard_dsp_products_of_four(moved, aboard_dsp_load(time + i), sum);
    }
    for (; i < memory; ++i) {
        next[i] = i < memory - 1 ? state[i + 1] : (int8_t)feature;
        sum += (uint32_t)(next[i] * time[i]);
    }
    return sum;
}

/**
 * One step of an int8 filter with a state of int8; results as those of aboard_svdf_s8.
 *
 * @param p           Parameters.
 * @param in          [rows][inputs].
 * @param state       [rows][filters][memory], before the step.
 * @param out         [rows][filters / rank]; not the memory of the input.
 * @param next        The state after the step; may be `state`.
 * @param weights     Blocks of four filters, see aboard_dsp_four_sums.
 * @param time        [filters][memory].
 * @param bias        Of each unit, as for aboard_svdf_s8; one word more, which has no effect.
 * @param words       Scratch of two words per tap group of inputs.
 * @param first, last Rows [first, last) are computed.
 */
ABOARD_SHARED ABOARD_HOT void aboard_svdf_dsp(const aboard_svdf_dsp_t *p, const int8_t *in, const int8_t *state,
                                              int8_t *out, int8_t *next, const uint32_t *weights, const int8_t *time,
                                              const int32_t *bias, uint32_t *words, int32_t first, int32_t last) {
    const uint32_t *const end = words + (p->inputs + ABOARD_DSP_TAP_GROUP - 1) / ABOARD_DSP_TAP_GROUP * 2;
    for (int32_t batch = first; batch < last; ++batch) {
        const uint32_t *w = weights;
        const int8_t *t = time;
        const int32_t *b = bias;
        int8_t *y = out + batch * (p->filters / p->rank);
        int32_t at = batch * p->filters * p->memory;
        uint32_t unit = (uint32_t)*b;
        int32_t left = p->rank;
        aboard_fully_connected_dsp_widen(in + batch * p->inputs, words, p->inputs);
        for (int32_t n = 0; n < p->filters; n += ABOARD_DSP_FOUR) {
            int32_t sums[ABOARD_DSP_FOUR];
            w = aboard_dsp_four_sums(w, words, end, sums);
            for (int32_t i = 0; i < ABOARD_MIN(ABOARD_DSP_FOUR, p->filters - n); ++i) {
                const int32_t feature = aboard_dsp_saturate(aboard_dsp_rescale(sums[i], &p->feature));
                unit = aboard_svdf_dsp_filter(state + at, next + at, t, p->memory, feature + p->state_zero_point, unit);
                at += p->memory;
                t += p->memory;
                if (--left == 0) {
                    *y++ = aboard_dsp_saturate(aboard_dsp_rescale((int32_t)unit, &p->result) + p->result_zero_point);
                    left = p->rank;
                    unit = (uint32_t)*++b;
                }
            }
        }
    }
}

#endif
