/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_dsp/conv2d_f32.h
 * float32 convolution on Cortex-M4, M7 and M33: blocks of four pixels and four channels, windows read in place.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_CONV2D_F32_H
#define ABOARD_KERNELS_ARM_DSP_CONV2D_F32_H

#include <stdint.h>

#include "../portable/pixels_conv2d_f32.h"
#include "aboard/config.h"
#include "pixels_f32.h"

/**
 * float32 convolution; results equal those of aboard_conv2d_f32 that is compiled without fused products.
 *
 * @param p           Parameters.
 * @param in, out     Any views, including rolling buffers. In different memory, or the operand starts after the result
 * by at least the minimum in-place offset (host/aboard/kernels/overlap.py) of blocks of four pixels.
 * @param weights     [channels / 4][taps][4], the last block of a group padded with zeros; one group after another.
 * Finite.
 * @param constants   Four biases per block of four channels.
 * @param scratch     See aboard_pixels_conv2d_f32.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_conv2d_f32_dsp(const aboard_pixels_conv2d_f32_t *p, const float *in, float *out,
                                         const float *weights, const float *constants, int32_t *scratch, int32_t first,
                                         int32_t last) {
    aboard_pixels_conv2d_f32(p, in, out, weights, constants, scratch, first, last, aboard_dsp_pixels_f32_four,
                             aboard_dsp_pixels_f32_one, ABOARD_DSP_FLOAT_ASM);
}

#endif
