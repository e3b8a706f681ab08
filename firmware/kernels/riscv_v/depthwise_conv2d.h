/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file riscv_v/depthwise_conv2d.h
 * int8 depthwise convolutions with the vector extension of RISC-V: sixteen channels of four pixels at once, windows of
 * any size, inputs in place.
 */
#ifndef ABOARD_KERNELS_RISCV_V_DEPTHWISE_CONV2D_H
#define ABOARD_KERNELS_RISCV_V_DEPTHWISE_CONV2D_H

#include <stdint.h>

#include "aboard/config.h"
#include "conv2d.h"

/**
 * int8 depthwise convolution with a result channel for each channel, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters; `groups` is the number of channels.
 * @param in, out     Any views, including rolling buffers. In different memory, or the operand starts after the result
 * by at least the minimum in-place offset (host/aboard/kernels/overlap.py).
 * @param weights     [blocks of 16 channels, taps, 16], padded with zeros.
 * @param constants   [blocks of 16 channels, kinds, 16], see aboard_riscv_v_job_t.
 * @param places      Scratch: four places for each position of a window, and the channels of a pixel.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_depthwise_conv2d_riscv_v(const aboard_conv2d_riscv_v_t *p, const int8_t *in, int8_t *out,
                                                   const int8_t *weights, const int32_t *constants,
                                                   aboard_riscv_v_place_t *places, int32_t first, int32_t last) {
    const aboard_conv2d_shape_t *s = &p->shape;
    const int32_t channels = s->out.channels;
    const int32_t positions = s->window_height * s->window_width;
    const int8_t *const padding = p->padded ? aboard_riscv_v_padding(s, places, channels, p->zero_point) : NULL;
    void (*const each)(const aboard_riscv_v_job_t *) =
        p->single_rounding ? aboard_riscv_v_each_single : aboard_riscv_v_each_double;
    aboard_riscv_v_walk_t at = {first, last, 0};
    while (at.row < last) {
        aboard_riscv_v_job_t job = {places, positions, 0, weights, constants, 0, p->low, p->high, {NULL}, in, padding};
        aboard_riscv_v_next(s, in, out, padding, &at, places, job.y);
        for (; job.depth < channels; job.depth += ABOARD_RISCV_V_BLOCK) {
            job.channels = ABOARD_MIN(channels - job.depth, ABOARD_RISCV_V_BLOCK);
            each(&job);
            job.weights += positions * ABOARD_RISCV_V_BLOCK;
            job.constants += aboard_conv2d_riscv_v_words(p);
            for (int32_t j = 0; j < ABOARD_RISCV_V_PIXELS; ++j) {
                job.y[j] += ABOARD_RISCV_V_BLOCK;
            }
        }
    }
}

#endif
