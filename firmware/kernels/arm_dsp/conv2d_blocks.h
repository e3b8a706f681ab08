/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conv2d_blocks.h
 * int8 convolution with the DSP extension: as by conv2d.h, with four channels of two pixels at once (dot_blocks.h).
 */
#ifndef ABOARD_KERNELS_ARM_DSP_CONV2D_BLOCKS_H
#define ABOARD_KERNELS_ARM_DSP_CONV2D_BLOCKS_H

#include <stdint.h>

#include "aboard/config.h"
#include "conv2d.h"
#include "dot_blocks.h"

/**
 * int8 convolution, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters; `wide` is 0, and a pass has any number of channels.
 * @param in, out     As for aboard_conv2d_dsp.
 * @param weights     Blocks of four channels, see aboard_dsp_block_single; one group after another.
 * @param pairs       As for aboard_conv2d_dsp.
 * @param bytes       As for aboard_conv2d_dsp.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_conv2d_blocks_dsp(const aboard_conv2d_dsp_t *p, const int8_t *in, int8_t *out,
                                            const uint32_t *weights, uint32_t *pairs, int8_t *bytes, int32_t first,
                                            int32_t last) {
    aboard_conv2d_dsp_passes(p, in, out, weights, pairs, bytes, first, last, ABOARD_DSP_BLOCK);
}

#endif
