/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/fully_connected_f32.h
 * float32 product with Helium: blocks of four samples, or single ones, and four channels.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_FULLY_CONNECTED_F32_H
#define ABOARD_KERNELS_ARM_MVE_FULLY_CONNECTED_F32_H

#include <stdint.h>

#include "../portable/pixels_fully_connected_f32.h"
#include "aboard/config.h"
#include "pixels_f32.h"

/**
 * float32 product; with fused products, which round once, in the order of
 * aboard_fully_connected_f32. Parameters as there (portable/fully_connected.h).
 */
ABOARD_INLINE void aboard_fully_connected_f32_mve(const aboard_fully_connected_f32_t *p, const float *in, float *out,
                                                  const float *weights, const float *constants, int32_t first,
                                                  int32_t last) {
    aboard_pixels_fully_connected_f32(p, in, out, weights, constants, first, last, aboard_mve_pixels_f32_four,
                                      aboard_mve_pixels_f32_one, ABOARD_MVE_FLOAT_ASM);
}

#endif
