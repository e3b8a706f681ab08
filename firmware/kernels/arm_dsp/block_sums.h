/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file block_sums.h
 * Blocks of four channels of two pixels in C: what the assembly of dot_blocks.h and dot_columns.h computes.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_BLOCK_SUMS_H
#define ABOARD_KERNELS_ARM_DSP_BLOCK_SUMS_H

#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "dot.h"

/** Channels of a block. */
#define ABOARD_DSP_BLOCK 4

#if !ABOARD_DSP_ASM

/** Adds the products of a step to the sums by pixel and channel; those of odd channels are raw. */
ABOARD_INLINE void aboard_dsp_block_step(uint32_t x0, uint32_t x1, const uint32_t *w,
                                         uint32_t sums[2][ABOARD_DSP_BLOCK]) {
    for (int32_t channel = 0; channel < ABOARD_DSP_BLOCK; ++channel) {
        const uint32_t weights = channel % 2 != 0 ? w[channel / 2] : aboard_dsp_even(w[channel / 2]);
        sums[0][channel] = aboard_dsp_mac(x0, weights, sums[0][channel]);
        sums[1][channel] = aboard_dsp_mac(x1, weights, sums[1][channel]);
    }
}

/** Starts the sums of a block with the biases. */
ABOARD_INLINE const uint32_t *aboard_dsp_block_start(const uint32_t *w, uint32_t sums[2][ABOARD_DSP_BLOCK]) {
    memcpy(sums[0], w, sizeof(sums[0]));
    memcpy(sums[1], w, sizeof(sums[1]));
    return w + ABOARD_DSP_BLOCK;
}

/** Makes the raw sums of the odd channels 256 times their sums. */
ABOARD_INLINE void aboard_dsp_block_odd(uint32_t sums[2][ABOARD_DSP_BLOCK]) {
    for (int32_t channel = 1; channel < ABOARD_DSP_BLOCK; channel += 2) {
        sums[0][channel] -= sums[0][channel - 1];
        sums[1][channel] -= sums[1][channel - 1];
    }
}

/** Sums of a block; returns the end of its weights. */
ABOARD_INLINE const uint32_t *aboard_dsp_block_sums(const aboard_dsp_pair_t *p, const uint32_t *w,
                                                    uint32_t sums[2][ABOARD_DSP_BLOCK]) {
    w = aboard_dsp_block_start(w, sums);
    for (int32_t step = 0; step < 2 * p->tap_groups; ++step, w += 2) {
        aboard_dsp_block_step(p->x[2 * step], p->x[2 * step + 1], w, sums);
    }
    aboard_dsp_block_odd(sums);
    return w;
}

/** Results of channels n to n + 3 by single roundings, of both pixels; returns the end of the constants at `w`. */
ABOARD_INLINE const uint32_t *aboard_dsp_block_single_results(const aboard_dsp_pair_t *p, const uint32_t *w, int32_t n,
                                                              uint32_t sums[2][ABOARD_DSP_BLOCK]) {
    int8_t *const y[2] = {p->y0 + n, p->y1 + n};
    for (int32_t k = 0; k < ABOARD_DSP_BLOCK; k += 2, w += 4) {
        for (int32_t i = 1; i >= 0; --i) {
            const uint32_t *const sum = &sums[i][k];
            y[i][k] = aboard_dsp_single_rounding(sum[0], (int32_t)w[0], (int32_t)w[2], ABOARD_DSP_SINGLE_SHIFT);
            y[i][k + 1] = aboard_dsp_single_rounding_256(sum[1], (int32_t)w[1], (int32_t)w[3], ABOARD_DSP_SINGLE_SHIFT);
        }
    }
    return w;
}

/** Like aboard_dsp_block_single_results, by double roundings. */
ABOARD_INLINE const uint32_t *aboard_dsp_block_double_results(const aboard_dsp_pair_t *p, const uint32_t *w, int32_t n,
                                                              uint32_t sums[2][ABOARD_DSP_BLOCK]) {
    int8_t *const y[2] = {p->y0 + n, p->y1 + n};
    for (int32_t k = 0; k < ABOARD_DSP_BLOCK; k += 2, w += 5) {
        for (int32_t i = 1; i >= 0; --i) {
            const uint32_t odd = (uint32_t)((int32_t)sums[i][k + 1] >> 8);
            y[i][k] = aboard_dsp_double_rounding(sums[i][k], (int32_t)w[0], (int32_t)w[1], w[2] & 0xffu);
            y[i][k + 1] = aboard_dsp_double_rounding(odd, (int32_t)w[3], (int32_t)w[4], w[2] >> 8);
        }
    }
    return w;
}

/** Computes the sums of a block; returns the end of its weights. */
typedef const uint32_t *(*aboard_dsp_block_sums_t)(const aboard_dsp_pair_t *p, const uint32_t *w,
                                                   uint32_t sums[2][ABOARD_DSP_BLOCK]);

/** Stores the results of channels n to n + 3; returns the end of their constants. */
typedef const uint32_t *(*aboard_dsp_block_results_t)(const aboard_dsp_pair_t *p, const uint32_t *w, int32_t n,
                                                      uint32_t sums[2][ABOARD_DSP_BLOCK]);

/** All channels of two pixels: those of whole blocks up to the end, and `rest` further ones. */
ABOARD_INLINE void aboard_dsp_blocks(const aboard_dsp_pair_t *p, aboard_dsp_block_sums_t add,
                                     aboard_dsp_block_results_t store, int32_t rest) {
    const uint32_t *w = p->weights;
    const int32_t channels = (int32_t)(p->end - p->y0) + rest;
    for (int32_t first = 0; first < channels; first += ABOARD_DSP_BLOCK) {
        const int32_t n = ABOARD_MIN(first, channels - ABOARD_DSP_BLOCK);
        uint32_t sums[2][ABOARD_DSP_BLOCK];
        w = add(p, w, sums);
        w = store(p, w, n, sums);
    }
}

#endif

#endif
