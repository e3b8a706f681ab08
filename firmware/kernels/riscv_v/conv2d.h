/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file riscv_v/conv2d.h
 * int8 convolutions with the vector extension of RISC-V: sixteen channels of four pixels at once, inputs in place.
 */
#ifndef ABOARD_KERNELS_RISCV_V_CONV2D_H
#define ABOARD_KERNELS_RISCV_V_CONV2D_H

#include <stdint.h>

#include "aboard/config.h"
#include "block.h"
#include "windows.h"

/** Parameters of aboard_conv2d_riscv_v and aboard_depthwise_conv2d_riscv_v. */
typedef struct {
    aboard_conv2d_shape_t shape; /**< Depthwise: with as many groups as channels. */
    int32_t single_rounding;     /**< 1: results by a single rounding; 0: by a double rounding. */
    int32_t padded;              /**< 1: windows may be outside the input. */
    int32_t zero_point;          /**< Zero point of the input, and value of padding. */
    int32_t low;                 /**< Smallest result. */
    int32_t high;                /**< Largest result. */
} aboard_conv2d_riscv_v_t;

/** Words of the constants of a block. */
ABOARD_INLINE int32_t aboard_conv2d_riscv_v_words(const aboard_conv2d_riscv_v_t *p) {
    return (p->single_rounding ? 3 : 4) * ABOARD_RISCV_V_BLOCK;
}

/** All blocks of `channels` channels of four pixels, whose table is filled; results begin at the job's addresses. */
ABOARD_INLINE void aboard_conv2d_riscv_v_blocks(const aboard_conv2d_riscv_v_t *p, aboard_riscv_v_job_t *job,
                                                int32_t channels, int32_t pixels) {
    const int32_t taps = job->positions * job->depth * ABOARD_RISCV_V_BLOCK;
    void (*const four)(const aboard_riscv_v_job_t *) =
        p->single_rounding ? aboard_riscv_v_four_single : aboard_riscv_v_four_double;
    void (*const one)(const aboard_riscv_v_job_t *) =
        p->single_rounding ? aboard_riscv_v_one_single : aboard_riscv_v_one_double;
    for (int32_t n = 0; n < channels; n += ABOARD_RISCV_V_BLOCK) {
        job->channels = ABOARD_MIN(channels - n, ABOARD_RISCV_V_BLOCK);
        if (pixels > 1) {
            four(job);
        } else {
            one(job);
        }
        job->weights += taps;
        job->constants += aboard_conv2d_riscv_v_words(p);
        for (int32_t j = 0; j < ABOARD_RISCV_V_PIXELS; ++j) {
            job->y[j] += ABOARD_RISCV_V_BLOCK;
        }
    }
}

/**
 * int8 convolution, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Any views, including rolling buffers. In different memory, or the operand starts after the result
 * by at least the minimum in-place offset (host/aboard/kernels/overlap.py).
 * @param weights     [groups, blocks of 16 channels, taps, 16], padded with zeros.
 * @param constants   [groups, blocks of 16 channels, kinds, 16], see aboard_riscv_v_job_t.
 * @param places      Scratch: four places for each position of a window, and the channels of a pixel of a group.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_conv2d_riscv_v(const aboard_conv2d_riscv_v_t *p, const int8_t *in, int8_t *out,
                                         const int8_t *weights, const int32_t *constants,
                                         aboard_riscv_v_place_t *places, int32_t first, int32_t last) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t depth = s->in.channels / s->groups;
    const int32_t channels = s->out.channels / s->groups;
    const int32_t blocks = (channels + ABOARD_RISCV_V_BLOCK - 1) / ABOARD_RISCV_V_BLOCK;
    const int8_t *const padding = p->padded ? aboard_riscv_v_padding(s, places, depth, p->zero_point) : NULL;
    for (int32_t group = 0; group < s->groups; ++group) {
        const int8_t *const x = in + group * depth;
        aboard_riscv_v_walk_t at = {first, last, 0};
        while (at.row < last) {
            aboard_riscv_v_job_t job = {
                places, s->window_height * s->window_width, depth, weights, constants, 0, p->low, p->high, {NULL}, x,
                padding};
            const int32_t pixels = aboard_riscv_v_next(s, x, out + group * channels, padding, &at, places, job.y);
            aboard_conv2d_riscv_v_blocks(p, &job, channels, pixels);
        }
        weights += blocks * aboard_conv2d_taps(s) * ABOARD_RISCV_V_BLOCK;
        constants += blocks * aboard_conv2d_riscv_v_words(p);
    }
}

#endif
