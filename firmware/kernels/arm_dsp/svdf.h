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

/** Moves a state of a whole number of words, appends a feature, and adds products with time weights to a sum, which
 * wraps.
 *
 * @param state, next, time Start of the filter; moved to the next filter.
 * @param memory            Features of a filter, a multiple of 4.
 * @param feature           Its low byte is the feature; not read before the other words are moved.
 * @param sum               The sum.
 * @return The sum with the products.
 */
ABOARD_INLINE uint32_t aboard_svdf_dsp_words(const int8_t **state, int8_t **next, const int8_t **time, int32_t memory,
                                             const int32_t *feature, uint32_t sum) {
    const int8_t *from = *state, *w = *time;
    int8_t *to = *next;
    for (const int8_t *const end = from + memory - 4; from != end; from += 4, to += 4, w += 4) {
        const uint32_t moved = aboard_dsp_load(from + 1);
        memcpy(to, &moved, sizeof(moved));
        sum = aboard_dsp_products_of_four(moved, aboard_dsp_load(w), sum);
    }
    const uint32_t moved = aboard_dsp_load(from) >> 8 | (uint32_t)*feature << 24;
    memcpy(to, &moved, sizeof(moved));
    sum = aboard_dsp_products_of_four(moved, aboard_dsp_load(w), sum);
    *state = from + 4;
    *next = to + 4;
    *time = w + 4;
    return sum;
}

/** Like aboard_svdf_dsp_words for a state of any length. */
ABOARD_INLINE uint32_t aboard_svdf_dsp_bytes(const int8_t **state, int8_t **next, const int8_t **time, int32_t memory,
                                             const int32_t *feature, uint32_t sum) {
    const int8_t *from = *state, *w = *time;
    int8_t *to = *next;
    for (int32_t i = 0; i < memory; ++i) {
        to[i] = i < memory - 1 ? from[i + 1] : (int8_t)*feature;
        sum += (uint32_t)(to[i] * w[i]);
    }
    *state = from + memory;
    *next = to + memory;
    *time = w + memory;
    return sum;
}

/**
 * Moves the states of some filters, appends their features, and sums the products with the time weights.
 *
 * @param state, next The states before and after; may be the same memory.
 * @param time        Time weights of these filters.
 * @param memory      Features of a filter in the state, at least 1.
 * @param bias        Starts of the sums.
 * @param sums        On entry: the features, of which the low byte is used. On return: the sums.
 * @param count       Filters, at least 1.
 */
ABOARD_SHARED ABOARD_HOT void aboard_svdf_dsp_filters(const int8_t *state, int8_t *next, const int8_t *time,
                                                      int32_t memory, const int32_t *bias, int32_t *sums,
                                                      int32_t count) {
    const int32_t *const end = sums + count;
    if (memory % 4 == 0) {
        do {
            *sums = (int32_t)aboard_svdf_dsp_words(&state, &next, &time, memory, sums, (uint32_t)*bias++);
        } while (++sums != end);
        return;
    }
    do {
        *sums = (int32_t)aboard_svdf_dsp_bytes(&state, &next, &time, memory, sums, (uint32_t)*bias++);
    } while (++sums != end);
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
 * @param bias        Start of the sum of each filter over time: of a unit's first filter the bias of the unit as for
 *                    aboard_svdf_s8, 0 of its others.
 * @param words       Scratch of two words per tap group of inputs.
 * @param first, last Rows [first, last) are computed.
 */
ABOARD_SHARED ABOARD_HOT void aboard_svdf_dsp(const aboard_svdf_dsp_t *p, const int8_t *in, const int8_t *state,
                                              int8_t *out, int8_t *next, const uint32_t *weights, const int8_t *time,
                                              const int32_t *bias, uint32_t *words, int32_t first, int32_t last) {
    const uint32_t *const end = words + (p->inputs + ABOARD_DSP_TAP_GROUP - 1) / ABOARD_DSP_TAP_GROUP * 2;
    int8_t *y = out + first * (p->filters / p->rank);
    for (int32_t batch = first; batch < last; ++batch) {
        const uint32_t *w = weights;
        const int32_t start = batch * p->filters * p->memory;
        uint32_t unit = 0;
        int32_t left = p->rank;
        aboard_fully_connected_dsp_widen(in + batch * p->inputs, words, p->inputs);
        for (int32_t n = 0; n < p->filters; n += ABOARD_DSP_FOUR) {
            const int32_t count = ABOARD_MIN(ABOARD_DSP_FOUR, p->filters - n);
            const int32_t at = n * p->memory;
            int32_t sums[ABOARD_DSP_FOUR];
            w = aboard_dsp_four_sums(w, words, end, sums);
            aboard_dsp_rescale_four(sums, &p->feature, 0, p->state_zero_point);
            aboard_svdf_dsp_filters(state + start + at, next + start + at, time + at, p->memory, bias + n, sums, count);
            if (p->rank == 1) {
                for (int32_t i = count; i < ABOARD_DSP_FOUR; ++i) {
                    sums[i] = 0;
                }
                aboard_dsp_rescale_four(sums, &p->result, p->result_zero_point, 0);
                for (int32_t i = 0; i < count; ++i) {
                    *y++ = (int8_t)sums[i];
                }
                continue;
            }
            for (int32_t i = 0; i < count; ++i) {
                unit += (uint32_t)sums[i];
                if (--left == 0) {
                    *y++ = aboard_dsp_saturate(aboard_dsp_rescale((int32_t)unit, &p->result) + p->result_zero_point);
                    left = p->rank;
                    unit = 0;
                }
            }
        }
    }
}

#endif
