/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/conv2d_f32.h
 * float32 convolution with Helium: blocks of four pixels and four channels, windows read in place.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_CONV2D_F32_H
#define ABOARD_KERNELS_ARM_MVE_CONV2D_F32_H

#include <stdint.h>

#include "../portable/pixels_conv2d_f32.h"
#include "aboard/config.h"
#include "pixels_f32.h"

/**
 * float32 convolution; with fused products, which round once, in the order of aboard_conv2d_f32. Parameters as for
 * aboard_conv2d_f32_dsp (arm_dsp/conv2d_f32.h).
 */
ABOARD_INLINE void aboard_conv2d_f32_mve(const aboard_pixels_conv2d_f32_t *p, const float *in, float *out,
                                         const float *weights, const float *constants, int32_t *scratch, int32_t first,
                                         int32_t last) {
    aboard_pixels_conv2d_f32(p, in, out, weights, constants, scratch, first, last, aboard_mve_pixels_f32_four,
                             aboard_mve_pixels_f32_one, ABOARD_MVE_FLOAT_ASM);
}

#endif
