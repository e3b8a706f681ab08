/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/pixels_f32.h
 * Sums of products of float32 for four pixels, or one, times blocks of four channels; windows are read in place.
 *
 * A table has a word for each tap position of a window and each of four pixels: where the tap's first element is. So
 * the inner loop needs neither copies of windows nor tests for padding. With assembly (arm_dsp/pixels_f32.h,
 * arm_mve/pixels_f32.h) the word is an address, and padding is a pixel of zeros; here it is an offset from the operand,
 * and taps in the padding are left out. Both give the same sums, as weights are finite and a sum is never -0.
 */
#ifndef ABOARD_KERNELS_PORTABLE_PIXELS_F32_H
#define ABOARD_KERNELS_PORTABLE_PIXELS_F32_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard/config.h"

/** Pixels of a block. */
#define ABOARD_PIXELS_F32 4

/** Table entry of a tap in the padding, where entries are offsets. */
#define ABOARD_PIXELS_OUTSIDE INT32_MIN

/** Pixels to compute; assembly depends on the order of the fields. */
typedef struct {
    int32_t *table;                    /**< [positions][4], see above; depthwise assembly changes it. */
    const float *weights;              /**< [channels / 4][positions][depth][4]. */
    const float *biases;               /**< Of all channels. */
    float *results[ABOARD_PIXELS_F32]; /**< First result of each pixel. */
    int32_t positions;                 /**< Pixels of a window, at least 1. */
    int32_t depth;                     /**< Elements of a pixel of a window, at least 1. */
    int32_t channels;                  /**< Results of a pixel, a multiple of 4, at least 4. */
    int32_t limits;                    /**< 0: none; 1: results are at least `low`; 2: and at most `high`. */
    float low;
    float high;
    const float *in; /**< Base of the table's offsets; unused with addresses. */
} aboard_pixels_f32_t;

/** Computes all channels of four pixels, or of the first. */
typedef void aboard_pixels_f32_function_t(const aboard_pixels_f32_t *p);

/** Value of `limits` for the clamp of a layer. */
ABOARD_INLINE int32_t aboard_pixels_f32_limits(int32_t clamped, float high) {
    return clamped ? (high < ABOARD_INFINITY ? 2 : 1) : 0;
}

/** Table entry of an address, where entries are addresses. */
ABOARD_INLINE int32_t aboard_pixels_f32_address(const void *address) {
    return (int32_t)(intptr_t)address;
}

/** The result of a sum: with bias, within the limits; NaN stays. */
ABOARD_INLINE float aboard_pixels_f32_result(const aboard_pixels_f32_t *p, float sum, float bias) {
    const float value = sum + bias;
    const float above = p->limits > 0 && value < p->low ? p->low : value;
    return p->limits > 1 && above > p->high ? p->high : above;
}

/** In C, with offsets in the table. Depthwise weights are [channels / 4][positions][4], and `depth` is not read. */
ABOARD_INLINE void aboard_pixels_f32_plain(const aboard_pixels_f32_t *p, int32_t count, bool depthwise) {
    const int32_t depth = depthwise ? 1 : p->depth;
    for (int32_t i = 0; i < count; ++i) {
        const float *w = p->weights;
        for (int32_t n = 0; n < p->channels; n += 4) {
            float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
            for (int32_t at = 0; at < p->positions; ++at, w += 4 * depth) {
                const int32_t offset = p->table[ABOARD_PIXELS_F32 * at + i];
                const float *const x = p->in + (offset == ABOARD_PIXELS_OUTSIDE ? 0 : offset / 4);
                for (int32_t k = 0; k < 4 * depth && offset != ABOARD_PIXELS_OUTSIDE; ++k) {
                    sums[k % 4] += x[depthwise ? n + k : k / 4] * w[k];
                }
            }
            for (int32_t c = 0; c < 4; ++c) {
                p->results[i][n + c] = aboard_pixels_f32_result(p, sums[c], p->biases[n + c]);
            }
        }
    }
}

/** Calls one of two functions by its name, which a pointer would hide from the linker. */
ABOARD_INLINE void aboard_pixels_f32_block(const aboard_pixels_f32_t *job, int32_t count,
                                           aboard_pixels_f32_function_t *four, aboard_pixels_f32_function_t *one) {
    if (count == 1) {
        one(job);
    } else {
        four(job);
    }
}

/** Computes `channels` results of each of `count` pixels, 1 or 4, by functions for whole blocks of channels. */
ABOARD_INLINE void aboard_pixels_f32_run(aboard_pixels_f32_t *job, int32_t count, int32_t channels,
                                         aboard_pixels_f32_function_t *four, aboard_pixels_f32_function_t *one) {
    const int32_t whole = channels / 4 * 4;
    job->channels = whole;
    if (whole > 0) {
        aboard_pixels_f32_block(job, count, four, one);
    }
    if (whole < channels) {
        float last[ABOARD_PIXELS_F32][4];
        aboard_pixels_f32_t rest = *job;
        rest.weights += whole * job->positions * job->depth;
        rest.biases += whole;
        rest.channels = 4;
        for (int32_t i = 0; i < count; ++i) {
            rest.results[i] = last[i];
        }
        aboard_pixels_f32_block(&rest, count, four, one);
        for (int32_t i = 0; i < count; ++i) {
            for (int32_t c = whole; c < channels; ++c) {
                job->results[i][c] = last[i][c - whole];
            }
        }
    }
}

#endif
