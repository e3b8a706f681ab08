/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/svdf.h
 * Singular value decomposition filters in portable C: int8 with a state of int8 or int16, and float32.
 *
 * The state has `memory` features of each filter, the oldest first. A step moves them by one, appends the feature of
 * the input, and multiplies them with the time weights in the same pass.
 */
#ifndef ABOARD_KERNELS_PORTABLE_SVDF_H
#define ABOARD_KERNELS_PORTABLE_SVDF_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard/config.h"
#include "requantize.h"
#include "sums_of_four.h"

/** Filters whose features are computed at once. */
#define ABOARD_SVDF_BLOCK 4

/** Parameters of the int8 kernels. A row is a batch; all operands and results are stored whole and without gaps. */
typedef struct {
    int32_t inputs;
    int32_t filters; /**< A multiple of `rank`. */
    int32_t memory;  /**< Features of a filter in the state. */
    int32_t rank;    /**< Filters of a unit. */
    int32_t feature_multiplier;
    int32_t feature_shift;
    int32_t state_zero_point; /**< Added to a saturated feature, modulo the state's type. */
    int32_t result_multiplier;
    int32_t result_shift;
    int32_t result_zero_point;
} aboard_svdf_s8_t;

/** Moves the state of a filter, appends a feature, and returns the sum of products with the time weights; it wraps. */
ABOARD_INLINE uint32_t aboard_svdf_s8_filter(const void *state, void *next, const void *time, int32_t at,
                                             int32_t memory, int32_t feature, bool wide) {
    const int32_t last = at + memory - 1;
    uint32_t sum = 0;
    if (wide) {
        const int16_t *const w = (const int16_t *)time;
        int16_t *const to = (int16_t *)next;
        for (int32_t i = at; i < last; ++i) {
            const int16_t value = ((const int16_t *)state)[i + 1];
            to[i] = value;
            sum += (uint32_t)((int32_t)value * w[i]);
        }
        to[last] = (int16_t)feature;
        return sum + (uint32_t)((int32_t)to[last] * w[last]);
    }
    const int8_t *const w = (const int8_t *)time;
    int8_t *const to = (int8_t *)next;
    for (int32_t i = at; i < last; ++i) {
        const int8_t value = ((const int8_t *)state)[i + 1];
        to[i] = value;
        sum += (uint32_t)(value * w[i]);
    }
    to[last] = (int8_t)feature;
    return sum + (uint32_t)(to[last] * w[last]);
}

/** The result of a unit from its sum. */
ABOARD_INLINE int8_t aboard_svdf_s8_result(const aboard_svdf_s8_t *p, uint32_t sum) {
    const int32_t z = p->result_zero_point;
    const int32_t result = aboard_requantize((int32_t)sum, p->result_multiplier, p->result_shift);
    return (int8_t)(aboard_clamp(result, INT8_MIN - z, INT8_MAX - z) + z);
}

/** Both int8 kernels; see aboard_svdf_s8. */
ABOARD_INLINE void aboard_svdf_s8_any(const aboard_svdf_s8_t *p, const int8_t *in, const void *state, int8_t *out,
                                      void *next, const int8_t *weights, const void *time, const int32_t *feature_bias,
                                      const int32_t *bias, int32_t first, int32_t last, bool wide) {
    const int32_t low = wide ? INT16_MIN : INT8_MIN;
    const int32_t high = wide ? INT16_MAX : INT8_MAX;
    for (int32_t batch = first; batch < last; ++batch) {
        const int32_t offset = batch * p->filters * p->memory;
        const int8_t *w = weights;
        int8_t *y = out + batch * (p->filters / p->rank);
        const int32_t *b = bias;
        uint32_t unit = (uint32_t)*b;
        int32_t left = p->rank;
        for (int32_t n = 0; n < p->filters; n += ABOARD_SVDF_BLOCK) {
            int32_t sums[ABOARD_SVDF_BLOCK] = {0, 0, 0, 0};
            aboard_sums_of_four_s8(sums, in + batch * p->inputs, w, p->inputs);
            w += ABOARD_SVDF_BLOCK * p->inputs;
            for (int32_t i = 0; i < ABOARD_MIN(ABOARD_SVDF_BLOCK, p->filters - n); ++i) {
                const int32_t sum = (int32_t)((uint32_t)sums[i] + (uint32_t)feature_bias[n + i]);
                const int32_t feature =
                    aboard_clamp(aboard_requantize(sum, p->feature_multiplier, p->feature_shift), low, high);
                /* The time weights are those of every batch. */
                const int32_t at = (n + i) * p->memory;
                const int32_t bytes = wide ? 2 : 1;
                unit += aboard_svdf_s8_filter((const uint8_t *)state + offset * bytes, (uint8_t *)next + offset * bytes,
                                              time, at, p->memory, feature + p->state_zero_point, wide);
                if (--left == 0) {
                    *y++ = aboard_svdf_s8_result(p, unit);
                    left = p->rank;
                    unit = (uint32_t)*++b;
                }
            }
        }
    }
}

/**
 * One step of an int8 filter with a state of int8, results equal to TFLite Micro's reference kernel.
 *
 * @param p            Parameters.
 * @param in           [rows][inputs].
 * @param state        [rows][filters][memory], before the step.
 * @param out          [rows][filters / rank]; not the memory of the input.
 * @param next         The state after the step; may be `state`.
 * @param weights      [filters / 4][inputs][4], the last block filled up with zeros.
 * @param time         [filters][memory].
 * @param feature_bias Of each filter: minus the input's zero point times the sum of the filter's weights.
 * @param bias         Of each unit, less the state's zero point times the sum of the unit's time weights; one word
 * more, which has no effect.
 * @param first, last  Rows [first, last) are computed.
 */
ABOARD_SHARED ABOARD_HOT void aboard_svdf_s8(const aboard_svdf_s8_t *p, const int8_t *in, const int8_t *state,
                                             int8_t *out, int8_t *next, const int8_t *weights, const int8_t *time,
                                             const int32_t *feature_bias, const int32_t *bias, int32_t first,
                                             int32_t last) {
    aboard_svdf_s8_any(p, in, state, out, next, weights, time, feature_bias, bias, first, last, false);
}

/** As aboard_svdf_s8, with state and time weights of int16. */
ABOARD_SHARED ABOARD_HOT void aboard_svdf_s8_s16(const aboard_svdf_s8_t *p, const int8_t *in, const int16_t *state,
                                                 int8_t *out, int16_t *next, const int8_t *weights, const int16_t *time,
                                                 const int32_t *feature_bias, const int32_t *bias, int32_t first,
                                                 int32_t last) {
    aboard_svdf_s8_any(p, in, state, out, next, weights, time, feature_bias, bias, first, last, true);
}

/** Parameters of aboard_svdf_f32; geometry as in aboard_svdf_s8_t. */
typedef struct {
    int32_t inputs;
    int32_t filters;
    int32_t memory;
    int32_t rank;
    int32_t clamped; /**< 1: results are kept between low and high. */
    float low;
    float high;
} aboard_svdf_f32_t;

/** The state of a filter as aboard_svdf_s8_filter, in float32; all pointers at the filter. */
ABOARD_INLINE float aboard_svdf_f32_filter(const float *state, float *next, const float *time, int32_t memory,
                                           float feature) {
    float sum = 0.0f;
    for (int32_t i = 0; i < memory - 1; ++i) {
        const float value = state[i + 1];
        next[i] = value;
        sum += value * time[i];
    }
    next[memory - 1] = feature;
    return sum + feature * time[memory - 1];
}

/**
 * One step of a float32 filter; sums in the order of TFLite Micro's reference kernel.
 *
 * @param p           Parameters.
 * @param in          [rows][inputs].
 * @param state       [rows][filters][memory], before the step.
 * @param out         [rows][filters / rank]; not the memory of the input.
 * @param next        The state after the step; may be `state`.
 * @param weights     [filters][inputs].
 * @param time        [filters][memory].
 * @param bias        Of each unit.
 * @param first, last Rows [first, last) are computed.
 */
ABOARD_SHARED void aboard_svdf_f32(const aboard_svdf_f32_t *p, const float *in, const float *state, float *out,
                                   float *next, const float *weights, const float *time, const float *bias,
                                   int32_t first, int32_t last) {
    const int32_t units = p->filters / p->rank;
    for (int32_t batch = first; batch < last; ++batch) {
        const float *const x = in + batch * p->inputs;
        for (int32_t unit = 0; unit < units; ++unit) {
            float result = bias[unit];
            for (int32_t n = unit * p->rank; n < (unit + 1) * p->rank; ++n) {
                const int32_t at = (batch * p->filters + n) * p->memory;
                float feature = 0.0f;
                for (int32_t k = 0; k < p->inputs; ++k) {
                    feature += weights[n * p->inputs + k] * x[k];
                }
                result += aboard_svdf_f32_filter(state + at, next + at, time + n * p->memory, p->memory, feature);
            }
            const float above = p->clamped && result < p->low ? p->low : result;
            out[batch * units + unit] = p->clamped && above > p->high ? p->high : above;
        }
    }
}

#endif
