/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_dsp/expanded_depthwise_conv2d.h
 * int8 depthwise convolution of an image that a 1x1 convolution expands, with the DSP extension: four expanded channels
 * of two pixels at once, as by aboard_conv2d_blocks_dsp; then windows as in portable C.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_EXPANDED_DEPTHWISE_CONV2D_H
#define ABOARD_KERNELS_ARM_DSP_EXPANDED_DEPTHWISE_CONV2D_H

#include <stddef.h>
#include <stdint.h>

#include "../portable/expanded_depthwise_conv2d.h"
#include "aboard/config.h"
#include "aboard/view.h"
#include "dot.h"
#include "dot_blocks.h"

/** Parameters of aboard_expanded_depthwise_conv2d_dsp. */
typedef struct {
    aboard_depthwise_conv2d_s8_t depthwise; /**< As for aboard_expanded_depthwise_conv2d, ABOARD_DSP_BLOCK at once. */
    aboard_view_t in;                       /**< The narrow image. Any view; a multiple of four channels. */
    int32_t single_rounding;                /**< Of the expansion, 1: by a single rounding; 0: by a double rounding. */
    int32_t clamped;                        /**< 1: expanded pixels are clamped to [low, high]. */
    int32_t low;
    int32_t high;
} aboard_expanded_depthwise_conv2d_dsp_t;

/** Computes pixels of four expanded channels. */
ABOARD_INLINE void aboard_expanded_depthwise_conv2d_dsp_pixels(const aboard_expansion_t *e, const int8_t *row,
                                                               int32_t cols, int8_t *to) {
    const aboard_expanded_depthwise_conv2d_dsp_t *p = (const aboard_expanded_depthwise_conv2d_dsp_t *)e->p;
    const int32_t taps = p->in.channels;
    const int32_t stride = p->in.pixel_stride;
    aboard_dsp_block_pixels_t pixels = {
        row, row + cols * stride, stride, to, ABOARD_DSP_BLOCK, ABOARD_DSP_BLOCK, e->scratch, taps};
    const aboard_dsp_block_t job = {
        NULL,    0, NULL, ABOARD_DSP_BLOCK_LEFT_OUT(taps), pixels.x, (const void *)e->weights, pixels.x + taps,
        &pixels, 0};
    if (p->single_rounding) {
        aboard_dsp_block_single(&job);
    } else {
        aboard_dsp_block_double(&job);
    }
    if (p->clamped) {
        aboard_dsp_clamp(to, cols * ABOARD_DSP_BLOCK, p->low, p->high);
    }
}

/**
 * aboard_expanded_depthwise_conv2d with the DSP extension.
 *
 * @param expansion Weights of the expansion as for aboard_dsp_block_single or aboard_dsp_block_double.
 * @param pair      Scratch of ABOARD_DSP_PAIR_WORDS words per tap group.
 */
ABOARD_INLINE void aboard_expanded_depthwise_conv2d_dsp(const aboard_expanded_depthwise_conv2d_dsp_t *p,
                                                        const int8_t *in, int8_t *out, const uint32_t *expansion,
                                                        const int8_t *weights, const int32_t *constants, int8_t *lines,
                                                        uint32_t *pair, int32_t first, int32_t last) {
    const int32_t words = p->single_rounding ? ABOARD_DSP_SINGLE_WORDS : ABOARD_DSP_DOUBLE_WORDS;
    const aboard_expansion_t e = {
        &p->in, p, (const void *)expansion, NULL, pair, 4 * (p->in.channels + 2 * words), 0,
    };
    aboard_expanded_depthwise_conv2d(&p->depthwise, &e, aboard_expanded_depthwise_conv2d_dsp_pixels, in, out, weights,
                                     constants, lines, first, last);
}

#endif
