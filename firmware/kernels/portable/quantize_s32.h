/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/quantize_s32.h
 * From one quantisation to another where int32 takes part. ABOARD_UNARY_KERNEL describes the form of all kernels; the
 * result is another memory than the operand.
 */
#ifndef ABOARD_KERNELS_PORTABLE_QUANTIZE_S32_H
#define ABOARD_KERNELS_PORTABLE_QUANTIZE_S32_H

#include <stdint.h>

#include "aboard/config.h"
#include "elements.h"
#include "requantize.h"
#include "rescale_s16.h"

/** The result of one element; moved up, and with the zero point added, it wraps to 32 bits. */
ABOARD_INLINE int32_t aboard_rescaled_s32(const aboard_rescale_s16_t *p, int32_t x) {
    const int32_t scaled = aboard_requantize(x - p->in_zero_point, p->multiplier, p->shift);
    return aboard_clamp((int32_t)((uint32_t)scaled + (uint32_t)p->out_zero_point), p->low, p->high);
}

/** From int8 to int32. */
ABOARD_UNARY_KERNEL(rescale_s8_to_s32, aboard_rescale_s16_t, int8_t, int32_t, aboard_rescaled_s32(p, u))
/** From int16 to int32. */
ABOARD_UNARY_KERNEL(rescale_s16_to_s32, aboard_rescale_s16_t, int16_t, int32_t, aboard_rescaled_s32(p, u))
/** From int32, whose zero point is 0, to int8. */
ABOARD_UNARY_KERNEL(rescale_s32_to_s8, aboard_rescale_s16_t, int32_t, int8_t, (int8_t)aboard_rescaled_s32(p, u))
/** From int32, whose zero point is 0, to int16. */
ABOARD_UNARY_KERNEL(rescale_s32_to_s16, aboard_rescale_s16_t, int32_t, int16_t, (int16_t)aboard_rescaled_s32(p, u))

#endif
