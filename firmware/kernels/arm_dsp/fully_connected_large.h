/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file fully_connected_large.h
 * int8 products of samples with a matrix with the DSP extension, for sums of any size, and for few channels.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_FULLY_CONNECTED_LARGE_H
#define ABOARD_KERNELS_ARM_DSP_FULLY_CONNECTED_LARGE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "dot.h"
#include "large_sums.h"

/** Parameters of aboard_fully_connected_large_dsp and aboard_fully_connected_one_dsp. Input and result are stored whole
 * and without gaps. */
typedef struct {
    int32_t inputs;          /**< Values of a sample. */
    int32_t outputs;         /**< Results of a sample. */
    int32_t samples;         /**< Samples per row of the result. */
    int32_t single_rounding; /**< 1: results by a single rounding; 0: by a double rounding. */
    int32_t clamped;         /**< 1: results are clamped to [low, high]. */
    int32_t low;
    int32_t high;
} aboard_fully_connected_large_dsp_t;

/** Result of a single channel for one sample; its weights are its bias, a word for each tap group, its constants. */
ABOARD_INLINE int8_t aboard_fully_connected_dsp_channel(const aboard_fully_connected_large_dsp_t *p, const int8_t *x,
                                                        const uint32_t *weights) {
    const uint32_t sum = aboard_dsp_large_channel(weights + 1, x, p->inputs, *weights);
    weights += 1 + aboard_dsp_large_words(p->inputs);
    const int8_t y = aboard_dsp_large_result(sum, weights, p->single_rounding);
    return (int8_t)(!p->clamped ? y : y < p->low ? p->low : y > p->high ? p->high : y);
}

/**
 * int8 product with few channels, one after another, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Different memory, without gaps.
 * @param weights     Those of each channel, see aboard_fully_connected_dsp_channel.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_fully_connected_one_dsp(const aboard_fully_connected_large_dsp_t *p, const int8_t *in,
                                                  int8_t *out, const uint32_t *weights, int32_t first, int32_t last) {
    const int32_t words = 1 + aboard_dsp_large_words(p->inputs) + ABOARD_DSP_LARGE_CONSTANTS(p->single_rounding);
    for (int32_t sample = first * p->samples; sample < last * p->samples; ++sample) {
        for (int32_t n = 0; n < p->outputs; ++n) {
            out[sample * p->outputs + n] =
                aboard_fully_connected_dsp_channel(p, in + sample * p->inputs, weights + n * words);
        }
    }
}

/**
 * int8 product, results equal to TFLite's reference kernel, whose sums may be of any size that fits 32 bits.
 *
 * @param p           Parameters.
 * @param in, out     Different memory, without gaps.
 * @param weights     For every four channels four biases, four SWAR-packed words for each tap group, and the constants
 *                    of each channel; a single last channel as for aboard_fully_connected_one_dsp, two or three padded
 *                    with zeros.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_fully_connected_large_dsp(const aboard_fully_connected_large_dsp_t *p, const int8_t *in,
                                                    int8_t *out, const uint32_t *weights, int32_t first, int32_t last) {
    const int32_t constants = ABOARD_DSP_LARGE_CONSTANTS(p->single_rounding);
    const int32_t blocked = p->outputs % ABOARD_DSP_LARGE_CHANNELS == 1 ? p->outputs - 1 : p->outputs;
    for (int32_t sample = first * p->samples; sample < last * p->samples; ++sample) {
        const int8_t *const x = in + sample * p->inputs;
        int8_t *const y = out + sample * p->outputs;
        const uint32_t *w = weights;
        for (int32_t n = 0; n < blocked; n += ABOARD_DSP_LARGE_CHANNELS) {
            uint32_t sums[ABOARD_DSP_LARGE_CHANNELS];
            memcpy(sums, w, sizeof(sums));
            w = aboard_dsp_large_taps(w + ABOARD_DSP_LARGE_CHANNELS, x, p->inputs, sums);
            for (int32_t i = 0; i < ABOARD_MIN(ABOARD_DSP_LARGE_CHANNELS, blocked - n); ++i) {
                y[n + i] = aboard_dsp_large_result(sums[i], w + i * constants, p->single_rounding);
            }
            w += ABOARD_DSP_LARGE_CHANNELS * constants;
        }
        if (p->clamped) {
            aboard_dsp_clamp(y, blocked, p->low, p->high);
        }
        if (blocked < p->outputs) {
            y[blocked] = aboard_fully_connected_dsp_channel(p, x, w);
        }
    }
}

#endif
