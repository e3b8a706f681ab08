/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_dsp/svdf.h
 * Singular value decomposition filters of int8 with the DSP extension: features are a fully connected layer.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_SVDF_H
#define ABOARD_KERNELS_ARM_DSP_SVDF_H

#include <stdint.h>

#include "../portable/svdf.h"
#include "aboard/config.h"
#include "fully_connected.h"

/** Parameters of aboard_svdf_dsp. */
typedef struct {
    aboard_fully_connected_dsp_t feature; /**< From the input to saturated features, without the state's zero point. */
    aboard_svdf_s8_t filter;
} aboard_svdf_dsp_t;

/** The filters over time, for rows [first, last); not expanded: one copy serves all layers of a model. */
ABOARD_SHARED ABOARD_HOT void aboard_svdf_dsp_filters(const aboard_svdf_s8_t *p, const int8_t *features,
                                                      const int8_t *state, int8_t *out, int8_t *next,
                                                      const int8_t *time, const int32_t *bias, int32_t first,
                                                      int32_t last) {
    for (int32_t batch = first; batch < last; ++batch) {
        const int32_t offset = batch * p->filters * p->memory;
        const int8_t *feature = features + batch * p->filters;
        int8_t *const y = out + batch * (p->filters / p->rank);
        int32_t at = 0;
        for (int32_t unit = 0; unit < p->filters / p->rank; ++unit) {
            uint32_t sum = (uint32_t)bias[unit];
            for (int32_t i = 0; i < p->rank; ++i) {
                sum += aboard_svdf_s8_filter(state + offset, next + offset, time, at, p->memory,
                                             *feature++ + p->state_zero_point, false);
                at += p->memory;
            }
            y[unit] = aboard_svdf_s8_result(p, sum);
        }
    }
}

/**
 * One step of an int8 filter with a state of int8; results as those of aboard_svdf_s8.
 *
 * @param p           Parameters.
 * @param in          [rows][inputs].
 * @param state       [rows][filters][memory], before the step.
 * @param out         [rows][filters / rank]; not the memory of the input.
 * @param next        The state after the step; may be `state`.
 * @param weights     Packed, see aboard_dsp_wide_single.
 * @param time        [filters][memory].
 * @param bias        Of each unit, as for aboard_svdf_s8.
 * @param words       Scratch as for aboard_fully_connected_dsp.
 * @param features    Scratch of [rows][filters].
 * @param first, last Rows [first, last) are computed.
 */
ABOARD_INLINE void aboard_svdf_dsp(const aboard_svdf_dsp_t *p, const int8_t *in, const int8_t *state, int8_t *out,
                                   int8_t *next, const uint32_t *weights, const int8_t *time, const int32_t *bias,
                                   uint32_t *words, int8_t *features, int32_t first, int32_t last) {
    aboard_fully_connected_dsp(&p->feature, in, features, weights, words, first, last);
    aboard_svdf_dsp_filters(&p->filter, features, state, out, next, time, bias, first, last);
}

#endif
