/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file fully_connected_s16.h
 * Products of samples of int16 with a matrix of int8 with the DSP extension: four output channels at a time.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_FULLY_CONNECTED_S16_H
#define ABOARD_KERNELS_ARM_DSP_FULLY_CONNECTED_S16_H

#include <stdint.h>
#include <string.h>

#include "../portable/epilogue_s16.h"
#include "aboard/config.h"
#include "dot_s16.h"

/** Channels computed at once. */
#define ABOARD_DSP_S16_BLOCK 4

/** Parameters of aboard_fully_connected_dsp_s16. Input and result are stored whole and without gaps. */
typedef struct {
    int32_t inputs;                 /**< Values of a sample. */
    int32_t outputs;                /**< Results of a sample. */
    int32_t samples;                /**< Samples per row of the result. */
    int32_t chunk;                  /**< Number of tap groups whose products fit a 32-bit sum. */
    aboard_epilogue_s16_t epilogue; /**< Epilogue of the result. */
} aboard_fully_connected_dsp_s16_t;

/** Results of a sample in the short form. */
ABOARD_INLINE void aboard_fully_connected_dsp_s16_short(const aboard_fully_connected_dsp_s16_t *p,
                                                        const aboard_dsp_s16_sample_t *job) {
    if (p->epilogue.low == 0) {
        aboard_dsp_s16_sample_relu(job);
    } else {
        aboard_dsp_s16_sample(job);
    }
}

/** All results of a sample in the short form. */
ABOARD_INLINE void aboard_fully_connected_dsp_s16_epilogue(const aboard_fully_connected_dsp_s16_t *p, const uint32_t *x,
                                                           const uint32_t *weights, int32_t tap_groups, int16_t *y) {
    const int32_t whole = p->outputs / ABOARD_DSP_S16_BLOCK * ABOARD_DSP_S16_BLOCK;
    const uint32_t *const end = x + tap_groups * ABOARD_DSP_S16_SAMPLE_WORDS;
    if (whole > 0) {
        const aboard_dsp_s16_sample_t job = {y, y + whole, x, end, weights, tap_groups};
        aboard_fully_connected_dsp_s16_short(p, &job);
    }
    if (whole < p->outputs) {
        int16_t last[ABOARD_DSP_S16_BLOCK];
        const uint32_t *const rest = weights + whole / ABOARD_DSP_S16_BLOCK * (4 * tap_groups + 8);
        const aboard_dsp_s16_sample_t job = {last, last + ABOARD_DSP_S16_BLOCK, x, end, rest, tap_groups};
        aboard_fully_connected_dsp_s16_short(p, &job);
        for (int32_t i = whole; i < p->outputs; ++i) {
            y[i] = last[i - whole];
        }
    }
    if ((p->epilogue.low != 0 && p->epilogue.low != INT16_MIN) || p->epilogue.high != INT16_MAX) {
        aboard_dsp_s16_clamp(y, p->outputs, p->epilogue.low, p->epilogue.high);
    }
}

/** All results of a sample in a long form. Not inlined: one copy serves all layers of a model. */
ABOARD_SHARED void aboard_fully_connected_dsp_s16_long(const aboard_fully_connected_dsp_s16_t *p, const uint32_t *x,
                                                       const uint32_t *weights, int32_t tap_groups, int16_t *y) {
    const int32_t words = aboard_s16_words(p->epilogue.form);
    for (int32_t n = 0; n < p->outputs; n += ABOARD_DSP_S16_BLOCK) {
        int64_t totals[ABOARD_DSP_S16_BLOCK] = {0, 0, 0, 0};
        for (int32_t done = 0; done < tap_groups; done += p->chunk) {
            int32_t sums[ABOARD_DSP_S16_BLOCK];
            const int32_t now = ABOARD_MIN(p->chunk, tap_groups - done);
            const uint32_t *const from = x + done * ABOARD_DSP_S16_SAMPLE_WORDS;
            const aboard_dsp_s16_sums_t job = {from, from + now * ABOARD_DSP_S16_SAMPLE_WORDS, weights, now, sums};
            aboard_dsp_s16_sums_sample(&job);
            aboard_dsp_s16_add(totals, sums);
            weights += now * ABOARD_DSP_S16_BLOCK;
        }
        for (int32_t i = 0; i < ABOARD_MIN(ABOARD_DSP_S16_BLOCK, p->outputs - n); ++i) {
            y[n + i] = aboard_epilogue_s16(&p->epilogue, totals[i], (const int32_t *)weights + i * words);
        }
        weights += ABOARD_DSP_S16_BLOCK * words;
    }
}

/**
 * Product of int16, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Different memory, without gaps; `in` is aligned to 4 bytes.
 * @param weights     Packed, see aboard_dsp_s16_sample_t; in the long forms for each four channels weights, then
 *                    constants (aboard_epilogue_s16) of each.
 * @param staged      Scratch of a sample, in whole tap groups; unused if samples are whole tap groups.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_fully_connected_dsp_s16(const aboard_fully_connected_dsp_s16_t *p, const int16_t *in,
                                                  int16_t *out, const uint32_t *weights, uint32_t *staged,
                                                  int32_t first, int32_t last) {
    const int32_t tap_groups = (p->inputs + ABOARD_DSP_TAP_GROUP - 1) / ABOARD_DSP_TAP_GROUP;
    for (int32_t sample = first * p->samples; sample < last * p->samples; ++sample) {
        const uint32_t *x = (const uint32_t *)(const void *)(in + sample * p->inputs);
        if (p->inputs % ABOARD_DSP_TAP_GROUP != 0) {
            staged[2 * tap_groups - 2] = staged[2 * tap_groups - 1] = 0;
            memcpy(staged, in + sample * p->inputs, (size_t)p->inputs * sizeof(int16_t));
            x = staged;
        }
        if (p->epilogue.form == ABOARD_S16_SHORT) {
            aboard_fully_connected_dsp_s16_epilogue(p, x, weights, tap_groups, out + sample * p->outputs);
        } else {
            aboard_fully_connected_dsp_s16_long(p, x, weights, tap_groups, out + sample * p->outputs);
        }
    }
}

#endif
