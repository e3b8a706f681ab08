/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/elementwise.h
 * Sums, differences and products of int8 with Helium, four at a time, with broadcasting.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_ELEMENTWISE_H
#define ABOARD_KERNELS_ARM_MVE_ELEMENTWISE_H

#include <stdint.h>

#include "../portable/arithmetic.h"
#include "aboard/config.h"
#include "aboard/view.h"
#include "helium.h"
#include "rescale.h"

#if ABOARD_MVE_ASM

/** Four elements `step` apart, or one four times if `step` is 0; fewer if they are not `whole`, as `some` says. */
ABOARD_INLINE int32x4_t aboard_elements_mve(const int8_t *x, int32_t step, int32_t whole, mve_pred16_t some) {
    if (step == 0) {
        return vdupq_n_s32(*x);
    }
    if (step == 1) {
        return whole ? vldrbq_s32(x) : vldrbq_z_s32(x, some);
    }
    return vldrbq_gather_offset_z_s32(x, vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)step), some);
}

/** Largest shifts of aboard_mve_rescale: of operands of a long sum, below 2**28, and of products, below 2**16. */
#define ABOARD_MVE_MOST_OF_OPERANDS 3
#define ABOARD_MVE_MOST_OF_PRODUCTS 15

/** Operands of a long sum in the common scale: as aboard_sum_operand, of each lane. */
ABOARD_INLINE int32x4_t aboard_sum_operands_mve(const aboard_scaling_t *s, int32x4_t x) {
    const int32x4_t shifted = vshlq_n_s32(vsubq_n_s32(x, s->zero_point), 20);
    if (s->multiplier < 0) {
        return vnegq_s32(aboard_mve_rescale(shifted, -s->multiplier, s->shift, ABOARD_MVE_MOST_OF_OPERANDS));
    }
    return aboard_mve_rescale(shifted, s->multiplier, s->shift, ABOARD_MVE_MOST_OF_OPERANDS);
}

/** Four results: as aboard_arithmetic_element_s8, of each lane. */
ABOARD_INLINE int32x4_t aboard_arithmetic_four_mve(const aboard_arithmetic_s8_t *p, aboard_arithmetic_t form,
                                                   int32x4_t x, int32x4_t y) {
    int32x4_t result;
    if (form == ABOARD_SUM_SHORT) {
        result = vmlasq_n_s32(x, vdupq_n_s32(p->a_factor), (int32_t)p->constant);
        result = vshlq_r_s32(vmlaq_n_s32(result, y, p->b_factor), -p->shift);
    } else if (form == ABOARD_SUM) {
        const int32x4_t sum = vaddq_s32(aboard_sum_operands_mve(&p->a, x), aboard_sum_operands_mve(&p->b, y));
        result = aboard_mve_rescale(sum, p->out.multiplier, p->out.shift, ABOARD_MVE_MOST_TO_INT8);
        result = vaddq_n_s32(result, p->out.zero_point);
    } else {
        const int32x4_t product = vmulq_s32(vsubq_n_s32(x, p->a.zero_point), vsubq_n_s32(y, p->b.zero_point));
        result = aboard_mve_rescale(product, p->out.multiplier, p->out.shift, ABOARD_MVE_MOST_OF_PRODUCTS);
        result = vaddq_n_s32(result, p->out.zero_point);
    }
    return vminq_s32(vmaxq_s32(result, vdupq_n_s32(p->low)), vdupq_n_s32(p->high));
}

/** Computes the channels of a pixel. */
ABOARD_INLINE void aboard_arithmetic_channels_mve(const aboard_arithmetic_s8_t *p, aboard_arithmetic_t form,
                                                  const int8_t *x, const int8_t *y, int8_t *z) {
    const int32_t channels = p->over.out.channels;
    const int32_t whole = channels % 4 == 0;
    ABOARD_UNROLL(4)
    for (int32_t c = 0; c < channels; c += 4) {
        const mve_pred16_t some = vctp32q((uint32_t)(channels - c));
        const int32x4_t u = aboard_elements_mve(x, p->over.a.channel, whole, some);
        const int32x4_t v = aboard_elements_mve(y, p->over.b.channel, whole, some);
        const int32x4_t result = aboard_arithmetic_four_mve(p, form, u, v);
        if (whole) {
            vstrbq_s32(z, result);
        } else {
            vstrbq_p_s32(z, result, some);
        }
        x += 4 * p->over.a.channel;
        y += 4 * p->over.b.channel;
        z += 4;
    }
}

#else

/** The function above in C. */
ABOARD_INLINE void aboard_arithmetic_channels_mve(const aboard_arithmetic_s8_t *p, aboard_arithmetic_t form,
                                                  const int8_t *x, const int8_t *y, int8_t *z) {
    aboard_arithmetic_channels_s8(p, form, x, y, z);
}

#endif

ABOARD_ARITHMETIC_S8(aboard_arithmetic_mve, aboard_arithmetic_channels_mve)

/** Sum or difference as TFLite computes it; rows [first, last), as aboard_arithmetic_s8. */
ABOARD_INLINE void aboard_sum_mve_s8(const aboard_arithmetic_s8_t *p, const int8_t *a, const int8_t *b, int8_t *out,
                                     int32_t first, int32_t last) {
    aboard_arithmetic_mve(p, ABOARD_SUM, a, b, out, first, last);
}

/** Sum or difference by the short form; rows [first, last), as aboard_arithmetic_s8. */
ABOARD_INLINE void aboard_sum_short_mve_s8(const aboard_arithmetic_s8_t *p, const int8_t *a, const int8_t *b,
                                           int8_t *out, int32_t first, int32_t last) {
    aboard_arithmetic_mve(p, ABOARD_SUM_SHORT, a, b, out, first, last);
}

/** Product as TFLite computes it; rows [first, last), as aboard_arithmetic_s8. */
ABOARD_INLINE void aboard_product_mve_s8(const aboard_arithmetic_s8_t *p, const int8_t *a, const int8_t *b, int8_t *out,
                                         int32_t first, int32_t last) {
    aboard_arithmetic_mve(p, ABOARD_PRODUCT, a, b, out, first, last);
}

#endif
